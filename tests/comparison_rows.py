"""Rows of a comparison, for tests to change."""

from dataclasses import fields, replace

from benchmarks.analysis.judgement import Judgement
from benchmarks.comparing.row import (
    Compared,
    ComparedCase,
    ComparedSystem,
    ComparisonRow,
)

NATIVE = ComparisonRow(
    id=1,
    study="study",
    case=ComparedCase(
        id=1,
        label="Network throughput · write",
        tool="iometer",
        tool_title="Iometer",
        metric="network throughput",
        operation="write",
        access="",
        parameters={"operation": "write", "target": "iSCSI"},
        component="network",
    ),
    system=ComparedSystem(
        id=1,
        label="native Ubuntu 32-bit",
        host="alpha",
        hypervisor="native",
        hypervisor_version="",
        virtualization="",
        guest_os="Ubuntu",
        guest_bits=32,
        vcpus=None,
        memory_bytes=None,
        hw_virt="",
        guest_tools="",
        options={},
    ),
    scenario="single",
    vms=1,
    slot="1",
    load="",
    clock="",
    document="",
    table="",
    shown=Compared(
        value=52.97,
        unit="MB/s",
        better="higher",
        n=1,
        baseline_value=None,
        baseline_n=None,
        baseline_system_id=None,
        ratio=None,
        kind="",
        judgement=None,
        state="native",
        reason="",
    ),
)
KINDS = ("efficiency", "relative", "scaling", "slowdown")
PARTS = ("case", "system", "shown")
# Where a value stands that is not the row's own, by its name in the API.
PLACES = {
    "case": ("case", "label"),
    "case_id": ("case", "id"),
    "system": ("system", "label"),
    "system_id": ("system", "id"),
} | {
    field.name: (part, field.name)
    for part in PARTS
    for field in fields(getattr(NATIVE, part))
    if field.name not in ("id", "label")
}


def changed(row, **values):
    """Return a row with other values, whatever part of it they stand in.

    A ratio may be named by its kind: ``efficiency=0.5``.
    """
    if of_kinds := {kind: values.pop(kind) for kind in KINDS if kind in values}:
        known = [(kind, it) for kind, it in of_kinds.items() if it is not None]
        values["kind"], values["ratio"] = known[0] if known else ("", None)
    parts = {part: {} for part in PARTS}
    for name in PLACES.keys() & values.keys():
        part, field = PLACES[name]
        parts[part][field] = values.pop(name)
    inner = {part: replace(getattr(row, part), **of) for part, of in parts.items()}
    return replace(row, **inner, **values)


XEN = changed(
    NATIVE,
    id=2,
    system="Xen 3.3 full Ubuntu 32-bit",
    system_id=2,
    hypervisor="Xen",
    hypervisor_version="3.3",
    virtualization="full",
    value=13.08,
    baseline_value=52.97,
    baseline_n=1,
    baseline_system_id=1,
    ratio=13.08 / 52.97,
    kind="efficiency",
    state="paired",
)
SLOWER = Judgement(
    ratio=0.96,
    low=0.94,
    high=0.98,
    half_width=0.02,
    verdict="slower",
    direction="slower",
    evidence_level="verdict",
    label="slower",
    codes=(),
    sentences=("The interval lies wholly below 0.98.",),
    advice="",
)
MEASURED = changed(
    XEN,
    n=6,
    baseline_n=5,
    ratio=0.96,
    judgement=SLOWER,
    interval=SLOWER.interval,
)
