"""Choose the cases that stand for their tests: one of those that imply each other."""

from collections.abc import Hashable, Mapping
from typing import NamedTuple, TypeVar

from benchmarks.parsing.contract import Tool

Id = TypeVar("Id", bound=Hashable)
Key = tuple[str, str]


class Measured(NamedTuple):
    """A case that was measured, of a metric that has a speed there."""

    tool: Tool
    metric: str
    parameters: Mapping[str, str]


def primary_cases(cases: Mapping[Id, Measured]) -> frozenset[Id]:
    """Return the cases that stand for their tests.

    Cases of primary metrics do; implied ones do where nothing that implies them was
    measured with all their parameters.
    """
    by_metric: dict[Key, list[frozenset[tuple[str, str]]]] = {}
    for case in cases.values():
        stated = frozenset(case.parameters.items())
        by_metric.setdefault((case.tool.slug, case.metric), []).append(stated)

    def is_implied(case: Measured) -> bool:
        stated = frozenset(case.parameters.items())
        return any(
            stated <= other
            for name in case.tool.implied[case.metric]
            for other in by_metric.get((case.tool.slug, name), ())
        )

    return frozenset(
        key
        for key, case in cases.items()
        if case.metric in case.tool.primary
        or (case.metric in case.tool.implied and not is_implied(case))
    )
