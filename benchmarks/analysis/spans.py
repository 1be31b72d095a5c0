"""Stretches of time that overlap."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

Span = tuple[float, float]

# Less than this part of the shorter one is no running together.
LEAST_OVERLAP: Final = 0.01


def clusters(spans: Sequence[Span]) -> list[list[int]]:
    """Return the places of spans that overlap, directly or through others, together.

    >>> clusters([(0, 10), (20, 30), (9, 12)])
    [[0, 2], [1]]
    """
    closed: list[list[int]] = []
    active: list[list[int]] = []
    for at in sorted(range(len(spans)), key=lambda at: spans[at]):
        begin = spans[at][0]
        over = [each for each in active if max(spans[i][1] for i in each) <= begin]
        closed += over
        near: list[list[int]] = []
        apart: list[list[int]] = []
        for each in active:
            meets = any(_meet(spans[at], spans[i]) for i in each)
            if each not in over:
                (near if meets else apart).append(each)
        active = [*apart, sorted([at, *(i for each in near for i in each)])]
    return sorted([*closed, *active])


def hull(spans: Sequence[Span]) -> Span:
    """Return the stretch from the first beginning to the last end."""
    return (min(start for start, _ in spans), max(end for _, end in spans))


def _meet(one: Span, other: Span) -> bool:
    shared = min(one[1], other[1]) - max(one[0], other[0])
    shorter = min(one[1] - one[0], other[1] - other[0])
    return shared > LEAST_OVERLAP * shorter
