"""Vocabulary of the options of a system: name, known values, explanation. PURE.

Options outside the vocabulary are kept under their own name, without an explanation.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from benchmarks.sentences import Template, template

LABELS: Final = frozenset({"setting"})
"""Names of whole configurations, which are not options."""


@dataclass(frozen=True, slots=True)
class SystemOption:
    """An option; ``off_values`` are levels that mean that it is not used."""

    name: str
    title: str
    explanation: str = ""
    values: tuple[str, ...] = ()
    off_values: tuple[str, ...] = ()
    other_names: tuple[str, ...] = ()

    @property
    def slug(self) -> str:
        return re.sub(r"[^a-z0-9]+", "-", self.name.casefold()).strip("-") or "option"


def _option(
    name: str,
    title: Template,
    explanation: Template,
    values: str = "",
    *,
    off: str = "",
    other_names: str = "",
) -> SystemOption:
    return SystemOption(
        *(name, title, explanation, tuple(filter(None, values.split("|")))),
        tuple(filter(None, off.split("|"))),
        tuple(filter(None, other_names.split("|"))),
    )


_VOCABULARY: Final = (
    _option(
        "disk_io",
        template("Asynchronous disk I/O (aio)"),
        template("How the hypervisor submits disk requests of the guest."),
        "threads|native|io_uring",
        off="threads",
        other_names="aio|io",
    ),
    _option(
        "disk_cache",
        template("Disk cache mode"),
        template("Whether the host caches the disk of the guest."),
        "writeback|writethrough|none|directsync|unsafe",
        off="writeback",
        other_names="cache|cache_mode",
    ),
    _option(
        "iothreads",
        template("I/O threads"),
        template("Number of threads that serve the disks outside the main loop."),
        "1|2|3",
        off="0",
        other_names="iothread|io_threads",
    ),
    _option(
        "iothread_pinning",
        template("Pinning of I/O threads"),
        template("Host CPUs on which the I/O threads run."),
    ),
    _option(
        "pinning",
        template("CPU pinning"),
        template("Host CPUs on which the virtual CPUs run, instead of any."),
        "on|off|numad",
        off="off|none",
        other_names="cpu_pinning|vcpu_pinning",
    ),
    _option(
        "emulator_pinning",
        template("Pinning of the emulator"),
        template("Host CPUs on which the threads of the device emulation run."),
    ),
    _option(
        "hugepages",
        template("Huge pages"),
        template("Size of the host's memory pages that back the guest's memory."),
        "2 MiB|16 MiB|1024 MiB",
        off="off|none|4 KiB",
        other_names="huge_pages|large_pages",
    ),
    _option(
        "balloon",
        template("Memory balloon"),
        template("Device by which the host takes back unused memory of the guest."),
        "virtio|none",
        off="virtio",
        other_names="ballooning|memballoon",
    ),
    _option(
        "ksm",
        template("Kernel same-page merging (KSM)"),
        template("Whether the host merges equal memory pages of its guests."),
        "on|off",
        off="off",
    ),
    _option(
        "cpu_mode",
        template("CPU model"),
        template("CPU that the guest sees: that of the host, or a named model."),
        "host-passthrough|host-model|x86-64-v3",
        other_names="cpu_model|cpu_type",
    ),
    _option(
        "vcpus",
        template("Virtual CPUs"),
        template("Number of virtual CPUs of the guest."),
    ),
    _option(
        "memory",
        template("Memory of the guest"),
        template("Size of the memory of the guest."),
    ),
    _option(
        "topology",
        template("CPU topology"),
        template("Sockets, cores and threads that the guest sees."),
        off="hidden",
    ),
    _option(
        "numa_cells",
        template("NUMA nodes of the guest"),
        template("Distribution of virtual CPUs over NUMA nodes of the guest."),
    ),
    _option(
        "numatune",
        template("NUMA memory policy"),
        template("NUMA nodes of the host from which the guest gets its memory."),
        "auto",
    ),
    _option(
        "mitigations",
        template("CPU mitigations"),
        template("Protection against Spectre, Meltdown and similar attacks."),
        "on|off|auto",
        off="off",
    ),
    _option(
        "nested",
        template("Nested virtualization"),
        template("Whether the guest runs on a hypervisor that is itself a guest."),
        "on|off",
        off="off",
    ),
    _option(
        "vbs",
        template("Hyper-V and VBS in Windows itself"),
        template("Whether Windows runs on its own hypervisor (WSL2, core isolation)."),
        "on|off",
        off="off",
        other_names="hvci|memory_integrity",
    ),
    _option(
        "confidential",
        template("Confidential computing"),
        template("Whether the guest's memory is encrypted against the host."),
        "SEV|SEV-SNP|TDX|off",
        off="off",
        other_names="encrypted_memory",
    ),
    _option(
        "hw_virt",
        template("Hardware virtualization (AMD-V, VT-x)"),
        template("Whether the hypervisor uses the virtualization of the processor."),
        "on|off",
        off="off",
    ),
    _option(
        "guest_tools",
        template("Guest tools and paravirtual drivers"),
        template("Drivers for devices that only the hypervisor offers."),
        off="absent",
    ),
    _option(
        "controller",
        template("Disk controller"),
        template("Controller that the guest sees, such as virtio-scsi or PVSCSI."),
        "virtio-blk|virtio-scsi|pvscsi|lsilogic",
        off="lsilogic",
    ),
    _option(
        "disk_image",
        template("Disk image"),
        template("Format and allocation of the image of the disk."),
        "raw|qcow2|sparse",
        off="raw",
    ),
    _option(
        "write_cache",
        template("Write cache of the disk"),
        template("Whether the virtual disk confirms writes before they are stored."),
        "on|off",
    ),
    _option(
        "scheduler",
        template("I/O scheduler"),
        template("Scheduler of the block layer in the guest or host."),
        "none|mq-deadline|bfq|kyber",
        off="none",
    ),
    _option(
        "network",
        template("Network attachment"),
        template("How the guest is connected: virtio, SR-IOV, passthrough, bridge."),
        "virtio|sr-iov|passthrough|attached",
    ),
    _option(
        "gpu",
        template("GPU"),
        template("How the guest uses a GPU: passthrough, a part of it, emulated."),
        "passthrough|mediated|sr-iov|virtio",
        other_names="vgpu",
    ),
    _option(
        "devices",
        template("Virtual devices"),
        template("Devices of the guest beside disk and network."),
        "minimal",
    ),
    _option(
        "rng",
        template("Random number device"),
        template("Device that passes random numbers of the host to the guest."),
        "virtio",
    ),
    _option(
        "firmware",
        template("Firmware"),
        template("Firmware that starts the guest, such as SeaBIOS, UEFI or qboot."),
        "bios|uefi|qboot",
    ),
    _option(
        "machine",
        template("Machine type"),
        template("Type of machine that the hypervisor emulates."),
        "pc|q35|microvm",
    ),
    _option(
        "configured_by",
        template("Configuration interface"),
        template("Whether a VM is configured by an API or by a file."),
        "API|file",
    ),
    _option(
        "kernel_image",
        template("Format of the kernel image"),
        template("Compressed (bzImage) or uncompressed (vmlinux) kernel."),
        "vmlinux|bzImage",
    ),
    _option(
        "sync",
        template("Synchronous writes of the storage"),
        template("When a storage server confirms writes."),
        "standard|always|disabled",
        off="standard",
    ),
)
VOCABULARY: Final[Mapping[str, SystemOption]] = MappingProxyType(
    {
        name: option
        for option in _VOCABULARY
        for name in (option.name, *option.other_names)
    }
)


def find_option(name: str) -> SystemOption:
    """Accept options outside of the vocabulary."""
    key = re.sub(r"[\s-]+", "_", name.strip().casefold())
    known = VOCABULARY.get(key)
    return known or SystemOption(name, name.replace("_", " ").capitalize())
