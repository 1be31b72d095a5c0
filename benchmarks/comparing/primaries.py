"""Choose the cases that stand for their tests: one of those that imply each other."""

from collections.abc import Iterable, Mapping
from typing import Protocol

from benchmarks.comparing.row import ComparisonRow, State
from benchmarks.own_tools.lookup import known_tool

SPEEDLESS = (State.NO_SPEED, State.UNDIRECTED)


class KnownCase(Protocol):
    @property
    def tool(self) -> str: ...
    @property
    def metric(self) -> str: ...
    @property
    def parameters(self) -> Mapping[str, str]: ...


def primary_ids(cases: Mapping[int, KnownCase]) -> frozenset[int]:
    """Return those of some cases with a speed that stand for their tests.

    Cases of primary metrics do; implied ones do where nothing that implies them was
    measured with all their parameters.
    """
    by_metric: dict[tuple[str, str], list[frozenset[tuple[str, str]]]] = {}
    for case in cases.values():
        stated = frozenset(case.parameters.items())
        by_metric.setdefault((case.tool, case.metric), []).append(stated)

    def is_primary(case: KnownCase) -> bool:
        tool = known_tool(case.tool)
        if case.metric in tool.primary or case.metric not in tool.implied:
            return case.metric in tool.primary
        stated = frozenset(case.parameters.items())
        return not any(
            stated <= other
            for name in tool.implied[case.metric]
            for other in by_metric.get((case.tool, name), ())
        )

    return frozenset(pk for pk, case in cases.items() if is_primary(case))


def primary_rows(rows: Iterable[ComparisonRow]) -> frozenset[int]:
    """Return the cases of these rows that have a speed and stand for their tests."""
    with_speed = (row for row in rows if row.shown.state not in SPEEDLESS)
    return primary_ids({row.case.id: row.case for row in with_speed})
