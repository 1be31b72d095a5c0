"""Classes of work, independent of tools: an area ("disk") and a kind ("random write").

Evidence pools results of different tools only within a class. Metrics without a class
are never pooled (docs/method.md, Across studies).
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from benchmarks.sentences import template
from benchmarks.text_validation import normalize_whitespace


@dataclass(frozen=True, slots=True)
class WorkClass:
    """A class of work: slugs ("disk", "random-write") and English title templates."""

    area: str
    kind: str
    area_title: str
    kind_title: str

    @property
    def slug(self) -> str:
        return f"{self.area}-{self.kind}"

    @property
    def title(self) -> str:
        return f"{self.area_title}: {self.kind_title}"


# Titles of kinds by title of the area. Slugs are titles in lower case with hyphens; the
# kind "energy per work" has the slug "per-work".
_VOCABULARY: Final = {
    template("CPU"): (template("floating point"), template("integer")),
    template("memory"): (
        *(template("read"), template("write"), template("copy"), template("latency")),
    ),
    template("disk"): (
        *(template("sequential read"), template("sequential write")),
        *(template("random read"), template("random write"), template("fsync")),
        template("tail latency"),
    ),
    template("network"): (
        *(template("throughput out"), template("throughput in")),
        *(template("round trip"), template("requests"), template("tail latency")),
    ),
    template("system"): (
        template("process creation"),
        template("system call"),
        template("context switch"),
    ),
    template("application"): (
        template("web"),
        template("database"),
        template("build"),
        template("tail latency"),
    ),
    template("energy"): (template("energy per work"),),
}


def _classes() -> Iterator[WorkClass]:
    for area_title, kind_titles in _VOCABULARY.items():
        area = area_title.lower()
        for kind_title in kind_titles:
            kind = kind_title.removeprefix("energy ").replace(" ", "-")
            yield WorkClass(area, kind, area_title, kind_title)


WORK_CLASSES: Final[Mapping[str, WorkClass]] = MappingProxyType(
    {work_class.slug: work_class for work_class in _classes()}
)


_STORAGE: Final = "storage ssd nvme hdd drive file filesystem io virtio scsi ceph zfs"
_RANDOM: Final = f"{_STORAGE} iops 4k"
_NETWORK: Final = "ethernet nic lan tcp udp ip virtio bridge sriov"
_MEMORY: Final = "ram dram bandwidth numa stream huge pages"
SYNONYMS: Final[Mapping[str, str]] = {
    "cpu-floating-point": "processor hpc flops linpack hpl nas npb spec matrix science",
    "cpu-integer": "processor compression encryption crypto sha aes zip dhrystone",
    "memory-read": _MEMORY,
    "memory-write": _MEMORY,
    "memory-copy": _MEMORY,
    "memory-latency": "ram dram cache tlb numa pointer chasing huge pages",
    "disk-sequential-read": f"{_STORAGE} throughput streaming backup",
    "disk-sequential-write": f"{_STORAGE} throughput streaming backup logging",
    "disk-random-read": _RANDOM,
    "disk-random-write": _RANDOM,
    "disk-fsync": f"{_STORAGE} sync commit durable journal wal flush",
    "disk-tail-latency": f"{_STORAGE} percentile p95 p99 jitter response time",
    "network-throughput-out": f"{_NETWORK} bandwidth send transmit upload iperf",
    "network-throughput-in": f"{_NETWORK} bandwidth receive download iperf",
    "network-round-trip": f"{_NETWORK} ping rtt latency delay",
    "network-requests": f"{_NETWORK} packets per second pps rpc latency",
    "network-tail-latency": f"{_NETWORK} percentile p95 p99 jitter response time",
    "system-process-creation": "fork exec spawn shell script",
    "system-system-call": "syscall kernel getpid mitigations spectre meltdown",
    "system-context-switch": "scheduler thread switching wakeup hackbench",
    "application-web": "http https nginx apache server wordpress php requests wrk",
    "application-database": (
        "sql oltp transactions postgres postgresql pgbench mysql mariadb sqlite oracle "
        "mssql mongodb redis tpc sysbench"
    ),
    "application-build": "compile compiler compilation make gcc kernel ci pipeline",
    "application-tail-latency": "percentile p95 p99 jitter response time service",
    "energy-per-work": "power watt joule electricity consumption battery green",
}
"""Words that people search for, besides the title of each class."""


def find_work_class(name: str) -> WorkClass:
    """Return the class of this slug or title, or raise ValueError with all slugs."""
    folded_name = normalize_whitespace(name).casefold()
    for work_class in WORK_CLASSES.values():
        if folded_name in (work_class.slug, work_class.title.casefold()):
            return work_class
    raise ValueError(
        f'"{name}" is not a work class. Known are {", ".join(WORK_CLASSES)}'
    )
