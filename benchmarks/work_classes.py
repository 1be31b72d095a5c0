"""What kind of work a metric measures, above the tools that measure it.

A closed vocabulary of two levels: an area ("disk") and what is done there ("random
write"). Results of different tools are pooled only within one class (rule set 2,
section 11). A metric whose work is of no class here names none: it is never pooled.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from benchmarks.sentences import template
from benchmarks.text import collapse


@dataclass(frozen=True, slots=True)
class WorkClass:
    """A class of work: its area's slug and its own ("disk", "random-write").

    ``area_title`` and ``kind_title`` are English templates, for translators to find.
    """

    area: str
    kind: str
    area_title: str
    kind_title: str

    @property
    def slug(self) -> str:
        """The name that is stored and sent, unique among all: "disk-random-write"."""
        return f"{self.area}-{self.kind}"

    @property
    def title(self) -> str:
        """The English name in full: "disk: random write"."""
        return f"{self.area_title}: {self.kind_title}"


_VOCABULARY: Final = (
    (
        "cpu",
        template("CPU"),
        (
            ("floating-point", template("floating point")),
            ("integer", template("integer")),
        ),
    ),
    (
        "memory",
        template("memory"),
        (
            ("read", template("read")),
            ("write", template("write")),
            ("copy", template("copy")),
            ("latency", template("latency")),
        ),
    ),
    (
        "disk",
        template("disk"),
        (
            ("sequential-read", template("sequential read")),
            ("sequential-write", template("sequential write")),
            ("random-read", template("random read")),
            ("random-write", template("random write")),
            ("fsync", template("fsync")),
        ),
    ),
    (
        "network",
        template("network"),
        (
            ("throughput-out", template("throughput out")),
            ("throughput-in", template("throughput in")),
            ("round-trip", template("round trip")),
            ("requests", template("requests")),
        ),
    ),
    (
        "system",
        template("system"),
        (
            ("process-creation", template("process creation")),
            ("system-call", template("system call")),
            ("context-switch", template("context switch")),
        ),
    ),
    (
        "application",
        template("application"),
        (
            ("web", template("web")),
            ("database", template("database")),
            ("build", template("build")),
        ),
    ),
    ("energy", template("energy"), (("per-work", template("energy per work")),)),
)

WORK_CLASSES: Final[Mapping[str, WorkClass]] = MappingProxyType(
    {
        known.slug: known
        for area, area_title, kinds in _VOCABULARY
        for kind, kind_title in kinds
        for known in [WorkClass(area, kind, area_title, kind_title)]
    }
)


def work_class(name: str) -> WorkClass:
    """The class of a slug ("cpu-integer") or title ("CPU: integer"), in any case.

    An unknown one is a ValueError that lists what is known.
    """
    words = collapse(name).casefold()
    for known in WORK_CLASSES.values():
        if words in (known.slug, known.title.casefold()):
            return known
    raise ValueError(f'"{name}" is no work class; known are {", ".join(WORK_CLASSES)}')
