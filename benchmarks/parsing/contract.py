"""What a benchmark tool and its metrics are."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Literal, get_args

from benchmarks import units
from benchmarks.errors import UnknownMetricError
from benchmarks.parsing.drafts import Parser
from benchmarks.text import collapse

Better = Literal["higher", "lower", "neither"]
Component = Literal["CPU", "memory", "disk", "network", "power", "application"]

_SLUG = re.compile(r"[a-z0-9]+(?:[-_][a-z0-9]+)*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """What one number of a tool means.

    ``component`` is the part of the machine that the test loads: the CPU utilization
    of a network test belongs to the network. ``zero_allowed``: 0 can be a reading (a
    count, a share), not the sign of a failed run.
    """

    name: str
    unit: str
    better: Better
    component: Component
    title: str = ""
    zero_allowed: bool = False

    def __post_init__(self) -> None:
        _refuse_unknown("better", self.better, get_args(Better))
        _refuse_unknown("component", self.component, get_args(Component))
        units.unit(self.unit)
        if not self.title:
            title = self.name[:1].upper() + self.name[1:]
            object.__setattr__(self, "title", title)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A benchmark program: one file of this folder.

    ``labels`` are the parameters that tell its cases apart at a glance, as patterns
    over their names (``"n={n}"``); a pattern whose parameters a case lacks is left out.
    ``parser`` reads its output; without one its samples come as numbers only.
    """

    slug: str
    title: str
    homepage: str
    metrics: tuple[Metric, ...]
    aliases: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    parser: Parser | None = None
    _by_name: dict[str, Metric] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not _SLUG.fullmatch(self.slug):
            raise ValueError(f'"{self.slug}" is no slug for a tool')
        by_name = {folded(metric.name): metric for metric in self.metrics}
        if len(by_name) != len(self.metrics):
            raise ValueError(f"{self.slug} has two metrics of one name")
        object.__setattr__(self, "_by_name", by_name)

    @property
    def names(self) -> tuple[str, ...]:
        """Everything the tool may be called by."""
        return (self.slug, self.title, *self.aliases)

    def metric(self, name: str) -> Metric:
        """The metric of that name, whatever its case; refuses an unknown one."""
        if found := self._by_name.get(folded(name)):
            return found
        raise UnknownMetricError(name, self.title, [each.name for each in self.metrics])


def folded(name: str) -> str:
    """A name as it is looked up: case and spacing do not matter."""
    return collapse(name).casefold()


def _refuse_unknown(what: str, value: str, known: tuple[str, ...]) -> None:
    if value not in known:
        raise ValueError(f'{what} is "{value}", not one of {", ".join(known)}')
