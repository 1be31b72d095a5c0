"""What may be said: verdicts, why there are none, the range of means, the losses."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby, islice
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from benchmarks.analysis.judgement import Judgement
from benchmarks.comparing.ordering import COMPONENTS, SCENARIOS, rank
from benchmarks.comparing.profile import NO_SPEED, Profile, Share
from benchmarks.comparing.row import ComparisonRow
from dashboard import wording
from dashboard.kit import figures
from dashboard.kit.document import Entry, Line, Section, Table, heading, plain_table
from dashboard.kit.profile import system_name
from dashboard.wording import verdicts

ALONE = "single"
LOSSES = 3
REASONS = 12

Names = Mapping[int, str]


def findings(
    rows: Sequence[ComparisonRow], found: Profile, tested: int, names: Names
) -> Section:
    """Return how many cells got which verdict, why others got none, and the losses.

    ``names`` are those of the systems, by their ids.
    """
    judged = [
        row.shown.judgement for row in rows if row.shown.judgement and row.shown.ratio
    ]
    if not judged:
        return Section("findings", _("Findings"), (_("No cell has a ratio yet."),))
    texts = (_counts(judged), *_correction(tested), *_ranges(found))
    tables = filter(None, (_refusals(judged), _losses(rows, names)))
    return Section("findings", _("Findings"), texts, tuple(tables))


def _counts(judged: Sequence[Judgement]) -> str:
    counts = Counter(judgement.verdict for judgement in judged)
    said = [
        f"{verdicts.VERDICTS[name]} {counts[name]}"
        for name in verdicts.VERDICTS
        if counts[name]
    ]
    words = {"n": len(judged), "counts": ", ".join(said)}
    return _("Of %(n)s cells with a ratio: %(counts)s.") % words


def _correction(tested: int) -> Iterator[str]:
    if tested:
        yield _(
            "Verdicts are corrected for %(tested)s cells that were tested together "
            "(Benjamini-Hochberg, 5 %%)."
        ) % {"tested": tested}


def _ranges(found: Profile) -> Iterator[str]:
    """Say of each component from which system to which its means reach."""
    for at, component in enumerate(found.components):
        means = [(row.shares[at], system_name(row.column)) for row in found.rows]
        stated = sorted((share.mean, name) for share, name in means if share)
        if len(stated) > 1:
            (low, lowest), (high, highest) = stated[0], stated[-1]
            words = {
                "component": wording.component_name(component),
                "low": figures.ratio(low),
                "lowest": lowest,
                "high": figures.ratio(high),
                "highest": highest,
            }
            reach = _(
                "%(component)s: the systems' means reach from %(low)s (%(lowest)s) to "
                "%(high)s (%(highest)s)."
            )
            doubt = _doubt(share for share, _name in means)
            yield f"{reach % words} {doubt}".rstrip()


def _doubt(shares: Iterable[Share | None]) -> str:
    """Say that some of the means rest on numbers that flags doubt."""
    doubted = sum(1 for share in shares if share and share.doubted)
    said = ngettext(
        "%(n)s of these means rests on numbers that flags doubt.",
        "%(n)s of these means rest on numbers that flags doubt.",
        doubted,
    )
    return said % {"n": doubted} if doubted else ""


def _refusals(judged: Iterable[Judgement]) -> Table | None:
    """Count the reasons against a verdict; a cell may have several."""
    reasons = Counter(
        wording.said(sentence)
        for judgement in judged
        if not judgement.is_assessed
        for sentence in judgement.sentences
    )
    if not reasons:
        return None
    rows = [(reason, str(count)) for reason, count in reasons.most_common(REASONS)]
    title = _("Why there is no verdict; a cell may have several reasons")
    head = (_("Reason"), _("Cells"))
    return plain_table(title, head, rows, numbers_from=1)


def _losses(rows: Sequence[ComparisonRow], names: Names) -> Table | None:
    """Return the largest losses of each component alone, and of each other scenario."""
    ranked = sorted(
        (row for row in rows if _is_loss(row)),
        key=lambda row: (_group_order(row), row.shown.ratio or 0),
    )
    lines = [
        each
        for _order, members in groupby(ranked, key=_group_order)
        for each in _loss_lines(list(members), names)
    ]
    if not lines:
        return None
    words = _("System"), _("Case"), _("Ratio"), _("What may be said")
    head = Line(tuple(Entry(word, is_number=at == 2) for at, word in enumerate(words)))
    title = _("The largest losses, %(n)s of each component or scenario")
    weights = (5, 6, 1, 3)
    return Table(title % {"n": LOSSES}, (head,), tuple(lines), 4, weights=weights)


def _is_loss(row: ComparisonRow) -> bool:
    ratio = row.shown.ratio
    is_speed = row.shown.unit not in NO_SPEED and row.shown.scaling is None
    return is_speed and ratio is not None and ratio < 1


def _group_order(row: ComparisonRow) -> tuple[Any, ...]:
    component = row.case.component if row.scenario == ALONE else ""
    return rank(SCENARIOS, row.scenario), rank(COMPONENTS, component)


def _loss_lines(members: Sequence[ComparisonRow], names: Names) -> Iterator[Line]:
    """Name the group and its worst cases; of VMs that ran together the worst one."""
    first = members[0]
    scenario = wording.scenario_name(first.scenario)
    component = wording.component_name(first.case.component)
    yield heading(component if first.scenario == ALONE else scenario, 4)
    worst: dict[tuple[Any, ...], ComparisonRow] = {}
    for row in members:
        worst.setdefault((row.system.id, row.case.id, row.vms, row.load), row)
    for row in islice(worst.values(), LOSSES):
        yield _loss(row, names)


def _loss(row: ComparisonRow, names: Names) -> Line:
    circumstances = f" ({wording.slot_text(row.slot)})" if _has_slot(row) else ""
    case = f"{row.case.tool_title}: {row.case.label}{circumstances}"
    ratio = figures.ratio(row.shown.ratio or 0)
    texts = map(Entry, (names[row.system.id], case))
    return Line((*texts, Entry(ratio, is_number=True), Entry(_words(row))))


def _has_slot(row: ComparisonRow) -> bool:
    return row.scenario != ALONE and bool(row.slot)


def _words(row: ComparisonRow) -> str:
    if row.shown.judgement is None:
        return ""
    interval = verdicts.interval_text(row.shown.judgement)
    words = verdicts.verdict_words(row.shown.judgement)
    doubt = _("doubted by a flag") if verdicts.is_flagged(row.shown.judgement) else ""
    said = "; ".join(filter(None, (words, doubt)))
    return f"{interval}: {said}" if interval else said
