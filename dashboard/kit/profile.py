"""What each system costs: a row a system, a component a column."""

from collections.abc import Iterator

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from benchmarks.comparing.profile import Profile, Share
from dashboard import wording
from dashboard.kit import figures
from dashboard.kit.document import Entry, Line, Section, Table, line

SYSTEMS = 200


def profile_section(profile: Profile) -> Section:
    """Return each system's cost as one row: a component a column."""
    if not profile.rows:
        why = _(
            "There is none: it takes systems that ran alone (scenario single), and the "
            "native machine, or a reference system, measured in the same cases."
        )
        return Section("profile", _("Overhead profile"), (why,))
    notes = [
        _(
            "The geometric mean of a system's ratios in one component, over the "
            "benchmarks that all compared systems have, in the scenario single. Below "
            "it the 95 % interval over cases of this kind, or the range from the worst "
            "to the best case; the number of cases and runs; and the worst case."
        )
    ]
    if any(share.least_runs < 2 for row in profile.rows for share in row.stated):
        notes.append(
            _(
                "Where a benchmark has a single run, no interval is given: the range "
                "says how benchmarks differ, not how sure the mean is."
            )
        )
    if len(profile.rows) > SYSTEMS:
        notes.append(_("The first %(n)s systems are shown.") % {"n": SYSTEMS})
    if profile.is_relative:
        notes.append(_("Ratios are to the study's reference system, not to native."))

    names = [wording.component_name(name) for name in profile.components]
    lines = tuple(
        Line((Entry(wording.column_name(row.column)), *map(_share_entry, row.shares)))
        for row in profile.rows[:SYSTEMS]
    )
    table = Table("", (line(_("System"), *names),), lines, len(names) + 1)
    return Section("profile", _("Overhead profile"), tuple(notes), (table,))


def _share_entry(share: Share | None) -> Entry:
    if share is None:
        return Entry("", sub=_("no benchmark in common"), is_number=True)
    return Entry(
        figures.ratio(share.mean, share.interval),
        sub="\n".join(share_facts(share)),
        shade=figures.heat(share.mean),
        is_number=True,
    )


def share_facts(share: Share) -> Iterator[str]:
    """Say how sure a mean is, what it rests on, and where it is worst."""
    if share.interval is not None:
        low, high = figures.ends(share.interval)
        yield _("95 %% %(low)s to %(high)s") % {"low": low, "high": high}
    if share.cases > 1:
        yield _("cases %(low)s to %(high)s") % {
            "low": figures.ratio(share.minimum),
            "high": figures.ratio(share.maximum),
        }
    cases = ngettext("%(n)s benchmark", "%(n)s benchmarks", share.cases) % {
        "n": share.cases
    }
    yield f"{cases}, {wording.runs_text(share.runs)}"
    if share.cases > 1:
        yield _("worst: %(case)s") % {"case": share.worst}
    if share.doubted:
        yield _("%(n)s flagged") % {"n": share.doubted}
    if share.apart:
        yield _("%(n)s with a baseline of another session") % {"n": share.apart}
