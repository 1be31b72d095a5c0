"""Published studies as facts for the rules, without a database.

They are read from the repository in the form of uploads.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import cache
from statistics import fmean
from typing import Any

from benchmarks import tools, units
from benchmarks.analysis.baselines import CellConditions, choose_baseline
from benchmarks.analysis.cell_statistics import summarize
from benchmarks.errors import BenchmarksError, UnknownNameError
from benchmarks.fingerprints import (
    SystemDescription,
    canonical_parameters,
    case_fingerprint,
    system_fingerprint,
)
from benchmarks.host_facts import disk_bus_byte_per_s, line_rate_bit_per_s
from benchmarks.parsing.case_labels import case_label
from benchmarks.parsing.run_extraction import extract_runs
from benchmarks.parsing.tool import Component, Metric
from benchmarks.plausibility.study_facts import (
    CellFact,
    Id,
    RunFact,
    SampleFact,
    StudyFacts,
)
from benchmarks.reference.study_documents import (
    ReferenceStudy,
    recorded_studies,
    reference_studies,
)

SYSTEM_FIELDS = (
    *("hypervisor", "hypervisor_version", "virtualization", "guest_os"),
    *("guest_bits", "vcpus", "memory_bytes"),
)
PLACE_FIELDS = ("scenario", "vms", "slot", "load", "clock")
OPTIONS = ("topology", "pinning", "scheduling", "storage", "swap", "tuned", "bridge")
# Parameters that name a reading, or a setting of its system, are not part of the case.
ELSEWHERE = {*OPTIONS, "repetition", "iteration", "vcpus", "elapsed_s", "load"}
# For metrics of tools that we do not support; the first word in the name counts.
COMPONENTS: dict[str, Component] = {
    **{"gpu": "application", "cache": "memory", "memory": "memory", "disk": "disk"},
    **{"latency": "disk", "cpu": "CPU", "jitter": "network"},
    **{"iperf": "network", "netperf": "network"},
}

Document = Mapping[str, Any]


@cache
def published() -> Mapping[str, StudyFacts]:
    """Return each printed study of the repository by slug, with the cells of the
    others.
    """
    return _as_facts(reference_studies())


@cache
def recorded() -> Mapping[str, StudyFacts]:
    """Return the recorded results of our own lab, parsed from their raw outputs."""
    return _as_facts(recorded_studies())


def _means(runs: Iterable[RunFact]) -> Mapping[Id, list[float]]:
    means: dict[Id, list[float]] = defaultdict(list)
    for run in runs:
        readings: dict[Id, list[float]] = defaultdict(list)
        for sample in run.samples:
            if sample.cell is not None:
                readings[sample.cell].append(sample.value)
        for cell, values in readings.items():
            means[cell].append(fmean(values))
    return means


def _as_facts(studies: Iterable[ReferenceStudy]) -> Mapping[str, StudyFacts]:
    loaded = {str(study.document["slug"]): study for study in studies}
    runs = {
        slug: tuple(_run_fact(run, _samples(run)) for run in study.runs)
        for slug, study in loaded.items()
    }
    cells = _with_baselines(
        [
            cell
            for slug, study in loaded.items()
            for cell in _cells_of(
                study, _means(run for run in runs[slug] if not run.failure)
            )
        ]
    )
    return {
        slug: StudyFacts(
            id=slug,
            cells=tuple(cell for cell in cells if cell.study == slug),
            other_study_cells=tuple(cell for cell in cells if cell.study != slug),
            runs=tuple(run for run in runs[slug] if not run.failure),
            failed_runs=tuple(run for run in runs[slug] if run.failure),
            varied=tuple(study.document.get("factors", ())),
        )
        for slug, study in loaded.items()
    }


def _samples(run: Document) -> list[Document]:
    """Return the readings of an upload, or else of its raw output."""
    if "samples" in run:
        stated: list[Document] = run["samples"]
        return stated
    return [
        {
            "metric": reading.metric,
            "value": reading.value,
            "unit": reading.unit,
            "parameters": dict(reading.parameters),
            "repetition": reading.repetition,
        }
        for extracted in extract_runs(run["output"], run["tool"])
        for reading in extracted.readings
    ]


def _moment(text: str) -> datetime | None:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _run_fact(run: Document, samples: Sequence[Document]) -> RunFact:
    system, facts = run["system"], run.get("facts", {})
    started = run.get("started_at")
    took_us = facts.get("execution", {}).get("local_us")
    return RunFact(
        id=run["key"],
        study=run["study"],
        upload=run["key"],
        host=system["host"],
        system=_system_id(run),
        system_label=_system_label(system),
        is_native=system["hypervisor"] == "native",
        vcpus=system.get("vcpus"),
        tool=_tool_name(run["tool"]),
        tool_version=run.get("tool_version", ""),
        corun=run.get("corun", ""),
        document=run.get("document", ""),
        table=run.get("table", ""),
        **{name: run[name] for name in PLACE_FIELDS if name in run},
        failure=run.get("failed", ""),
        started_at=_moment(started) if isinstance(started, str) else started,
        duration_s=took_us / 1e6 if took_us else None,
        facts={
            key: value
            for key, value in facts.items()
            if isinstance(value, str | int | float | bool)
        },
        samples=tuple(
            SampleFact(
                metric=sample["metric"],
                value=_in_unit(run["tool"], sample),
                unit=_metric(run["tool"], sample).unit,
                parameters=canonical_parameters(sample["parameters"]),
                repetition=sample.get("repetition", 1),
                cell="/".join(map(str, _identity(run, sample))),
            )
            for sample in samples
        ),
    )


def _tool_name(name: str) -> str:
    try:
        return tools.get(name).slug
    except UnknownNameError:
        return name


def _metric(tool: str, sample: Document) -> Metric:
    """Return the metric of a reading: declared by our tools, else from name
    and unit.
    """
    name, unit = sample["metric"], units.find_unit(sample.get("unit", ""))
    try:
        metric = tools.get(tool).metric(name)
    except BenchmarksError:
        pass
    else:
        if unit and units.get_unit(metric.unit).dimension == unit.dimension:
            return metric
    words = f"{tool} {name}".casefold()
    parts = (part for word, part in COMPONENTS.items() if word in words)
    return Metric(
        name,
        unit.symbol if unit else "",
        "lower" if unit and unit.dimension == "time" else "higher",
        next(parts, "application"),
    )


def _in_unit(tool: str, sample: Document) -> float:
    metric, unit = _metric(tool, sample), sample.get("unit", "")
    value = float(sample["value"])
    return units.convert(value, unit, metric.unit) if units.find_unit(unit) else value


def _cells_of(
    study: ReferenceStudy, means: Mapping[Id, Sequence[float]]
) -> Iterator[CellFact]:
    hosts = {host["slug"]: host["facts"] for host in study.hosts}
    first: dict[str, tuple[Document, Document]] = {}
    moments: dict[str, list[datetime]] = defaultdict(list)
    sessions: dict[str, list[str]] = defaultdict(list)
    for run in study.runs:
        if run.get("failed"):
            continue
        begun = run.get("started_at")
        begun = _moment(begun) if isinstance(begun, str) else begun
        read_cells = {}
        for sample in _samples(run):
            cell = "/".join(map(str, _identity(run, sample)))
            read_cells[cell] = sample
            first.setdefault(cell, (run, sample))
            if begun:
                moments[cell].append(begun)
        session = run.get("session") or (begun.date().isoformat() if begun else "")
        for cell in read_cells:
            sessions[cell].append(session)
    for cell, (one, reading) in first.items():
        times, host = sorted(moments[cell]), hosts[one["system"]["host"]]
        fact = _cell(cell, one, reading, means[cell], host, times)
        yield replace(fact, session_names=tuple(sessions[cell]))


def _identity(run: Document, sample: Document) -> tuple[object, ...]:
    return (
        run["study"],
        _system_id(run),
        *(run.get("scenario", "single"), run.get("vms"), run.get("slot", "")),
        run.get("load", ""),
        _case(run, sample),
    )


def _stated_deviation(sample: Document, metric: Metric) -> float | None:
    deviation = sample.get("standard_deviation")
    return deviation and units.convert(deviation, sample["unit"], metric.unit)


def _case(run: Document, sample: Document) -> str:
    return case_fingerprint(
        _tool_name(run["tool"]), sample["metric"], sample["parameters"]
    )


def _system_id(run: Document) -> str:
    return system_fingerprint(SystemDescription(**run["system"]))[:12]


def _system_label(system: Document) -> str:
    bits = f"{system['guest_bits']}-bit" if system.get("guest_bits") else ""
    options = ", ".join(f"{k}={v}" for k, v in system.get("options", {}).items())
    parts = [system.get(name, "") for name in SYSTEM_FIELDS[:4]]
    return " ".join(text for text in [*parts, bits, options] if text)


def _cell(
    key: str,
    run: Document,
    sample: Document,
    means: Sequence[float],
    host: Mapping[str, Any],
    times: Sequence[datetime],
) -> CellFact:
    system, metric = run["system"], _metric(run["tool"], sample)
    tool = _tool_name(run["tool"])
    try:
        definition = tools.get(tool)
        label = (
            f"{definition.title} {case_label(definition, metric, sample['parameters'])}"
        )
    except BenchmarksError:
        parameters = ", ".join(f"{k}={v}" for k, v in sample["parameters"].items())
        label = f"{tool} {metric.name} {parameters}"
    return CellFact(
        id=key,
        study=run["study"],
        study_label=run["study"],
        host=system["host"],
        host_cores=host.get("cores"),
        line_rate_bit_per_s=line_rate_bit_per_s(host),
        disk_bus_byte_per_s=disk_bus_byte_per_s(host),
        system=_system_id(run),
        system_label=_system_label(system),
        is_native=system["hypervisor"] == "native",
        options=canonical_parameters(system.get("options", {})),
        **{name: system[name] for name in SYSTEM_FIELDS if name in system},
        **{name: run[name] for name in PLACE_FIELDS if name in run},
        tool=tool,
        metric=metric.name,
        case=_case(run, sample),
        case_label=label,
        parameters=canonical_parameters(sample["parameters"]),
        component=metric.component,
        unit=metric.unit,
        better=metric.better,
        zero_allowed=metric.allows_zero,
        n=sample.get("runs", len(means)),
        stated_deviation=_stated_deviation(sample, metric),
        mean=summarize(means).mean,
        run_means=tuple(means),
        first_at=times[0] if times else None,
        last_at=times[-1] if times else None,
    )


def _with_baselines(cells: Sequence[CellFact]) -> list[CellFact]:
    conditions = {cell.id: _conditions(cell) for cell in cells}
    by_case: dict[Id, list[CellConditions]] = defaultdict(list)
    for cell in cells:
        by_case[cell.case].append(conditions[cell.id])
    by_id = {cell.id: cell for cell in cells}
    paired = []
    for cell in cells:
        choice = choose_baseline(
            conditions[cell.id],
            by_case[cell.case],
            equivalence_margin_percent=2.0,
            max_age_days=30,
        )
        native = None if choice.baseline_id is None else by_id[choice.baseline_id]
        paired.append(_against(cell, native))
    return paired


def _conditions(cell: CellFact) -> CellConditions:
    same = (
        *("id", "host", "guest_os", "guest_bits", "scenario", "is_native", "options"),
        *("vcpus", "memory_bytes", "mean", "n", "slot", "vms", "load"),
    )
    return CellConditions(
        study_id=cell.study,
        case_id=cell.case,
        **{name: getattr(cell, name) for name in same},
    )


def _against(cell: CellFact, native: CellFact | None) -> CellFact:
    return cell if native is None else replace(cell, baseline=native.id)
