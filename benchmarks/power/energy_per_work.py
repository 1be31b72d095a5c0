"""Energy per unit of work of cells, compared with their baselines.

Only runs during which a power meter measured the machine are used.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace

from django.db import connection

from benchmarks.analysis.assessment import MeteredPair, assess_energies
from benchmarks.analysis.energy_ratio import (
    GAIN_ERROR,
    NO_INTERVAL_SENTENCES,
    EnergyRatio,
    MeterFacts,
    cost_unit,
    joules_per_unit,
    mean_energy_ratio,
)
from benchmarks.analysis.sessions import UNKNOWN_TIME
from benchmarks.analysis.verdict_gates import Gate, gates_from_issues, gates_from_states
from benchmarks.comparison.comparison_row import (
    CIRCUMSTANCES,
    ENERGY_PER_WORK,
    CellEnergy,
    ComparisonResult,
    ComparisonRow,
    State,
)
from benchmarks.comparison.study_verdicts import cells_being_checked
from benchmarks.comparison.system_comparability import ReferenceSystem
from benchmarks.custom_tools.lookup import require_tool
from benchmarks.models import Case, Cell, Efficiency, RunEnergy, RunMean, Study, System
from benchmarks.models.run import RUNS_OF_CELLS_SQL, runs_of_cells_sql
from benchmarks.power.metered_workloads import meter_readings
from benchmarks.sentences import Sentence
from benchmarks.studies.cell_session_statistics import study_sessions

METERED, UNMETERED, MISSING = "metered", "unmetered", "missing"
METER_REASONS = {"unknown_accuracy", "within_meters"}
RUN_MEANS_SQL = f"""
    {runs_of_cells_sql("cell.id = ANY(%s)")}
    SELECT run.cell_id, run.id, run.lab_id, run.session_id, run.mean
    {RUNS_OF_CELLS_SQL} WHERE run.id = ANY(%s) ORDER BY run.cell_id, run.id
"""


@dataclass(frozen=True, slots=True)
class EnergyBaseline:
    cell_id: int | None
    state: str


@dataclass(frozen=True, slots=True)
class RunPower:
    mean_w: float
    meter: MeterFacts


def cell_energies(
    study: Study, reference: System | None = None
) -> Mapping[int, CellEnergy]:
    """Return energies per unit of work by cell id.

    ``reference`` replaces the baselines.
    """
    baselines = _find_baselines(study, reference)
    power = _run_powers(study)
    cell_ids = {
        *baselines,
        *(baseline.cell_id for baseline in baselines.values() if baseline.cell_id),
    }
    costs = _cell_costs(cell_ids, power) if power else {}
    energies = {}
    for cell_id, baseline in baselines.items():
        cell_energy, baseline_energy = (
            costs.get(cell_id),
            costs.get(baseline.cell_id or 0),
        )
        if cell_energy is not None and baseline_energy is not None:
            ratio = mean_energy_ratio(
                cell_energy.joules_per_unit,
                baseline_energy.joules_per_unit,
                (cell_energy.meter, baseline_energy.meter),
            )
            cell_energy = replace(
                cell_energy,
                baseline_mean=baseline_energy.mean,
                baseline_n=len(baseline_energy.joules_per_unit),
                ratio=ratio,
            )
        if cell_energy is not None:
            energies[cell_id] = cell_energy
    return _with_assessments(study, energies, baselines, costs)


def tested_count(energies: Mapping[int, CellEnergy]) -> int:
    """Return how many cells have a verdict, for the correction for multiple tests."""
    assessments = (energy.assessment for energy in energies.values())
    return sum(
        assessment is not None and assessment.is_assessed for assessment in assessments
    )


def _with_assessments(
    study: Study,
    energies: dict[int, CellEnergy],
    baselines: Mapping[int, EnergyBaseline],
    costs: Mapping[int, CellEnergy],
) -> dict[int, CellEnergy]:
    assessable = [
        cell_id
        for cell_id, energy in energies.items()
        if energy.ratio and energy.ratio.reason not in METER_REASONS
    ]
    if not assessable:
        return energies
    withheld, pairs = study.flags.cells_without_verdict(), []
    unchecked = cells_being_checked(
        {*assessable, *(baselines[pk].cell_id or 0 for pk in assessable)}
    )
    for cell_id in assessable:
        cell_energy, baseline_id = energies[cell_id], baselines[cell_id].cell_id
        baseline = costs[baseline_id or 0]
        flagged = [
            int(Gate.FLAGGED) * (pk in withheld) for pk in (cell_id, baseline_id)
        ]
        state = int(gates_from_states([baselines[cell_id].state])[0])
        meters = (cell_energy.meter, baseline.meter)
        gates = state
        gates |= int(Gate.BEING_CHECKED) * bool({cell_id, baseline_id} & unchecked)
        side_gates = cell_energy.gates | flagged[0], baseline.gates | flagged[1]
        sessions = cell_energy.sessions, baseline.sessions
        pairs.append(
            MeteredPair(
                cell_energy.joules_per_unit,
                baseline.joules_per_unit,
                meters,
                gates,
                sessions,
                side_gates,
            )
        )
    margin = study.equivalence_margin_percent / 100
    assessments = assess_energies(pairs, margin, study_sessions(study).days)
    for cell_id, assessment in zip(assessable, assessments, strict=True):
        ratio = energies[cell_id].ratio
        if ratio is not None and assessment.low is not None:
            mean_ratio = assessment.ratio or ratio.ratio
            ratio = EnergyRatio(mean_ratio, assessment.low, assessment.high)
        elif ratio is not None and not ratio.reason:
            ratio = replace(ratio, reason="no_spread")
        energies[cell_id] = replace(
            energies[cell_id], ratio=ratio, assessment=assessment
        )
    return energies


def _find_baselines(
    study: Study, reference: System | None
) -> dict[int, EnergyBaseline]:
    if reference is None:
        efficiencies = Efficiency.objects.filter(cell__study=study, cell__n__gt=0)
        stored = efficiencies.values_list("cell_id", "baseline_id", "state")
        return {
            cell_id: EnergyBaseline(base_id, state)
            for cell_id, base_id, state in stored
        }
    cells = Cell.objects.filter(study=study, n__gt=0)
    names = ("pk", "system_id", "system__host_id", "case_id", *CIRCUMSTANCES)
    rows = list(cells.values_list(*names))
    at_reference = {row[3:]: row[0] for row in rows if row[1] == reference.pk}
    elsewhere = ReferenceSystem(study, reference).incomparable_hosts
    states = dict.fromkeys(elsewhere, State.OTHER_HOST)
    return {
        row[0]: EnergyBaseline(None, State.REFERENCE)
        if row[1] == reference.pk
        else EnergyBaseline(
            at_reference.get(row[3:]), states.get(row[2], State.AGAINST_REFERENCE)
        )
        for row in rows
    }


def _run_powers(study: Study) -> Mapping[int, RunPower]:
    """Return the mean power of each run that was metered alone, from its best source.

    Logs of meters replace totals that a meter printed; logs of wall meters replace
    those of CPU counters.
    """
    powers: dict[int, RunPower] = {}
    for reading in meter_readings(study):
        run = reading.run
        name = str(run.facts.get("meter") or f"{run.tool} of {study.pk}")
        gain_error = GAIN_ERROR if run.tool == "watts-up" else None
        meter = MeterFacts(name, gain_error, run.tool == "rapl")
        # Power during several runs cannot be divided among them.
        if reading.mean_w and len(reading.work.runs) == 1:
            powers[reading.work.runs[0].pk] = RunPower(reading.mean_w, meter)
    hosts = System.objects.filter(cells__study=study).values("host")
    rows = RunEnergy.objects.filter(
        run__system__host__in=hosts, overlapping_runs=1, mean_w__gt=0
    ).select_related("meter")
    covered = [row for row in rows if row.is_covered]
    # The last row remains: wall meters override CPU counters, older rows newer ones.
    for row in sorted(covered, key=lambda row: (not row.meter.is_cpu_only, -row.pk)):
        powers[row.run_id] = RunPower(row.mean_w or 0.0, row.meter.comparison_facts)
    return powers


def _cases_by_metric(
    runs: Collection[tuple[int, int]],
) -> Mapping[tuple[int, str], int]:
    labs, ids = ({row[index] for row in runs} for index in (0, 1))
    means = RunMean.objects.filter(lab__in=labs, run__in=ids)
    pairs = list(means.values_list("run_id", "case_id"))
    cases = Case.objects.filter(pk__in={case_id for _, case_id in pairs})
    metrics = dict(cases.values_list("pk", "metric"))
    return Counter((run_id, metrics[case_id]) for run_id, case_id in pairs)


def _cell_costs(
    cell_ids: Iterable[int], power: Mapping[int, RunPower]
) -> dict[int, CellEnergy]:
    with connection.cursor() as cursor:
        cursor.execute(RUN_MEANS_SQL, [list(cell_ids), list(power)])
        rows = cursor.fetchall()
    cases = _cases_by_metric({(lab_id, run_id) for _, run_id, lab_id, *_ in rows})
    means: dict[int, list[tuple[int, int, float]]] = defaultdict(list)
    for cell_id, run_id, _, session_id, mean in rows:
        session = UNKNOWN_TIME if session_id is None else session_id
        means[cell_id].append((run_id, session, mean))
    costs: dict[int, CellEnergy] = {}
    related = ("case", "efficiency")
    for cell in Cell.objects.filter(pk__in=means).select_related(*related):
        case = cell.case
        means[cell.pk] = [
            row for row in means[cell.pk] if cases[row[0], case.metric] == 1
        ]
        if not means[cell.pk]:
            continue
        unit = cost_unit(case.metric, case.unit, case.better)
        # If the duration is fixed, the energy does not depend on the work.
        if _is_set_length(cell) or not unit:
            continue
        meter = power[means[cell.pk][0][0]].meter
        costs_and_sessions = [
            (cost, session)
            for run_id, session, mean in means[cell.pk]
            # Two meters would add their difference to the spread.
            if power[run_id].meter == meter
            and (
                cost := joules_per_unit(
                    mean, case.unit, case.better, power[run_id].mean_w
                )
            )
            is not None
        ]
        if costs_and_sessions:
            suspect = "clock_suspect" if cell.clock_trust == "suspect" else ""
            issues = ",".join(filter(None, [cell.shape_codes, suspect]))
            gates = int(gates_from_issues([issues])[0])
            joules, sessions = zip(*costs_and_sessions, strict=True)
            costs[cell.pk] = CellEnergy(unit, joules, meter, gates, sessions=sessions)
    return costs


def _is_set_length(cell: Cell) -> bool:
    stored = getattr(cell, "efficiency", None)
    if stored is None or stored.state != State.NO_SPEED:
        return False
    return bool(require_tool(cell.case.tool).metric(cell.case.metric).amount_options)


def energy_rows(
    rows: Iterable[ComparisonRow], energies: Mapping[int, CellEnergy]
) -> list[ComparisonRow]:
    all_rows = list(rows)
    metered = [row for row in all_rows if row.id in energies]
    units = {row.key: energies[row.id].unit for row in metered}
    systems = {row.system.id for row in metered}
    return [
        energy_row(row, energies.get(row.id), unit=units[row.key])
        for row in all_rows
        if row.key in units and row.system.id in systems
    ]


def energy_row(
    row: ComparisonRow, energy: CellEnergy | None, unit: str = ""
) -> ComparisonRow:
    """Return a row with energy instead of speed. Without ``energy``, use ``unit``."""
    speed = row.result
    unmetered = ComparisonResult(
        value=None,
        unit=unit,
        better="lower",
        n=0,
        baseline_value=None,
        baseline_n=None,
        baseline_system_id=speed.baseline_system_id,
        ratio=None,
        ratio_kind="",
        state=UNMETERED,
        reason="",
        assessment=None,
        measure=ENERGY_PER_WORK,
    )
    if energy is None:
        return row._replace(result=unmetered)
    has_single_figure = not (speed.shape_codes or speed.baseline_shape_codes)
    ratio, state = (energy.ratio if has_single_figure else None), speed.state
    if state not in (State.NATIVE, State.REFERENCE):
        state = METERED if energy.ratio else MISSING
    shown = unmetered._replace(
        value=None if speed.shape_codes else energy.mean,
        unit=energy.unit,
        n=len(energy.joules_per_unit),
        baseline_value=None if speed.baseline_shape_codes else energy.baseline_mean,
        baseline_n=energy.baseline_n or None,
        # Less energy is better: inverted, the ratio reads like relative performance.
        ratio=1 / ratio.ratio if ratio else None,
        ratio_kind="efficiency" if ratio else "",
        interval=ratio.interval if ratio else None,
        assessment=energy.assessment,
        state=state,
        reason=_reason(speed, energy, state) if has_single_figure else speed.reason,
        shape_codes=speed.shape_codes,
        baseline_shape_codes=speed.baseline_shape_codes,
        shape_sentence=speed.shape_sentence,
        range=(min(energy.joules_per_unit), max(energy.joules_per_unit))
        if speed.shape_codes
        else None,
        energy=energy,
        comparability=speed.comparability,
        comparability_reason=speed.comparability_reason,
    )
    return row._replace(result=shown)


def _reason(speed: ComparisonResult, energy: CellEnergy, state: str) -> str:
    if energy.ratio:
        reason = energy.ratio.reason
        return Sentence(NO_INTERVAL_SENTENCES[reason]) if reason else ""
    if state != MISSING or speed.state == MISSING:
        return speed.reason
    if energy.baseline_mean is not None:
        return Sentence(
            "One system was measured by a wall power meter, the other by the "
            "processor's own counters. Such values are never compared."
        )
    return Sentence(
        "The power of the baseline was not measured, or was measured only together "
        "with other runs."
    )
