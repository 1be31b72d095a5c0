"""What Windows shows of its platform, through its registry: never tried on Windows.

docs/agents.md says so, and how a lab can check it.
"""

import importlib
import platform
from typing import Any, Dict, Optional

BIOS = r"HARDWARE\DESCRIPTION\System\BIOS"
CPU = r"HARDWARE\DESCRIPTION\System\CentralProcessor\0"
WINDOWS = r"SOFTWARE\Microsoft\Windows NT\CurrentVersion"

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
    }


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
