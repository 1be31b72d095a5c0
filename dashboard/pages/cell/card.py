"""The card of one cell: all that stands behind its number, in short."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from django.http import Http404
from django.utils.translation import gettext as _

from benchmarks.comparing.row import ComparisonRow
from benchmarks.comparing.rows import Reference, comparison_rows
from benchmarks.comparing.verdicts import study_verdicts
from benchmarks.models import Cell, Efficiency, Flag, Study, System
from benchmarks.power.energy_per_work import cell_energies, energy_row
from benchmarks.studies.flags import visible_flags
from benchmarks.viewer import Viewer
from dashboard import wording
from dashboard.kit.selections import ENERGY, shown
from dashboard.kit.table_cells import (
    IntervalBar,
    baseline_figure,
    full_figure,
    interval_bar,
    reach,
)
from dashboard.wording import states, verdicts
from dashboard.wording.energy import meter_text
from dashboard.wording.verdicts import (
    VALUE,
    drawn_judgement,
    is_overhead,
    ratio_meaning,
    ratio_text,
    shown_interval,
)


@dataclass(frozen=True)
class CardWords:
    """What a card says; ``main`` is large and empty where there is no ratio.

    ``lines`` are names and figures: both sides, and what else stands beside ``main``.
    ``lack`` says why there is no ratio.
    """

    lines: tuple[tuple[str, str], ...]
    main: str
    meaning: str
    interval: str
    sign: str
    verdict: str
    reasons: tuple[str, ...]
    lack: str


def card_words(
    row: ComparisonRow, system: System, baseline: System | None, show: str
) -> CardWords:
    """Return the card of a cell, whose cells show efficiency, overhead or energy."""
    said, ratio = row.shown.judgement, ratio_text(row, show)
    lines, interval = [*_sides(row, system, baseline)], shown_interval(row, show)
    is_value = show == VALUE and bool(full_figure(row))
    if is_value and ratio:
        lines.append((_("Ratio"), " ".join(filter(None, [ratio, _between(interval)]))))
    return CardWords(
        lines=tuple(lines),
        main=full_figure(row) if is_value else ratio,
        meaning=_meaning(row, show) if ratio or is_value else "",
        interval="" if is_value else interval,
        sign=verdicts.verdict_sign(said.verdict) if said and ratio else "",
        verdict=verdicts.verdict_words(said) if said and ratio else "",
        reasons=tuple(_reasons(row)) if ratio else (),
        lack="" if ratio else _lack(row),
    )


def _meaning(row: ComparisonRow, show: str) -> str:
    if show == VALUE:
        return _("measured value")
    is_energy = row.shown.is_energy
    return ratio_meaning(show, is_energy=is_energy) or _against_what(row)


def _against_what(row: ComparisonRow) -> str:
    if row.shown.scaling is not None:
        return _("times one machine alone")
    return _("of native") if row.shown.efficiency is not None else _("of the reference")


def _between(interval: str) -> str:
    return f"({interval})" if interval else ""


def _sides(
    row: ComparisonRow, system: System, baseline: System | None
) -> Iterator[tuple[str, str]]:
    figure = full_figure(row)
    if figure:
        yield wording.system_name(system), f"{figure}, {wording.runs_text(row.shown.n)}"
    if baseline is not None and row.shown.baseline_value is not None:
        name = _("against %(name)s") % {"name": wording.system_name(baseline)}
        yield (
            name,
            f"{baseline_figure(row)}, {wording.runs_text(row.shown.baseline_n or 0)}",
        )
    if meter := meter_text(row):
        yield _("Metered"), meter


def _reasons(row: ComparisonRow) -> Iterator[str]:
    """Yield what decided, or what stands against a verdict or an interval."""
    if row.shown.judgement:
        yield from verdicts.reasons(row)
        if row.shown.judgement.advice:
            yield wording.said(row.shown.judgement.advice)
    elif row.shown.is_energy and row.shown.reason:
        yield wording.said(row.shown.reason)


def _lack(row: ComparisonRow) -> str:
    state = row.shown.full_state
    why = wording.said(row.shown.reason) or states.state_meaning(state)
    return f"{states.state_name(state)}: {why}".rstrip(": ")


LONGEST_ID = 18


@dataclass(frozen=True)
class CellCard:
    """A cell against its baseline, with the bar of its interval and its flags."""

    row: ComparisonRow
    words: CardWords
    bar: IntervalBar | None
    flags: tuple[Flag, ...]


def cell_card(viewer: Viewer, study: Study, query: Mapping[str, str]) -> CellCard:
    """Return the card of a study's cell, against native or a chosen system."""
    cell_id = _number(query.get("cell", ""))
    systems = System.objects.select_related("host")
    system = systems.filter(cells__pk=cell_id, cells__study=study).first()
    if system is None:
        raise Http404("There is no such cell.")
    chosen = systems.filter(
        cells__study=study, pk=_number(query.get("baseline", "-1"))
    ).first()
    show = shown(query)
    row = _row(study, system, cell_id, chosen, show)
    doubted = [cell_id, *_baseline_cells(study, row, chosen)]
    baseline = chosen or systems.filter(pk=row.shown.baseline_system_id or -1).first()
    return CellCard(
        row=row,
        words=card_words(row, system, baseline, show),
        bar=_bar(row, study.equivalence_margin_percent / 100, show),
        flags=tuple(visible_flags(viewer, cells__in=doubted).distinct()),
    )


def _bar(row: ComparisonRow, margin: float, show: str) -> IntervalBar | None:
    said = drawn_judgement(row)
    if said is None:
        return None
    is_lost = is_overhead(row, show)
    return interval_bar(said, margin, reach([said], margin), is_overhead=is_lost)


def _row(
    study: Study, system: System, cell_id: int, chosen: System | None, show: str
) -> ComparisonRow:
    """Return the cell as the table has it: its speed judged, or its energy."""
    is_energy = show == ENERGY
    (row,) = comparison_rows(
        study,
        systems=[system],
        filters={"pk": cell_id},
        reference=Reference.of(study, chosen) if chosen else None,
        verdicts=None if is_energy else study_verdicts(study, chosen),
    )
    if not is_energy:
        return row
    return energy_row(row, cell_energies(study, chosen).get(cell_id))


def _baseline_cells(
    study: Study, row: ComparisonRow, chosen: System | None
) -> list[int]:
    """Return the cell on the other side of the ratio, whose flags count as well."""
    if chosen is None:
        found = Efficiency.objects.filter(cell=row.id, baseline__isnull=False)
        return list(found.values_list("baseline_id", flat=True))
    same = {
        "case_id": row.case.id,
        "scenario": row.scenario,
        "vms": row.vms,
        "slot": row.slot,
        "load": row.load,
    }
    cells = Cell.objects.filter(study=study, system=chosen, **same)
    return list(cells.values_list("pk", flat=True))


def _number(text: str) -> int:
    """Return an id; -1, which nothing has, for any other text."""
    is_number = text.isascii() and text.isdigit() and len(text) <= LONGEST_ID
    return int(text) if is_number else -1
