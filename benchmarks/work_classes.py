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


def find_work_class(name: str) -> WorkClass:
    """Return the class of this slug or title, or raise ValueError with all slugs."""
    folded_name = normalize_whitespace(name).casefold()
    for work_class in WORK_CLASSES.values():
        if folded_name in (work_class.slug, work_class.title.casefold()):
            return work_class
    raise ValueError(
        f'"{name}" is not a work class. Known are {", ".join(WORK_CLASSES)}'
    )
