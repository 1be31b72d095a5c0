"""Xen as its guests' kernels see it: pure judgement.

A PV guest's programs see the CPUID of the layer below Xen: the kernel is asked first.
"""

from typing import Any, Dict, Optional

from agents.detection.finding import Finding

DOM0_UUID = "00000000-0000-0000-0000-000000000000"
_KINDS = {"PV": "xen-pv", "PVH": "xen-pvh", "HVM": "xen-hvm"}


def speaks(evidence: Dict[str, Any]) -> bool:
    """Say whether this kernel knows that it runs on Xen."""
    kind = (evidence.get("sys_hypervisor") or {}).get("type")
    # Kernels before /sys/hypervisor have /proc/xen; nobody else has.
    return kind == "xen" or isinstance(evidence.get("proc_xen"), list)


def found(evidence: Dict[str, Any], is_signed: bool) -> Optional[Finding]:
    """Return the guest's or dom0's place on Xen. A kernel before 4.13 does not say
    which kind of guest it is; then CPUID's signature tells HVM from PV."""
    if not speaks(evidence):
        return None
    shown = evidence.get("sys_hypervisor") or {}
    if _is_dom0(evidence):
        return Finding("xen-dom0", "The kernel runs on Xen and is its dom0.")
    stated = str(shown.get("guest_type"))
    assumed = "xen-hvm" if is_signed else "xen-pv"
    layer = _KINDS.get(stated, assumed)
    return Finding(layer, "The kernel is a %s guest of Xen." % layer[4:].upper())


def _is_dom0(evidence: Dict[str, Any]) -> bool:
    capabilities = evidence.get("xen_cap") or ""
    uuid = (evidence.get("sys_hypervisor") or {}).get("uuid")
    return "control_d" in capabilities or uuid == DOM0_UUID
