"""Uploaded readings of power meters, with the work during which they were taken."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Q

from benchmarks.analysis.energy_ratio import EXTERNAL_METER_TOOLS, RUN_TIME_METRICS
from benchmarks.custom_tools.lookup import require_tool
from benchmarks.models import Case, Run, Sample, Study

METER_TOOLS = EXTERNAL_METER_TOOLS | {"rapl"}
OPERATION_METRICS = ("transactions", "replies", "events", "operations")
ENERGY_METRIC, METER_TIME_METRIC, POWER_METRIC = "energy", "meter time", "power mean"
ELAPSED_FACTS = ("elapsed_s", "duration_s")
CORUN = "corun"
RunGroupKey = tuple[Any, ...] | None


@dataclass(frozen=True)
class MeteredWorkload:
    runs: tuple[Run, ...] = ()
    seconds: float | None = None
    operations: float | None = None


@dataclass(frozen=True)
class MeterReading:
    """A meter's printed energy and power for some work, over its own duration."""

    run: Run
    case: Case
    meter_j: float | None
    meter_s: float | None
    mean_w: float | None
    work: MeteredWorkload

    @property
    def workload(self) -> str:
        titles = sorted({require_tool(run.tool).title for run in self.work.runs})
        stated = self.case.parameters.get("workload", "")
        return stated or ", ".join(titles) or self.case.label


def meter_readings(study: Study) -> tuple[MeterReading, ...]:
    """Return each reading of a study with the work of its co-run or session."""
    meters = list(_runs(study).filter(tool__in=METER_TOOLS))
    partners = _partners(study, meters)
    work_runs = {run.pk: run for runs in partners.values() for run in runs}
    printed = samples_by_run(meters, (ENERGY_METRIC, METER_TIME_METRIC, POWER_METRIC))
    done = samples_by_run(work_runs.values(), (*RUN_TIME_METRICS, *OPERATION_METRICS))
    readings: list[MeterReading] = []
    for meter in meters:
        runs = partners.get(meter.pk, ())
        times = [run_duration_s(run, done[run.pk]) for run in runs]
        known_times = [time for time in times if time is not None]
        work = MeteredWorkload(
            runs=tuple(runs),
            # A run of unknown duration may have been the longest.
            seconds=max(known_times)
            if known_times and len(known_times) == len(times)
            else None,
            operations=sum_if_all_known(run_operations(done[run.pk]) for run in runs),
        )
        readings += _readings(meter, printed[meter.pk], work)
    return tuple(readings)


def _runs(study: Study) -> Any:
    runs = Run.objects.counted().filter(study=study)
    return runs.select_related("system__host").order_by("pk")


def _partners(study: Study, meters: Sequence[Run]) -> Mapping[int, tuple[Run, ...]]:
    """Map meters to the runs of the same co-run, or of the same session and system.

    A session must have a single reading of a meter.
    """
    coruns = {meter.corun_id for meter in meters if meter.corun_id}
    sessions = {
        meter.declared_session_id for meter in meters if meter.declared_session_id
    }
    near = Q(corun__in=coruns) | Q(corun=None, declared_session__in=sessions)
    by_key: dict[RunGroupKey, list[Run]] = defaultdict(list)
    for run in _runs(study).filter(near).exclude(tool__in=METER_TOOLS):
        by_key[_group_key(run)].append(run)
    metered = Counter(_group_key(meter) for meter in meters)
    partners: dict[int, tuple[Run, ...]] = {}
    for meter in meters:
        key = _group_key(meter)
        if key and (key[0] == CORUN or metered[key] == 1):
            partners[meter.pk] = tuple(by_key[key])
    return partners


def _group_key(run: Run) -> RunGroupKey:
    if run.corun_id:
        return (CORUN, run.corun_id)
    return (
        ("session", run.declared_session_id, run.system_id)
        if run.declared_session_id
        else None
    )


def _readings(
    meter: Run, samples: Sequence[Sample], work: MeteredWorkload
) -> Iterable[MeterReading]:
    """Yield one reading for each energy (processors have several), or one for the power
    if the meter printed no energy.
    """
    by_metric: dict[str, list[Sample]] = defaultdict(list)
    for sample in samples:
        by_metric[sample.case.metric].append(sample)
    times = [sample.value for sample in by_metric[METER_TIME_METRIC]]
    # A meter's samples are not durations of work.
    seconds = max(times, default=None) or run_duration_s(meter, ())
    for energy in by_metric[ENERGY_METRIC]:
        mean_w = energy.value / seconds if seconds else None
        yield MeterReading(meter, energy.case, energy.value, seconds, mean_w, work)
    if by_metric[POWER_METRIC] and not by_metric[ENERGY_METRIC]:
        power = by_metric[POWER_METRIC][0]
        yield MeterReading(meter, power.case, None, seconds, power.value, work)


def run_duration_s(run: Run, samples: Iterable[Sample]) -> float | None:
    for stated in (run.facts.get(name) for name in ELAPSED_FACTS):
        if isinstance(stated, int | float) and stated > 0:
            return float(stated)
    times = [
        sample.value for sample in samples if sample.case.metric in RUN_TIME_METRICS
    ]
    return max((time for time in times if time > 0), default=None)


def samples_by_run(
    runs: Iterable[Run], metrics: Iterable[str]
) -> Mapping[int, list[Sample]]:
    """Return each run's samples of these metrics with their cases, in one query."""
    by_run: dict[int, list[Sample]] = {}
    labs = set()
    for run in runs:
        by_run[run.pk] = []
        labs.add(run.lab_id)
    samples = Sample.objects.filter(
        lab__in=labs, run__in=by_run, case__metric__in=metrics
    )
    for sample in samples.select_related("case").order_by("run_id", "sequence"):
        by_run[sample.run_id].append(sample)
    return by_run


def run_operations(samples: Sequence[Sample]) -> float | None:
    """Return how many operations a run counted; None if its tool does not count any."""
    for metric in OPERATION_METRICS:
        counts = [sample.value for sample in samples if sample.case.metric == metric]
        if counts:
            return sum(counts)
    return None


def sum_if_all_known(operations: Iterable[float | None]) -> float | None:
    """Return the sum; None without numbers, or if one is unknown or not above 0."""
    counts = list(operations)
    positive = [count for count in counts if count and count > 0]
    return sum(positive) if positive and len(positive) == len(counts) else None
