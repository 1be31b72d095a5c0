"""The card of one cell of the compare page."""

from collections.abc import Iterable, Mapping
from typing import Any

from django.http import Http404
from django.utils.translation import gettext as _

from benchmarks.comparing.row import ComparisonRow
from benchmarks.comparing.rows import Reference, comparison_rows
from benchmarks.comparing.verdicts import study_verdicts
from benchmarks.models import Cell, Efficiency, Study, System
from benchmarks.power.energy_per_work import cell_energies, energy_row
from benchmarks.studies.flags import visible_flags
from benchmarks.studies.lists import measured_systems
from benchmarks.viewer import Viewer
from dashboard import wording
from dashboard.kit.addresses import id_in
from dashboard.kit.selections import ENERGY, shown
from dashboard.kit.table_cells import (
    baseline_figure,
    full_figure,
    interval_bar,
    reach,
)
from dashboard.wording import states, verdicts
from dashboard.wording.verdicts import VALUE

CAREFUL = {"amber", "red"}


def cell_card(viewer: Viewer, study: Study, query: Mapping[str, str]) -> dict[str, Any]:
    """Return the card of a study's cell, against native or a chosen system."""
    cell_id, show = id_in(query.get("cell", "")), shown(query)
    cell = Cell.objects.filter(pk=cell_id, study=study).first()
    if cell is None:
        raise Http404("There is no such cell.")
    systems = measured_systems(study).in_bulk()
    system = systems[cell.system_id]
    chosen = systems.get(id_in(query.get("baseline", "")))
    row = _row(study, systems.values(), cell_id, chosen, show)
    baseline = chosen
    if baseline is None and (baseline_id := row.shown.baseline_system_id):
        # The machine may have been measured natively in another study of the lab.
        hosted = System.objects.select_related("host")
        baseline = systems.get(baseline_id) or hosted.get(pk=baseline_id)

    judged, ratio = row.shown.judgement, verdicts.ratio_text(row, show)
    interval = verdicts.shown_interval(row, show)
    sides = filter(None, (system, baseline))
    names = wording.system_names([*systems.values(), *sides])
    lines = _sides(row, names[system.pk], names[baseline.pk] if baseline else "")
    main, meaning = ratio, _meaning(row, show) if ratio else ""
    if show == VALUE and full_figure(row):
        main, meaning = full_figure(row), _("measured value")
        if ratio:
            lines[_("Ratio")] = f"{ratio} ({interval})" if interval else ratio
        interval = ""

    extremes = verdicts.ratio_range_text(row, show)
    told = ratio or extremes
    if extremes and show != VALUE:
        main, meaning = extremes, _meaning(row, show)
    lack = ""
    if not ratio:
        state = row.shown.full_state
        why = wording.said(row.shown.reason) or states.state_meaning(state)
        lack = f"{states.state_name(state)}: {why}".rstrip(": ")
    bar, margin = None, study.equivalence_margin_percent / 100
    if drawn := verdicts.drawn_judgement(row):
        is_lost = verdicts.is_overhead(row, show)
        # An axis of its own: no bar of another cell stands beside it.
        bar = interval_bar(drawn, margin, reach([drawn], margin), is_overhead=is_lost)
    doubted = [cell_id, *_baseline_cells(study, row, chosen)]
    return {
        "row": row,
        "lines": tuple(lines.items()),
        "main": main,
        "meaning": meaning,
        "interval": interval,
        "sign": verdicts.verdict_sign(judged.verdict) if judged and told else "",
        "verdict": verdicts.scoped_verdict(judged) if judged and told else "",
        "reasons": _reasons(row) if told else (),
        "lack": lack,
        "bar": bar,
        "flags": tuple(visible_flags(viewer, cells__in=doubted).distinct()),
    }


def _row(
    study: Study,
    systems: Iterable[System],
    cell_id: int,
    chosen: System | None,
    show: str,
) -> ComparisonRow:
    is_energy = show == ENERGY
    (row,) = comparison_rows(
        study,
        systems=systems,
        filters={"pk": cell_id},
        reference=Reference.of(study, chosen) if chosen else None,
        verdicts=None if is_energy else study_verdicts(study, chosen),
    )
    if not is_energy:
        return row
    return energy_row(row, cell_energies(study, chosen).get(cell_id))


def _sides(row: ComparisonRow, system_name: str, baseline_name: str) -> dict[str, str]:
    sides = {}
    if figure := full_figure(row):
        runs = wording.runs_text(row.shown.n)
        sides[system_name] = f"{figure}, {runs}"
    if baseline_name and row.shown.baseline_value is not None:
        name = _("against %(name)s") % {"name": baseline_name}
        runs = wording.runs_text(row.shown.baseline_n or 0)
        sides[name] = f"{baseline_figure(row)}, {runs}"
    if meter := verdicts.meter_text(row):
        sides[_("Metered")] = meter
    return sides


def _meaning(row: ComparisonRow, show: str) -> str:
    if meaning := verdicts.ratio_meaning(show):
        return meaning
    return {
        "scaling": _("times one machine alone"),
        "slowdown": _("of this system alone"),
        "efficiency": _("of native"),
    }.get(row.shown.kind, _("of the reference"))


def _reasons(row: ComparisonRow) -> tuple[str, ...]:
    judged, shown = row.shown.judgement, row.shown
    # What is said beside a green light is what the table's columns say.
    care = [wording.said(shown.light_sentence)] if shown.light in CAREFUL else []
    if judged is None:
        reason = shown.reason if shown.energy else ""
        return tuple(filter(None, [wording.said(reason), *care]))
    advice = [wording.said(judged.advice)] if judged.advice else []
    return (*verdicts.reasons(row), *care, *advice)


def _baseline_cells(
    study: Study, row: ComparisonRow, chosen: System | None
) -> list[int]:
    """Return the cell on the other side of the ratio, whose flags count as well."""
    if chosen is None:
        paired = Efficiency.objects.filter(cell=row.id, baseline__isnull=False)
        return list(paired.values_list("baseline_id", flat=True))
    same = {
        "case_id": row.case.id,
        "scenario": row.scenario,
        "vms": row.vms,
        "slot": row.slot,
        "load": row.load,
    }
    cells = Cell.objects.filter(study=study, system=chosen, **same)
    return list(cells.values_list("pk", flat=True))
