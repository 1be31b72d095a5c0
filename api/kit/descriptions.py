"""Descriptions of fields that mean the same in all responses of the API."""

from collections.abc import Mapping
from typing import Final

COMMON_DESCRIPTIONS: Final[Mapping[str, str]] = {
    "id": "The id of the object in this installation.",
    "url": "The URL of this object in the API.",
    "lab": "The slug of the lab.",
    "study": "The slug of the study.",
    "case": "The label of the benchmark (a tool's metric with its parameters).",
    "case_id": "The id of the benchmark; see `/cases/`.",
    "cell_id": "The id of the result; see `/cells/`.",
    "system": "The label of the system.",
    "system_id": "The id of the system; see `/systems/`.",
    "host": "The slug of the host.",
    "tool": "The slug of the tool; a custom tool has the form `lab:slug`.",
    "metric": "The name of the metric.",
    "unit": "The unit of the values; empty for a plain number.",
    "better": "Whether a higher or a lower value is better, or neither.",
    "component": "The component that the metric measures.",
    "parameters": "The parameters of the benchmark by name.",
    "hypervisor": 'The name of the hypervisor; "native" is the machine itself.',
    "hypervisor_version": "The version of the hypervisor; empty if not stated.",
    "virtualization": (
        "The type of virtualization, such as full, paravirtual or container; empty "
        "if not stated."
    ),
    "guest_os": "The operating system on which the tool ran; empty if not stated.",
    "guest_bits": (
        "The width of the guest operating system in bits (32 or 64); null if not "
        "stated."
    ),
    "vcpus": "The number of virtual CPUs; null if not stated.",
    "memory_bytes": (
        "The memory of the guest or of the machine in bytes; null if not stated."
    ),
    "clock": "The clock that timed the run; empty if not stated.",
    "scenario": "What ran at the same time; `single` if nothing else did.",
    "vms": "The number of VMs that ran at the same time; null if not stated.",
    "slot": (
        "The VM that was measured (1, 2, ...), or an aggregate of all VMs (sum, "
        "mean, all, host)."
    ),
    "load": "The other work on the machine during the run; empty if none was stated.",
    "document": "The document in which the number was published.",
    "table": "The table or page of that document.",
    "note": "A remark for people.",
    "created_at": "When the object was created in this installation.",
    "work_class": "The slug of the kind of work; empty if the metric has none.",
    "n": "The number of runs.",
    "rule_set": "The number of the rule set that was applied (`docs/method.md`).",
    "facts": (
        "What was stated or detected about the machine, by the names in "
        "`docs/agents.md`."
    ),
    "shape_codes": (
        "Codes of the reasons why no single figure describes the runs; empty if one "
        "does."
    ),
    "mode_medians": (
        "The medians of both modes if the runs are bimodal; otherwise empty."
    ),
    "shape_message": "Why there is no single figure, as text; empty if there is one.",
}
