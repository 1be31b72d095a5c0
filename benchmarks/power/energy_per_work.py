"""Energy per work of every cell whose runs were metered, against its baseline's.

`cell_energies` computes it, `energy_rows` shows it instead of the speed.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.db import connection

from benchmarks.analysis.energy import (
    GAIN_ERROR,
    SENTENCES,
    MeterFacts,
    cost_unit,
    energy_ratio,
    work_cost,
)
from benchmarks.analysis.gates import Gate, gates_of_doubts, gates_of_states
from benchmarks.analysis.judgement import EnergyPair, energy_judgements
from benchmarks.comparing.row import (
    CIRCUMSTANCES,
    CellEnergy,
    Compared,
    ComparisonRow,
    State,
)
from benchmarks.models import (
    Case,
    Cell,
    Efficiency,
    RunEnergy,
    Sample,
    Study,
    System,
)
from benchmarks.models.run import CELL_SAMPLES
from benchmarks.power.logged_energy import meter_facts
from benchmarks.power.meters import meter_readings
from benchmarks.sentences import Sentence
from benchmarks.studies.flags import withheld_cells

METERED, UNMETERED, MISSING = "metered", "unmetered", "missing"
# Reasons against an interval that more runs do not cure.
BY_METERS = {"unknown_accuracy", "within_meters"}
# The mean of each metered run in each cell, and how many cases of its metric the run
# has: power over several pieces of work belongs to none of them.
RUN_MEANS = f"""
    SELECT cell.id, run.id, avg(sample.value),
           (SELECT count(DISTINCT other.case_id)
            FROM {Sample._meta.db_table} AS other
            JOIN {Case._meta.db_table} AS its ON its.id = other.case_id
            WHERE other.lab_id = run.lab_id AND other.run_id = run.id
              AND its.metric = benchmark_case.metric)
    {CELL_SAMPLES}
    JOIN {Case._meta.db_table} AS benchmark_case
      ON benchmark_case.id = cell.case_id
    WHERE cell.id = ANY(%s) AND run.id = ANY(%s)
    GROUP BY cell.id, run.id, run.lab_id, benchmark_case.metric
    ORDER BY cell.id, run.id
"""


@dataclass(frozen=True, slots=True)
class Base:
    """The cell that a cell is set against, if any, and how that stands."""

    cell_id: int | None
    state: str


@dataclass(frozen=True, slots=True)
class RunPower:
    """Mean power of a run's own work, and by which meter."""

    mean_w: float
    meter: MeterFacts


def cell_energies(
    study: Study, reference: System | None = None
) -> Mapping[int, CellEnergy]:
    """Return the energy per work of a study's cells, by the cell's id.

    Against the cells of their own baselines, or against those of a chosen system.
    """
    bases = _chosen_bases(study, reference) if reference else _own_bases(study)
    power = _run_powers(study)
    wanted = {*bases, *(base.cell_id for base in bases.values() if base.cell_id)}
    costs = _cell_costs(wanted, power) if power else {}
    told = {
        cell_id: _against(own, costs.get(base.cell_id or 0))
        for cell_id, base in bases.items()
        if (own := costs.get(cell_id))
    }
    return told | _judged(study, told, bases, costs)


def tested(energies: Mapping[int, CellEnergy]) -> int:
    """Return how many cells were tested together: all that are assessed."""
    said = (energy.judgement for energy in energies.values())
    return sum(each is not None and each.is_assessed for each in said)


def _judged(
    study: Study,
    told: Mapping[int, CellEnergy],
    bases: Mapping[int, Base],
    costs: Mapping[int, CellEnergy],
) -> dict[int, CellEnergy]:
    """Return the cells whose ratios can be judged, judged together."""
    allowed = {
        cell_id: energy
        for cell_id, energy in told.items()
        if energy.ratio and energy.ratio.reason not in BY_METERS
    }
    if not allowed:
        return {}
    withheld, pairs = withheld_cells(study), []
    for cell_id, own in allowed.items():
        at = bases[cell_id]
        base = costs[at.cell_id or 0]
        flagged = int(Gate.FLAGGED) * bool({cell_id, at.cell_id} & withheld)
        gates = int(gates_of_states([at.state])[0]) | own.gates | base.gates | flagged
        meters = (own.meter, base.meter)
        pairs.append(EnergyPair(own.costs, base.costs, meters, gates))
    judgements = energy_judgements(pairs, study.equivalence_margin_percent / 100)
    return {
        cell_id: replace(energy, judgement=judgement)
        for (cell_id, energy), judgement in zip(
            allowed.items(), judgements, strict=True
        )
    }


def _own_bases(study: Study) -> dict[int, Base]:
    found = Efficiency.objects.filter(cell__study=study, cell__n__gt=0)
    rows = found.values_list("cell_id", "baseline_id", "state")
    return {cell_id: Base(base_id, state) for cell_id, base_id, state in rows}


def _chosen_bases(study: Study, system: System) -> dict[int, Base]:
    cells = Cell.objects.filter(study=study, n__gt=0)
    rows = list(cells.values_list("pk", "system_id", "case_id", *CIRCUMSTANCES))
    at_reference = {row[2:]: row[0] for row in rows if row[1] == system.pk}
    return {
        row[0]: Base(None, State.REFERENCE)
        if row[1] == system.pk
        else Base(at_reference.get(row[2:]), State.RELATIVE)
        for row in rows
    }


def _run_powers(study: Study) -> Mapping[int, RunPower]:
    """Return the power of each run of the lab that a meter saw alone.

    A log goes before a printed total, the wall before the processor's own counter.
    """
    found: dict[int, RunPower] = {}
    for reading in meter_readings(study):
        facts = _printed(study, reading.run)
        if reading.mean_w and len(reading.work.runs) == 1:
            found[reading.work.runs[0].pk] = RunPower(reading.mean_w, facts)
    hosts = System.objects.filter(cells__study=study).values("host")
    rows = RunEnergy.objects.filter(
        run__system__host__in=hosts, together=1, mean_w__gt=0
    ).select_related("meter")
    covered = [row for row in rows if row.is_covered]
    for row in sorted(covered, key=lambda row: (not row.meter.is_cpu_only, -row.pk)):
        found[row.run_id] = RunPower(row.mean_w or 0.0, meter_facts(row.meter))
    return found


def _printed(study: Study, run: Any) -> MeterFacts:
    """Return what is known of a meter whose total was uploaded as a run."""
    name = str(run.facts.get("meter") or f"{run.tool} of {study.pk}")
    gain_error = GAIN_ERROR if run.tool == "watts-up" else None
    return MeterFacts(name, gain_error, run.tool == "rapl")


def _cell_costs(
    cell_ids: Iterable[int], power: Mapping[int, RunPower]
) -> dict[int, CellEnergy]:
    with connection.cursor() as cursor:
        cursor.execute(RUN_MEANS, [list(cell_ids), list(power)])
        rows = cursor.fetchall()
    means: dict[int, list[tuple[int, float]]] = defaultdict(list)
    for cell_id, run_id, mean, cases in rows:
        if cases == 1:
            means[cell_id].append((run_id, mean))
    cells = Cell.objects.filter(pk__in=means).select_related("case")
    return {
        cell.pk: energy
        for cell in cells
        if (energy := _cost(cell, means[cell.pk], power))
    }


def _cost(
    cell: Cell, means: Sequence[tuple[int, float]], power: Mapping[int, RunPower]
) -> CellEnergy | None:
    case = cell.case
    unit = cost_unit(case.metric, case.unit, case.better)
    if not unit:
        return None
    meter = power[means[0][0]].meter
    told = [
        work_cost(mean, case.unit, case.better, power[run_id].mean_w)
        for run_id, mean in means
        # One meter a cell: two would hide their difference in its spread.
        if power[run_id].meter == meter
    ]
    costs = tuple(each for each in told if each is not None)
    return CellEnergy(unit, costs, meter, _gates(cell)) if costs else None


def _gates(cell: Cell) -> int:
    """Return what stands against a cell itself: its shape, its clock."""
    suspect = "clock_suspect" if cell.clock_trust == "suspect" else ""
    codes = ",".join(filter(None, [cell.shape_codes, suspect]))
    return int(gates_of_doubts([codes])[0])


def _against(own: CellEnergy, base: CellEnergy | None) -> CellEnergy:
    if base is None:
        return own
    ratio = energy_ratio(own.costs, base.costs, (own.meter, base.meter))
    return replace(own, base=base.mean, base_n=len(base.costs), ratio=ratio)


def energy_rows(
    rows: Iterable[ComparisonRow], energies: Mapping[int, CellEnergy]
) -> list[ComparisonRow]:
    """Return the rows with their energy; those of cases that nobody metered go."""
    found = list(rows)
    metered = [row for row in found if row.id in energies]
    units = {row.place: energies[row.id].unit for row in metered}
    systems = {row.system.id for row in metered}
    return [
        energy_row(row, energies.get(row.id), unit=units[row.place])
        for row in found
        if row.place in units and row.system.id in systems
    ]


def energy_row(
    row: ComparisonRow, energy: CellEnergy | None, unit: str = ""
) -> ComparisonRow:
    """Return one row with its energy; without any it says so, and not a 0.

    ``unit`` is that of the case's other cells.
    """
    return replace(row, shown=_shown_energy(row.shown, energy, unit))


def _shown_energy(speed: Compared, energy: CellEnergy | None, unit: str) -> Compared:
    """Return what is shown of an energy where a speed was."""
    nothing = Compared(
        value=None,
        unit=unit,
        better="lower",
        n=0,
        baseline_value=None,
        baseline_n=None,
        baseline_system_id=speed.baseline_system_id,
        efficiency=None,
        relative=None,
        scaling=None,
        state=UNMETERED,
        reason="",
        judgement=None,
        is_energy=True,
    )
    if energy is None:
        return nothing
    is_one_figure = not (speed.doubts or speed.baseline_doubts)
    ratio, state = (energy.ratio if is_one_figure else None), speed.state
    if state not in (State.NATIVE, State.REFERENCE):
        state = METERED if energy.ratio else MISSING
    return replace(
        nothing,
        value=None if speed.doubts else energy.mean,
        unit=energy.unit,
        n=len(energy.costs),
        baseline_value=None if speed.baseline_doubts else energy.base,
        baseline_n=energy.base_n or None,
        efficiency=1 / ratio.ratio if ratio else None,
        judgement=energy.judgement,
        state=state,
        reason=_reason(speed, energy, state) if is_one_figure else speed.reason,
        doubts=speed.doubts,
        baseline_doubts=speed.baseline_doubts,
        shape=speed.shape,
        range=(min(energy.costs), max(energy.costs)) if speed.doubts else None,
        energy=energy,
    )


def _reason(speed: Compared, energy: CellEnergy, state: str) -> str:
    """Return why there is no ratio, or none with an interval."""
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
