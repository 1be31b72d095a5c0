"""Which cases that were read stand for their tests."""

from collections.abc import Iterable, Mapping
from typing import Protocol

from benchmarks.comparing.row import ComparisonRow, State
from benchmarks.own_tools.lookup import known_tool
from benchmarks.parsing.cases import MeasuredCase, primary_cases

SPEEDLESS = (State.NO_SPEED, State.UNDIRECTED)


class KnownCase(Protocol):
    @property
    def tool(self) -> str: ...
    @property
    def metric(self) -> str: ...
    @property
    def parameters(self) -> Mapping[str, str]: ...


def primary_ids(cases: Mapping[int, KnownCase]) -> frozenset[int]:
    """Return those of some cases with a speed that stand for their tests."""
    return primary_cases(
        {
            pk: MeasuredCase(known_tool(case.tool), case.metric, case.parameters)
            for pk, case in cases.items()
        }
    )


def primary_rows(rows: Iterable[ComparisonRow]) -> frozenset[int]:
    """Return the cases of these rows that have a speed and stand for their tests."""
    with_speed = (row for row in rows if row.shown.state not in SPEEDLESS)
    return primary_ids({row.case.id: row.case for row in with_speed})
