"""Ask Windows itself, through ctypes: memory, processors, disks, networks, time spent.

Nothing here needs rights or speaks a language. What cannot be had is left out: an old
Windows, or wine, does not have every call.
"""

import contextlib
import importlib
import struct
import subprocess
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Optional, Tuple

from agents.programs import ended

_MOST_DISKS = 64
# GetLogicalProcessorInformationEx: kinds of its records, and the one for all of them.
_CORE, _NODE, _PACKAGE, _ALL_KINDS = 0, 1, 3, 0xFFFF
_SHARES_A_CORE = 1
_EXTENDED_LIMITS, _KILL_WITH_JOB = 9, 0x2000
_KILL_S = 10.0
# CreateFileW: no rights but to ask, shared with all, only what is there.
_SHARED, _EXISTING = 3, 3
_INVALID = (1 << 64) - 1, (1 << 32) - 1, -1, None
# DeviceIoControl's codes that need no right to read the disk.
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


class Memory(NamedTuple):
    """Bytes: of the machine, free now, and of the page files."""

    whole: int
    free: int
    swap: int


class Processors(NamedTuple):
    """What the machine shows of its topology."""

    sockets: int
    cores: int
    nodes: int
    has_smt: bool


def memory() -> Optional[Memory]:
    """Return what GlobalMemoryStatusEx says."""
    ctypes = importlib.import_module("ctypes")
    status = (ctypes.c_ubyte * 64)()
    struct.pack_into("<I", status, 0, 64)
    try:
        if not ctypes.windll.kernel32.GlobalMemoryStatusEx(status):
            return None
    except AttributeError:
        return None
    whole, free, pages = struct.unpack_from("<3Q", status, 8)
    return Memory(whole, free, max(0, pages - whole))


def spent() -> Optional[List[int]]:
    """Return all processors' time in 100 ns: user, nice, system and idle."""
    ctypes = importlib.import_module("ctypes")
    times = [ctypes.c_ulonglong() for _ in range(3)]
    try:
        known = ctypes.windll.kernel32.GetSystemTimes(*map(ctypes.byref, times))
    except AttributeError:
        return None
    idle, kernel, user = (int(time.value) for time in times)
    # What the kernel took has the idle time in it.
    return [user, 0, kernel - idle, idle] if known else None


def processors() -> Optional[Processors]:
    """Return how many sockets, cores and nodes there are, in all groups."""
    ctypes = importlib.import_module("ctypes")
    size = ctypes.c_uint32()
    try:
        ask = ctypes.windll.kernel32.GetLogicalProcessorInformationEx
        ask(_ALL_KINDS, None, ctypes.byref(size))
        records = (ctypes.c_ubyte * size.value)()
        if not size.value or not ask(_ALL_KINDS, records, ctypes.byref(size)):
            return None
    except AttributeError:
        return None
    kinds = list(records_of(bytes(records)))
    counts = {kind: sum(kind == each for each, _ in kinds) for kind, _ in kinds}
    # The first byte of a core's record: whether several threads share it.
    has_smt = any(kind == _CORE and body[0] & _SHARES_A_CORE for kind, body in kinds)
    sockets, cores, nodes = (counts.get(kind, 0) for kind in (_PACKAGE, _CORE, _NODE))
    return Processors(sockets, cores, nodes, has_smt)


def records_of(content: bytes) -> Iterator[Tuple[int, bytes]]:
    """Cut what GetLogicalProcessorInformationEx wrote into kinds and their bodies."""
    place = 0
    while place + 8 <= len(content):
        kind, length = struct.unpack_from("<2I", content, place)
        if length < 9:
            return
        yield kind, content[place + 8 : place + length]
        place += length


def counter_frequency() -> Optional[int]:
    """Return how often a second QueryPerformanceCounter counts."""
    ctypes = importlib.import_module("ctypes")
    frequency = ctypes.c_longlong()
    try:
        ctypes.windll.kernel32.QueryPerformanceFrequency(ctypes.byref(frequency))
    except AttributeError:
        return None
    return int(frequency.value) or None


# The job of all programs that are measured: it ends with us, and they with it.
_JOB: List[Any] = []


def keep_in_our_job(program: Any) -> None:
    """End a program with its children when we are killed, where Windows can."""
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
    """Return each physical disk, in the words of `agents.detection.facts`."""
    found = {}
    for number in range(_MOST_DISKS):
        path = r"\\.\PhysicalDrive%d" % number
        facts = _disk(path)
        if facts is not None:
            found["PhysicalDrive%d" % number] = facts
    return found


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
    """Return what a disk's descriptors say; each may be empty."""
    device, cache = property_of(_DEVICE), property_of(_WRITE_CACHE)
    seeks = property_of(_SEEK_PENALTY)
    facts: Dict[str, Any] = {
        "bytes": struct.unpack_from("<Q", geometry, 24)[0]
        if len(geometry) >= 32
        else None,
        "rotational": ("yes" if seeks[8] else "no") if len(seeks) > 8 else None,
        "write cache": _CACHES.get(struct.unpack_from("<I", cache, 12)[0])
        if len(cache) >= 16
        else None,
    }
    if len(device) >= 32:
        vendor, product = struct.unpack_from("<2I", device, 12)
        (bus,) = struct.unpack_from("<I", device, 28)
        facts["vendor"] = _text_at(device, vendor)
        facts["model"] = _text_at(device, product)
        facts["driver"] = _BUSES.get(bus)
    return facts


def _text_at(content: bytes, place: int) -> Optional[str]:
    # 0 means that the disk does not tell.
    text = content[place:].partition(b"\0")[0] if place else b""
    return text.decode("latin-1").strip() or None


def networks() -> Dict[str, Dict[str, Any]]:
    """Return each adapter that is no loopback and no tunnel."""
    ctypes = importlib.import_module("ctypes")
    adapter = _adapter(ctypes)
    size = ctypes.c_uint32(16 * 1024)
    try:
        ask = ctypes.windll.iphlpapi.GetAdaptersAddresses
    except (AttributeError, OSError):
        return {}
    ask.argtypes = [ctypes.c_uint32] * 2 + [ctypes.c_void_p] * 3
    code = _TOO_SMALL
    for _ in range(3):  # an adapter may come between two questions
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
    """Return IP_ADAPTER_ADDRESSES, as far as it is read."""
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
