"""CPUID by machine code through ctypes, else by /dev/cpu/0/cpuid."""

import importlib
import mmap
import os
import platform
import struct
import sys
from typing import Any, Callable, NamedTuple, Optional

_PAGE_BYTES = 4096

# cpuid and the storing of eax, ebx, ecx and edx at [r8], between saving ebx and ret.
_STORE = (
    b"\x0f\xa2"  # cpuid
    b"\x41\x89\x00\x41\x89\x58\x04\x41\x89\x48\x08\x41\x89\x50\x0c"
    b"\x5b\xc3"  # pop rbx; ret
)
# System V: edi, esi, rdx -> push rbx; mov eax, edi; mov ecx, esi; mov r8, rdx
_SYSTEM_V = b"\x53\x89\xf8\x89\xf1\x49\x89\xd0" + _STORE
# Windows: ecx, edx, r8 -> push rbx; mov eax, ecx; mov ecx, edx
_WINDOWS = b"\x53\x89\xc8\x89\xd1" + _STORE
# 32 bit, arguments on the stack: push ebx; push edi; mov eax, [esp+12];
# mov ecx, [esp+16]; mov edi, [esp+20]; cpuid; store at [edi]; pop edi; pop ebx; ret
_STACK = (
    b"\x53\x57\x8b\x44\x24\x0c\x8b\x4c\x24\x10\x8b\x7c\x24\x14\x0f\xa2"
    b"\x89\x07\x89\x5f\x04\x89\x4f\x08\x89\x57\x0c\x5f\x5b\xc3"
)


class Registers(NamedTuple):
    """What CPUID answers to one leaf."""

    eax: int
    ebx: int
    ecx: int
    edx: int

    def text(self, order: str = "bcd") -> str:
        """Return the registers' bytes as Latin-1 text; hypervisors sign in b, c, d."""
        values = [getattr(self, "e%sx" % letter) for letter in order]
        return struct.pack("<%dI" % len(values), *values).decode("latin-1")


Cpuid = Callable[[int], Registers]


def open_cpuid() -> Optional[Cpuid]:
    """Return a way to ask CPUID, or None."""
    if platform.machine().lower() not in ("x86_64", "amd64", "i386", "i586", "i686"):
        return None
    return _by_machine_code() or _by_device("/dev/cpu/0/cpuid")


def machine_code(is_64_bit: bool, is_windows: bool) -> bytes:
    """Return the code of a function (leaf, subleaf, pointer to 16 bytes) for a
    convention."""
    if not is_64_bit:
        return _STACK
    return _WINDOWS if is_windows else _SYSTEM_V


def _by_machine_code() -> Optional[Cpuid]:
    try:
        ctypes = importlib.import_module("ctypes")
        code = machine_code(sys.maxsize > 2**32, os.name == "nt")
        place = _executable_on_windows if os.name == "nt" else _executable
        address, page = place(ctypes, code)
        whole = ctypes.c_uint32
        call = ctypes.CFUNCTYPE(None, whole, whole, ctypes.POINTER(whole))(address)
    except (ImportError, OSError, AttributeError):
        return None

    def cpuid(leaf: int) -> Registers:
        values = (ctypes.c_uint32 * 4)()
        call(leaf, 0, values)
        return Registers(*values)

    cpuid.page = page  # type: ignore[attr-defined]  # the code lives as long as we do
    return cpuid


def _executable(ctypes: Any, code: bytes) -> Any:
    page = mmap.mmap(
        -1,
        _PAGE_BYTES,
        flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS,
        prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC,
    )
    page.write(code)
    return ctypes.addressof(ctypes.c_char.from_buffer(page)), page


def _executable_on_windows(ctypes: Any, code: bytes) -> Any:
    kernel = ctypes.windll.kernel32
    kernel.VirtualAlloc.restype = ctypes.c_void_p
    reserve_and_commit, executable = 0x3000, 0x40
    address = kernel.VirtualAlloc(None, _PAGE_BYTES, reserve_and_commit, executable)
    if not address:
        raise OSError("Windows gave no executable page")
    ctypes.memmove(address, code, len(code))
    return address, None


def _by_device(path: str) -> Optional[Cpuid]:
    """Ask the kernel's `cpuid` module: the leaf is the offset, 16 bytes the answer."""

    def cpuid(leaf: int) -> Registers:
        with open(path, "rb", buffering=0) as device:
            device.seek(leaf)
            return Registers(*struct.unpack("<4I", device.read(16)))

    try:
        cpuid(0)
    except (OSError, struct.error):
        return None
    return cpuid
