"""Cells as the responses of an factor effect analysis. PURE.

Both responses point the same way: a factor above 1 is better, whatever the metric. An
efficiency is against the native machine; a value is compared as it is, so that guests
of different speed are also compared with each other.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from benchmarks.analysis.factor_effects.design import Observation, Side, log_m2
from benchmarks.comparing.columns import PROPERTIES
from benchmarks.comparing.ordering import OPTIONS, rank
from benchmarks.comparing.row import ComparisonRow

Response = Literal["efficiency", "value"]
Reason = Literal["no_ratio", "not_positive", "implausible"]

RESPONSES: tuple[Response, ...] = ("efficiency", "value")
FARTHEST = 100.0
"""An efficiency farther from 1 is a slip of a unit, not a hypervisor's doing."""


@dataclass(frozen=True)
class Measured:
    """A cell beside its baseline, with the scatter of both (squared deviations)."""

    row: ComparisonRow
    m2: float
    baseline_id: int | None
    baseline_m2: float


@dataclass(frozen=True)
class Responses:
    """What the systems of one case answered, by system; what was left out, and why."""

    observations: Mapping[int, Observation]
    left_out: Mapping[Reason, int]


def responses_of(cells: Iterable[Measured], response: Response) -> Responses:
    """Take the logarithms of one case's cells."""
    cells = list(cells)
    names = {name for cell in cells for name in cell.row.options}
    options = sorted(names, key=lambda name: rank(OPTIONS, name))
    found: dict[int, Observation] = {}
    left_out: Counter[Reason] = Counter()
    for cell in cells:
        answer = _observation(cell, response, options)
        if isinstance(answer, Observation):
            found[cell.row.system_id] = answer
        else:
            left_out[answer] += 1
    return Responses(found, dict(left_out))


def complete(cases: Sequence[Responses]) -> tuple[int, ...]:
    """The places of the cases that the same systems have: most systems, then cases.

    A mean over several cases is only taken over systems that have them all.
    """
    sets = Counter(frozenset(case.observations) for case in cases if case.observations)
    if not sets:
        return ()
    systems = max(sets, key=lambda each: (len(each), sets[each], sorted(each)))
    return tuple(
        at for at, case in enumerate(cases) if case.observations.keys() >= systems
    )


def averaged(cases: Sequence[Responses]) -> tuple[Observation, ...]:
    """Average the logarithms of complete cases: the geometric mean of each system.

    The errors of the cases are independent: a mean over K of them has the K-th part of
    their mean variance.
    """
    systems = sorted(set.intersection(*(set(case.observations) for case in cases)))
    return tuple(_mean([case.observations[at] for case in cases]) for at in systems)


def levels_of(row: ComparisonRow, options: Sequence[str]) -> dict[str, str]:
    """Every parameter of a system; an empty text is one that was not stated.

    ``options`` are those of all systems in their order: else the system that happens to
    come first would settle the order of the factors.
    """
    host, *others = PROPERTIES
    names = (host, "hypervisor", "hypervisor_version", *others)
    stated = {name: getattr(row, name) for name in names}
    stated |= {name: row.options.get(name) for name in options}
    return {name: "" if it is None else str(it) for name, it in stated.items()}


def _observation(
    cell: Measured, response: Response, options: Sequence[str]
) -> Observation | Reason:
    row = cell.row
    levels = levels_of(row, options)
    if row.value is None or row.value <= 0:
        return "not_positive"
    own = Side(row.n, log_m2(cell.m2, row.value))
    if response == "value":
        sign = -1 if row.better == "lower" else 1
        return Observation(levels, sign * math.log(row.value), own)
    if row.efficiency is None or not row.baseline_value:
        return "no_ratio"
    if not 1 / FARTHEST < row.efficiency < FARTHEST:
        return "implausible"
    return Observation(
        levels,
        math.log(row.efficiency),
        own,
        cell.baseline_id,
        Side(row.baseline_n or 1, log_m2(cell.baseline_m2, row.baseline_value)),
    )


def _mean(observations: Sequence[Observation]) -> Observation:
    logs = [each.log_response for each in observations]
    baselines = tuple(each.baseline for each in observations)
    return replace(
        observations[0],
        log_response=math.fsum(logs) / len(logs),
        runs=_mean_side([each.runs for each in observations]),
        baseline=None if None in baselines else baselines,
        baseline_runs=_mean_side([each.baseline_runs for each in observations]),
    )


def _mean_side(sides: Sequence[Side]) -> Side:
    n = min(side.n for side in sides)
    if n < 2:
        return Side(n)
    variances = math.fsum(side.log_m2 / (side.n - 1) for side in sides)
    return Side(n, (n - 1) * variances / len(sides) ** 2)
