"""What a benchmark tool and its metrics are, and which numbers a metric can have."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from sys import float_info
from typing import Final, Literal, get_args

from benchmarks import units
from benchmarks.errors import UnknownMetricError, ValueRefusedError
from benchmarks.parsing.drafts import Parser
from benchmarks.sentences import Sentence
from benchmarks.text import collapse

Better = Literal["higher", "lower", "neither"]
Component = Literal["CPU", "memory", "disk", "network", "power", "application"]
# A lab's own tool has the lab's slug and a colon before its own.
_SLUG = re.compile(r"(?:[-\w]+:)?[a-z0-9]+(?:[-_][a-z0-9]+)*", re.ASCII)
# Sums of squares of larger numbers no longer fit into a double.
LARGEST: Final = 1e150


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
        for what, word, known in (
            ("better", self.better, get_args(Better)),
            ("component", self.component, get_args(Component)),
        ):
            if word not in known:
                known_words = ", ".join(known)
                raise ValueError(f'{what} is "{word}", not one of {known_words}')
        units.unit(self.unit)  # refuses an unknown one
        if not self.title:
            title = self.name[:1].upper() + self.name[1:]
            object.__setattr__(self, "title", title)


def metrics(
    names: Iterable[str],
    *,
    unit: str,
    better: Better,
    component: Component,
    zero_allowed: bool = False,
) -> tuple[Metric, ...]:
    """Metrics that differ in nothing but their names."""
    return tuple(
        Metric(
            name=name,
            unit=unit,
            better=better,
            component=component,
            zero_allowed=zero_allowed,
        )
        for name in names
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A benchmark program: one file of ``benchmarks/tools/``.

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
        if metric := self._by_name.get(folded(name)):
            return metric
        raise UnknownMetricError(
            name, self.title, [metric.name for metric in self.metrics]
        )


def folded(name: str) -> str:
    """A name as it is looked up: case and spacing do not matter."""
    return collapse(name).casefold()


def check_value(metric: Metric, value: float, unit: str) -> float:
    """``value`` in the metric's unit, or the sentence why it is no reading of it.

    Refused are NaN, infinities, numbers too small or too large to be computed with,
    negative ones, and zero where zero means that the tool measured nothing.
    """
    # True is 1 in Python.
    if isinstance(value, bool):
        raise _refusal(metric, value, Sentence("it is not a number"))
    try:
        number = float(value)
    except OverflowError:  # a whole number of too many digits
        too_large = Sentence("it is too large")
        raise _refusal(metric, Sentence("a number"), too_large) from None
    if not math.isfinite(number):
        raise _refusal(metric, number, Sentence("it is not a finite number"))
    # Before and after it: a conversion can leave the range that sums can hold.
    _refuse_impossible(metric, number)
    converted = units.convert(number, unit, metric.unit)
    _refuse_impossible(metric, converted)
    return converted


def _refuse_impossible(metric: Metric, number: float) -> None:
    if number < 0:
        raise _refusal(metric, number, Sentence("it cannot be negative"))
    if number == 0 and not metric.zero_allowed:
        raise _refusal(
            metric,
            number,
            Sentence(
                "a working run never reads zero; leave the sample out if "
                "nothing was measured"
            ),
        )
    if 0 < number < float_info.min:
        raise _refusal(metric, number, Sentence("it is too small to be computed with"))
    if number > LARGEST:
        raise _refusal(metric, number, Sentence("it is too large to be computed with"))


def _refusal(metric: Metric, value: str | float, why: str) -> ValueRefusedError:
    return ValueRefusedError(
        Sentence(
            '"{metric}" cannot be {value}: {why}.',
            metric=metric.name,
            value=value,
            why=why,
        )
    )
