"""What Windows shows of its platform, through its registry.

Tried only on registries made up after Microsoft's documentation, never on a Windows nor
under wine: docs/agents.md says how a lab can check it.
"""

import importlib
import platform
from typing import Any, Dict, Optional

BIOS = r"HARDWARE\DESCRIPTION\System\BIOS"
CPU = r"HARDWARE\DESCRIPTION\System\CentralProcessor\0"
WINDOWS = r"SOFTWARE\Microsoft\Windows NT\CurrentVersion"
DEVICE_GUARD = r"SYSTEM\CurrentControlSet\Control\DeviceGuard"
CODE_INTEGRITY = DEVICE_GUARD + r"\Scenarios\HypervisorEnforcedCodeIntegrity"
# The service that manages guests: it is there if the Hyper-V role is.
ROLE = r"SYSTEM\CurrentControlSet\Services\vmms"

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
    """Say whether a hypervisor runs below this Windows for its security (VBS).

    On a machine without guests this is what makes two native baselines differ.
    """
    windows = evidence.get("windows")
    if windows is None:
        return None
    if "hyper-v-root" in layers:
        return "running, with the Hyper-V role" if windows.get("role") else "running"
    return "set, not running" if windows.get("vbs") else "off"


def facts_of_windows() -> Dict[str, Any]:
    """Return the host facts that Windows tells without further programs."""
    ctypes = importlib.import_module("ctypes")
    kib = ctypes.c_ulonglong(0)
    kernel = ctypes.windll.kernel32
    is_known = kernel.GetPhysicallyInstalledSystemMemory(ctypes.byref(kib))
    return {
        "cpu model": value_of(CPU, "ProcessorNameString"),
        "cpu nominal MHz": value_of(CPU, "~MHz"),
        "kernel": platform.version(),
        "distribution": value_of(WINDOWS, "ProductName"),
        "memory bytes": int(kib.value) * 1024 if is_known else None,
    }
