"""What a report says in words: profile, verdicts, the largest losses, flags."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from benchmarks.models import Flag
from benchmarks.selectors.comparison_columns import Column
from benchmarks.selectors.comparison_row import ComparisonRow
from benchmarks.selectors.profile import Profile, ProfileRow, Share
from benchmarks.selectors.spectrum import NO_SPEED
from dashboard import figures, judging, state_words, wording
from dashboard.report.document import Entry, Line, Section, Table, line, plain_table

SYSTEMS = 200
LOSSES = 8
FLAGS = 60


def profile_section(found: Profile) -> Section:
    """Return each system's cost as one row: a component a column."""
    said = _(
        "The geometric mean of a system's ratios in one component, over the cases that "
        "all compared systems have, in the scenario single. Below it the 95 % interval "
        "over cases of this kind, or the range from the worst to the best case; the "
        "number of cases and runs; and the worst case."
    )
    notes = [said]
    shares = [share for row in found.rows for share in row.stated]
    if any(share.least_runs < 2 for share in shares):
        notes.append(
            _(
                "Where a single run stands behind a case, no interval is given: the "
                "range says how cases differ, not how sure the mean is."
            )
        )
    if len(found.rows) > SYSTEMS:
        notes.append(_("The first %(n)s systems are shown.") % {"n": SYSTEMS})
    if found.is_relative:
        notes.append(_("Ratios are to the campaign's reference system, not to native."))
    if not found.rows:
        notes.append(_("Nothing here has a ratio: there is no profile."))
    tables = (_profile_table(found),) if found.rows else ()
    return Section("profile", _("Overhead profile"), tuple(notes), tables)


def _profile_table(found: Profile) -> Table:
    names = [wording.component_name(name) for name in found.components]
    head = line(_("System"), *names)
    rows = tuple(_profile_line(row) for row in found.rows[:SYSTEMS])
    return Table("", (head,), rows, len(names) + 1)


def _profile_line(row: ProfileRow) -> Line:
    shares = (_share(share) for share in row.shares)
    return Line((Entry(system_name(row.column)), *shares))


def system_name(column: Column) -> str:
    """Return what a system is called in the profile."""
    facts = (wording.fact_in_brief(fact) for fact in column.facts if fact.value)
    return ", ".join([column.platform, *facts])


def _share(share: Share | None) -> Entry:
    if share is None:
        return Entry("", sub=_("no case in common"), is_number=True)
    return Entry(
        figures.ratio(share.mean),
        sub="\n".join(share_facts(share)),
        shade=figures.heat(share.mean),
        is_number=True,
    )


def share_facts(share: Share) -> Iterator[str]:
    """Say how sure a mean is, what it rests on, and where it is worst."""
    if share.low is not None and share.high is not None:
        bounds = figures.ratio(share.low), figures.ratio(share.high)
        yield _("95 %% %(low)s to %(high)s") % dict(
            zip(("low", "high"), bounds, strict=True)
        )
    if share.cases > 1:
        yield _("cases %(low)s to %(high)s") % {
            "low": figures.ratio(share.minimum),
            "high": figures.ratio(share.maximum),
        }
    cases = ngettext("%(n)s case", "%(n)s cases", share.cases) % {"n": share.cases}
    yield f"{cases}, {wording.runs_text(share.runs)}"
    if share.cases > 1:
        yield _("worst: %(case)s") % {"case": share.worst}
    if share.doubted:
        yield _("%(n)s doubted by a flag") % {"n": share.doubted}
    if share.apart:
        yield _("%(n)s with a baseline of another session") % {"n": share.apart}


def findings(rows: Sequence[ComparisonRow], tested: int) -> Section:
    """Return how many cells got which verdict, and the largest losses."""
    judged = [row.judgement for row in rows if row.judgement and row.ratio]
    if not judged:
        return Section("findings", _("Findings"), (_("No cell has a ratio yet."),))
    counts = Counter(judgement.verdict for judgement in judged)
    said = ", ".join(
        f"{judging.VERDICTS[name]} {counts[name]}" for name in judging.VERDICTS
    )
    verdicts = _("Of %(n)s cells with a ratio: %(counts)s.") % {
        "n": len(judged),
        "counts": said,
    }
    corrected = _(
        "Verdicts are corrected for %(tested)s cells that were tested together "
        "(Benjamini-Hochberg, 5 %%)."
    ) % {"tested": tested}
    ranked = sorted(
        (row for row in rows if _is_loss(row)), key=lambda row: row.ratio or 0
    )
    texts = (verdicts, corrected) if tested else (verdicts,)
    tables = (_losses(ranked[:LOSSES]),) if ranked else ()
    return Section("findings", _("Findings"), texts, tables)


def _is_loss(row: ComparisonRow) -> bool:
    ratio = row.ratio
    is_speed = row.unit not in NO_SPEED and row.scaling is None
    return is_speed and ratio is not None and ratio < 1


def _losses(rows: Iterable[ComparisonRow]) -> Table:
    head = (_("System"), _("Case"), _("Ratio"), _("What may be said"))
    lines = (
        (
            row.system,
            f"{row.tool_title}: {row.case} ({_circumstances(row)})",
            figures.ratio(row.ratio or 0),
            _words(row),
        )
        for row in rows
    )
    return plain_table(_("The largest losses"), head, lines, weights=(5, 6, 1, 2))


def _circumstances(row: ComparisonRow) -> str:
    scenario = wording.scenario_name(row.scenario)
    is_alone = row.scenario == "single" or not row.seat
    return scenario if is_alone else f"{scenario}, {wording.seat_text(row.seat)}"


def _words(row: ComparisonRow) -> str:
    if row.judgement is None:
        return ""
    interval = judging.interval_text(row.judgement)
    words = judging.verdict_words(row.judgement)
    return f"{interval}: {words}" if interval else words


def flags_section(flags: Sequence[Flag]) -> Section:
    """Return what was found doubtful, and what a person decided about it."""
    counts = Counter(flag.status for flag in flags)
    if not flags:
        return Section("flags", _("Flags"), (_("Nothing was found doubtful."),))
    said = ", ".join(
        f"{state_words.flag_status_name(name)} {counts[name]}"
        for name in Flag.Status.values
    )
    texts = [_("Flags by decision: %(counts)s.") % {"counts": said}]
    if len(flags) > FLAGS:
        texts.append(_("The first %(n)s are shown.") % {"n": FLAGS})
    head = (_("Rule"), _("Severity"), _("Finding"), _("Decision"))
    rows = (
        (
            flag.rule,
            state_words.severity_name(flag.severity),
            wording.said(flag.sentence),
            "; ".join(_decisions(flag)) or state_words.flag_status_name(flag.status),
        )
        for flag in flags[:FLAGS]
    )
    table = plain_table("", head, rows, weights=(3, 2, 10, 3))
    return Section("flags", _("Flags"), tuple(texts), (table,))


def _decisions(flag: Flag) -> Iterator[str]:
    for decision in flag.decisions.all():
        status = state_words.flag_status_name(decision.status)
        day = decision.at.date().isoformat()
        yield f"{status}, {decision.who}, {day}: {decision.note}"
