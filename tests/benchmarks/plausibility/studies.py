"""The reference studies as the plain values that the rules look at."""

from dataclasses import replace
from functools import cache

from benchmarks import tools
from benchmarks.analysis.baselines import CellConditions, choose_baseline, efficiency
from benchmarks.analysis.summary import summarise
from benchmarks.errors import ZeroReadingError
from benchmarks.fingerprints import (
    SystemDescription,
    canonical_parameters,
    case_fingerprint,
    system_fingerprint,
)
from benchmarks.parsing.labels import case_label
from benchmarks.platforms import disk_bus_byte_per_s, line_rate_bit_per_s
from benchmarks.plausibility.facts import CellFact, RunFact, SampleFact, StudyFacts
from benchmarks.reference.documents import reference_studies as published

SYSTEM_FIELDS = (
    *("hypervisor", "hypervisor_version", "virtualization", "guest_os"),
    *("guest_bits", "vcpus", "memory_bytes"),
)
RUN_FIELDS = ("scenario", "vms", "slot", "load", "clock", "document", "table")


@cache
def reference_studies():
    """Each study by its slug, with the cells of all others beside it."""
    loaded = {study.document["slug"]: study for study in published()}
    cells = _with_baselines(
        [cell for study in loaded.values() for cell in _cells_of(study)]
    )
    return {
        slug: StudyFacts(
            id=slug,
            label=slug,
            cells=tuple(cell for cell in cells if cell.study == slug),
            others=tuple(cell for cell in cells if cell.study != slug),
            runs=tuple(map(run_fact, study.runs)),
            varied=tuple(study.document.get("factors", ())),
        )
        for slug, study in loaded.items()
    }


def _cells_of(study):
    hosts = {host["slug"]: host["facts"] for host in study.hosts}
    grouped = {}
    for run in study.runs:
        for sample in run["samples"]:
            grouped.setdefault(_identity(run, sample), []).append((run, sample))
    for key, members in grouped.items():
        yield _cell(key, members, hosts)


def _identity(run, sample):
    return (
        run["study"],
        system_id(run),
        *(run["scenario"], run.get("vms"), run.get("slot", ""), run.get("load", "")),
        case_fingerprint(run["tool"], sample["metric"], sample["parameters"]),
    )


def system_id(run):
    return system_fingerprint(SystemDescription(**run["system"]))[:12]


def system_label(system):
    bits = f"{system['guest_bits']}-bit" if system.get("guest_bits") else ""
    options = ", ".join(f"{k}={v}" for k, v in system.get("options", {}).items())
    parts = [system.get(name, "") for name in SYSTEM_FIELDS[:4]]
    return " ".join(text for text in [*parts, bits, options] if text)


def _cell(key, members, hosts):
    run, sample = members[0]
    system, tool = run["system"], tools.get(run["tool"])
    metric = tool.metric(sample["metric"])
    means = tuple(sample["value"] for _, sample in members)
    return CellFact(
        id="/".join(map(str, key)),
        study=run["study"],
        study_label=run["study"],
        host=system["host"],
        host_cores=hosts[system["host"]].get("cores"),
        line_rate_bit_per_s=line_rate_bit_per_s(hosts[system["host"]]),
        disk_bus_byte_per_s=disk_bus_byte_per_s(hosts[system["host"]]),
        system=system_id(run),
        system_label=system_label(system),
        is_native=system["hypervisor"] == "native",
        options=canonical_parameters(system.get("options", {})),
        **{name: system[name] for name in SYSTEM_FIELDS if name in system},
        **{name: run[name] for name in RUN_FIELDS if name in run},
        tool=tool.slug,
        metric=metric.name,
        case=key[-1],
        case_label=f"{tool.title} {case_label(tool, metric, sample['parameters'])}",
        parameters=canonical_parameters(sample["parameters"]),
        component=metric.component,
        unit=metric.unit,
        better=metric.better,
        zero_allowed=metric.zero_allowed,
        n=len(means),
        mean=summarise(means).mean,
        means=means,
    )


def run_fact(run):
    return RunFact(
        id=run["key"],
        study=run["study"],
        host=run["system"]["host"],
        system=system_id(run),
        system_label=system_label(run["system"]),
        is_native=run["system"]["hypervisor"] == "native",
        vcpus=run["system"].get("vcpus"),
        tool=run["tool"],
        corun=run.get("corun", ""),
        **{name: run[name] for name in RUN_FIELDS if name in run},
        facts=run.get("facts", {}),
        samples=tuple(
            SampleFact(
                metric=sample["metric"],
                value=sample["value"],
                unit=sample["unit"],
                parameters=canonical_parameters(sample["parameters"]),
                repetition=sample["repetition"],
                cell="/".join(map(str, _identity(run, sample))),
            )
            for sample in run["samples"]
        ),
    )


def _with_baselines(cells):
    facts = {cell.id: _baseline_facts(cell) for cell in cells}
    by_case = {}
    for cell in cells:
        by_case.setdefault(cell.case, []).append(facts[cell.id])
    by_id = {cell.id: cell for cell in cells}
    return [_paired(cell, by_id, facts, by_case[cell.case]) for cell in cells]


def _baseline_facts(cell):
    same = (
        *("id", "host", "guest_os", "guest_bits", "scenario", "is_native", "options"),
        *("vcpus", "memory_bytes", "mean", "n", "slot", "vms", "load"),
    )
    return CellConditions(
        study_id=cell.study,
        case_id=cell.case,
        **{name: getattr(cell, name) for name in same},
    )


def _paired(cell, by_id, facts, candidates):
    choice = choose_baseline(
        facts[cell.id], candidates, equivalence_margin_percent=2.0, max_age_days=30
    )
    if choice.chosen is None:
        return cell
    native = by_id[choice.chosen]
    try:
        ratio = efficiency(cell.mean, native.mean, cell.better)
    except ZeroReadingError:
        ratio = None
    return replace(
        cell,
        baseline=native.id,
        baseline_mean=native.mean,
        baseline_n=native.n,
        baseline_variance=native.variance,
        efficiency=ratio,
    )
