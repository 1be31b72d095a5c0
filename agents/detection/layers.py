"""From evidence to layers: pure judgement, nothing is read here.

The evidence is the dictionary that `agents.detection.evidence` gathers; every key may
be missing. Layers are named from the machine's side inwards: a Xen guest on an emulated
machine is `qemu-tcg > xen-pv`.
"""

from typing import Any, Dict, List, NamedTuple, Optional, Tuple

from agents.detection import containers, xen
from agents.detection.finding import Finding
from agents.detection.signatures import (
    CLOCKSOURCES,
    FIRMWARE,
    MICROSOFT,
    SIGNATURES,
    SYSTEMD,
)

Evidence = Dict[str, Any]

UNKNOWN = "unknown-hypervisor"
_BASES = ("0x40000000", "0x40000100", "0x40000200", "0x40000300")
_LEAVES_OF_A_BASE = 0x100


class Judgement(NamedTuple):
    """Layers from outer to inner, what each rests on, and what speaks against it."""

    layers: Tuple[str, ...]
    grounds: Tuple[str, ...]
    conflicts: Tuple[str, ...]

    @property
    def conflict(self) -> bool:
        return bool(self.conflicts)

    @property
    def sentence(self) -> str:
        """Say it all to a reader."""
        if not self.layers:
            found = "No hypervisor and no container was found."
        else:
            found = "From outer to inner: %s." % " > ".join(self.layers)
        parts = [found, *self.grounds]
        if self.conflicts:
            parts.append("The evidence disagrees: " + " ".join(self.conflicts))
        return " ".join(parts)


def judge(evidence: Evidence) -> Judgement:
    """Derive the layers from all evidence, and say where it contradicts itself."""
    findings = _hypervisors(evidence) + containers.found(evidence)
    layers = tuple(finding.layer for finding in findings)
    grounds = [finding.ground for finding in findings]
    if not evidence.get("leaves"):
        grounds.append("CPUID could not be asked.")
    conflicts = (
        _hidden_bit(evidence)
        + _firmware_against(evidence, layers)
        + _clock_against(evidence, layers)
        + containers.quarrel(evidence)
    )
    return Judgement(layers, tuple(grounds), tuple(conflicts))


def signatures(evidence: Evidence) -> List[str]:
    """Return the known CPUID signatures, from the lowest leaf up.

    Leaves above the maximum answer with anything, so only a known text counts, and only
    where its own maximum lies in its own range (or is 0, as from an old KVM).
    """
    found = []
    for base in _BASES:
        maximum, text = (evidence.get("leaves") or {}).get(base) or ("0x0", "")
        text = text.rstrip("\0 ")
        highest, lowest = int(maximum, 16), int(base, 16)
        is_own = highest == 0 or lowest <= highest < lowest + _LEAVES_OF_A_BASE
        if text in SIGNATURES and is_own:
            found.append(text)
    return found


def _hypervisors(evidence: Evidence) -> List[Finding]:
    by_cpuid = _by_cpuid(evidence)
    by_kernel = xen.found(evidence, by_cpuid is not None and by_cpuid.is_xen)
    if by_kernel:
        below = by_cpuid if by_cpuid and not by_cpuid.is_xen else None
        if by_kernel.layer == "xen-dom0":  # it sees the firmware of what Xen runs on
            below = below or _by_firmware(evidence)
        return [below, by_kernel] if below else [by_kernel]
    weaker = _by_firmware(evidence) or _by_clock(evidence) or _by_others(evidence)
    surest = by_cpuid or weaker
    return [surest] if surest else []


def _by_cpuid(evidence: Evidence) -> Optional[Finding]:
    """Return what CPUID signs. Behind Hyper-V's signature another one may stand."""
    texts = signatures(evidence)
    if not texts:
        return None
    own = [text for text in texts if SIGNATURES[text] != "hyper-v"]
    text = (own or texts)[0]
    layer = SIGNATURES[text]
    ground = "CPUID signs %s." % text.strip()
    if own and len(texts) > len(own):
        ground = "CPUID signs %s behind Hyper-V's signature." % text.strip()
    if layer == "kvm" and _firmware(evidence)[1][:1] == ("virtualbox",):
        return Finding("virtualbox", ground + " VirtualBox wears it for its guests.")
    if layer == "hyper-v" and _is_root_partition(evidence):
        return Finding("hyper-v-root", ground + " This is the root partition.")
    return Finding(layer, ground)


def _is_root_partition(evidence: Evidence) -> bool:
    return bool((evidence.get("hyperv_privileges") or 0) & 1)


def _firmware(evidence: Evidence) -> Tuple[str, Tuple[str, ...]]:
    """Return what the firmware calls itself and the layers that this goes with."""
    dmi = evidence.get("dmi") or {}
    vendor, product = str(dmi.get("sys_vendor")), str(dmi.get("product_name"))
    if (vendor, product) == MICROSOFT:
        return "%s %s" % MICROSOFT, ("hyper-v", "hyper-v-root")
    fields = (vendor, product, dmi.get("board_vendor"), dmi.get("bios_vendor"))
    for text in fields:
        for start, layers in FIRMWARE:
            if text and str(text).startswith(start):
                return str(text), layers
    return "", ()


def _by_firmware(evidence: Evidence) -> Optional[Finding]:
    text, layers = _firmware(evidence)
    return Finding(layers[0], 'The firmware says "%s".' % text) if layers else None


def _clocks(evidence: Evidence) -> List[str]:
    offered = (evidence.get("clocksources") or "") + " "
    offered += evidence.get("clocksource") or ""
    return [name for name in sorted(set(offered.split())) if name in CLOCKSOURCES]


def _by_clock(evidence: Evidence) -> Optional[Finding]:
    for name in _clocks(evidence):
        return Finding(CLOCKSOURCES[name][0], "The kernel offers the clock %s." % name)
    return None


def _by_others(evidence: Evidence) -> Optional[Finding]:
    named = SYSTEMD.get(str(evidence.get("systemd-detect-virt")))
    if named:
        return Finding(named, "systemd-detect-virt says so.")
    if evidence.get("hypervisor_flag") or evidence.get("cpuid1_ecx31"):
        return Finding(UNKNOWN, "The CPU says that a hypervisor runs, but not which.")
    return None


def _hidden_bit(evidence: Evidence) -> List[str]:
    texts = signatures(evidence)
    if texts and evidence.get("cpuid1_ecx31") == 0:
        signed = "CPUID signs %s but hides the hypervisor bit." % texts[0].strip()
        return [signed]
    return []


def _firmware_against(evidence: Evidence, layers: Tuple[str, ...]) -> List[str]:
    text, goes_with = _firmware(evidence)
    if not goes_with:
        return []
    if not set(goes_with) & set(layers):
        said = " > ".join(layers) or "nothing of the kind"
        return ['The firmware says "%s", the rest %s.' % (text, said)]
    if evidence.get("leaves") and not _by_cpuid(evidence) and not xen.speaks(evidence):
        return ['The firmware says "%s", CPUID shows no hypervisor.' % text]
    return []


def _clock_against(evidence: Evidence, layers: Tuple[str, ...]) -> List[str]:
    return [
        "The kernel offers the clock %s, which is not of %s." % (name, layers[-1])
        for name in _clocks(evidence)
        if layers and not set(CLOCKSOURCES[name]) & set(layers)
    ]
