"""Energy per work of every cell whose runs were metered, against its baseline's."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace

from django.db import connection

from benchmarks.analysis.energy import (
    GAIN_ERROR,
    SENTENCES,
    EnergyRatio,
    MeterFacts,
    bare_ratio,
    cost_unit,
    work_cost,
)
from benchmarks.analysis.gates import Gate, gates_of_doubts, gates_of_states
from benchmarks.analysis.judgement import EnergyPair, energy_judgements
from benchmarks.analysis.sessions import UNKNOWN_TIME
from benchmarks.comparing.lights import ChosenSystem
from benchmarks.comparing.row import (
    CIRCUMSTANCES,
    ENERGY_PER_WORK,
    CellEnergy,
    Compared,
    ComparisonRow,
    State,
)
from benchmarks.models import Case, Cell, Efficiency, RunEnergy, RunMean, Study, System
from benchmarks.models.run import RUNS_OF_CELLS, of_cells
from benchmarks.own_tools.lookup import known_tool
from benchmarks.power.meters import meter_readings
from benchmarks.sentences import Sentence
from benchmarks.studies.cell_sessions import study_sessions

METERED, UNMETERED, MISSING = "metered", "unmetered", "missing"
BY_METERS = {"unknown_accuracy", "within_meters"}
RUN_MEANS = f"""
    {of_cells("cell.id = ANY(%s)")}
    SELECT run.cell_id, run.id, run.lab_id, run.sitting_id, run.mean
    {RUNS_OF_CELLS} WHERE run.id = ANY(%s) ORDER BY run.cell_id, run.id
"""


@dataclass(frozen=True, slots=True)
class Base:
    cell_id: int | None
    state: str


@dataclass(frozen=True, slots=True)
class RunPower:
    mean_w: float
    meter: MeterFacts


def cell_energies(
    study: Study, reference: System | None = None
) -> Mapping[int, CellEnergy]:
    """Return energies per work by cell, against own baselines or a chosen system."""
    bases = _bases(study, reference)
    power = _run_powers(study)
    wanted = {*bases, *(base.cell_id for base in bases.values() if base.cell_id)}
    costs = _cell_costs(wanted, power) if power else {}
    energies = {}
    for cell_id, base in bases.items():
        own, other = costs.get(cell_id), costs.get(base.cell_id or 0)
        if own is not None and other is not None:
            ratio = bare_ratio(own.costs, other.costs, (own.meter, other.meter))
            own = replace(own, base=other.mean, base_n=len(other.costs), ratio=ratio)
        if own is not None:
            energies[cell_id] = own
    return _judged(study, energies, bases, costs)


def tested(energies: Mapping[int, CellEnergy]) -> int:
    """Return how many cells were tested together: all that are assessed."""
    judgements = (energy.judgement for energy in energies.values())
    return sum(one is not None and one.is_assessed for one in judgements)


def _judged(
    study: Study,
    energies: dict[int, CellEnergy],
    bases: Mapping[int, Base],
    costs: Mapping[int, CellEnergy],
) -> dict[int, CellEnergy]:
    allowed = [
        cell_id
        for cell_id, energy in energies.items()
        if energy.ratio and energy.ratio.reason not in BY_METERS
    ]
    if not allowed:
        return energies
    withheld, pairs = study.flags.withheld_cells(), []
    for cell_id in allowed:
        own, base_id = energies[cell_id], bases[cell_id].cell_id
        base = costs[base_id or 0]
        flagged = int(Gate.FLAGGED) * bool({cell_id, base_id} & withheld)
        state = int(gates_of_states([bases[cell_id].state])[0])
        meters = (own.meter, base.meter)
        gates = state | own.gates | base.gates | flagged
        sessions = own.sessions, base.sessions
        pairs.append(EnergyPair(own.costs, base.costs, meters, gates, sessions))
    margin = study.equivalence_margin_percent / 100
    judgements = energy_judgements(pairs, margin, study_sessions(study).days)
    for cell_id, judgement in zip(allowed, judgements, strict=True):
        ratio = energies[cell_id].ratio
        if ratio is not None and judgement.low is not None:
            # The ratio that was judged, with its interval.
            found = judgement.ratio or ratio.ratio
            ratio = EnergyRatio(found, judgement.low, judgement.high)
        elif ratio is not None and not ratio.reason:
            ratio = replace(ratio, reason="no_spread")
        energies[cell_id] = replace(energies[cell_id], ratio=ratio, judgement=judgement)
    return energies


def _bases(study: Study, reference: System | None) -> dict[int, Base]:
    if reference is None:
        own = Efficiency.objects.filter(cell__study=study, cell__n__gt=0)
        stored = own.values_list("cell_id", "baseline_id", "state")
        return {cell_id: Base(base_id, state) for cell_id, base_id, state in stored}
    cells = Cell.objects.filter(study=study, n__gt=0)
    names = ("pk", "system_id", "system__host_id", "case_id", *CIRCUMSTANCES)
    rows = list(cells.values_list(*names))
    at_reference = {row[3:]: row[0] for row in rows if row[1] == reference.pk}
    elsewhere = ChosenSystem(study, reference).other_hosts
    states = dict.fromkeys(elsewhere, State.OTHER_HOST)
    return {
        row[0]: Base(None, State.REFERENCE)
        if row[1] == reference.pk
        else Base(at_reference.get(row[3:]), states.get(row[2], State.RELATIVE))
        for row in rows
    }


def _run_powers(study: Study) -> Mapping[int, RunPower]:
    """Return each run's own power: logs before printed totals, wall before CPU."""
    powers: dict[int, RunPower] = {}
    for reading in meter_readings(study):
        # A total that was uploaded as a run says of its meter what the run says.
        run = reading.run
        name = str(run.facts.get("meter") or f"{run.tool} of {study.pk}")
        gain_error = GAIN_ERROR if run.tool == "watts-up" else None
        meter = MeterFacts(name, gain_error, run.tool == "rapl")
        # The power of several runs belongs to none of them.
        if reading.mean_w and len(reading.work.runs) == 1:
            powers[reading.work.runs[0].pk] = RunPower(reading.mean_w, meter)
    hosts = System.objects.filter(cells__study=study).values("host")
    rows = RunEnergy.objects.filter(
        run__system__host__in=hosts, together=1, mean_w__gt=0
    ).select_related("meter")
    covered = [row for row in rows if row.is_covered]
    # The last row stays: the wall after the processor's counter, the oldest of each.
    for row in sorted(covered, key=lambda row: (not row.meter.is_cpu_only, -row.pk)):
        powers[row.run_id] = RunPower(row.mean_w or 0.0, row.meter.facts)
    return powers


def _cases_by_metric(
    runs: Collection[tuple[int, int]],
) -> Mapping[tuple[int, str], int]:
    """Return how many cases of a metric a run has, given its lab and id."""
    labs, ids = ({row[at] for row in runs} for at in (0, 1))
    means = RunMean.objects.filter(lab__in=labs, run__in=ids)
    pairs = list(means.values_list("run_id", "case_id"))
    known = Case.objects.filter(pk__in={case_id for _, case_id in pairs})
    metrics = dict(known.values_list("pk", "metric"))
    return Counter((run_id, metrics[case_id]) for run_id, case_id in pairs)


def _cell_costs(
    cell_ids: Iterable[int], power: Mapping[int, RunPower]
) -> dict[int, CellEnergy]:
    with connection.cursor() as cursor:
        cursor.execute(RUN_MEANS, [list(cell_ids), list(power)])
        rows = cursor.fetchall()
    cases = _cases_by_metric({(lab_id, run_id) for _, run_id, lab_id, *_ in rows})
    means: dict[int, list[tuple[int, int, float]]] = defaultdict(list)
    for cell_id, run_id, _, sitting_id, mean in rows:
        session = UNKNOWN_TIME if sitting_id is None else sitting_id
        means[cell_id].append((run_id, session, mean))
    costs: dict[int, CellEnergy] = {}
    related = ("case", "efficiency")
    for cell in Cell.objects.filter(pk__in=means).select_related(*related):
        case = cell.case
        # Power over several pieces of work belongs to none of them.
        means[cell.pk] = [
            row for row in means[cell.pk] if cases[row[0], case.metric] == 1
        ]
        if not means[cell.pk]:
            continue
        unit = cost_unit(case.metric, case.unit, case.better)
        # Joules for the 10 s that a test was told to last are joules for no work.
        if _is_set_length(cell):
            continue
        if not unit:
            continue
        meter = power[means[cell.pk][0][0]].meter
        known = [
            (cost, session)
            for run_id, session, mean in means[cell.pk]
            # One meter a cell: two would hide their difference in its spread.
            if power[run_id].meter == meter
            and (cost := work_cost(mean, case.unit, case.better, power[run_id].mean_w))
            is not None
        ]
        if known:
            suspect = "clock_suspect" if cell.clock_trust == "suspect" else ""
            doubts = ",".join(filter(None, [cell.shape_codes, suspect]))
            gates = int(gates_of_doubts([doubts])[0])
            joules, sessions = zip(*known, strict=True)
            costs[cell.pk] = CellEnergy(unit, joules, meter, gates, sessions=sessions)
    return costs


def _is_set_length(cell: Cell) -> bool:
    """Whether a time is the length that was set, and no amount of work was."""
    stored = getattr(cell, "efficiency", None)
    if stored is None or stored.state != State.NO_SPEED:
        return False
    return bool(known_tool(cell.case.tool).metric(cell.case.metric).unless)


def energy_rows(
    rows: Iterable[ComparisonRow], energies: Mapping[int, CellEnergy]
) -> list[ComparisonRow]:
    """Return the rows with their energy; those of cases that nobody metered go."""
    every = list(rows)
    metered = [row for row in every if row.id in energies]
    units = {row.place: energies[row.id].unit for row in metered}
    systems = {row.system.id for row in metered}
    return [
        energy_row(row, energies.get(row.id), unit=units[row.place])
        for row in every
        if row.place in units and row.system.id in systems
    ]


def energy_row(
    row: ComparisonRow, energy: CellEnergy | None, unit: str = ""
) -> ComparisonRow:
    """Return a row with its energy, or stating that it has none, in ``unit``."""
    speed = row.shown
    nothing = Compared(
        value=None,
        unit=unit,
        better="lower",
        n=0,
        baseline_value=None,
        baseline_n=None,
        baseline_system_id=speed.baseline_system_id,
        ratio=None,
        kind="",
        state=UNMETERED,
        reason="",
        judgement=None,
        measure=ENERGY_PER_WORK,
    )
    if energy is None:
        return replace(row, shown=nothing)
    # Where a speed has no single figure, energy per work has none either.
    is_one_figure = not (speed.doubts or speed.baseline_doubts)
    ratio, state = (energy.ratio if is_one_figure else None), speed.state
    if state not in (State.NATIVE, State.REFERENCE):
        state = METERED if energy.ratio else MISSING
    shown = replace(
        nothing,
        value=None if speed.doubts else energy.mean,
        unit=energy.unit,
        n=len(energy.costs),
        baseline_value=None if speed.baseline_doubts else energy.base,
        baseline_n=energy.base_n or None,
        # Less energy is better: turned round, it reads like any efficiency.
        ratio=1 / ratio.ratio if ratio else None,
        kind="efficiency" if ratio else "",
        interval=ratio.interval if ratio else None,
        judgement=energy.judgement,
        state=state,
        reason=_reason(speed, energy, state) if is_one_figure else speed.reason,
        doubts=speed.doubts,
        baseline_doubts=speed.baseline_doubts,
        shape=speed.shape,
        range=(min(energy.costs), max(energy.costs)) if speed.doubts else None,
        energy=energy,
        light=speed.light,
        light_sentence=speed.light_sentence,
    )
    return replace(row, shown=shown)


def _reason(speed: Compared, energy: CellEnergy, state: str) -> str:
    if energy.ratio:
        reason = energy.ratio.reason
        return Sentence(SENTENCES[reason]) if reason else ""
    if state != MISSING or speed.state == MISSING:
        return speed.reason
    if energy.base is not None:
        return Sentence(
            "One side was metered at the wall, the other by the processor's own "
            "counters: the two are never compared."
        )
    return Sentence("No power was measured for its baseline that belongs to it alone.")
