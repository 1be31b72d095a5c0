"""Facts about a Windows machine, and control of processes, without special rights.

No call depends on the language of Windows. Unknown facts are None or omitted.
"""

import contextlib
import importlib
import os
import platform
import re
import struct
import subprocess
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Optional, Tuple

from agents.detection import indicators
from agents.processes import run_program

BIOS = r"HARDWARE\DESCRIPTION\System\BIOS"
CPU = r"HARDWARE\DESCRIPTION\System\CentralProcessor\0"
WINDOWS = r"SOFTWARE\Microsoft\Windows NT\CurrentVersion"
DEVICE_GUARD = r"SYSTEM\CurrentControlSet\Control\DeviceGuard"
CODE_INTEGRITY = DEVICE_GUARD + r"\Scenarios\HypervisorEnforcedCodeIntegrity"
CONTROL = r"SYSTEM\CurrentControlSet\Control"
# This service exists if the Hyper-V role is installed.
HYPER_V_ROLE = r"SYSTEM\CurrentControlSet\Services\vmms"
POWER_PLAN = r"SYSTEM\CurrentControlSet\Control\Power\User\PowerSchemes"
PCI_DEVICES = r"SYSTEM\CurrentControlSet\Enum\PCI"
MEMORY = r"SYSTEM\CurrentControlSet\Control\Session Manager\Memory Management"
_DMI = {
    "sys_vendor": "SystemManufacturer",
    "product_name": "SystemProductName",
    "product_version": "SystemVersion",
    "bios_vendor": "BIOSVendor",
    "board_vendor": "BaseBoardManufacturer",
}
# Power plans by GUID, because their names are translated.
_PLANS = {
    "381b4222-f694-41f0-9685-ff5bb260df2e": "balanced",
    "8c5e7fda-e8bf-4a96-9a85-a6e23a8c635c": "high performance",
    "a1841308-3541-4fab-bc81-f71556f20b4a": "power saver",
    "e9a42b02-d5df-448d-aa00-03f14749eb61": "ultimate performance",
}
# First build of Windows 11, which the registry also calls "Windows 10".
_FIRST_11 = 22000

_MOST_DISKS = 64
# GetLogicalProcessorInformationEx: kinds of records, and a request for all kinds.
_CORE, _NODE, _PACKAGE, _ALL_KINDS = 0, 1, 3, 0xFFFF
_SHARES_A_CORE = 1
_EXTENDED_LIMITS, _KILL_WITH_JOB = 9, 0x2000
_KILL_S = 10.0
# CreateFileW: open an existing device, shared with readers and writers.
_SHARED, _EXISTING = 3, 3
_INVALID = (1 << 64) - 1, (1 << 32) - 1, -1, None
# DeviceIoControl codes without read access to the disk.
_QUERY_PROPERTY, _GEOMETRY = 0x2D1400, 0x700A0
_DEVICE, _WRITE_CACHE, _SEEK_PENALTY = 0, 4, 7
_BUSES = {
    **{1: "SCSI", 2: "ATAPI", 3: "ATA", 6: "Fibre Channel", 7: "USB", 8: "RAID"},
    **{9: "iSCSI", 10: "SAS", 11: "SATA", 12: "SD", 13: "MMC", 14: "virtual"},
    **{15: "file", 16: "Storage Spaces", 17: "NVMe", 18: "SCM", 19: "UFS"},
}
_CACHES = {1: "write through", 2: "write back"}
# GetAdaptersAddresses: list adapters without their addresses.
_ADAPTERS_ONLY, _TOO_SMALL = 0x2F, 111
_LOOPBACK, _TUNNEL = 24, 131
_UP = 1
_UNKNOWN_SPEED = (1 << 64) - 1


def registry_value(key: str, name: str) -> Optional[Any]:
    """Return a registry value below HKEY_LOCAL_MACHINE; None if it does not exist."""
    registry = importlib.import_module("winreg")
    try:
        with registry.OpenKey(registry.HKEY_LOCAL_MACHINE, key) as opened:
            return registry.QueryValueEx(opened, name)[0]
    except OSError:
        return None


def registry_names(key: str) -> List[str]:
    registry = importlib.import_module("winreg")
    names: List[str] = []
    try:
        with registry.OpenKey(registry.HKEY_LOCAL_MACHINE, key) as opened:
            while True:
                names.append(registry.EnumKey(opened, len(names)))
    except OSError:  # there are no more
        return names


def pci_vendors(names: List[str]) -> Optional[List[str]]:
    """Return the vendors in names such as VEN_8086&DEV_1237&SUBSYS_11001AF4&REV_02."""
    pattern = r"VEN_([0-9A-F]{4})&|&SUBSYS_[0-9A-F]{4}([0-9A-F]{4})"
    found = re.findall(pattern, " ".join(names), re.IGNORECASE)
    return sorted({part.lower() for pair in found for part in pair if part}) or None


def windows_indicators() -> Dict[str, Any]:
    return {
        "kernel": platform.version(),
        "dmi": {name: registry_value(BIOS, value) for name, value in _DMI.items()},
        "model": registry_value(CPU, "ProcessorNameString"),
        "build": registry_value(WINDOWS, "BuildLabEx"),
        "pci": pci_vendors(registry_names(PCI_DEVICES)),
        "windows": {
            "vbs": registry_value(DEVICE_GUARD, "EnableVirtualizationBasedSecurity"),
            "code integrity": registry_value(CODE_INTEGRITY, "Enabled"),
            "role": registry_value(HYPER_V_ROLE, "Start"),
            "container": registry_value(CONTROL, "ContainerType"),
        },
    }


def vbs_state(evidence: Dict[str, Any], layers: Any) -> Optional[str]:
    """Return the state of virtualization-based security; None except on Windows."""
    windows = evidence.get("windows")
    if windows is None:
        return None
    if "hyper-v-root" in layers:
        return "running, with the Hyper-V role" if windows.get("role") else "running"
    return "set, not running" if windows.get("vbs") else "off"


def windows_facts() -> Dict[str, Any]:
    version, patch = platform.version(), registry_value(WINDOWS, "UBR")
    build = registry_value(WINDOWS, "CurrentBuildNumber")
    plan = (
        str(registry_value(POWER_PLAN, "ActivePowerScheme") or "").strip("{}").lower()
    )
    override = registry_value(MEMORY, "FeatureSettingsOverride")
    mask = registry_value(MEMORY, "FeatureSettingsOverrideMask")
    is_tuned = override is not None and mask is not None
    ram = memory()
    return {
        **processors(),
        "cpu model": registry_value(CPU, "ProcessorNameString"),
        "cpu family model stepping": cpu_identity(registry_value(CPU, "Identifier")),
        "cpu nominal MHz": registry_value(CPU, "~MHz"),
        "microcode": microcode(registry_value(CPU, "Update Revision")),
        "threads": os.cpu_count(),
        "hardware virtualization": hardware_virtualization(),
        "kernel": version if patch is None else "%s.%s" % (version, patch),
        "kernel tuning": "FeatureSettingsOverride=%s/%s" % (override, mask)
        if is_tuned
        else None,
        "distribution": product_name(registry_value(WINDOWS, "ProductName"), build),
        # The firmware of a guest may not report the installed memory.
        "memory bytes": installed_bytes() or (ram.total if ram else None),
        "swap bytes": ram.swap if ram else None,
        "power plan": _PLANS.get(plan, plan or None),
        "clocksource": performance_counter(),
        "machine": registry_value(BIOS, "SystemProductName") or None,
        "machine vendor": registry_value(BIOS, "SystemManufacturer") or None,
        "firmware": registry_value(BIOS, "BIOSVersion") or None,
        "disks": disks(),
        "networks": networks(),
    }


def cpu_identity(text: Optional[str]) -> Optional[str]:
    """Convert `AMD64 Family 25 Model 1 Stepping 1` to 25/1/1, as on Linux."""
    words = re.search(r"Family (\d+) Model (\d+) Stepping (\d+)", str(text))
    return "/".join(words.groups()) if words else None


def microcode(revision: Any) -> Optional[str]:
    """Return the microcode revision, in hexadecimal as on Linux; None if unknown.

    It is the upper half of the eight bytes of ``revision``.
    """
    if not isinstance(revision, bytes) or len(revision) != 8:
        return None
    (number,) = struct.unpack("<4xI", revision)
    return "0x%x" % number if number else None


def product_name(name: Optional[str], build: Any) -> Optional[str]:
    is_11 = str(build).isdigit() and int(build) >= _FIRST_11
    if name and is_11 and name.startswith("Windows 10"):
        return name.replace("Windows 10", "Windows 11", 1)
    return name


def hardware_virtualization() -> Optional[str]:
    """Return VT-x or AMD-V; None if CPUID shows neither or cannot be read."""
    cpuid = indicators.open_cpuid()
    if cpuid is None:
        return None
    if cpuid(1).ecx >> 5 & 1:
        return "VT-x"
    has_leaf = cpuid(0x80000000).eax >= 0x80000001
    return "AMD-V" if has_leaf and cpuid(0x80000001).ecx >> 2 & 1 else None


class MemoryStatus(NamedTuple):
    total: int
    free: int
    swap: int


def _call_kernel32(name: str, *arguments: Any) -> Any:
    """Call a function of kernel32; return 0 if it fails or does not exist."""
    try:
        kernel = importlib.import_module("ctypes").windll.kernel32
        return getattr(kernel, name)(*arguments)
    except AttributeError:
        return 0


def memory() -> Optional[MemoryStatus]:
    ctypes = importlib.import_module("ctypes")
    status = (ctypes.c_ubyte * 64)()
    struct.pack_into("<I", status, 0, 64)
    if not _call_kernel32("GlobalMemoryStatusEx", status):
        return None
    total, free, pages = struct.unpack_from("<3Q", status, 8)
    return MemoryStatus(total, free, max(0, pages - total))


def installed_bytes() -> Optional[int]:
    """Return installed memory according to the firmware."""
    ctypes = importlib.import_module("ctypes")
    kib = ctypes.c_ulonglong(0)
    is_known = _call_kernel32("GetPhysicallyInstalledSystemMemory", ctypes.byref(kib))
    return int(kib.value) * 1024 if is_known else None


def cpu_times() -> Optional[List[int]]:
    """Return user, nice, system and idle time in units of 100 ns."""
    ctypes = importlib.import_module("ctypes")
    times = [ctypes.c_ulonglong() for _ in range(3)]
    is_known = _call_kernel32("GetSystemTimes", *map(ctypes.byref, times))
    idle, kernel, user = (int(time.value) for time in times)
    # Kernel time includes idle time.
    return [user, 0, kernel - idle, idle] if is_known else None


def performance_counter() -> Optional[str]:
    ctypes = importlib.import_module("ctypes")
    frequency = ctypes.c_longlong()
    _call_kernel32("QueryPerformanceFrequency", ctypes.byref(frequency))
    hertz = int(frequency.value)
    return "QueryPerformanceCounter, %d Hz" % hertz if hertz else None


def processors() -> Dict[str, Any]:
    """Count sockets, cores and NUMA nodes in all groups."""
    ctypes = importlib.import_module("ctypes")
    name, size = "GetLogicalProcessorInformationEx", ctypes.c_uint32()
    _call_kernel32(name, _ALL_KINDS, None, ctypes.byref(size))
    records = (ctypes.c_ubyte * size.value)()
    if not size.value or not _call_kernel32(
        name, _ALL_KINDS, records, ctypes.byref(size)
    ):
        return {}
    parts = list(split_records(bytes(records)))
    kinds = [kind for kind, _ in parts]
    # The first byte of a core's record states whether it has several threads (SMT).
    has_smt = any(kind == _CORE and body[0] & _SHARES_A_CORE for kind, body in parts)
    return {
        "sockets": kinds.count(_PACKAGE) or None,
        "cores": kinds.count(_CORE) or None,
        "numa nodes": kinds.count(_NODE) or None,
        "smt": "on" if has_smt else None,
    }


def split_records(content: bytes) -> Iterator[Tuple[int, bytes]]:
    """Yield kind and body of each record of GetLogicalProcessorInformationEx."""
    offset = 0
    while offset + 8 <= len(content):
        kind, length = struct.unpack_from("<2I", content, offset)
        if length < 9:
            return
        yield kind, content[offset + 8 : offset + length]
        offset += length


_JOB: List[Any] = []


def add_to_job(program: Any) -> None:
    """Make Windows kill a program and its children when this process ends."""
    ctypes = importlib.import_module("ctypes")
    try:
        kernel = ctypes.windll.kernel32
        if not _JOB:
            kernel.CreateJobObjectW.restype = ctypes.c_void_p
            job = ctypes.c_void_p(kernel.CreateJobObjectW(None, None))
            # JOBOBJECT_EXTENDED_LIMIT_INFORMATION has its flags at byte 16.
            limits = (ctypes.c_ubyte * (144 if ctypes.sizeof(job) == 8 else 112))()
            struct.pack_into("<I", limits, 16, _KILL_WITH_JOB)
            if not job or not kernel.SetInformationJobObject(
                job, _EXTENDED_LIMITS, limits, len(limits)
            ):
                return
            _JOB.append(job)
        handle = ctypes.c_void_p(int(program._handle))
        kernel.AssignProcessToJobObject(_JOB[0], handle)
    except (AttributeError, OSError):
        return


def kill_tree(program: Any) -> None:
    with contextlib.suppress(OSError, subprocess.TimeoutExpired):
        run_program(["taskkill", "/t", "/f", "/pid", str(program.pid)], _KILL_S)
    program.kill()


def disks() -> Dict[str, Dict[str, Any]]:
    """Return facts of physical disks by name, like `agents.detection.facts`."""
    names = ["PhysicalDrive%d" % number for number in range(_MOST_DISKS)]
    all_facts = {name: _disk("\\\\.\\" + name) for name in names}
    return {name: facts for name, facts in all_facts.items() if facts is not None}


def _disk(path: str) -> Optional[Dict[str, Any]]:
    ctypes = importlib.import_module("ctypes")
    try:
        kernel = ctypes.windll.kernel32
        kernel.CreateFileW.restype = ctypes.c_void_p
        handle = kernel.CreateFileW(path, 0, _SHARED, None, _EXISTING, 0, None)
    except AttributeError:
        return None
    if handle in _INVALID:
        return None

    def query(code: int, request: bytes, most: int) -> bytes:
        answer = ctypes.create_string_buffer(most)
        length = ctypes.c_uint32()
        is_known = kernel.DeviceIoControl(
            *(ctypes.c_void_p(handle), code, request, len(request)),
            *(answer, most, ctypes.byref(length), None),
        )
        return answer.raw[: length.value] if is_known else b""

    def property_of(kind: int) -> bytes:
        return query(_QUERY_PROPERTY, struct.pack("<3I", kind, 0, 0), 1024)

    try:
        return disk_facts(property_of, query(_GEOMETRY, b"", 256))
    finally:
        kernel.CloseHandle(ctypes.c_void_p(handle))


def disk_facts(property_of: Callable[[int], bytes], geometry: bytes) -> Dict[str, Any]:
    device, cache = property_of(_DEVICE), property_of(_WRITE_CACHE)
    seeks = property_of(_SEEK_PENALTY)
    facts: Dict[str, Any] = {"bytes": None, "rotational": None, "write cache": None}
    if len(geometry) >= 32:
        (facts["bytes"],) = struct.unpack_from("<Q", geometry, 24)
    if len(seeks) > 8:
        facts["rotational"] = "yes" if seeks[8] else "no"
    if len(cache) >= 16:
        facts["write cache"] = _CACHES.get(struct.unpack_from("<I", cache, 12)[0])
    if len(device) >= 32:
        vendor, product = struct.unpack_from("<2I", device, 12)
        (bus,) = struct.unpack_from("<I", device, 28)
        for name, offset in (("vendor", vendor), ("model", product)):
            # An offset of 0 means that the text is unknown.
            text = device[offset:].partition(b"\0")[0] if offset else b""
            facts[name] = text.decode("latin-1").strip() or None
        facts["driver"] = _BUSES.get(bus)
    return facts


def networks() -> Dict[str, Dict[str, Any]]:
    """Return facts of network adapters by name, without loopbacks and tunnels."""
    ctypes = importlib.import_module("ctypes")
    adapter = _adapter(ctypes)
    size = ctypes.c_uint32(16 * 1024)
    try:
        get_adapters = ctypes.windll.iphlpapi.GetAdaptersAddresses
    except (AttributeError, OSError):
        return {}
    get_adapters.argtypes = [ctypes.c_uint32] * 2 + [ctypes.c_void_p] * 3
    code = _TOO_SMALL
    for _ in range(3):  # an adapter may be added meanwhile
        buffer = ctypes.create_string_buffer(size.value)
        code = get_adapters(0, _ADAPTERS_ONLY, None, buffer, ctypes.byref(size))
        if code != _TOO_SMALL:
            break
    adapters = {}
    entry = ctypes.cast(buffer, ctypes.POINTER(adapter)) if code == 0 else None
    while entry:
        fields = entry.contents
        if fields.kind not in (_LOOPBACK, _TUNNEL):
            speed = fields.speed
            adapters[fields.name or "?"] = {
                "speed Mbit/s": speed // 10**6 if 0 < speed < _UNKNOWN_SPEED else None,
                "mtu": fields.mtu if 0 < fields.mtu < 2**32 - 1 else None,
                "state": "up" if fields.state == _UP else "down",
                "driver": fields.description or None,
            }
        entry = ctypes.cast(fields.following, ctypes.POINTER(adapter))
    return adapters


def _adapter(ctypes: Any) -> Any:
    pointer, uint32 = ctypes.c_void_p, ctypes.c_uint32
    structure: Any = ctypes.Structure
    fields = [
        *(("length", uint32), ("index", uint32), ("following", pointer)),
        *(("identity", pointer), ("unicast", pointer), ("anycast", pointer)),
        *(("multicast", pointer), ("resolvers", pointer)),
        *(("suffix", ctypes.c_wchar_p), ("description", ctypes.c_wchar_p)),
        *(("name", ctypes.c_wchar_p), ("address", ctypes.c_ubyte * 8)),
        *(("address_length", uint32), ("flags", uint32), ("mtu", uint32)),
        *(("kind", uint32), ("state", uint32), ("index_6", uint32)),
        *(("zones", uint32 * 16), ("prefix", pointer), ("speed", ctypes.c_uint64)),
    ]
    return type("Adapter", (structure,), {"_fields_": fields})
