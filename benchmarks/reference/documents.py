"""The reference studies as the documents that the REST API takes.

Rows of one execution of a tool become one run with several samples: rows of which all
of this is equal: document, table, system, scenario, VM and its slot, tool, clock, note
and every parameter except those that a tool varies within one execution (``VARIED``). A
``repetition`` is a fresh start of the tool, so each is a run of its own: eleven hdparm
readings are eleven runs.

Beside the printed studies stand results of our own lab (`make lab`), as they were
uploaded: raw outputs and facts. They hold repeated runs, so that intervals, verdicts,
order and the trust in clocks are seen from the first start.
"""

from __future__ import annotations

import json
import lzma
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, Final
from uuid import UUID, uuid5

from benchmarks import tools
from benchmarks.reference.rows import Row, read_rows, studies

RECORDS: Final = Path(__file__).parent / "data"
HOST_TITLES: Final = {
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
SYSTEM_OPTIONS: Final = ("storage", "swap", "tuned", "bridge")
RUN_FIELDS: Final = ("elapsed_s", "load", "repetition")

# What ran together in scenarios of several VMs. A meter reads for the tool it names.
TOGETHER: Final = ("parallel", "disk and network combined")
WORKLOADS: Final = {
    "watts-up": "{workload}",
    "httperf": "httperf wsess={wsess}",
    "sysbench": "sysbench {test}",
    # Each number of processes is an execution of its own; the meter's single reading
    # does not say which of them it covers, so it stays apart from all three.
    "b_eff_io": "b_eff_io {processes} processes",
    "linpack": "LINPACK n={n}",
}

# vCPUs and memory of the guests, as studies.json states them in words.
GUEST_SIZES: Final = {
    "lmu-2010-esxi": {"vcpus": 1},
    "lmu-2010-xen": {"vcpus": 1, "memory_bytes": 2**30},
    "uoc-2012-kvm": {"vcpus": 1},
}


@dataclass(frozen=True, slots=True)
class ReferenceStudy:
    """One study: upload its ``document``, then ``hosts``, then ``runs``, in this order.

    ``reference_system`` describes the system that stands in for a native baseline where
    the study has none; it is among the systems of the runs.
    """

    document: dict[str, Any]
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
        hosts=tuple(map(host_document, dict.fromkeys(row.machine for row in rows))),
        runs=tuple(run_documents(slug, rows)),
        reference_system=reference_system(slug, rows),
    )


def study_document(slug: str) -> dict[str, Any]:
    """Who published the study, when and what was varied."""
    study = studies()["studies"][slug]
    kept = ("title", "author", "institution", "language", "note", "factors")
    return {
        "slug": slug,
        **{key: study[key] for key in kept if key in study},
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
    for row in rows:
        varied = VARIED.get(tools.get(row.tool).slug, set())
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
        elapsed = row.parameters.get("elapsed_s")
        stated = _stated(
            study=study,
            system=system_document(study, row),
            tool=tools.get(row.tool).slug,
            scenario=row.scenario,
            vms=int(row.vms) if row.vms else None,
            slot=row.vm,
            load=row.parameters.get("load"),
            corun=_corun(row),
            clock=row.clock,
            document=row.document,
            table=row.table,
            note=row.note,
            facts={"elapsed_s": float(elapsed)} if elapsed else {},
        )
        key = uuid5(NAMESPACE, f"{study}\n{execution}")
        samples = [_sample(member) for member in members]
        yield {"key": str(key), **stated, "samples": samples}


def _sample(row: Row) -> dict[str, Any]:
    elsewhere = {*SYSTEM_OPTIONS, *RUN_FIELDS}
    own = {key: row.parameters[key] for key in row.parameters if key not in elsewhere}
    return {
        "metric": row.metric,
        "parameters": own | _stated(operation=row.operation, access=row.access),
        "value": float(row.value),
        "unit": row.unit,
        "repetition": int(row.parameters.get("repetition", 1)),
    }


def system_document(study: str, row: Row) -> dict[str, Any]:
    """The system under test; what the study does not state is left out."""
    sizes = {} if row.hypervisor == "native" else GUEST_SIZES.get(study, {})
    return _stated(
        host=row.machine,
        hypervisor=row.hypervisor,
        hypervisor_version=row.hypervisor_version,
        virtualization=row.virtualization,
        guest_os=row.guest_os,
        guest_bits=int(row.guest_bits) if row.guest_bits else None,
        **sizes,
        options=_options(row),
    )


def _options(row: Row) -> dict[str, str]:
    printed = {key: row.parameters.get(key, "") for key in SYSTEM_OPTIONS}
    return _stated(hw_virt=row.hw_virt, guest_tools=row.guest_tools, **printed)


def _corun(row: Row) -> str:
    """A name for the runs that ran together, the same for each of them."""
    if row.scenario not in TOGETHER:
        return ""
    tool = tools.get(row.tool)
    if pattern := WORKLOADS.get(tool.slug):
        workload = pattern.format_map(row.parameters)
    elif tool.slug == "iometer" and row.scenario == "parallel":
        workload = f"{tool.title} {tool.metric(row.metric).component}"
    else:
        workload = tool.title
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
    return map(recorded_study, sorted(RECORDS.glob("*.json.xz")))


def recorded_study(path: Path) -> ReferenceStudy:
    """One recorded result; the keys of its runs are those of its agents."""
    content = json.loads(lzma.decompress(path.read_bytes()))
    return ReferenceStudy(
        document=content["study"],
        hosts=tuple(content["hosts"]),
        runs=tuple(content["runs"]),
        reference_system=None,
    )
