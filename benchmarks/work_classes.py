"""Classes of work, independent of tools: an area ("disk") and a kind ("random write").

Results of different tools are pooled only within one class; metrics without a class are
never pooled (rule set 2, section 11).
"""

from collections.abc import Iterator, Mapping
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


# By area. A slug is its title in lower case with hyphens, without "energy ": per-work.
_VOCABULARY: Final = {
    template("CPU"): (template("floating point"), template("integer")),
    template("memory"): (
        *(template("read"), template("write"), template("copy"), template("latency")),
    ),
    template("disk"): (
        *(template("sequential read"), template("sequential write")),
        *(template("random read"), template("random write"), template("fsync")),
    ),
    template("network"): (
        *(template("throughput out"), template("throughput in")),
        *(template("round trip"), template("requests")),
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
    {known.slug: known for known in _classes()}
)


def work_class(name: str) -> WorkClass:
    """Return a class by slug or title; ValueError lists the known ones."""
    words = collapse(name).casefold()
    for known in WORK_CLASSES.values():
        if words in (known.slug, known.title.casefold()):
            return known
    raise ValueError(f'"{name}" is no work class; known are {", ".join(WORK_CLASSES)}')
