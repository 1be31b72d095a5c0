"""Facts and control of a Windows through its registry and ctypes.

No call needs rights or depends on the language. What an old Windows, or wine, does not
have is left out.
"""

import contextlib
import importlib
import os
import platform
import re
import struct
import subprocess
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Optional, Tuple

from agents.detection import evidence
from agents.processes import ended

BIOS = r"HARDWARE\DESCRIPTION\System\BIOS"
CPU = r"HARDWARE\DESCRIPTION\System\CentralProcessor\0"
WINDOWS = r"SOFTWARE\Microsoft\Windows NT\CurrentVersion"
DEVICE_GUARD = r"SYSTEM\CurrentControlSet\Control\DeviceGuard"
CODE_INTEGRITY = DEVICE_GUARD + r"\Scenarios\HypervisorEnforcedCodeIntegrity"
# The service that manages guests exists if the Hyper-V role is installed.
ROLE = r"SYSTEM\CurrentControlSet\Services\vmms"
PLAN = r"SYSTEM\CurrentControlSet\Control\Power\User\PowerSchemes"
MEMORY = r"SYSTEM\CurrentControlSet\Control\Session Manager\Memory Management"
_DMI = {
    "sys_vendor": "SystemManufacturer",
    "product_name": "SystemProductName",
    "product_version": "SystemVersion",
    "bios_vendor": "BIOSVendor",
    "board_vendor": "BaseBoardManufacturer",
}
# Names of power plans are translated, their numbers are not.
_PLANS = {
    "381b4222-f694-41f0-9685-ff5bb260df2e": "balanced",
    "8c5e7fda-e8bf-4a96-9a85-a6e23a8c635c": "high performance",
    "a1841308-3541-4fab-bc81-f71556f20b4a": "power saver",
    "e9a42b02-d5df-448d-aa00-03f14749eb61": "ultimate performance",
}
# The registry names Windows 11 "Windows 10"; 11 begins with this build.
_FIRST_11 = 22000

_MOST_DISKS = 64
# GetLogicalProcessorInformationEx: kinds of its records, and the one for all of them.
_CORE, _NODE, _PACKAGE, _ALL_KINDS = 0, 1, 3, 0xFFFF
_SHARES_A_CORE = 1
_EXTENDED_LIMITS, _KILL_WITH_JOB = 9, 0x2000
_KILL_S = 10.0
# CreateFileW: no rights but to query, shared with all, only existing files.
_SHARED, _EXISTING = 3, 3
_INVALID = (1 << 64) - 1, (1 << 32) - 1, -1, None
# DeviceIoControl codes that need no right to read the disk.
_QUERY_PROPERTY, _GEOMETRY = 0x2D1400, 0x700A0
_DEVICE, _WRITE_CACHE, _SEEK_PENALTY = 0, 4, 7
_BUSES = {
    **{1: "SCSI", 2: "ATAPI", 3: "ATA", 6: "Fibre Channel", 7: "USB", 8: "RAID"},
    **{9: "iSCSI", 10: "SAS", 11: "SATA", 12: "SD", 13: "MMC", 14: "virtual"},
    **{15: "file", 16: "Storage Spaces", 17: "NVMe", 18: "SCM", 19: "UFS"},
}
_CACHES = {1: "write through", 2: "write back"}
# GetAdaptersAddresses: no addresses of any kind, only the adapters.
_ADAPTERS_ONLY, _TOO_SMALL = 0x2F, 111
_LOOPBACK, _TUNNEL = 24, 131
_UP = 1
_UNKNOWN_SPEED = (1 << 64) - 1


def value_of(key: str, name: str) -> Optional[Any]:
    """Return one value below HKEY_LOCAL_MACHINE, or None."""
    registry = importlib.import_module("winreg")
    try:
        with registry.OpenKey(registry.HKEY_LOCAL_MACHINE, key) as opened:
            return registry.QueryValueEx(opened, name)[0]
    except OSError:
        return None


def evidence_of_windows() -> Dict[str, Any]:
    """Read the names of firmware and CPU, and the version of the system."""
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


def hypervisor_beneath(known: Dict[str, Any], layers: Any) -> Optional[str]:
    """Return whether a hypervisor runs below this Windows for its security (VBS)."""
    windows = known.get("windows")
    if windows is None:
        return None
    if "hyper-v-root" in layers:
        return "running, with the Hyper-V role" if windows.get("role") else "running"
    return "set, not running" if windows.get("vbs") else "off"


def facts_of_windows() -> Dict[str, Any]:
    """Return the facts of the machine that need no further programs."""
    version, patch = platform.version(), value_of(WINDOWS, "UBR")
    build = value_of(WINDOWS, "CurrentBuildNumber")
    plan = str(value_of(PLAN, "ActivePowerScheme") or "").strip("{}").lower()
    override = value_of(MEMORY, "FeatureSettingsOverride")
    mask = value_of(MEMORY, "FeatureSettingsOverrideMask")
    is_tuned = override is not None and mask is not None
    ram = memory()
    return {
        **processors(),
        "cpu model": value_of(CPU, "ProcessorNameString"),
        "cpu family model stepping": identity(value_of(CPU, "Identifier")),
        "cpu nominal MHz": value_of(CPU, "~MHz"),
        "microcode": microcode(value_of(CPU, "Update Revision")),
        "threads": os.cpu_count(),
        "hardware virtualization": hardware_virtualization(),
        "kernel": version if patch is None else "%s.%s" % (version, patch),
        "kernel tuning": "FeatureSettingsOverride=%s/%s" % (override, mask)
        if is_tuned
        else None,
        "distribution": product(value_of(WINDOWS, "ProductName"), build),
        # The firmware of a guest may not report the installed memory.
        "memory bytes": installed_bytes() or (ram.whole if ram else None),
        "swap bytes": ram.swap if ram else None,
        "power plan": _PLANS.get(plan, plan or None),
        "clocksource": counter(),
        "machine": value_of(BIOS, "SystemProductName") or None,
        "machine vendor": value_of(BIOS, "SystemManufacturer") or None,
        "firmware": value_of(BIOS, "BIOSVersion") or None,
        "disks": disks(),
        "networks": networks(),
    }


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
    """Return the name of the product, corrected for Windows 11."""
    is_11 = str(build).isdigit() and int(build) >= _FIRST_11
    if name and is_11 and name.startswith("Windows 10"):
        return name.replace("Windows 10", "Windows 11", 1)
    return name


def hardware_virtualization() -> Optional[str]:
    """Return the virtualization extension of the CPU; a hypervisor may hide it."""
    ask = evidence.open_cpuid()
    if ask is None:
        return None
    if ask(1).ecx >> 5 & 1:
        return "VT-x"
    is_known = ask(0x80000000).eax >= 0x80000001
    return "AMD-V" if is_known and ask(0x80000001).ecx >> 2 & 1 else None


class Memory(NamedTuple):
    """Bytes of the machine, free bytes, and bytes of the page files."""

    whole: int
    free: int
    swap: int


def _asked(name: str, *arguments: Any) -> Any:
    """Call a function of kernel32; return 0 if it fails or does not exist here."""
    try:
        kernel = importlib.import_module("ctypes").windll.kernel32
        return getattr(kernel, name)(*arguments)
    except AttributeError:
        return 0


def memory() -> Optional[Memory]:
    ctypes = importlib.import_module("ctypes")
    status = (ctypes.c_ubyte * 64)()
    struct.pack_into("<I", status, 0, 64)
    if not _asked("GlobalMemoryStatusEx", status):
        return None
    whole, free, pages = struct.unpack_from("<3Q", status, 8)
    return Memory(whole, free, max(0, pages - whole))


def installed_bytes() -> Optional[int]:
    """Return how much memory is installed according to the firmware."""
    ctypes = importlib.import_module("ctypes")
    kib = ctypes.c_ulonglong(0)
    is_known = _asked("GetPhysicallyInstalledSystemMemory", ctypes.byref(kib))
    return int(kib.value) * 1024 if is_known else None


def spent() -> Optional[List[int]]:
    """Return the time of all processors in 100 ns: user, nice, system and idle."""
    ctypes = importlib.import_module("ctypes")
    times = [ctypes.c_ulonglong() for _ in range(3)]
    is_known = _asked("GetSystemTimes", *map(ctypes.byref, times))
    idle, kernel, user = (int(time.value) for time in times)
    # The kernel's time includes the idle time.
    return [user, 0, kernel - idle, idle] if is_known else None


def counter() -> Optional[str]:
    """Return the clock and its frequency."""
    ctypes = importlib.import_module("ctypes")
    frequency = ctypes.c_longlong()
    _asked("QueryPerformanceFrequency", ctypes.byref(frequency))
    hertz = int(frequency.value)
    return "QueryPerformanceCounter, %d Hz" % hertz if hertz else None


def processors() -> Dict[str, Any]:
    """Return the numbers of sockets, cores and nodes, in all groups of processors."""
    ctypes = importlib.import_module("ctypes")
    name, size = "GetLogicalProcessorInformationEx", ctypes.c_uint32()
    _asked(name, _ALL_KINDS, None, ctypes.byref(size))
    records = (ctypes.c_ubyte * size.value)()
    if not size.value or not _asked(name, _ALL_KINDS, records, ctypes.byref(size)):
        return {}
    found = list(records_of(bytes(records)))
    kinds = [kind for kind, _ in found]
    # The first byte of a core's record tells whether several threads share it.
    has_smt = any(kind == _CORE and body[0] & _SHARES_A_CORE for kind, body in found)
    return {
        "sockets": kinds.count(_PACKAGE) or None,
        "cores": kinds.count(_CORE) or None,
        "numa nodes": kinds.count(_NODE) or None,
        "smt": "on" if has_smt else None,
    }


def records_of(content: bytes) -> Iterator[Tuple[int, bytes]]:
    """Split records of GetLogicalProcessorInformationEx into kinds and bodies."""
    place = 0
    while place + 8 <= len(content):
        kind, length = struct.unpack_from("<2I", content, place)
        if length < 9:
            return
        yield kind, content[place + 8 : place + length]
        place += length


# The job of all measured programs: it ends with this process, and they with it.
_JOB: List[Any] = []


def keep_in_our_job(program: Any) -> None:
    """Let a program and its children end when this process is killed."""
    ctypes = importlib.import_module("ctypes")
    try:
        kernel = ctypes.windll.kernel32
        if not _JOB:
            kernel.CreateJobObjectW.restype = ctypes.c_void_p
            job = ctypes.c_void_p(kernel.CreateJobObjectW(None, None))
            # JOBOBJECT_EXTENDED_LIMIT_INFORMATION; its flags stand at byte 16.
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


def end_with_children(program: Any) -> None:
    """Kill a program and all that it started."""
    with contextlib.suppress(OSError, subprocess.TimeoutExpired):
        ended(["taskkill", "/t", "/f", "/pid", str(program.pid)], _KILL_S)
    program.kill()


def disks() -> Dict[str, Dict[str, Any]]:
    """Return each physical disk, with the names of `agents.detection.facts`."""
    names = ["PhysicalDrive%d" % number for number in range(_MOST_DISKS)]
    known = {name: _disk("\\\\.\\" + name) for name in names}
    return {name: facts for name, facts in known.items() if facts is not None}


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

    def ask(code: int, question: bytes, most: int) -> bytes:
        answer = ctypes.create_string_buffer(most)
        told = ctypes.c_uint32()
        known = kernel.DeviceIoControl(
            *(ctypes.c_void_p(handle), code, question, len(question)),
            *(answer, most, ctypes.byref(told), None),
        )
        return answer.raw[: told.value] if known else b""

    def property_of(which: int) -> bytes:
        return ask(_QUERY_PROPERTY, struct.pack("<3I", which, 0, 0), 1024)

    try:
        return disk_facts(property_of, ask(_GEOMETRY, b"", 256))
    finally:
        kernel.CloseHandle(ctypes.c_void_p(handle))


def disk_facts(property_of: Callable[[int], bytes], geometry: bytes) -> Dict[str, Any]:
    """Read the descriptors of a disk; each may be empty."""
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
        for name, place in (("vendor", vendor), ("model", product)):
            # Place 0 means unknown.
            text = device[place:].partition(b"\0")[0] if place else b""
            facts[name] = text.decode("latin-1").strip() or None
        facts["driver"] = _BUSES.get(bus)
    return facts


def networks() -> Dict[str, Dict[str, Any]]:
    """Return each adapter except loopbacks and tunnels."""
    ctypes = importlib.import_module("ctypes")
    adapter = _adapter(ctypes)
    size = ctypes.c_uint32(16 * 1024)
    try:
        ask = ctypes.windll.iphlpapi.GetAdaptersAddresses
    except (AttributeError, OSError):
        return {}
    ask.argtypes = [ctypes.c_uint32] * 2 + [ctypes.c_void_p] * 3
    code = _TOO_SMALL
    for _ in range(3):  # an adapter may be added between two calls
        room = ctypes.create_string_buffer(size.value)
        code = ask(0, _ADAPTERS_ONLY, None, room, ctypes.byref(size))
        if code != _TOO_SMALL:
            break
    found = {}
    place = ctypes.cast(room, ctypes.POINTER(adapter)) if code == 0 else None
    while place:
        one = place.contents
        if one.kind not in (_LOOPBACK, _TUNNEL):
            speed = one.speed
            found[one.name or "?"] = {
                "speed Mbit/s": speed // 10**6 if 0 < speed < _UNKNOWN_SPEED else None,
                "mtu": one.mtu if 0 < one.mtu < 2**32 - 1 else None,
                "state": "up" if one.state == _UP else "down",
                "driver": one.description or None,
            }
        place = ctypes.cast(one.following, ctypes.POINTER(adapter))
    return found


def _adapter(ctypes: Any) -> Any:
    """Return the first fields of IP_ADAPTER_ADDRESSES."""
    pointer, whole = ctypes.c_void_p, ctypes.c_uint32
    structure: Any = ctypes.Structure
    fields = [
        *(("length", whole), ("index", whole), ("following", pointer)),
        *(("identity", pointer), ("unicast", pointer), ("anycast", pointer)),
        *(("multicast", pointer), ("resolvers", pointer)),
        *(("suffix", ctypes.c_wchar_p), ("description", ctypes.c_wchar_p)),
        *(("name", ctypes.c_wchar_p), ("address", ctypes.c_ubyte * 8)),
        *(("address_length", whole), ("flags", whole), ("mtu", whole)),
        *(("kind", whole), ("state", whole), ("index_6", whole)),
        *(("zones", whole * 16), ("prefix", pointer), ("speed", ctypes.c_uint64)),
    ]
    return type("Adapter", (structure,), {"_fields_": fields})
