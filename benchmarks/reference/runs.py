"""Rows of one execution of a tool become one run with several samples.

Rows belong to one execution if all of this is equal: document, table, system, scenario,
VM and its slot, tool, clock, note and every parameter except those that a tool varies
within one execution (``VARIED``). A ``repetition`` is a fresh start of the tool, so
each is a run of its own: eleven hdparm readings are eleven runs.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import chain
from typing import Any, Final
from uuid import UUID, uuid5

from benchmarks import tools
from benchmarks.reference.rows import Row

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


def run_documents(study: str, rows: list[Row]) -> Iterator[dict[str, Any]]:
    """The uploads of a study, each with a key that is the same every time."""
    executions: dict[str, list[Row]] = {}
    for row in rows:
        executions.setdefault(_execution(row), []).append(row)
    for execution, members in executions.items():
        key = uuid5(NAMESPACE, f"{study}\n{execution}")
        yield {
            "key": str(key),
            **_run(study, members[0]),
            "samples": _samples(members),
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


def _execution(row: Row) -> str:
    varied = VARIED.get(tools.get(row.tool).slug, set())
    fixed = {k: v for k, v in row.parameters.items() if k not in varied}
    identity = [
        *(row.document, row.table, row.machine),
        *(row.hypervisor, row.hypervisor_version, row.virtualization),
        *(row.guest_os, row.guest_bits, row.hw_virt, row.guest_tools),
        *(row.scenario, row.vms, row.vm, row.tool, row.clock, row.note),
    ]
    return json.dumps([identity, fixed], sort_keys=True, ensure_ascii=False)


def _run(study: str, row: Row) -> dict[str, Any]:
    parameters = row.parameters
    elapsed = parameters.get("elapsed_s")
    return _stated(
        study=study,
        system=system_document(study, row),
        tool=tools.get(row.tool).slug,
        scenario=row.scenario,
        vms=int(row.vms) if row.vms else None,
        slot=row.vm,
        load=parameters.get("load"),
        corun=_corun(row),
        clock=row.clock,
        document=row.document,
        table=row.table,
        note=row.note,
        facts={"elapsed_s": float(elapsed)} if elapsed else {},
    )


def _samples(rows: list[Row]) -> list[dict[str, Any]]:
    return [
        {
            "metric": row.metric,
            "parameters": _case_parameters(row),
            "value": float(row.value),
            "unit": row.unit,
            "repetition": int(row.parameters.get("repetition", 1)),
        }
        for row in rows
    ]


def _case_parameters(row: Row) -> dict[str, str]:
    elsewhere = {*SYSTEM_OPTIONS, *RUN_FIELDS}
    own = {k: v for k, v in row.parameters.items() if k not in elsewhere}
    return own | _stated(operation=row.operation, access=row.access)


def _options(row: Row) -> dict[str, str]:
    printed = {key: row.parameters.get(key, "") for key in SYSTEM_OPTIONS}
    return _stated(hw_virt=row.hw_virt, guest_tools=row.guest_tools, **printed)


def _corun(row: Row) -> str:
    """A name for the runs that ran together, the same for each of them."""
    if row.scenario not in TOGETHER:
        return ""
    system = chain(
        (row.hypervisor, row.hypervisor_version, row.virtualization, row.guest_os),
        (f"{row.guest_bits}-bit" if row.guest_bits else "",),
        (f"{key}={value}" for key, value in _options(row).items()),
    )
    named = " ".join(each for each in system if each)
    return f"{_workload(row)}, {row.scenario}, {row.vms} VMs, {named}"


def _workload(row: Row) -> str:
    tool = tools.get(row.tool)
    if pattern := WORKLOADS.get(tool.slug):
        return pattern.format_map(row.parameters)
    if tool.slug == "iometer" and row.scenario == "parallel":
        return f"{tool.title} {tool.metric(row.metric).component}"
    return tool.title


def _stated(**fields: Any) -> dict[str, Any]:
    return {key: value for key, value in fields.items() if value not in (None, "", {})}
