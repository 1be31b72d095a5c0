"""Raw evidence of the platform: CPUID, files of Linux, programs.

The keys are those of tests/data/hv-detection. CPUID is executed by machine code through
ctypes, or read from /dev/cpu/0/cpuid.
"""

import importlib
import mmap
import os
import platform
import struct
import sys
from typing import Any, Callable, Dict, List, NamedTuple, Optional

from agents.files import link_of, names_in, text_of
from agents.processes import output_of

_PAGE_BYTES = 4096

# cpuid; store eax, ebx, ecx and edx at [r8]; restore rbx; ret
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
    """The registers that CPUID returns for one leaf."""

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
    """Return a function that executes CPUID, or None."""
    if platform.machine().lower() not in ("x86_64", "amd64", "i386", "i586", "i686"):
        return None
    return _by_machine_code() or _by_device("/dev/cpu/0/cpuid")


def machine_code(is_64_bit: bool, is_windows: bool) -> bytes:
    """Return the code of a function (leaf, subleaf, pointer to 16 bytes)."""
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

    cpuid.page = page  # type: ignore[attr-defined]  # keeps the code alive
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
    """Read the device of the kernel module `cpuid`: 16 bytes at the leaf's offset."""

    def cpuid(leaf: int) -> Registers:
        with open(path, "rb", buffering=0) as device:
            device.seek(leaf)
            return Registers(*struct.unpack("<4I", device.read(16)))

    try:
        cpuid(0)
    except (OSError, struct.error):
        return None
    return cpuid


Evidence = Dict[str, Any]

BASES = (0x40000000, 0x40000100, 0x40000200, 0x40000300)
_DMI = (
    "sys_vendor",
    "product_name",
    "bios_vendor",
    "board_vendor",
    "chassis_vendor",
    "product_version",
    "chassis_asset_tag",
)
_XEN = (
    "type",
    "uuid",
    "version/major",
    "version/minor",
    "version/extra",
    "properties/features",
    "guest_type",
)
# Both kinds of WSL start Windows' programs, whatever their kernel is called.
_WSL = ("proc/sys/fs/binfmt_misc/WSLInterop", "run/WSL")
_TREE = "proc/device-tree/"
_CLOCKSOURCE = "sys/devices/system/clocksource/clocksource0/"


def gather_evidence(root: str = "/") -> Evidence:
    """Read all evidence; nothing is changed."""
    if os.name == "nt":
        from agents.windows import evidence_of_windows

        return dict(evidence_of_windows(), **of_cpu())
    evidence = dict(of_files(root), **of_cpu())
    # Decides only where no other evidence does.
    evidence["systemd-detect-virt"] = output_of(["systemd-detect-virt", "--vm"])
    words = ["systemd-detect-virt", "--container"]
    evidence["systemd-detect-virt -c"] = output_of(words)
    return evidence


def of_cpu(cpuid: Optional[Cpuid] = None) -> Evidence:
    """Read the hypervisor bit and all signatures from CPUID."""
    ask = cpuid or open_cpuid()
    if ask is None:
        return {"leaves": {}, "cpuid1_ecx31": None, "vendor": None}
    evidence: Evidence = {
        # Processors sign in b, d, c; hypervisors in b, c, d.
        "vendor": ask(0).text("bdc"),
        "cpuid1_ecx31": ask(1).ecx >> 31,
        "leaves": {hex(base): [hex(ask(base).eax), ask(base).text()] for base in BASES},
    }
    if ask(0x40000000).text() == "Microsoft Hv":
        # Microsoft, Hypervisor Top Level Functional Specification.
        version = ask(0x40000002)
        numbers = (version.ebx >> 16, version.ebx & 0xFFFF, version.eax)
        evidence.update(
            hyperv_interface=ask(0x40000001).text("a"),
            hyperv_version="%d.%d.%d" % numbers if any(numbers) else None,
            hyperv_privileges=ask(0x40000003).ebx,
            hyperv_hints=ask(0x40000004).eax,
        )
        if ask(0x40000000).eax >= 0x4000000C:
            isolation = ask(0x4000000C)
            evidence["hyperv_isolation"] = [isolation.eax, isolation.ebx]
    if ask(0x40000000).text() == "VMwareVMware":
        evidence["vmware_tsc_khz"] = ask(0x40000010).eax
    return evidence


def of_files(root: str = "/") -> Evidence:
    """Read the files of Linux."""

    def at(path: str) -> str:
        return os.path.join(root, path)

    def text(path: str) -> Optional[str]:
        return text_of(at(path))

    def names(folder: str, *starts: str) -> List[str]:
        return [name for name in names_in(at(folder)) if name.startswith(starts)]

    environment = (text("proc/1/environ") or "").split("\0")
    return {
        "kernel": text("proc/sys/kernel/osrelease"),
        "version": text("proc/version"),
        "dmi": {name: text("sys/class/dmi/id/" + name) for name in _DMI},
        "device_tree": {
            "hypervisor": text(_TREE + "hypervisor/compatible"),
            "psci": text(_TREE + "psci/method"),
            "nodes": names(_TREE, "fw-cfg", "ibm,partition-name"),
        },
        "acpi_qemu": names("sys/bus/acpi/devices", "QEMU"),
        "control_program": control_program(text("proc/sysinfo") or ""),
        "sys_hypervisor": {name: text("sys/hypervisor/" + name) for name in _XEN},
        "clocksource": text(_CLOCKSOURCE + "current_clocksource"),
        "clocksources": text(_CLOCKSOURCE + "available_clocksource"),
        "proc_xen": os.path.isdir(at("proc/xen")) and names_in(at("proc/xen")),
        "xen_cap": text("proc/xen/capabilities"),
        "proc_vz": os.path.exists(at("proc/vz")),
        "proc_bc": os.path.exists(at("proc/bc")),
        "wsl_interop": any(map(os.path.exists, map(at, _WSL))),
        "dev_kvm": os.path.exists(at("dev/kvm")),
        "dockerenv": os.path.exists(at(".dockerenv")),
        "containerenv": os.path.exists(at("run/.containerenv")),
        "container_manager": text("run/host/container-manager"),
        "pid1_env_container": [
            word for word in environment if word.startswith("container")
        ],
        "cgroup1": text("proc/1/cgroup"),
        "pid_namespace": link_of(at("proc/self/ns/pid")),
        **of_cpuinfo(text("proc/cpuinfo") or ""),
    }


def control_program(sysinfo: str) -> Optional[str]:
    """Return the hypervisor in /proc/sysinfo of a virtual s390 machine."""
    for line in sysinfo.splitlines():
        name, _, value = line.partition(":")
        if name.strip() == "VM00 Control Program":
            return value.strip()
    return None


def of_cpuinfo(text: str) -> Evidence:
    """Read the first CPU of /proc/cpuinfo."""
    lines = (line.partition(":") for line in text.partition("\n\n")[0].splitlines())
    fields = {name.strip(): value.strip() for name, _, value in lines}
    flags = fields.get("flags", "").split()
    return {
        "model": fields.get("model name"),
        "hypervisor_flag": "hypervisor" in flags if flags else None,
        "svm_vmx": [flag for flag in ("svm", "vmx") if flag in flags],
    }
