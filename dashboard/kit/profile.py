"""What each system costs: a row a system, a component a column."""

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from benchmarks.comparing.profile import Profile, Share
from dashboard import wording
from dashboard.kit import figures
from dashboard.kit.document import Entry, Line, Section, Table, line
from dashboard.wording import verdicts

SYSTEMS = 200


def profile_section(profile: Profile, *, is_folded: bool = False) -> Section:
    """Return the overhead profile: a row per system, a column per component."""
    if not profile.rows:
        why = _(
            "There is none: it takes systems that ran alone (scenario single), and the "
            "native machine, or a reference system, measured with the same benchmarks."
        )
        return Section("profile", _("Overhead profile"), (why,))
    notes = [
        _(
            "The geometric mean of a system's ratios in one component, over the "
            "benchmarks that all compared systems have, in the scenario single. Below "
            "it the 95\N{NO-BREAK SPACE}% interval over benchmarks of this kind; the "
            "number of "
            "benchmarks and runs; the range from the worst to the best benchmark."
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
        Line(
            (
                Entry(wording.column_name(row.column)),
                *(_share_entry(share, is_folded=is_folded) for share in row.shares),
            )
        )
        for row in profile.rows[:SYSTEMS]
    )
    table = Table("", (line(_("System"), *names),), lines, len(names) + 1)
    return Section("profile", _("Overhead profile"), notes, (table,))


def _share_entry(share: Share | None, *, is_folded: bool) -> Entry:
    """Return a mean with its runs, the range of its benchmarks and the worst one."""
    if share is None:
        return Entry("", sub=_("no benchmark in common"), is_number=True)
    cases = ngettext("%(n)s benchmark", "%(n)s benchmarks", share.cases)
    facts = [cases % {"n": share.cases}, wording.runs_text(share.runs)]
    if share.cases == 1 or not is_folded:
        facts = [", ".join(facts)]
    if share.cases > 1:
        ends = {
            "low": figures.ratio(share.minimum),
            "high": figures.ratio(share.maximum),
        }
        facts.append(_("lowest %(low)s, highest %(high)s") % ends)
        facts.append(_("worst: %(case)s") % {"case": share.worst})
    if share.doubted:
        facts.append(_("%(n)s flagged") % {"n": share.doubted})
    if share.apart:
        text = _("%(n)s with a baseline of another session")
        facts.append(text % {"n": share.apart})
    interval = "" if share.interval is None else verdicts.between(share.interval)
    lines = [_("95\N{NO-BREAK SPACE}%% %(x)s") % {"x": interval}] if interval else []
    return Entry(
        figures.ratio(share.mean, share.interval),
        sub=interval if is_folded else "\n".join([*lines, *facts]),
        more=tuple(facts) if is_folded else (),
        shade=figures.heat(share.mean),
        is_number=True,
    )
