"""Raw evidence about the platform, with the keys of tests/data/hv-detection."""

import importlib
import mmap
import os
import platform
import struct
import sys
import time
from typing import (
    Any,
    Callable,
    Dict,
    Iterable,
    List,
    NamedTuple,
    Optional,
    Sequence,
    Set,
    Tuple,
)

from agents.detection.containers import (
    CONTAINER_FILES,
    CONTAINER_VARIABLES,
    FIRST_NAMESPACES,
)
from agents.detection.translation import tracer
from agents.files import list_names, read_link, read_text_file
from agents.processes import program_output

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
# 32 bit, arguments on the stack: push ebx; push edi; mov eax, [esp+12]; mov ecx,
# [esp+16]; mov edi, [esp+20]; cpuid; store at [edi]; pop edi; pop ebx; ret
_STACK = (
    b"\x53\x57\x8b\x44\x24\x0c\x8b\x4c\x24\x10\x8b\x7c\x24\x14\x0f\xa2"
    b"\x89\x07\x89\x5f\x04\x89\x4f\x08\x89\x57\x0c\x5f\x5b\xc3"
)


# Loops of x86-64: push rbx; mov r8d, COUNT; until r8d is 0: xor eax, eax; cpuid, or
# imul eax, eax; nop. Then pop rbx; ret.
_COUNT_SYSTEM_V, _COUNT_WINDOWS = b"\x53\x41\x89\xf8", b"\x53\x41\x89\xc8"
_LOOP_END = b"\x41\xff\xc8\x75\xf7\x5b\xc3"
_CPUID_LOOP, _MULTIPLY_LOOP = b"\x31\xc0\x0f\xa2", b"\x0f\xaf\xc0\x90"
_LOOPS, _TIMINGS, _MULTIPLY_CYCLES = 100, 15, 3


class Registers(NamedTuple):
    eax: int
    ebx: int
    ecx: int
    edx: int

    def text(self, order: str = "bcd") -> str:
        """Return registers as Latin-1 text; hypervisors use ebx, ecx and edx (bcd)."""
        values = [getattr(self, "e%sx" % letter) for letter in order]
        return struct.pack("<%dI" % len(values), *values).decode("latin-1")


Cpuid = Callable[[int], Registers]


def open_cpuid() -> Optional[Cpuid]:
    """Return a function that reads a CPUID leaf; None if this is impossible here."""
    if platform.machine().lower() not in ("x86_64", "amd64", "i386", "i586", "i686"):
        return None
    return _by_machine_code() or _by_device("/dev/cpu/0/cpuid")


def machine_code(is_64_bit: bool, is_windows: bool) -> bytes:
    """Return machine code that reads a CPUID leaf.

    Its arguments are leaf, subleaf and the address of the result.
    """
    if not is_64_bit:
        return _STACK
    return _WINDOWS if is_windows else _SYSTEM_V


def _by_machine_code() -> Optional[Cpuid]:
    try:
        ctypes = importlib.import_module("ctypes")
        uint32 = ctypes.c_uint32
        code = machine_code(sys.maxsize > 2**32, os.name == "nt")
        call, page = _function(ctypes, code, uint32, uint32, ctypes.POINTER(uint32))
    except (ImportError, OSError, AttributeError):
        return None

    def cpuid(leaf: int) -> Registers:
        values = (ctypes.c_uint32 * 4)()
        call(leaf, 0, values)
        return Registers(*values)

    # Keep a reference: the code must not be freed before the function.
    cpuid.page = page  # type: ignore[attr-defined]
    return cpuid


def cpuid_cycles() -> Optional[int]:
    """Return about how many cycles CPUID takes; None if it cannot be measured."""
    is_64_bit = sys.maxsize > 2**32
    if platform.machine().lower() not in ("x86_64", "amd64") or not is_64_bit:
        return None
    start = _COUNT_WINDOWS if os.name == "nt" else _COUNT_SYSTEM_V
    shortest_s = []
    try:
        ctypes = importlib.import_module("ctypes")
        for body, count in ((_CPUID_LOOP, _LOOPS), (_MULTIPLY_LOOP, 100 * _LOOPS)):
            code = start + body + _LOOP_END
            call, _page = _function(ctypes, code, ctypes.c_uint32)
            durations = []
            for _ in range(_TIMINGS):
                before_s = time.perf_counter()
                call(count)
                durations.append(time.perf_counter() - before_s)
            shortest_s.append(min(durations) / count)
    except (ImportError, OSError, AttributeError):
        return None
    return int(_MULTIPLY_CYCLES * shortest_s[0] / shortest_s[1])


def _function(ctypes: Any, code: bytes, *kinds: Any) -> Tuple[Any, Any]:
    """Return a function of this code, and its memory, which must not be freed."""
    allocate = _executable_on_windows if os.name == "nt" else _executable
    address, page = allocate(ctypes, code)
    return ctypes.CFUNCTYPE(None, *kinds)(address), page


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
        raise OSError("Windows did not allocate an executable page")
    ctypes.memmove(address, code, len(code))
    return address, None


def _by_device(path: str) -> Optional[Cpuid]:
    def cpuid(leaf: int) -> Registers:
        with open(path, "rb", buffering=0) as device:
            device.seek(leaf)
            return Registers(*struct.unpack("<4I", device.read(16)))

    try:
        cpuid(0)
    except (OSError, struct.error):
        return None
    return cpuid


Indicators = Dict[str, Any]

HYPERVISOR_LEAVES = (0x40000000, 0x40000100, 0x40000200, 0x40000300)
_DMI = (
    "sys_vendor",
    "product_name",
    "bios_vendor",
    "board_vendor",
    "chassis_vendor",
    "product_version",
    "chassis_asset_tag",
    "chassis_type",
)
_SYSCTLS = {
    "vm_guest": ("kern.vm_guest", "kern.hv_vmm_present"),
    "jailed": ("security.jail.jailed",),
    "apple_model": ("hw.model",),
}
_XEN = (
    "type",
    "uuid",
    "version/major",
    "version/minor",
    "version/extra",
    "properties/features",
    "guest_type",
)
# These files exist in WSL, even with a custom kernel: WSL can start Windows programs.
_WSL = ("proc/sys/fs/binfmt_misc/WSLInterop", "run/WSL")
_TREE = "proc/device-tree/"
_CLOCKSOURCE = "sys/devices/system/clocksource/clocksource0/"
_CONTROLLERS = "sys/devices/system/edac/mc"
_CPUFREQ = "sys/devices/system/cpu/cpu0/cpufreq/"
# PCI classes of bridges to the CPU and to ISA.
_CHIPSET_CLASSES = ("0600", "0601")


def gather_indicators(root: str = "/") -> Indicators:
    if os.name == "nt":
        from agents.windows import windows_indicators

        evidence = dict(windows_indicators(), **cpuid_indicators())
        return dict(evidence, **_cpuid_timing(evidence))
    evidence = dict(file_indicators(root), **cpuid_indicators())
    evidence.update(
        system=platform.system(),
        machine=platform.machine(),
        uname_version=platform.version(),
        container_variables=[
            name for name in CONTAINER_VARIABLES if name in os.environ
        ],
        **_cpuid_timing(evidence),
    )
    if evidence["system"] != "Linux":
        evidence.update(sysctl_indicators())
    # `layers` uses this only if nothing else names the hypervisor.
    evidence["systemd-detect-virt"] = program_output(["systemd-detect-virt", "--vm"])
    words = ["systemd-detect-virt", "--container"]
    evidence["systemd-detect-virt -c"] = program_output(words)
    return evidence


def _cpuid_timing(evidence: Indicators) -> Indicators:
    return {"cpuid_cycles": cpuid_cycles()} if evidence["leaves"] else {}


def sysctl_indicators() -> Indicators:
    """Return what the kernels of macOS and FreeBSD state about themselves."""
    stated: Indicators = {}
    for key, names in _SYSCTLS.items():
        texts = (program_output(["sysctl", "-n", name]) for name in names)
        stated[key] = next(filter(None, texts), None)
    if stated["vm_guest"] == "0":
        stated["vm_guest"] = "none"
    vendor = program_output(["kenv", "smbios.system.maker"])
    if vendor:
        product = program_output(["kenv", "smbios.system.product"])
        stated["dmi"] = {"sys_vendor": vendor, "product_name": product}
    devices = program_output(["pciconf", "-l"])
    if devices:
        stated.update(pciconf_indicators(devices))
    return stated


def pciconf_indicators(text: str) -> Indicators:
    """Parse FreeBSD's `pciconf -l`, whose older form has chip= and card=."""
    devices = []
    for line in text.splitlines():
        fields = dict(word.split("=", 1) for word in line.split() if "=" in word)
        names = ("class", "vendor", "device", "subvendor")
        kind, vendor, device, board = (fields.get(n, "")[2:].lower() for n in names)
        chip, card = fields.get("chip", "")[2:], fields.get("card", "")[2:]
        if len(chip) == len(card) == 8:
            device, vendor, board = chip[:4], chip[4:], card[4:]
        devices.append((kind, vendor, device, board))
    return _pci_indicators(devices)


def cpuid_indicators(cpuid: Optional[Cpuid] = None) -> Indicators:
    run_cpuid = cpuid or open_cpuid()
    if run_cpuid is None:
        return {"leaves": {}, "cpuid1_ecx31": None, "vendor": None}
    evidence: Indicators = {
        # Processor vendors use the order b, d, c.
        "vendor": run_cpuid(0).text("bdc"),
        "cpuid1_ecx31": run_cpuid(1).ecx >> 31,
        "leaves": {
            hex(base): [hex(run_cpuid(base).eax), run_cpuid(base).text()]
            for base in HYPERVISOR_LEAVES
        },
    }
    if run_cpuid(0x40000000).text() == "Microsoft Hv":
        # Source: Microsoft, Hypervisor Top Level Functional Specification.
        version = run_cpuid(0x40000002)
        numbers = (version.ebx >> 16, version.ebx & 0xFFFF, version.eax)
        evidence.update(
            hyperv_interface=run_cpuid(0x40000001).text("a"),
            hyperv_version="%d.%d.%d" % numbers if any(numbers) else None,
            hyperv_privileges=run_cpuid(0x40000003).ebx,
            hyperv_hints=run_cpuid(0x40000004).eax,
        )
        if run_cpuid(0x40000000).eax >= 0x4000000C:
            isolation = run_cpuid(0x4000000C)
            evidence["hyperv_isolation"] = [isolation.eax, isolation.ebx]
    if run_cpuid(0x40000000).text() == "VMwareVMware":
        evidence["vmware_tsc_khz"] = run_cpuid(0x40000010).eax
    return evidence


def file_indicators(root: str = "/") -> Indicators:
    def rooted(path: str) -> str:
        return os.path.join(root, path)

    def text(path: str) -> Optional[str]:
        return read_text_file(rooted(path))

    def names(folder: str, *starts: str) -> List[str]:
        return [name for name in list_names(rooted(folder)) if name.startswith(starts)]

    def texts(folder: str, *files: str) -> List[str]:
        folders = [os.path.join(folder, name) for name in list_names(rooted(folder))]
        paths = (os.path.join(inner, file) for inner in folders for file in files)
        return sorted(set(filter(None, map(text, paths))))

    environment = (text("proc/1/environ") or "").split("\0")
    return {
        "kernel": text("proc/sys/kernel/osrelease"),
        "kernel_machine": text("proc/sys/kernel/arch"),
        "tracer": tracer(text("proc/self/status") or ""),
        "version": text("proc/version"),
        "dmi": {name: text("sys/class/dmi/id/" + name) for name in _DMI},
        "device_tree": {
            "hypervisor": text(_TREE + "hypervisor/compatible"),
            "psci": text(_TREE + "psci/method"),
            "compatible": text(_TREE + "compatible"),
            "model": text(_TREE + "model"),
            "nodes": names(_TREE, "fw-cfg", "ibm,partition-name"),
        },
        "acpi_qemu": names("sys/bus/acpi/devices", "QEMU"),
        "control_program": s390_hypervisor(text("proc/sysinfo") or ""),
        "sys_hypervisor": {name: text("sys/hypervisor/" + name) for name in _XEN},
        "clocksource": text(_CLOCKSOURCE + "current_clocksource"),
        "clocksources": text(_CLOCKSOURCE + "available_clocksource"),
        "proc_xen": os.path.isdir(rooted("proc/xen"))
        and list_names(rooted("proc/xen")),
        "xen_cap": text("proc/xen/capabilities"),
        "proc_vz": os.path.exists(rooted("proc/vz")),
        "proc_bc": os.path.exists(rooted("proc/bc")),
        "wsl_interop": any(map(os.path.exists, map(rooted, _WSL))),
        "dev_kvm": os.path.exists(rooted("dev/kvm")),
        "dockerenv": os.path.exists(rooted(".dockerenv")),
        "containerenv": os.path.exists(rooted("run/.containerenv")),
        "container_manager": text("run/host/container-manager"),
        "pid1_env_container": [
            word for word in environment if word.startswith("container")
        ],
        "cgroup1": text("proc/1/cgroup"),
        "own_cgroup": text("proc/self/cgroup"),
        "pid_namespace": read_link(rooted("proc/self/ns/pid")),
        "namespaces": {
            name: read_link(rooted("proc/self/ns/" + name)) for name in FIRST_NAMESPACES
        },
        "root_mount": root_mount(text("proc/self/mountinfo") or ""),
        "linprocfs": "linprocfs" in (text("proc/mounts") or ""),
        "container_files": [
            name for name in CONTAINER_FILES if os.path.exists(rooted(name))
        ],
        **pci_indicators(rooted("sys/bus/pci/devices")),
        # An SD card has a name instead of a model.
        "disk_models": texts("sys/block", "device/model", "device/name"),
        "sensors": texts("sys/class/hwmon", "name")
        + texts("sys/class/thermal", "type"),
        "memory_controllers": texts(_CONTROLLERS, "mc_name"),
        "frequency_driver": text(_CPUFREQ + "scaling_driver"),
        **cpuinfo_indicators(text("proc/cpuinfo") or ""),
    }


def root_mount(mounts: str) -> Optional[List[str]]:
    """Return type and options of the last root mount in /proc/self/mountinfo.

    [] in a chroot; None if unknown.
    """
    found: Optional[List[str]] = None
    for line in mounts.splitlines():
        own, _, rest = line.partition(" - ")
        words, ending = own.split(), rest.split(None, 2)
        if len(words) < 5 or len(ending) < 3:
            continue
        found = found or []
        if words[4] == "/":
            found = [ending[0], "%s %s" % (words[3], ending[2])]
    return found


def pci_indicators(folder: str) -> Indicators:
    if not os.path.isdir(folder):
        return {"pci": None, "chipset": None}
    names = ("class", "vendor", "device", "subsystem_vendor")
    devices = []
    for device in list_names(folder):
        paths = (os.path.join(folder, device, name) for name in names)
        devices.append([(read_text_file(path) or "")[2:].lower() for path in paths])
    return _pci_indicators(devices)


def _pci_indicators(devices: Iterable[Sequence[str]]) -> Indicators:
    """Return the vendors of devices and of their boards, and the chipset.

    The chipset consists of the bridges to the CPU and to ISA, which hypervisors do not
    pass through.
    """
    vendors: Set[str] = set()
    chipset: Set[str] = set()
    for kind, vendor, device, board in devices:
        vendors.update((vendor, board))
        if kind.startswith(_CHIPSET_CLASSES):
            chipset.add("%s:%s" % (vendor, device))
    return {"pci": sorted(vendors - {""}), "chipset": sorted(chipset)}


def s390_hypervisor(sysinfo: str) -> Optional[str]:
    for line in sysinfo.splitlines():
        name, _, value = line.partition(":")
        if name.strip() == "VM00 Control Program":
            return value.strip()
    return None


def cpuinfo_indicators(text: str) -> Indicators:
    lines = (line.partition(":") for line in text.partition("\n\n")[0].splitlines())
    fields = {name.strip(): value.strip() for name, _, value in lines}
    flags = fields.get("flags", "").split()
    return {
        "model": fields.get("model name"),
        "isa": fields.get("isa"),
        "hypervisor_flag": "hypervisor" in flags if flags else None,
        "svm_vmx": [flag for flag in ("svm", "vmx") if flag in flags],
    }
