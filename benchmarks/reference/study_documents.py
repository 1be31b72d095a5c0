"""The reference studies as documents for the REST API.

Rows that differ only in parameters which a tool varies within one execution
(``VARIED_PARAMETERS``) become one run. Each ``repetition`` is a separate run.
"""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from itertools import chain
from pathlib import Path
from typing import Any, Final
from uuid import UUID, uuid5

from benchmarks import tools
from benchmarks.hypervisor_names import NATIVE, is_unconfirmed_native
from benchmarks.reference.data_files import (
    DATA,
    ReferenceRow,
    published_studies,
    read_rows,
    study_description,
    study_sources,
)
from benchmarks.reference.failure_notes import failure_fields
from benchmarks.reference.host_documents import host_document, host_slug
from benchmarks.reference.name_mapping import (
    CUSTOM_TOOLS,
    PARAMETER_READERS,
    MetricMapping,
    Parameter,
    find_mapping,
)
from benchmarks.reference.references import named_reference, other_references
from benchmarks.units import convert

# Never change it: every run would get another key and be stored again.
NAMESPACE: Final = UUID("6a1f6c2e-6d0c-5c0b-9a53-2f0c5b7e4d11")

VARIED_PARAMETERS: Final = {
    "ramspeed": {"level"},
    "tiotest": {"size"},
    "published-gobonniego": {"iops_seconds"},
}
# Printed parameters that are properties of the system, the run or its load.
SYSTEM_OPTIONS: Final = (
    *("storage", "swap", "tuned", "bridge"),
    *("topology", "pinning", "scheduling"),
    *("setting", "emulator_pinning", "iothreads", "iothread_pinning"),
    *("disk_io", "disk_cache", "cpu_mode", "numa_cells", "numatune", "hugepages"),
    *("balloon", "devices", "rng", "disk_image", "write_cache", "volume", "network"),
    *("firmware", "machine", "configured_by", "kernel_image", "guest_kernel"),
    *("container", "controller", "disk", "l2arc", "slog", "sync"),
)
RUN_FIELDS: Final = (
    *("elapsed_s", "load", "repetition", "iteration", "vcpus"),
    *("session", "specimen", "compiler", "runs"),
)
# Facts of a run that are printed as parameters.
FACT_PARAMETERS: Final = ("compiler",)
# According to the study, the ten trials belong to one execution.
TRIAL_TABLE: Final = "Intel LINPACK"
DEVIATION_PATTERN: Final = re.compile(
    r"mean of \d+ runs, .*(?:standard deviation|RMS) ([\d.]+)"
)
VERSION_PATTERN: Final = re.compile(r"\bfio-(\d[\w.]*)")
START_PATTERN: Final = re.compile(r"started ([^;]+)")
# Formats of times in the raw logs, and time zones of studies that print none.
TIME_FORMATS: Final = (
    "%Y-%m-%dT%H:%M:%S%z",
    "%Y-%m-%dT%H:%M:%S",
    "%a %b %d %H:%M:%S %Y",
    "%a, %d %b %Y %H:%M:%S GMT",
)
ZONES: Final = {
    "ufcg-2026-power9": timezone(timedelta(hours=-3)),  # Campina Grande
    "ibm-2014-docker-kvm": timezone(timedelta(hours=-5)),  # Austin, CDT
    "nsdi-2020-microvm": UTC,
}
# These studies print the kernel after the operating system.
KERNEL_STUDIES: Final = (
    "ufcg-2026-power9",
    "ibm-2014-docker-kvm",
    "memfault-2024-wsl2",
)
KERNEL_PATTERN: Final = re.compile(r"(?P<os>.+) \((?P<kernel>\d[\w.-]+)\)")

# Scenarios of runs that ran together, and names of workloads by tool. The reading of a
# meter belongs to the workload that it names.
CONCURRENT: Final = ("parallel", "disk and network combined")
WORKLOADS: Final = {
    "watts-up": "{workload}",
    "httperf": "httperf wsess={wsess}",
    "sysbench": "sysbench {test}",
    # The reading does not say which number of processes it covers.
    "b_eff_io": "b_eff_io {processes} processes",
    "linpack": "LINPACK n={n}",
}

# Sizes of guests, as described in studies.json.
GUEST_SIZES: Final[Mapping[str, Mapping[str, int]]] = {
    "lmu-2010-esxi": {"vcpus": 1},
    "lmu-2010-xen": {"vcpus": 1, "memory_bytes": 2**30},
    "uoc-2012-kvm": {"vcpus": 1},
}
SIZES_BY_HYPERVISOR: Final[Mapping[tuple[str, str], Mapping[str, int]]] = {
    ("oulu-2021-microvm", "KVM"): {"vcpus": 4, "memory_bytes": 3934 * 2**20},
    ("oulu-2021-microvm", "Firecracker"): {"vcpus": 4, "memory_bytes": 3934 * 2**20},
    ("ufcg-2026-power9", "KVM"): {"vcpus": 16, "memory_bytes": 95 * 2**30},
    ("ufcg-2026-power9", "QEMU"): {"vcpus": 16, "memory_bytes": 63 * 2**30},
}

Varied = frozenset[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class ReferenceStudy:
    """A study as documents for the API.

    They are sent in this order: ``document``, ``own_tools``, ``hosts``, ``runs``.
    ``reference_system`` describes the system that replaces a native baseline, if any;
    ``system_references`` are systems with another reference, and this reference.
    """

    document: dict[str, Any]
    own_tools: tuple[dict[str, Any], ...]
    hosts: tuple[dict[str, Any], ...]
    runs: tuple[dict[str, Any], ...]
    reference_system: dict[str, Any] | None
    system_references: Sequence[tuple[dict[str, Any], dict[str, Any]]] = ()


def reference_studies() -> Iterator[ReferenceStudy]:
    """Return the studies that are loaded before the product is ready."""
    return map(reference_study, published_studies()["studies"])


def reference_study(slug: str) -> ReferenceStudy:
    rows, description = read_rows(slug), study_description(slug)
    runs = tuple(run_documents(slug, rows))
    systems = {json.dumps(run["system"]): run["system"] for run in runs}
    return ReferenceStudy(
        document=study_document(slug),
        own_tools=tuple(_own_tools(rows)),
        hosts=tuple(
            host_document(slug, row)
            for row in {host_slug(row): row for row in rows}.values()
        ),
        runs=runs,
        reference_system=named_reference(description, list(systems.values())),
        system_references=other_references(description, list(systems.values())),
    )


def study_document(slug: str) -> dict[str, Any]:
    study = study_description(slug)
    copied = ("title", "author", "institution", "language", "factors")
    attribution = (("attribution", "{}"), ("source", "Source: {}"))
    note = [study["note"]] if "note" in study else []
    note += [text.format(study[key]) for key, text in attribution if key in study]
    return {
        "slug": slug,
        **{key: study[key] for key in copied if key in study},
        **_without_empty(data_licence=study.get("license"), note="\n\n".join(note)),
        "published": study["date"],
        "visibility": "public",
        "sources": study_sources(slug),
    }


def run_documents(study: str, rows: list[ReferenceRow]) -> Iterator[dict[str, Any]]:
    """Yield the uploads of a study; the key of each run never changes."""
    executions: dict[str, list[ReferenceRow]] = {}
    varied_lengths = _varied_lengths(rows)
    cloned = {row.hypervisor for row in rows if _is_clone(row)}
    for row in rows:
        varied = {"iteration"} | VARIED_PARAMETERS.get(_tool_slug(row), set())
        if row.tool == TRIAL_TABLE:
            varied |= {"repetition"}
        fixed = {name: row.parameters[name] for name in row.parameters.keys() - varied}
        identity = [
            *(row.document, row.table, row.machine),
            *(row.hypervisor, row.hypervisor_version, row.virtualization),
            *(row.guest_os, row.guest_bits, row.hw_virt, row.guest_tools),
            *(row.scenario, row.vms, row.vm, row.tool, row.clock, row.note),
        ]
        execution = json.dumps([identity, fixed], sort_keys=True, ensure_ascii=False)
        executions.setdefault(execution, []).append(row)
    for execution, members in executions.items():
        row = members[0]
        started = _started_at(study, row)
        document = _without_empty(
            study=study,
            system=system_document(study, row),
            tool=_tool_slug(row),
            scenario=row.scenario,
            vms=int(row.vms) if row.vms else None,
            slot="1" if _is_clone(row) else row.vm,
            started_at=started,
            session=_session(row, is_cloned=row.hypervisor in cloned),
            load=row.parameters.get("load"),
            corun=_corun(row),
            clock=row.clock,
            document=row.document,
            table=row.table,
            note=row.note,
            tool_version=row.parameters.get("version") or _noted_version(row),
            **failure_fields(
                row.note, row.parameters, is_without_work=_is_without_work(members)
            ),
            facts=_facts(row, varied_lengths),
        )
        key = uuid5(NAMESPACE, f"{study}\n{execution}")
        samples = [_sample(member, varied_lengths) for member in members]
        yield {"key": str(key), **document, "samples": samples}


def _is_without_work(rows: Iterable[ReferenceRow]) -> bool:
    """Return whether all rows are rates of 0."""
    return all(row.unit.endswith("/s") and not float(row.value) for row in rows)


def _varied_lengths(rows: Iterable[ReferenceRow]) -> Varied:
    """Return tool and name of parameters that are facts in other studies, but that
    this study varies.
    """
    values: dict[tuple[str, str, str], set[str]] = {}
    for row in rows:
        mapping = _mapping(row)
        for name, our_name in mapping.names.items() if mapping else ():
            if our_name is None and name in row.parameters:
                key = (row.tool, mapping.metric if mapping else "", name)
                values.setdefault(key, set()).add(row.parameters[name])
    return frozenset(
        (tool, name) for (tool, _, name), texts in values.items() if len(texts) > 1
    )


def _session(row: ReferenceRow, *, is_cloned: bool) -> str | None:
    """Return the name of the session, which runs share that depend on each other."""
    if is_cloned:
        return f"VM {row.vm}, {row.hypervisor}"
    if number := row.parameters.get("session"):
        return f"{row.parameters['setting']}, {row.table}, sitting {number}"
    return None


def _mapping(row: ReferenceRow) -> MetricMapping | None:
    return find_mapping(
        row.tool, row.metric, row.parameters.get("time", ""), row.operation
    )


def _tool_slug(row: ReferenceRow) -> str:
    mapping = _mapping(row)
    return mapping.tool if mapping else tools.get(row.tool).slug


def _own_tools(rows: Iterable[ReferenceRow]) -> Iterator[dict[str, Any]]:
    for slug in sorted({_tool_slug(row) for row in rows} & CUSTOM_TOOLS.keys()):
        yield {"slug": slug, **CUSTOM_TOOLS[slug]}


def _is_clone(row: ReferenceRow) -> bool:
    """Return whether the row was measured alone on a clone of a virtual machine."""
    is_further = row.vm.isdecimal() and int(row.vm) > 1
    return row.scenario == "single" and row.vms == "1" and is_further


def _started_at(study: str, row: ReferenceRow) -> str | None:
    """Return the start of a run, or of its series of runs, in ISO format, or None."""
    if not (match := START_PATTERN.match(row.note)):
        return None
    # strptime cannot read names of time zones such as CDT.
    text = re.sub(r" [A-Z]{3,4} (?=\d{4}$)", " ", match[1].strip())
    for time_format in TIME_FORMATS:
        with suppress(ValueError):
            moment = datetime.strptime(text, time_format)  # noqa: DTZ007 (below)
            if moment.tzinfo is None:
                moment = moment.replace(tzinfo=ZONES[study])
            return moment.isoformat()
    raise ValueError(f'"{match[1]}" is not a known time')


def _noted_version(row: ReferenceRow) -> str:
    """Return "" if no note states the version."""
    version = VERSION_PATTERN.search(row.note)
    return version[1] if version and row.tool == "fio" else ""


def _facts(row: ReferenceRow, varied: Varied) -> dict[str, Any]:
    mapping = _mapping(row)
    printed = dict(row.parameters)
    facts: dict[str, Any] = {}
    if elapsed := printed.get("elapsed_s"):
        facts["elapsed_s"] = float(elapsed)
    facts |= {name: printed[name] for name in FACT_PARAMETERS if name in printed}
    if mapping:
        names = (
            name
            for name, our_name in mapping.names.items()
            if our_name is None and (row.tool, name) not in varied
        )
        facts |= {name: printed[name] for name in names if name in printed}
    return facts


def _sample(row: ReferenceRow, varied: Varied) -> dict[str, Any]:
    mapping = _mapping(row)
    excluded = {*SYSTEM_OPTIONS, *RUN_FIELDS, "memory", "version"}
    excluded -= mapping.names.keys() if mapping else set()
    printed = {k: v for k, v in row.parameters.items() if k not in excluded}
    parameters: dict[str, Parameter] = {**printed}
    if mapping:
        parameters = dict(mapping.fixed)
        for name, text in printed.items():
            our_name = mapping.names.get(name, name)
            if (row.tool, name) in varied:
                our_name = name
            if our_name is not None:
                parameters[our_name] = (
                    PARAMETER_READERS[our_name](text)
                    if our_name in PARAMETER_READERS
                    else text
                )
    counter = "repetition" if row.tool == TRIAL_TABLE else "iteration"
    repetition = row.parameters.get(counter) or row.parameters.get("repetition", "1")
    return {
        "metric": mapping.metric if mapping else row.metric,
        "parameters": parameters
        | _without_empty(
            operation=row.operation,
            access=row.access,
            # A printed mean is not another run of the same result.
            statistic=f"mean in {row.document}" if "runs" in row.parameters else "",
        ),
        "value": float(row.value),
        "unit": mapping.units.get(row.unit, row.unit) if mapping else row.unit,
        "repetition": int(repetition),
        **_summary(row),
    }


def _summary(row: ReferenceRow) -> dict[str, float]:
    """Return the number of runs whose mean is printed, and their deviation."""
    if not (runs := row.parameters.get("runs")):
        return {}
    deviation = DEVIATION_PATTERN.search(row.note)
    return {"runs": int(runs)} | (
        {"standard_deviation": float(deviation[1])} if deviation else {}
    )


def system_document(study: str, row: ReferenceRow) -> dict[str, Any]:
    sizes: Mapping[str, int] = {}
    if row.hypervisor != "native":
        by_hypervisor = SIZES_BY_HYPERVISOR.get((study, row.hypervisor), {})
        sizes = GUEST_SIZES.get(study, by_hypervisor)
        if vcpus := row.parameters.get("vcpus"):
            sizes = {**sizes, "vcpus": int(vcpus)}
        if memory := _guest_memory(row):
            sizes = {**sizes, "memory_bytes": memory}
    guest_os, options = row.guest_os, _options(row)
    if study in KERNEL_STUDIES and (split := KERNEL_PATTERN.fullmatch(row.guest_os)):
        guest_os, options = split["os"], {**options, "kernel": split["kernel"]}
    return _without_empty(
        host=host_slug(row),
        hypervisor=row.hypervisor,
        hypervisor_version=row.hypervisor_version,
        virtualization=row.virtualization,
        guest_os=guest_os,
        guest_bits=int(row.guest_bits) if row.guest_bits else None,
        **sizes,
        options=options,
    )


def _guest_memory(row: ReferenceRow) -> int | None:
    """Return the memory of the guest, unless it is a parameter of the benchmark."""
    mapping = _mapping(row)
    printed = row.parameters.get("memory", "")
    if not printed or (mapping and "memory" in mapping.names):
        return None
    amount, unit = printed.split(" ")
    return int(convert(float(amount), unit, "B"))


def _options(row: ReferenceRow) -> dict[str, str]:
    printed = {key: row.parameters.get(key, "") for key in SYSTEM_OPTIONS}
    return _without_empty(
        hw_virt=row.hw_virt,
        guest_tools=row.guest_tools,
        **printed,
    )


def _corun(row: ReferenceRow) -> str:
    """Return a name that runs share if they ran together, else ""."""
    # Repeated starts without the number of a VM are samples of many concurrent starts.
    is_sampled = not row.vm and "repetition" in row.parameters
    if row.scenario not in CONCURRENT or is_sampled:
        return ""
    if _tool_slug(row) in CUSTOM_TOOLS:
        return _corun_name(row, row.tool)
    tool = tools.get(row.tool)
    if pattern := WORKLOADS.get(tool.slug):
        workload = pattern.format_map(row.parameters)
    elif tool.slug == "iometer" and row.scenario == "parallel":
        workload = f"{tool.title} {tool.metric(row.metric).component}"
    else:
        workload = tool.title
    return _corun_name(row, workload)


def _corun_name(row: ReferenceRow, workload: str) -> str:
    system = chain(
        (row.hypervisor, row.hypervisor_version, row.virtualization, row.guest_os),
        (f"{row.guest_bits}-bit" if row.guest_bits else "",),
        (f"{key}={value}" for key, value in _options(row).items()),
    )
    system_name = " ".join(part for part in system if part)
    return f"{workload}, {row.scenario}, {row.vms} VMs, {system_name}"


def _without_empty(**fields: Any) -> dict[str, Any]:
    return {key: value for key, value in fields.items() if value not in (None, "", {})}


def recorded_studies() -> Iterator[ReferenceStudy]:
    """Return the studies that were recorded with agents, ordered by file name."""
    return map(recorded_study, sorted(DATA.glob("*.json.gz")))


def recorded_study(path: Path) -> ReferenceStudy:
    """Return the public study of a study file; its runs keep the keys of the agents.

    The authors confirm its native system, which is itself a VM.
    """
    content = json.loads(gzip.decompress(path.read_bytes()))
    document = {**content["study"], "visibility": "public"}
    for run in content["runs"]:
        run["study"] = document["slug"]
        system = run["system"]
        if is_unconfirmed_native(system["hypervisor"], run.get("facts", {})):
            run["facts"]["platform"]["confirmed"] = NATIVE
    return ReferenceStudy(
        document=document,
        own_tools=(),
        hosts=tuple(content["hosts"]),
        runs=tuple(content["runs"]),
        reference_system=None,
    )
