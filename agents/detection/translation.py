"""Programs between the agent and the kernel: emulators of processors, and tracers."""

from typing import List, Optional

from agents.detection.findings import DetectedLayer, Evidence

EMULATED_PROCESS = "emulated-process"

# Prefixes of machine names -> families of processors.
_FAMILIES = (
    *(("x86_64", "x86"), ("amd64", "x86"), ("i386", "x86"), ("i486", "x86")),
    *(("i586", "x86"), ("i686", "x86"), ("aarch64", "arm"), ("arm", "arm")),
    *(("ppc", "power"), ("powerpc", "power"), ("riscv", "riscv"), ("s390", "s390")),
    *(("loongarch", "loongarch"), ("mips", "mips"), ("sparc", "sparc")),
)
# Sensors and frequency drivers that exist on one family only.
_DRIVERS = {
    **dict.fromkeys(("coretemp", "k8temp", "k10temp", "fam15h_power"), "x86"),
    **dict.fromkeys(("zenpower", "x86_pkg_temp", "via_cputemp"), "x86"),
    **dict.fromkeys(("scpi_sensors", "apm_xgene", "macsmc_hwmon"), "arm"),
    "ibmpowernv": "power",
    **dict.fromkeys(("intel_pstate", "intel_cpufreq", "amd-pstate"), "x86"),
    **dict.fromkeys(("acpi-cpufreq", "pcc-cpufreq", "powernow-k8"), "x86"),
    "apple-cpufreq": "arm",
    "powernv-cpufreq": "power",
}
# CPUID's vendors of emulators.
_VENDORS = {"VirtualApple": "Rosetta", "FEXIFEXIEMU": "FEX"}


def translated_layers(evidence: Evidence) -> List[DetectedLayer]:
    """Return a layer if an emulator runs the agent's program (qemu-user, Rosetta)."""
    vendor = str(evidence.get("vendor") or "").strip("\0 ")
    if vendor in _VENDORS:
        reason = "%s translates this program." % _VENDORS[vendor]
        return [DetectedLayer(EMULATED_PROCESS, reason)]
    machine, kernel = evidence.get("machine"), evidence.get("kernel_machine")
    own, real = _family(machine), _family(kernel)
    if own and real:
        if own == real:
            return []
        reason = "The program is for %s, but the kernel for %s." % (machine, kernel)
        return [DetectedLayer(EMULATED_PROCESS, reason)]
    for name in [*(evidence.get("sensors") or []), evidence.get("frequency_driver")]:
        family = _DRIVERS.get(str(name))
        if own and family not in (None, own):
            reason = "The program is for %s, but %s belongs to other processors."
            return [DetectedLayer(EMULATED_PROCESS, reason % (machine, name))]
    return []


def tracer_doubts(evidence: Evidence) -> List[str]:
    """Return a sentence if a tracer handles system calls (PRoot, strace)."""
    if "PRoot" in str(evidence.get("kernel")):
        return ["The kernel's release is that of PRoot."]
    if evidence.get("tracer"):
        return ["The process %s traces this program." % evidence["tracer"]]
    return []


def tracer(status: str) -> Optional[int]:
    """Return the tracing process stated by /proc/self/status."""
    for line in status.splitlines():
        name, _, value = line.partition(":")
        if name == "TracerPid" and value.strip().isdigit():
            return int(value) or None
    return None


def _family(machine: object) -> Optional[str]:
    name = str(machine).lower()
    return next((known for start, known in _FAMILIES if name.startswith(start)), None)
