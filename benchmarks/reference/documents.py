"""The reference studies as the documents that the REST API takes.

Rows of one execution of a tool become one run: all is equal but the parameters that a
tool varies within an execution (``VARIED``). A ``repetition`` is a fresh start of the
tool, so each is a run of its own.

The results of our own lab (`make lab`) are raw outputs and facts with repeated runs.
"""

from __future__ import annotations

import csv
import json
import lzma
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, fields
from datetime import datetime, timedelta, timezone
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any, Final
from uuid import UUID, uuid5

from benchmarks import tools
from benchmarks.reference.vocabulary import OWN_TOOLS, READ, Known, Parameter, known

DATA: Final = Path(__file__).parent / "data"
HOST_TITLES: Final = {
    "ufcg-power9-ac922": "UFCG: IBM POWER9 AC922",
    "oulu-core2-q6600": "Oulu: Intel Core 2 Quad Q6600",
    "ibm-xeon-2x8": "IBM Research: 2 sockets x 8 cores",
    "framework-16-7840hs": "Framework 16: AMD Ryzen 7 7840HS",
    "poliquin-i7-12700k": "Poliquin: Intel Core i7-12700K",
    "friedman-4cpu": "Friedman: 4 CPUs",
    "lmu-athlon64-x2-4800": "LMU Munich: AMD Athlon 64 X2 4800+",
    "heidelberg-xeon-2ghz": "Heidelberg: 2 x Intel Xeon 2 GHz",
    "uoc-4core-4gib": "UOC: 4 cores, 4 GiB",
    "inqbus-server-a": "inqbus server A (3ware RAID 5)",
    "inqbus-server-b": "inqbus server B (Dell RAID 1)",
    "inqbus-server": "inqbus server",
    "inqbus-lan": "inqbus: two machines in a LAN",
    "inqbus-wan": "inqbus: two data centres",
}

# Any fixed value will do; another one would upload every run a second time.
NAMESPACE: Final = UUID("6a1f6c2e-6d0c-5c0b-9a53-2f0c5b7e4d11")

VARIED: Final = {"ramspeed": {"level"}, "tiotest": {"size"}}
# Printed among the parameters, but facts of the system, the run or its load.
SYSTEM_OPTIONS: Final = (
    *("storage", "swap", "tuned", "bridge"),
    *("topology", "pinning", "scheduling"),
)
RUN_FIELDS: Final = ("elapsed_s", "load", "repetition", "iteration", "vcpus")
# Its ten trials are of one start of the program, says the study: iterations.
TRIALS: Final = "Intel LINPACK"
STARTED: Final = re.compile(r"started ([^;]+)")
# How the raw logs write when they began, and the zone of those that name none.
STAMPS: Final = ("%Y-%m-%dT%H:%M:%S%z", "%Y-%m-%dT%H:%M:%S", "%a %b %d %H:%M:%S %Y")
ZONES: Final = {
    "ufcg-2026-power9": timezone(timedelta(hours=-3)),  # Campina Grande
    "ibm-2014-docker-kvm": timezone(timedelta(hours=-5)),  # Austin, CDT
}
# These name a kernel behind an operating system, which then is another one for each.
KERNELS: Final = ("ufcg-2026-power9", "ibm-2014-docker-kvm", "memfault-2024-wsl2")
KERNEL: Final = re.compile(r"(?P<os>.+) \((?P<kernel>\d[\w.-]+)\)")

# What ran together in scenarios of several VMs. A meter reads for the tool it names.
TOGETHER: Final = ("parallel", "disk and network combined")
WORKLOADS: Final = {
    "watts-up": "{workload}",
    "httperf": "httperf wsess={wsess}",
    "sysbench": "sysbench {test}",
    # The meter's single reading does not say which number of processes it covers.
    "b_eff_io": "b_eff_io {processes} processes",
    "linpack": "LINPACK n={n}",
}

# vCPUs and memory of the guests, as studies.json states them in words.
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One line of a reference file; ``data/README.md`` explains the columns."""

    document: str
    table: str
    machine: str
    hypervisor: str
    hypervisor_version: str
    virtualization: str
    guest_os: str
    guest_bits: str
    hw_virt: str
    guest_tools: str
    scenario: str
    vms: str
    vm: str
    tool: str
    metric: str
    operation: str
    access: str
    params: str
    clock: str
    value: str
    unit: str
    note: str

    @property
    def parameters(self) -> dict[str, str]:
        """``params`` taken apart: ``key=value;...``, where a value may hold ``=``."""
        pairs = (pair.partition("=") for pair in self.params.split(";") if pair)
        return {key.strip(): value.strip() for key, _, value in pairs}


def read_rows(study: str) -> list[Row]:
    """Every number of a study, in the file's order."""
    columns = [column.name for column in fields(Row)]
    with (DATA / f"{study}.csv").open(encoding="utf-8", newline="") as file:
        lines = csv.DictReader(file)
        if lines.fieldnames != columns:
            raise ValueError(f"{file.name} has other columns than {', '.join(columns)}")
        return [Row(**line) for line in lines]


@cache
def studies() -> Mapping[str, Any]:
    """What the rows cannot hold: ``machines`` and ``studies`` by their slugs."""
    text = (DATA / "studies.json").read_text(encoding="utf-8")
    content: Mapping[str, Any] = json.loads(text)
    return content


@dataclass(frozen=True, slots=True)
class ReferenceStudy:
    """One study: send ``document``, ``own_tools``, ``hosts``, ``runs``, in this order.

    ``reference_system`` describes the system that stands in for a native baseline where
    the study has none; it is among the systems of the runs.
    """

    document: dict[str, Any]
    own_tools: tuple[dict[str, Any], ...]
    hosts: tuple[dict[str, Any], ...]
    runs: tuple[dict[str, Any], ...]
    reference_system: dict[str, Any] | None


def reference_studies() -> Iterator[ReferenceStudy]:
    """All studies, in the order of ``studies.json``."""
    return map(reference_study, studies()["studies"])


def reference_study(slug: str) -> ReferenceStudy:
    """One study by its slug."""
    rows = read_rows(slug)
    return ReferenceStudy(
        document=study_document(slug),
        own_tools=tuple(_own_tools(rows)),
        hosts=tuple(map(host_document, dict.fromkeys(row.machine for row in rows))),
        runs=tuple(run_documents(slug, rows)),
        reference_system=reference_system(slug, rows),
    )


def study_document(slug: str) -> dict[str, Any]:
    """Who published the study, when and what was varied."""
    study = studies()["studies"][slug]
    kept = ("title", "author", "institution", "language", "factors")
    attribution = (("attribution", "{}"), ("source", "Source: {}"))
    note = [study["note"]] if "note" in study else []
    note += [text.format(study[key]) for key, text in attribution if key in study]
    return {
        "slug": slug,
        **{key: study[key] for key in kept if key in study},
        **_stated(data_licence=study.get("license"), note="\n\n".join(note)),
        "published": study["date"],
        "visibility": "public",
    }


def host_document(slug: str) -> dict[str, Any]:
    """A machine with its published facts; one without facts has only its title."""
    facts = studies()["machines"].get(slug, {})
    return {"slug": slug, "title": HOST_TITLES[slug], "facts": facts}


def reference_system(slug: str, rows: list[Row]) -> dict[str, Any] | None:
    """The UOC study compares with HDD and swap on HDD; the others have native runs.

    The Heidelberg study has neither: nothing there says what to compare with.
    """
    if slug != "uoc-2012-kvm":
        return None
    systems = (system_document(slug, row) for row in rows)
    reference = {"storage": "HDD", "swap": "HDD"}
    return next(system for system in systems if system["options"] == reference)


def run_documents(study: str, rows: list[Row]) -> Iterator[dict[str, Any]]:
    """The uploads of a study, each with a key that is the same every time."""
    executions: dict[str, list[Row]] = {}
    cloned = {row.hypervisor for row in rows if _is_clone(row)}
    for row in rows:
        varied = {"iteration"} | VARIED.get(_tool_of(row), set())
        if row.tool == TRIALS:
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
        is_cloned = row.hypervisor in cloned
        started = _started_at(study, row)
        stated = _stated(
            study=study,
            system=system_document(study, row),
            tool=_tool_of(row),
            scenario=row.scenario,
            vms=int(row.vms) if row.vms else None,
            slot="1" if _is_clone(row) else row.vm,
            started_at=started,
            # Runs of one clone depend on each other: each clone is a sitting.
            session=f"VM {row.vm}, {row.hypervisor}" if is_cloned else None,
            load=row.parameters.get("load"),
            corun=_corun(row),
            clock=row.clock,
            document=row.document,
            table=row.table,
            note=row.note,
            facts=_facts(row),
        )
        key = uuid5(NAMESPACE, f"{study}\n{execution}")
        samples = [_sample(member) for member in members]
        yield {"key": str(key), **stated, "samples": samples}


def _known(row: Row) -> Known | None:
    return known(row.tool, row.metric, row.parameters.get("time", ""), row.operation)


def _tool_of(row: Row) -> str:
    """Our name of a row's tool."""
    found = _known(row)
    return found.tool if found else tools.get(row.tool).slug


def _own_tools(rows: Iterable[Row]) -> Iterator[dict[str, Any]]:
    """Yield what the lab declares of the tools that nobody else has."""
    for slug in sorted({_tool_of(row) for row in rows} & OWN_TOOLS.keys()):
        yield {"slug": slug, **OWN_TOOLS[slug]}


def _is_clone(row: Row) -> bool:
    """Whether it is of one of several cloned machines, each alone at its time."""
    is_further = row.vm.isdecimal() and int(row.vm) > 1
    return row.scenario == "single" and row.vms == "1" and is_further


def _started_at(study: str, row: Row) -> str | None:
    """When a run began, or the series it is of; None where the log does not say."""
    if not (stated := STARTED.match(row.note)):
        return None
    # Python reads no names of zones.
    text = re.sub(r" [A-Z]{3,4} (?=\d{4}$)", " ", stated[1].strip())
    for stamp in STAMPS:
        with suppress(ValueError):
            moment = datetime.strptime(text, stamp)  # noqa: DTZ007 (below)
            if moment.tzinfo is None:
                moment = moment.replace(tzinfo=ZONES[study])
            return moment.isoformat()
    raise ValueError(f'"{stated[1]}" is no time that is known')


def _facts(row: Row) -> dict[str, Any]:
    """What is stated of a run and is no part of its case."""
    found = _known(row)
    printed = dict(row.parameters)
    facts: dict[str, Any] = {}
    if elapsed := printed.get("elapsed_s"):
        facts["elapsed_s"] = float(elapsed)
    if found:
        names = (name for name in found.names if found.names[name] is None)
        facts |= {name: printed[name] for name in names if name in printed}
    return facts


def _sample(row: Row) -> dict[str, Any]:
    elsewhere = {*SYSTEM_OPTIONS, *RUN_FIELDS}
    printed = {k: v for k, v in row.parameters.items() if k not in elsewhere}
    own: dict[str, Parameter] = {**printed}
    found = _known(row)
    if found:
        own = dict(found.fixed)
        for name, text in printed.items():
            ours = found.names.get(name, name)
            if ours is not None:
                own[ours] = READ[ours](text) if ours in READ else text
    place = "repetition" if row.tool == TRIALS else "iteration"
    again = row.parameters.get(place) or row.parameters.get("repetition", "1")
    return {
        "metric": found.metric if found else row.metric,
        "parameters": own | _stated(operation=row.operation, access=row.access),
        "value": float(row.value),
        "unit": found.units.get(row.unit, row.unit) if found else row.unit,
        "repetition": int(again),
    }


def system_document(study: str, row: Row) -> dict[str, Any]:
    """The system under test; what the study does not state is left out."""
    sizes: Mapping[str, int] = {}
    if row.hypervisor != "native":
        by_hypervisor = SIZES_BY_HYPERVISOR.get((study, row.hypervisor), {})
        sizes = GUEST_SIZES.get(study, by_hypervisor)
        if vcpus := row.parameters.get("vcpus"):
            sizes = {**sizes, "vcpus": int(vcpus)}
    guest_os, options = row.guest_os, _options(row)
    if study in KERNELS and (split := KERNEL.fullmatch(row.guest_os)):
        guest_os, options = split["os"], {**options, "kernel": split["kernel"]}
    return _stated(
        host=row.machine,
        hypervisor=row.hypervisor,
        hypervisor_version=row.hypervisor_version,
        virtualization=row.virtualization,
        guest_os=guest_os,
        guest_bits=int(row.guest_bits) if row.guest_bits else None,
        **sizes,
        options=options,
    )


def _options(row: Row) -> dict[str, str]:
    printed = {key: row.parameters.get(key, "") for key in SYSTEM_OPTIONS}
    return _stated(
        hw_virt=row.hw_virt,
        guest_tools=row.guest_tools,
        **printed,
    )


def _corun(row: Row) -> str:
    """A name for the runs that ran together, the same for each of them."""
    if row.scenario not in TOGETHER:
        return ""
    if _tool_of(row) in OWN_TOOLS:
        return _corun_of(row, row.tool)
    tool = tools.get(row.tool)
    if pattern := WORKLOADS.get(tool.slug):
        workload = pattern.format_map(row.parameters)
    elif tool.slug == "iometer" and row.scenario == "parallel":
        workload = f"{tool.title} {tool.metric(row.metric).component}"
    else:
        workload = tool.title
    return _corun_of(row, workload)


def _corun_of(row: Row, workload: str) -> str:
    system = chain(
        (row.hypervisor, row.hypervisor_version, row.virtualization, row.guest_os),
        (f"{row.guest_bits}-bit" if row.guest_bits else "",),
        (f"{key}={value}" for key, value in _options(row).items()),
    )
    named = " ".join(part for part in system if part)
    return f"{workload}, {row.scenario}, {row.vms} VMs, {named}"


def _stated(**fields: Any) -> dict[str, Any]:
    return {key: value for key, value in fields.items() if value not in (None, "", {})}


def recorded_studies() -> Iterator[ReferenceStudy]:
    """All recorded results, in the order of their files' names."""
    return map(recorded_study, sorted(DATA.glob("*.json.xz")))


def recorded_study(path: Path) -> ReferenceStudy:
    """One recorded result; the keys of its runs are those of its agents."""
    content = json.loads(lzma.decompress(path.read_bytes()))
    return ReferenceStudy(
        document=content["study"],
        own_tools=(),
        hosts=tuple(content["hosts"]),
        runs=tuple(content["runs"]),
        reference_system=None,
    )
