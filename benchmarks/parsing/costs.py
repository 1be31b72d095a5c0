"""CPU time per unit of data, from shares of CPU time and the rate of the same run: s /
r."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from benchmarks import units
from benchmarks.parsing.contract import Tool

UNIT: Final = "us/KB"
# Of a KB that is 1024 bytes, as netperf's service demand has it.
_US_PER_KB: Final = 1e6 * 1024


@dataclass(frozen=True, slots=True)
class Measured:
    """One sample of a run, in the unit of its metric."""

    metric: str
    parameters: Mapping[str, str]
    repetition: int
    value: float

    @property
    def stated(self) -> frozenset[tuple[str, str]]:
        return frozenset(self.parameters.items())


def costs(tool: Tool, samples: Iterable[Measured]) -> Iterator[Measured]:
    """Yield the CPU time per data of each test whose shares and rate a run has.

    A share of the whole test belongs to a rate of one direction if there is only one.
    """
    known = list(samples) if tool.costs else []
    for name, cost in tool.costs.items():
        rates = [sample for sample in known if sample.metric == cost.rate]
        for first in (sample for sample in known if sample.metric == cost.shares[0]):
            alike = [s for s in known if s.repetition == first.repetition]
            shares = {
                s.metric: s.value
                for s in alike
                if s.metric in cost.shares and s.stated == first.stated
            }
            rate = _rate_of(first, rates)
            if rate and rate.value > 0 and len(shares) == len(cost.shares):
                unit = tool.metric(cost.rate).unit
                bytes_per_s = units.convert(rate.value, unit, "B/s")
                value = sum(shares.values()) / 100 / bytes_per_s * _US_PER_KB
                yield Measured(name, rate.parameters, first.repetition, value)


def _rate_of(share: Measured, rates: Iterable[Measured]) -> Measured | None:
    fitting = [
        rate
        for rate in rates
        if rate.repetition == share.repetition and share.stated <= rate.stated
    ]
    own = [rate for rate in fitting if rate.stated == share.stated]
    found = own or fitting
    return found[0] if len(found) == 1 else None
