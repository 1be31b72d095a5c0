"""Set cells against their baselines and store the efficiency with the baseline used."""

from collections.abc import Sequence
from typing import Any, cast

from django.db.models import Q, QuerySet

from benchmarks import tools
from benchmarks.analysis.baselines import CellFacts, choose_baseline
from benchmarks.fingerprints import canonical_parameters
from benchmarks.models import Cell, Efficiency, Study
from benchmarks.sentences import Sentence, joined

State = Efficiency.State
SUM = "sum"
KEPT = ("baseline_id", "state", "ratio", "baseline_mean", "baseline_n", "reason")


def normalise_study(study: Study) -> None:
    """Set every cell of a study against its baseline again."""
    normalise(list(study.cells.all()))


def normalise(touched: Sequence[Cell]) -> None:
    """Recompute the efficiency of these cells and of all that lean on them."""
    ids = {cell.pk for cell in touched}
    changed = _related(Cell.objects.filter(pk__in=ids))
    leant_on = {group for cell in changed for group in _groups_carried(cell)}
    by_case: dict[int, list[Cell]] = {}
    for cell in _cells_around(changed):
        by_case.setdefault(cell.case_id, []).append(cell)
    made = []
    for cells in by_case.values():
        natives = [facts_of(cell) for cell in cells if cell.system.is_native]
        made += [
            _efficiency_of(cell, cells, natives)
            for cell in cells
            if cell.pk in ids or leant_on & {_partners_group(cell), _study_group(cell)}
        ]
    _store(made)


def _related(cells: QuerySet[Cell]) -> list[Cell]:
    related = cells.select_related("system__host", "study", "case", "session")
    return list(related.order_by("pk"))


def _cells_around(changed: Sequence[Cell]) -> list[Cell]:
    """Return all cells that can be a baseline of these, or lean on one of them."""
    near = Q(system__host__in={cell.system.host_id for cell in changed})
    near |= Q(study__in={cell.study_id for cell in changed})
    cells = Cell.objects.filter(
        near,
        lab__in={cell.lab_id for cell in changed},
        case__in={cell.case_id for cell in changed},
        n__gt=0,
    )
    return _related(cells)


def _partners_group(cell: Cell) -> tuple[Any, ...]:
    system = cell.system
    partners = (system.host_id, system.guest_os.casefold(), system.guest_bits)
    return ("native", cell.lab_id, cell.case_id, *partners)


def _study_group(cell: Cell) -> tuple[Any, ...]:
    return ("reference", cell.study_id, cell.case_id)


def _groups_carried(cell: Cell) -> set[tuple[Any, ...]]:
    """Return the groups of cells for which this one is, or may be, the baseline."""
    groups = set()
    if cell.system.is_native:
        groups.add(_partners_group(cell))
    if cell.system_id == cell.study.reference_system_id:
        groups.add(_study_group(cell))
    return groups


def _efficiency_of(
    cell: Cell, same_case: Sequence[Cell], natives: Sequence[CellFacts]
) -> Efficiency:
    """Return the cell's unsaved efficiency, given all cells of its case around it."""
    study = cell.study
    choice = choose_baseline(
        facts_of(cell),
        natives,
        equivalence_margin_percent=study.equivalence_margin_percent,
        max_age_days=study.baseline_max_age_days,
    )
    if choice.state == "missing" and study.reference_system_id:
        return _relative(cell, same_case, choice.reason)
    baseline = next((other for other in same_case if other.pk == choice.chosen), None)
    return _against(cell, baseline, choice.state, choice.reason)


def _relative(cell: Cell, same_case: Sequence[Cell], reason: str) -> Efficiency:
    """Set a cell against the reference system of a study without native runs."""
    reference = cell.study.reference_system_id
    if cell.system_id == reference:
        return _against(cell, None, State.REFERENCE, "")
    wanted = (cell.study_id, reference, *_circumstances(cell))
    for other in same_case:
        if wanted == (other.study_id, other.system_id, *_circumstances(other)):
            return _against(cell, other, State.RELATIVE, "")
    return _against(
        cell,
        None,
        State.MISSING,
        _nor_the_reference(reason),
    )


def _nor_the_reference(reason: str) -> str:
    return joined([reason, Sentence("Nor has the reference system this case.")])


def _circumstances(cell: Cell) -> tuple[Any, ...]:
    return (cell.scenario, cell.vms, cell.slot, cell.load)


def _against(cell: Cell, baseline: Cell | None, state: str, reason: str) -> Efficiency:
    made = Efficiency(cell=cell, lab_id=cell.lab_id, state=state, reason=reason)
    if cell.case.better == "neither":
        made.state, made.reason = State.UNDIRECTED, ""
    elif baseline is not None:
        made.baseline = baseline
        made.baseline_mean, made.baseline_n = baseline.mean, baseline.n
        made.ratio, problem = cell.ratio_to(baseline)
        made.reason = problem or reason
        if cell.slot == SUM != baseline.slot and made.ratio is not None:
            made.state = State.SCALING
    return made


def _store(made: Sequence[Efficiency]) -> None:
    """Write those that differ from what is stored: twice changes nothing."""
    stored = Efficiency.objects.in_bulk([each.cell_id for each in made])
    changed = [each for each in made if _differs(each, stored.get(each.cell_id))]
    Efficiency.objects.bulk_create(
        changed,
        update_conflicts=True,
        unique_fields=["cell"],
        update_fields=[name.removesuffix("_id") for name in KEPT],
    )


def _differs(made: Efficiency, stored: Efficiency | None) -> bool:
    return stored is None or any(
        getattr(made, name) != getattr(stored, name) for name in KEPT
    )


def facts_of(cell: Cell) -> CellFacts:
    """Return what the choice of a baseline looks at."""
    system = cell.system
    return CellFacts(
        id=cell.pk,
        study_id=cell.study_id,
        host=system.host.slug,
        guest_os=system.guest_os,
        guest_bits=system.guest_bits,
        case_id=cell.case_id,
        scenario=cell.scenario,
        is_native=system.is_native,
        options=canonical_parameters(system.options),
        vcpus=system.vcpus,
        memory_bytes=system.memory_bytes,
        mean=cast(float, cell.mean),  # cells without runs are not asked for
        n=cell.n,
        session=cell.session.name if cell.session else None,
        first_at=cell.first_at,
        last_at=cell.last_at,
        slot=cell.slot,
        vms=cell.vms,
        load=cell.load,
        setting=cell.setting,
        case_label=f"{tools.get(cell.case.tool).title} {cell.case.label}",
        study=cell.study.slug,
    )
