"""Which class of work a case is of (`work_classes`), as its tool declares it.

Benchmarks of one class answer one question ("what does a virtual machine cost when it
reads at random?"), whatever tool asked it. A tool names the class of each of its
primary metrics; where that hangs on the case (read or written, at random or in order)
it names rules, the first of which that fits decides. A class is "" where none fits:
such a benchmark is never put together with those of other tools.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from benchmarks.work_classes import work_class

NONE: Final = ""


@dataclass(frozen=True, slots=True)
class Rule:
    """The class (its slug) of cases whose parameters match, each as a whole text."""

    work: str
    where: tuple[tuple[str, str], ...]

    def fits(self, parameters: Mapping[str, str]) -> bool:
        return all(
            re.fullmatch(pattern, parameters.get(name, ""), re.IGNORECASE)
            for name, pattern in self.where
        )


@dataclass(frozen=True, slots=True)
class Work:
    """The classes that the cases of one metric may have: the first rule that fits."""

    rules: tuple[Rule, ...]

    def of(self, parameters: Mapping[str, str]) -> str:
        """The slug of a case's class, "" where no rule fits."""
        fitting = (rule.work for rule in self.rules if rule.fits(parameters))
        return next(fitting, NONE)

    @property
    def classes(self) -> tuple[str, ...]:
        """Every class that a case may have, each once."""
        return tuple(dict.fromkeys(rule.work for rule in self.rules))


def always(work: str) -> Work:
    """Every case is of one class, by its slug or title."""
    return Work((when(work),))


def when(work: str, **where: str) -> Rule:
    """A class and what its cases state: parameters and patterns of their values."""
    return Rule(work_class(work).slug, tuple(where.items()))


NO_CLASS: Final = Work(())
FLOATING_POINT: Final = always("CPU: floating point")
COPY: Final = always("memory: copy")
WEB: Final = always("application: web")
ENERGY: Final = always("energy-per-work")
SEQUENTIAL_READ: Final = always("disk: sequential read")

# Benchmarks of the disk that do not say how they go through a file go from its
# beginning to its end.
DISK: Final = Work(
    (
        when("disk: random read", access="random", operation=r"(random )?read"),
        when("disk: random write", access="random", operation=r"(random )?(re)?write"),
        when("disk: random read", access="", operation="random read"),
        when("disk: random write", access="", operation="random write"),
        when("disk: sequential read", access="|sequential", operation="(re)?read"),
        when("disk: sequential write", access="|sequential", operation="(re)?write"),
    )
)
# Scaling, adding and the triad read as well as write, as copying does.
MEMORY: Final = Work(
    (
        when("memory: read", operation="read(ing)?"),
        when("memory: write", operation="writ(e|ing)"),
        when("memory: copy", operation="copy|scale|add|triad"),
    )
)
# "out" is away from the machine that runs the test.
NETWORK: Final = Work(
    (
        when("network: throughput in", operation="receive|reverse|read|in"),
        when("network: throughput out", operation="|send|forward|write|out"),
    )
)
