"""Comparison rows that tests can modify."""

from copy import copy

from benchmarks.analysis.assessment import CellAssessment
from benchmarks.comparison.comparison_row import ComparisonResult, ComparisonRow
from benchmarks.models import Case, Host, System

NATIVE = ComparisonRow(
    id=1,
    study="study",
    case=Case(
        id=1,
        label="Network throughput · write",
        tool="iometer",
        metric="network throughput",
        parameters={"operation": "write", "target": "iSCSI"},
        component="network",
    ),
    system=System(
        id=1,
        host=Host(slug="alpha"),
        hypervisor="native",
        hypervisor_version="",
        virtualization="",
        guest_os="Ubuntu",
        guest_bits=32,
        vcpus=None,
        memory_bytes=None,
        options={},
    ),
    scenario="single",
    vms=1,
    slot="1",
    load="",
    clock="",
    document="",
    table="",
    result=ComparisonResult(
        value=52.97,
        unit="MB/s",
        better="higher",
        n=1,
        baseline_value=None,
        baseline_n=None,
        baseline_system_id=None,
        ratio=None,
        ratio_kind="",
        assessment=None,
        state="native",
        reason="",
    ),
)
KINDS = ("efficiency", "relative", "scaling", "slowdown")
PARTS = ("result", "case", "system")


def _place(name):
    """Return the part and the attribute that hold a value with this API name."""
    if name in ("case_id", "system_id"):
        return name.removesuffix("_id"), "id"
    if name == "case":
        return "case", "label"
    if name in ComparisonRow._fields:
        return "", name
    return next((part, name) for part in PARTS if hasattr(getattr(NATIVE, part), name))


def changed(row, **values):
    """Return a copy of a row with other values, also in its parts.

    A ratio may be named by its kind: ``efficiency=0.5``.
    """
    if of_kinds := {kind: values.pop(kind) for kind in KINDS if kind in values}:
        ratios = [
            (kind, ratio) for kind, ratio in of_kinds.items() if ratio is not None
        ]
        values["ratio_kind"], values["ratio"] = ratios[0] if ratios else ("", None)
    parts = {part: {} for part in ("", *PARTS)}
    for name, value in values.items():
        part, field = _place(name)
        parts[part][field] = Host(slug=value) if name == "host" else value
    inner = {"result": row.result._replace(**parts["result"])}
    for part in ("case", "system"):
        inner[part] = copy(getattr(row, part))
        for field, value in parts[part].items():
            setattr(inner[part], field, value)
    return row._replace(**inner, **parts[""])


XEN = changed(
    NATIVE,
    id=2,
    system_id=2,
    hypervisor="Xen",
    hypervisor_version="3.3",
    virtualization="full",
    value=13.08,
    baseline_value=52.97,
    baseline_n=1,
    baseline_system_id=1,
    ratio=13.08 / 52.97,
    ratio_kind="efficiency",
    state="paired",
)
SLOWER = CellAssessment(
    ratio=0.96,
    low=0.94,
    high=0.98,
    half_width=0.02,
    verdict="slower",
    direction="slower",
    evidence_level="verdict",
    label="slower",
    reason_codes=(),
    sentences=("The confidence interval is entirely below 0.98.",),
    advice="",
)
MEASURED = changed(
    XEN,
    n=6,
    baseline_n=5,
    ratio=0.96,
    assessment=SLOWER,
    interval=SLOWER.interval,
)
