"""The card that the compare page shows for one cell."""

from collections.abc import Iterable, Mapping
from typing import Any

from django.http import Http404
from django.utils.translation import gettext as _

from benchmarks.comparison.comparison_row import ComparisonRow
from benchmarks.comparison.row_queries import ReferenceCells, comparison_rows
from benchmarks.comparison.study_verdicts import study_verdicts
from benchmarks.models import Cell, Efficiency, Study, System
from benchmarks.power.energy_per_work import cell_energies, energy_row
from benchmarks.studies.flags import visible_flags
from benchmarks.studies.overview import measured_systems
from benchmarks.viewer import Viewer
from dashboard import wording
from dashboard.kit.comparison_form import ENERGY, read_quantity
from dashboard.kit.table_cells import (
    bar_axis_limit,
    baseline_value_text,
    failed_text,
    full_value_text,
    interval_bar,
)
from dashboard.kit.url_parts import parse_id
from dashboard.wording import machine_models, state_names, verdicts
from dashboard.wording.verdicts import MEASURED_VALUE

CAUTION_RATINGS = {"limited", "none"}


def cell_card(viewer: Viewer, study: Study, query: Mapping[str, str]) -> dict[str, Any]:
    cell_id, show = parse_id(query.get("cell", "")), read_quantity(query)
    cell = Cell.objects.filter(pk=cell_id, study=study).first()
    if cell is None:
        raise Http404("Result not found.")
    systems = measured_systems(study).in_bulk()
    system = systems[cell.system_id]
    chosen_baseline = systems.get(parse_id(query.get("baseline", "")))
    row = _row(study, systems.values(), cell_id, chosen_baseline, show)
    baseline = chosen_baseline
    if baseline is None and (baseline_id := row.result.baseline_system_id):
        # The machine may have been measured natively in another study of the lab.
        hosted = System.objects.select_related("host")
        baseline = systems.get(baseline_id) or hosted.get(pk=baseline_id)

    ratio = verdicts.ratio_text(row, show)
    interval = verdicts.displayed_interval(row, show)
    shown_systems = filter(None, (system, baseline))
    names = wording.system_names([*systems.values(), *shown_systems])
    lines = _sides(row, names[system.pk], names[baseline.pk] if baseline else "")
    main, meaning = ratio, _meaning(row, show) if ratio else ""
    if show == MEASURED_VALUE and full_value_text(row):
        main, meaning = full_value_text(row), _("measured value")
        if ratio:
            lines[_("Ratio")] = f"{ratio} ({interval})" if interval else ratio
        interval = ""

    extremes = verdicts.ratio_range_text(row, show)
    summary = ratio or extremes
    assessment = row.result.assessment if summary else None
    if extremes and show != MEASURED_VALUE:
        main, meaning = extremes, _meaning(row, show)
    missing_reason = ""
    if not ratio:
        state = row.result.display_state
        why = wording.translate_text(row.result.reason) or state_names.state_meaning(
            state
        )
        missing_reason = f"{state_names.state_name(state)}: {why}".rstrip(": ")
    bar, margin = None, study.equivalence_margin_percent / 100
    if charted := verdicts.charted_assessment(row):
        is_overhead = verdicts.is_overhead(row, show)
        # The axis fits only this bar, because no other bars are next to it.
        bar = interval_bar(
            charted, margin, bar_axis_limit([charted], margin), is_overhead=is_overhead
        )
    flagged_cell_ids = [cell_id, *_baseline_cells(study, row, chosen_baseline)]
    flags = visible_flags(viewer, cells__in=flagged_cell_ids).distinct()
    named = " ".join(assessment.sentences) if assessment else ""
    return {
        "row": row,
        "lines": tuple(lines.items()),
        "main": main,
        "meaning": meaning,
        "interval": interval,
        "sign": verdicts.verdict_sign(assessment.verdict) if assessment else "",
        "verdict": verdicts.verdict_with_scope(assessment) if assessment else "",
        "reasons": _reasons(row, cell) if summary else [],
        "missing_reason": missing_reason,
        "failed": failed_text(row) if row.result.n else "",
        "bar": bar,
        "flags": [flag for flag in flags if flag.message not in named],
    }


def _row(
    study: Study,
    systems: Iterable[System],
    cell_id: int,
    chosen_baseline: System | None,
    show: str,
) -> ComparisonRow:
    is_energy = show == ENERGY
    (row,) = comparison_rows(
        study,
        systems=systems,
        filters={"pk": cell_id},
        reference=ReferenceCells.load(study, chosen_baseline)
        if chosen_baseline
        else None,
        verdicts=None if is_energy else study_verdicts(study, chosen_baseline),
        includes_failed=True,
    )
    if not is_energy:
        return row
    return energy_row(row, cell_energies(study, chosen_baseline).get(cell_id))


def _sides(row: ComparisonRow, system_name: str, baseline_name: str) -> dict[str, str]:
    lines = {}
    if figure := full_value_text(row):
        runs = wording.runs_text(row.result.n)
        lines[system_name] = f"{figure}, {runs}"
    if baseline_name and row.result.baseline_value is not None:
        name = _("Baseline: %(name)s") % {"name": baseline_name}
        runs = wording.runs_text(row.result.baseline_n or 0)
        lines[name] = f"{baseline_value_text(row)}, {runs}"
    if meter := verdicts.meter_text(row):
        lines[_("Covered by the meter")] = meter
    return lines


def _meaning(row: ComparisonRow, show: str) -> str:
    if meaning := verdicts.ratio_meaning(show):
        return meaning
    return {
        "scaling": _("times the performance of one machine alone"),
        "slowdown": _("of the performance of one VM alone on this system"),
        "efficiency": _("of native performance"),
    }.get(row.result.ratio_kind, _("of the reference system's performance"))


def _reasons(row: ComparisonRow, cell: Cell) -> list[str]:
    assessment, result = row.result.assessment, row.result
    # If the systems are comparable, the table's columns already show the differences.
    caution = (
        [wording.translate_text(result.comparability_reason)]
        if result.comparability in CAUTION_RATINGS
        else []
    )
    if assessment is None:
        reason = result.reason if result.energy else ""
        texts = [wording.translate_text(reason), *caution]
    else:
        advice = wording.translate_text(assessment.advice)
        texts = [*verdicts.verdict_reasons(row), *caution, advice]
    return [*filter(None, [*texts, machine_models.model_text(row, cell)])]


def _baseline_cells(
    study: Study, row: ComparisonRow, chosen_baseline: System | None
) -> list[int]:
    """Return the ID of the baseline cell, if any. The card shows its flags, too."""
    if chosen_baseline is None:
        paired = Efficiency.objects.filter(cell=row.id, baseline__isnull=False)
        return list(paired.values_list("baseline_id", flat=True))
    circumstances = {
        "case_id": row.case.id,
        "scenario": row.scenario,
        "vms": row.vms,
        "slot": row.slot,
        "load": row.load,
    }
    cells = Cell.objects.filter(study=study, system=chosen_baseline, **circumstances)
    return list(cells.values_list("pk", flat=True))
