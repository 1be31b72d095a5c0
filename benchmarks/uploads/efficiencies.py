"""Set cells against their baselines and store the efficiency with the baseline used."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, cast

from django.contrib.postgres.expressions import ArraySubquery
from django.db import connection, transaction
from django.db.models import OuterRef, Q, QuerySet

from benchmarks.analysis.baselines import (
    PATHS,
    CellConditions,
    choose_baseline,
    place_of,
    wanted_place,
)
from benchmarks.analysis.near import MeasuredCase, nearest
from benchmarks.analysis.sessions import is_named
from benchmarks.fingerprints import canonical_parameters
from benchmarks.models import (
    Cell,
    CellSession,
    DueCheck,
    Efficiency,
    OutboxItem,
    Run,
    Study,
)
from benchmarks.models.study import EFFICIENCY_RULES
from benchmarks.own_tools.lookup import known_tool
from benchmarks.parsing.speedless import Extremes, no_speed
from benchmarks.platforms import NATIVE
from benchmarks.sentences import Sentence, joined
from benchmarks.tools import TOOLS

State = Efficiency.State
SUM = "sum"
# States of cells without a partner: the reason names the nearest native case.
UNPAIRED = (State.MISSING, State.OTHER_PARAMETERS, State.UNIT_MISMATCH)
# The native cases of a lab by tool and place.
NativeCases = Mapping[tuple[Any, ...], Mapping[int, MeasuredCase]]
# The scenario in which nothing else runs.
ALONE = "single"
# As `analysis.baselines` says it: known on both sides, and none is the same.
MISJUDGED = f"""
    WITH known AS (
        SELECT sitting.cell_id, array_agg(sitting.session_id) AS ids
        FROM {CellSession._meta.db_table} AS sitting
        JOIN {Cell._meta.db_table} AS cell ON cell.id = sitting.cell_id
        WHERE cell.study_id = %(study)s
        GROUP BY sitting.cell_id
        HAVING bool_and(sitting.session_id IS NOT NULL)
    )
    SELECT against.cell_id
    FROM {Efficiency._meta.db_table} AS against
    JOIN {Cell._meta.db_table} AS cell ON cell.id = against.cell_id
    JOIN {Cell._meta.db_table} AS baseline
      ON baseline.id = against.baseline_id AND baseline.study_id = cell.study_id
    LEFT JOIN known AS own ON own.cell_id = cell.id
    LEFT JOIN known AS other ON other.cell_id = baseline.id
    WHERE cell.study_id = %(study)s
      AND against.state IN ('paired', 'other_session')
      AND (against.state = 'paired')
          = COALESCE(NOT own.ids && other.ids, false)
"""
KEPT = ("baseline_id", "state", "ratio", "baseline_mean", "baseline_n", "reason")


def normalise_study(study: Study) -> None:
    """Set every cell of a study against its baseline again."""
    normalise(list(study.cells.all()))


def renew_efficiencies() -> int:
    """Set the cells of studies of older rules against others anew; return how many.

    Their flags rest on efficiencies: they are looked at once more as well. What data
    cost in CPU time is made of their uploads, which are processed again for it.
    """
    older = Study.objects.filter(efficiency_rules__lt=EFFICIENCY_RULES)
    ids = list(older.order_by("pk").values_list("pk", flat=True))
    for study_id in ids:
        # One by one: a large study takes seconds, and what is done stays done.
        with transaction.atomic():
            study = Study.objects.select_for_update(no_key=True).get(pk=study_id)
            normalise_study(study)
            study.efficiency_rules = EFFICIENCY_RULES
            study.save(update_fields=["efficiency_rules"])
            DueCheck.objects.create(study=study)
            _read_again(study)
    return len(ids)


def cells_misjudged(study: Study) -> list[Cell]:
    """Return the cells whose state contradicts the sessions of their two sides.

    The efficiency was made when a run was processed, its session derived afterwards.
    """
    with connection.cursor() as cursor:
        cursor.execute(MISJUDGED, {"study": study.pk})
        ids = [pk for (pk,) in cursor.fetchall()]
    return list(Cell.objects.filter(pk__in=ids).order_by("pk"))


def _read_again(study: Study) -> None:
    """Have the uploads processed once more that say what data cost in CPU time."""
    with_costs = [tool.slug for tool in TOOLS.values() if tool.costs]
    uploads = Run.objects.filter(
        study=study, tool__in=with_costs, source=None, status=Run.Status.PARSED
    )
    OutboxItem.objects.bulk_create(
        (OutboxItem(run=run, lab_id=study.lab_id) for run in uploads.only("pk")),
        ignore_conflicts=True,
    )


def normalise(touched: Sequence[Cell]) -> None:
    """Recompute the efficiency of these cells and of all that lean on them."""
    ids = {cell.pk for cell in touched}
    ids |= _looking_for_near_ones(ids)
    changed = _related(Cell.objects.filter(pk__in=ids))
    # For these groups of cells a changed one is, or may be, the baseline.
    leant_on = (
        {_partners(cell) for cell in changed if cell.system.is_native}
        | {
            _study_case(cell)
            for cell in changed
            if cell.system_id == cell.study.reference_system_id
        }
        | {_same_system(cell) for cell in changed if cell.scenario == ALONE}
    )
    # All that can be a baseline of the changed ones, or lean on one of them.
    near = Q(system__host__in={cell.system.host_id for cell in changed})
    near |= Q(study__in={cell.study_id for cell in changed})
    around = Cell.objects.filter(
        near,
        lab__in={cell.lab_id for cell in changed},
        case__in={cell.case_id for cell in changed},
        # A cell that has lost its runs is nobody's baseline any more.
        n__gt=0,
    )
    by_case: dict[int, list[Cell]] = {}
    for cell in _related(around):
        by_case.setdefault(cell.case_id, []).append(cell)
    efficiencies = []
    for cells in by_case.values():
        natives = [_conditions_of(cell) for cell in cells if cell.system.is_native]
        efficiencies += [
            _efficiency_of(cell, cells, natives)
            for cell in cells
            if cell.pk in ids
            or leant_on & {_partners(cell), _study_case(cell), _same_system(cell)}
        ]
    # Slots lack the same system alone, not a native partner.
    missing = [each for each in efficiencies if each.state == State.MISSING]
    _name_near_cases([each for each in missing if not _is_slot(each.cell)])
    # Only those that differ are written: twice changes nothing.
    stored = Efficiency.objects.in_bulk([row.cell_id for row in efficiencies])
    Efficiency.objects.bulk_create(
        [row for row in efficiencies if _kept(row) != _kept(stored.get(row.cell_id))],
        update_conflicts=True,
        unique_fields=["cell"],
        update_fields=[name.removesuffix("_id") for name in KEPT],
    )


def _looking_for_near_ones(ids: set[int]) -> set[int]:
    """Return the cells without a partner to which a new native case may be near.

    Or to which one was that has lost its runs: it has no efficiency any more, so that
    it is new again once it has some.
    """
    Efficiency.objects.filter(cell__in=ids, cell__n=0).delete()
    new = Cell.objects.filter(pk__in=ids, efficiency=None)
    places = new.filter(system__hypervisor=NATIVE).values_list(
        "lab_id", "system__host_id", "case__tool"
    )
    found: set[int] = set()
    for lab, host, tool in set(places):
        unpaired = Efficiency.objects.filter(
            state__in=UNPAIRED,
            lab=lab,
            cell__system__host=host,
            cell__case__tool=tool,
            cell__n__gt=0,
        )
        found.update(unpaired.values_list("cell_id", flat=True))
    return found


def _name_near_cases(missing: Sequence[Efficiency]) -> None:
    """Say of cells without a native partner which near case was measured natively."""
    if not missing:
        return
    natives = _native_cases([efficiency.cell for efficiency in missing])
    for efficiency in missing:
        cell = efficiency.cell
        place = wanted_place(_conditions_of(cell))
        near_ones = natives.get((cell.lab_id, cell.case.tool, *place), {})
        near = nearest(cell.case.measured, near_ones.values())
        if near is not None:
            efficiency.state, efficiency.reason = near.kind, near.sentence()


def _native_cases(cells: Sequence[Cell]) -> NativeCases:
    natives = Cell.objects.filter(
        lab__in={cell.lab_id for cell in cells},
        system__host__in={cell.system.host_id for cell in cells},
        system__hypervisor=NATIVE,
        case__tool__in={cell.case.tool for cell in cells},
        n__gt=0,
    )
    cases: dict[tuple[Any, ...], dict[int, MeasuredCase]] = defaultdict(dict)
    known: dict[int, MeasuredCase] = {}
    for native in _related(natives):
        case = native.case
        place = (native.lab_id, case.tool, *place_of(_conditions_of(native)))
        cases[place][case.pk] = known.setdefault(case.pk, case.measured)
    return cases


def _kept(efficiency: Efficiency | None) -> list[Any] | None:
    return [getattr(efficiency, name) for name in KEPT] if efficiency else None


def _related(cells: QuerySet[Cell]) -> list[Cell]:
    sittings = CellSession.objects.filter(cell=OuterRef("pk")).order_by("session_id")
    related = cells.select_related("system__host", "study", "case", "session").annotate(
        sittings=ArraySubquery(sittings.values("session_id"))
    )
    return list(related.order_by("pk"))


def _partners(cell: Cell) -> tuple[Any, ...]:
    """The cells that a native one may be the baseline of."""
    machine = (cell.system.host_id, cell.system.guest_bits)
    return ("native", cell.lab_id, cell.case_id, *machine)


def _study_case(cell: Cell) -> tuple[Any, ...]:
    """The cells that one of the study's reference system may be the baseline of."""
    return ("reference", cell.study_id, cell.case_id)


def _same_system(cell: Cell) -> tuple[Any, ...]:
    """The cells that what one system did alone may be the baseline of."""
    return ("alone", cell.study_id, cell.system_id, cell.case_id)


def _efficiency_of(
    cell: Cell, same_case: Sequence[Cell], natives: Sequence[CellConditions]
) -> Efficiency:
    """Return the cell's unsaved efficiency, given all cells of its case around it."""
    study = cell.study
    if _is_slot(cell):
        return _slowdown_of(cell, same_case)
    choice = choose_baseline(
        _conditions_of(cell),
        natives,
        equivalence_margin_percent=study.equivalence_margin_percent,
        max_age_days=study.baseline_max_age_days,
    )
    reference = study.reference_system_id
    if choice.state != "missing" or not reference:
        baseline = next((one for one in same_case if one.pk == choice.chosen), None)
        return _against(cell, baseline, choice.state, choice.reason)
    # Without native runs a study is set against its reference system.
    if cell.system_id == reference:
        return _against(cell, None, State.REFERENCE, "")
    wanted = (cell.study_id, reference, *_circumstances(cell))
    for other in same_case:
        if wanted == (other.study_id, other.system_id, *_circumstances(other)):
            return _against(cell, other, State.RELATIVE, "")
    nor = Sentence("Nor has the reference system this case.")
    return _against(cell, None, State.MISSING, joined([choice.reason, nor]))


def _is_slot(cell: Cell) -> bool:
    """Whether it is one VM of several, or their mean: not their sum, no path.

    What other VMs take meanwhile is nothing that a hypervisor costs.
    """
    is_alone = cell.scenario == ALONE or cell.vms == 1
    is_path = cell.scenario in PATHS
    return not (is_alone or is_path or cell.slot == SUM or cell.system.is_native)


def _slowdown_of(cell: Cell, same_case: Sequence[Cell]) -> Efficiency:
    """Set one VM of several against the same system with one VM alone."""
    alone = [
        other
        for other in same_case
        if _same_system(other) == _same_system(cell) and other.scenario == ALONE
    ]
    if alone:
        # Mostly there is one; one VM alone may be stated as the first of one.
        best = min(alone, key=lambda other: (other.slot not in ("1", ""), other.pk))
        reason = Sentence(
            "One of {n} VMs that ran together, beside the same system with one alone.",
            n=cell.vms or Sentence("several"),
        )
        return _against(cell, best, State.SLOWDOWN, reason)
    reference = cell.study.reference_system_id
    if cell.system_id == reference:
        return _against(cell, None, State.REFERENCE, "")
    wanted = (cell.study_id, reference, *_circumstances(cell))
    for other in same_case if reference else ():
        if wanted == (other.study_id, other.system_id, *_circumstances(other)):
            return _against(cell, other, State.RELATIVE, "")
    reason = Sentence(
        "One of several VMs is set against the same system with one VM alone: "
        "there is no such run of this case."
    )
    return _against(cell, None, State.MISSING, reason)


def _circumstances(cell: Cell) -> tuple[Any, ...]:
    return (cell.scenario, cell.vms, cell.slot, cell.load)


def _against(cell: Cell, baseline: Cell | None, state: str, reason: str) -> Efficiency:
    efficiency = Efficiency(cell=cell, lab_id=cell.lab_id, state=state, reason=reason)
    metric = known_tool(cell.case.tool).metric(cell.case.metric)
    why_not = no_speed(
        metric,
        cell.case.parameters,
        *(_extremes(side) for side in (cell, baseline) if side is not None),
        is_guest=not cell.system.is_native,
    )
    if cell.case.better == "neither":
        efficiency.state, efficiency.reason = State.UNDIRECTED, why_not or ""
    elif why_not:
        efficiency.state, efficiency.reason = State.NO_SPEED, why_not
    elif baseline is not None:
        efficiency.baseline = baseline
        efficiency.baseline_mean, efficiency.baseline_n = baseline.mean, baseline.n
        efficiency.ratio, problem = cell.ratio_to(baseline)
        efficiency.reason = problem or reason
        # Several VMs together against one machine: that is scaling, no efficiency.
        if cell.slot == SUM != baseline.slot and efficiency.ratio is not None:
            efficiency.state = State.SCALING
    return efficiency


def _extremes(cell: Cell) -> Extremes:
    """The ends of a cell's runs."""
    # Cells without runs are not asked for, and older ones had no ends.
    mean = cast(float, cell.mean)
    ends = (cell.minimum, cell.maximum)
    return Extremes(*(mean if end is None else end for end in ends))


def _sessions_of(cell: Cell) -> frozenset[int]:
    """Return the sessions of a cell's runs; none if the time of some is unknown.

    Before the first check what the uploader named, if it is one name of all.
    """
    sittings: list[int | None] = cell.sittings  # type: ignore[attr-defined]  # annotated
    if not sittings and cell.session is not None and is_named(cell.session.name):
        return frozenset({cell.session.pk})
    known = frozenset(pk for pk in sittings if pk is not None)
    return known if len(known) == len(sittings) else frozenset()


def _conditions_of(cell: Cell) -> CellConditions:
    """Return what the choice of a baseline looks at."""
    system = cell.system
    return CellConditions(
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
        sessions=_sessions_of(cell),
        first_at=cell.first_at,
        last_at=cell.last_at,
        slot=cell.slot,
        vms=cell.vms,
        load=cell.load,
        setting=cell.setting,
        case_label=f"{known_tool(cell.case.tool).title} {cell.case.label}",
        study=cell.study.slug,
    )
