"""What Windows shows of its platform: registry and calls. Never tried on a real
Windows."""

import importlib
import os
import platform
import re
import struct
from typing import Any, Dict, Optional

from agents.detection import cpuid
from agents.windows import machine

BIOS = r"HARDWARE\DESCRIPTION\System\BIOS"
CPU = r"HARDWARE\DESCRIPTION\System\CentralProcessor\0"
WINDOWS = r"SOFTWARE\Microsoft\Windows NT\CurrentVersion"
DEVICE_GUARD = r"SYSTEM\CurrentControlSet\Control\DeviceGuard"
CODE_INTEGRITY = DEVICE_GUARD + r"\Scenarios\HypervisorEnforcedCodeIntegrity"
# The service that manages guests: it is there if the Hyper-V role is.
ROLE = r"SYSTEM\CurrentControlSet\Services\vmms"
PLAN = r"SYSTEM\CurrentControlSet\Control\Power\User\PowerSchemes"
MEMORY = r"SYSTEM\CurrentControlSet\Control\Session Manager\Memory Management"

# Their names are translated, their numbers are not.
_PLANS = {
    "381b4222-f694-41f0-9685-ff5bb260df2e": "balanced",
    "8c5e7fda-e8bf-4a96-9a85-a6e23a8c635c": "high performance",
    "a1841308-3541-4fab-bc81-f71556f20b4a": "power saver",
    "e9a42b02-d5df-448d-aa00-03f14749eb61": "ultimate performance",
}
# Windows 11 calls itself 10 in the registry; from this build on it is none.
_FIRST_11 = 22000

_DMI = {
    "sys_vendor": "SystemManufacturer",
    "product_name": "SystemProductName",
    "product_version": "SystemVersion",
    "bios_vendor": "BIOSVendor",
    "board_vendor": "BaseBoardManufacturer",
}


def value_of(key: str, name: str) -> Optional[Any]:
    """Return one value below HKEY_LOCAL_MACHINE, or None."""
    registry = importlib.import_module("winreg")
    try:
        with registry.OpenKey(registry.HKEY_LOCAL_MACHINE, key) as opened:
            return registry.QueryValueEx(opened, name)[0]
    except OSError:
        return None


def evidence_of_windows() -> Dict[str, Any]:
    """Read the firmware's names, the CPU's and the system's version."""
    return {
        "kernel": platform.version(),
        "dmi": {ours: value_of(BIOS, theirs) for ours, theirs in _DMI.items()},
        "model": value_of(CPU, "ProcessorNameString"),
        "build": value_of(WINDOWS, "BuildLabEx"),
        "windows": {
            "vbs": value_of(DEVICE_GUARD, "EnableVirtualizationBasedSecurity"),
            "code integrity": value_of(CODE_INTEGRITY, "Enabled"),
            "role": value_of(ROLE, "Start"),
        },
    }


def hypervisor_beneath(evidence: Dict[str, Any], layers: Any) -> Optional[str]:
    """Return whether a hypervisor runs below this Windows for its security (VBS)."""
    windows = evidence.get("windows")
    if windows is None:
        return None
    if "hyper-v-root" in layers:
        return "running, with the Hyper-V role" if windows.get("role") else "running"
    return "set, not running" if windows.get("vbs") else "off"


def facts_of_windows() -> Dict[str, Any]:
    """Return the host facts that Windows tells without further programs."""
    topology = machine.processors()
    memory = machine.memory()
    installed = installed_bytes()
    build = value_of(WINDOWS, "CurrentBuildNumber")
    patch = value_of(WINDOWS, "UBR")
    counted = machine.counter_frequency()
    plan = str(value_of(PLAN, "ActivePowerScheme") or "").strip("{}").lower()
    return {
        "cpu model": value_of(CPU, "ProcessorNameString"),
        "cpu family model stepping": identity(value_of(CPU, "Identifier")),
        "cpu nominal MHz": value_of(CPU, "~MHz"),
        "microcode": microcode(value_of(CPU, "Update Revision")),
        "sockets": topology.sockets or None if topology else None,
        "cores": topology.cores or None if topology else None,
        "threads": os.cpu_count(),
        "smt": "on" if topology and topology.has_smt else None,
        "numa nodes": topology.nodes or None if topology else None,
        "hardware virtualization": hardware_virtualization(),
        "kernel": "%s.%s" % (platform.version(), patch)
        if patch is not None
        else platform.version(),
        "kernel tuning": tuning(
            value_of(MEMORY, "FeatureSettingsOverride"),
            value_of(MEMORY, "FeatureSettingsOverrideMask"),
        ),
        "distribution": product(value_of(WINDOWS, "ProductName"), build),
        # A guest's firmware may not say what is installed.
        "memory bytes": installed or (memory.whole if memory else None),
        "swap bytes": memory.swap if memory else None,
        "power plan": _PLANS.get(plan, plan or None),
        "clocksource": "QueryPerformanceCounter, %d Hz" % counted if counted else None,
        "machine": value_of(BIOS, "SystemProductName") or None,
        "machine vendor": value_of(BIOS, "SystemManufacturer") or None,
        "firmware": value_of(BIOS, "BIOSVersion") or None,
        "disks": machine.disks(),
        "networks": machine.networks(),
    }


def installed_bytes() -> Optional[int]:
    """Return how much memory the firmware says is installed."""
    ctypes = importlib.import_module("ctypes")
    kib = ctypes.c_ulonglong(0)
    try:
        ask = ctypes.windll.kernel32.GetPhysicallyInstalledSystemMemory
    except AttributeError:
        return None
    return int(kib.value) * 1024 if ask(ctypes.byref(kib)) else None


def identity(text: Optional[str]) -> Optional[str]:
    """Read `AMD64 Family 25 Model 1 Stepping 1` as Linux writes it: 25/1/1."""
    words = re.search(r"Family (\d+) Model (\d+) Stepping (\d+)", str(text))
    return "/".join(words.groups()) if words else None


def microcode(revision: Any) -> Optional[str]:
    """Return the revision in the upper half of eight bytes, as Linux writes it."""
    if not isinstance(revision, bytes) or len(revision) != 8:
        return None
    (number,) = struct.unpack("<4xI", revision)
    return "0x%x" % number if number else None


def product(name: Optional[str], build: Any) -> Optional[str]:
    """Return the product's name, of Windows 11 the true one."""
    is_11 = str(build).isdigit() and int(build) >= _FIRST_11
    if name and is_11 and name.startswith("Windows 10"):
        return name.replace("Windows 10", "Windows 11", 1)
    return name


def tuning(override: Any, mask: Any) -> Optional[str]:
    """Say which mitigations of processors' holes somebody chose, if anybody did."""
    if override is None or mask is None:
        return None
    return "FeatureSettingsOverride=%s/%s" % (override, mask)


def hardware_virtualization() -> Optional[str]:
    """Return what guests could be run with here; a hypervisor may hide it."""
    ask = cpuid.open_cpuid()
    if ask is None:
        return None
    if ask(1).ecx >> 5 & 1:
        return "VT-x"
    is_known = ask(0x80000000).eax >= 0x80000001
    return "AMD-V" if is_known and ask(0x80000001).ecx >> 2 & 1 else None
