"""CPU time per unit of data, derived from CPU utilization and throughput. PURE."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from benchmarks.parsing.tool import Tool
from benchmarks.units import convert

# A KB is 1024 B, as in netperf's service demand.
_US_PER_KB: Final = 1e6 * 1024


@dataclass(frozen=True, slots=True)
class MeasuredSample:
    metric: str
    parameters: Mapping[str, str]
    repetition: int
    value: float

    @property
    def parameter_set(self) -> frozenset[tuple[str, str]]:
        return frozenset(self.parameters.items())


def derive_costs(
    tool: Tool, samples: Iterable[MeasuredSample]
) -> Iterator[MeasuredSample]:
    """Yield CPU time per unit of data (us/KB), from CPU utilization and a data rate.

    The rate must have the same parameters as the utilization. If none has, the only
    rate with further parameters (such as a direction) is used.
    """
    measured = list(samples) if tool.derived_costs else []
    for name, cost in tool.derived_costs.items():
        for first in (sample for sample in measured if sample.metric == cost.shares[0]):
            same_repetition = [s for s in measured if s.repetition == first.repetition]
            shares = {
                s.metric: s.value
                for s in same_repetition
                if s.metric in cost.shares and s.parameter_set == first.parameter_set
            }
            rates = [
                s
                for s in same_repetition
                if s.metric == cost.rate and first.parameter_set <= s.parameter_set
            ]
            exact = [
                rate for rate in rates if rate.parameter_set == first.parameter_set
            ]
            rates = exact or rates
            if len(rates) != 1 or len(shares) != len(cost.shares):
                continue
            rate = rates[0]
            if rate.value > 0:
                unit = tool.metric(cost.rate).unit
                bytes_per_s = convert(rate.value, unit, "B/s")
                value = sum(shares.values()) / 100 / bytes_per_s * _US_PER_KB
                yield MeasuredSample(name, rate.parameters, first.repetition, value)
