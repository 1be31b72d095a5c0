"""Energy per work of every cell whose runs were metered, against its baseline's."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db import connection

from benchmarks.analysis.energy import GAIN_ERROR
from benchmarks.analysis.energy_ratio import EnergyRatio, MeterFacts, energy_ratio
from benchmarks.analysis.work_cost import cost_unit, work_cost
from benchmarks.models import (
    Campaign,
    Case,
    Cell,
    Efficiency,
    RunEnergy,
    Sample,
    System,
)
from benchmarks.models.run import CELL_SAMPLES
from benchmarks.selectors.comparisons import CIRCUMSTANCES
from benchmarks.selectors.logged_energy import meter_facts
from benchmarks.selectors.meters import meter_readings

# The mean of each metered run in each cell, and how many cases of its metric the run
# has: power over several pieces of work belongs to none of them.
RUN_MEANS = f"""
    SELECT cell.id, run.id, avg(sample.value),
           (SELECT count(DISTINCT other.case_id)
            FROM {Sample._meta.db_table} AS other
            JOIN {Case._meta.db_table} AS its ON its.id = other.case_id
            WHERE other.lab_id = run.lab_id AND other.run_id = run.id
              AND its.metric = kase.metric)
    {CELL_SAMPLES}
    JOIN {Case._meta.db_table} AS kase ON kase.id = cell.case_id
    WHERE cell.id = ANY(%s) AND run.id = ANY(%s)
    GROUP BY cell.id, run.id, run.lab_id, kase.metric
    ORDER BY cell.id, run.id
"""


@dataclass(frozen=True, slots=True)
class CellEnergy:
    """What the work of one cell cost: J for each metered run, and against the baseline.

    ``unit`` is J, or J for a unit of data. ``ratio`` is None where the baseline has no
    power of its own that this can be set against.
    """

    unit: str
    costs: tuple[float, ...]
    meter: MeterFacts
    base: float | None = None
    base_n: int = 0
    ratio: EnergyRatio | None = None

    @property
    def mean(self) -> float:
        return sum(self.costs) / len(self.costs)


@dataclass(frozen=True, slots=True)
class RunPower:
    """Mean power of a run's own work, and by which meter."""

    mean_w: float
    meter: MeterFacts


def cell_energies(
    campaign: Campaign, reference: System | None = None
) -> Mapping[int, CellEnergy]:
    """Return the energy per work of a campaign's cells, by the cell's id.

    Against the cells of their own baselines, or against those of a chosen system.
    """
    baselines = _chosen_baselines(campaign, reference) if reference else None
    if baselines is None:
        baselines = _own_baselines(campaign)
    power = _run_powers(campaign)
    wanted = {*baselines, *filter(None, baselines.values())}
    costs = _cell_costs(wanted, power) if power else {}
    return {
        cell_id: _against(own, costs.get(base_id or 0))
        for cell_id, base_id in baselines.items()
        if (own := costs.get(cell_id))
    }


def _own_baselines(campaign: Campaign) -> dict[int, int | None]:
    found = Efficiency.objects.filter(cell__campaign=campaign, cell__n__gt=0)
    return dict(found.values_list("cell_id", "baseline_id"))


def _chosen_baselines(campaign: Campaign, system: System) -> dict[int, int | None]:
    cells = Cell.objects.filter(campaign=campaign, n__gt=0)
    rows = list(cells.values_list("pk", "system_id", *CIRCUMSTANCES))
    at_reference = {row[2:]: row[0] for row in rows if row[1] == system.pk}
    return {
        row[0]: None if row[1] == system.pk else at_reference.get(row[2:])
        for row in rows
    }


def _run_powers(campaign: Campaign) -> Mapping[int, RunPower]:
    """Return the power of each run of the lab that a meter saw alone.

    A log goes before a printed total, the wall before the processor's own counter.
    """
    found: dict[int, RunPower] = {}
    for reading in meter_readings(campaign):
        facts = _printed(campaign, reading.run)
        if reading.mean_w and len(reading.work.runs) == 1:
            found[reading.work.runs[0].pk] = RunPower(reading.mean_w, facts)
    hosts = System.objects.filter(cells__campaign=campaign).values("host")
    rows = RunEnergy.objects.filter(
        run__system__host__in=hosts, together=1, mean_w__gt=0
    ).select_related("meter")
    covered = [row for row in rows if row.is_covered]
    for row in sorted(covered, key=lambda row: (not row.meter.is_cpu_only, -row.pk)):
        found[row.run_id] = RunPower(row.mean_w or 0.0, meter_facts(row.meter))
    return found


def _printed(campaign: Campaign, run: Any) -> MeterFacts:
    """Return what is known of a meter whose total was uploaded as a run."""
    name = str(run.facts.get("meter") or f"{run.tool} of {campaign.pk}")
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
        if (energy := _cost(cell.case, means[cell.pk], power))
    }


def _cost(
    case: Case, means: Sequence[tuple[int, float]], power: Mapping[int, RunPower]
) -> CellEnergy | None:
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
    return CellEnergy(unit, costs, meter) if costs else None


def _against(own: CellEnergy, base: CellEnergy | None) -> CellEnergy:
    if base is None:
        return own
    ratio = energy_ratio(own.costs, base.costs, (own.meter, base.meter))
    return CellEnergy(own.unit, own.costs, own.meter, base.mean, len(base.costs), ratio)
