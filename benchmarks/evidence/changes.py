"""What became different of questions since somebody wrote down what was known. PURE."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from benchmarks.evidence.records import Record

SAME: Final = 5e-7
"""Ratios that differ by less are the same number: floats are added in any order."""


@dataclass(frozen=True)
class AnswerThenAndNow:
    """A question whose answer is another one: its records of both days."""

    then: Record
    now: Record


@dataclass(frozen=True)
class Changes:
    """What is different now. Studies are named as lab/study.

    ``changed`` say something else of the questions, ``gone`` nothing any more (or
    nothing that anybody may read), ``new`` said nothing then.
    """

    new: tuple[str, ...]
    gone: tuple[str, ...]
    changed: tuple[str, ...]
    answers: tuple[AnswerThenAndNow, ...]

    @property
    def is_none(self) -> bool:
        return not (self.new or self.gone or self.changed or self.answers)


def changes(
    then: Sequence[Record],
    now: Sequence[Record],
    studies_then: Sequence[Record],
    studies_now: Sequence[Record],
) -> Changes:
    before = {str(it["study"]): it["digest"] for it in studies_then}
    after = {str(it["study"]): it["digest"] for it in studies_now}
    both = before.keys() & after.keys()
    return Changes(
        new=tuple(sorted(after.keys() - before.keys())),
        gone=tuple(sorted(before.keys() - after.keys())),
        changed=tuple(sorted(name for name in both if before[name] != after[name])),
        answers=tuple(
            AnswerThenAndNow(old, fresh)
            for old, fresh in zip(then, now, strict=True)
            if not _is_same(old, fresh)
        ),
    )


def _is_same(then: Record, now: Record) -> bool:
    if then["strength"] != now["strength"]:
        return False
    for name in ("pool", "single_runs"):
        one, other = then[name], now[name]
        if (one["machines"], one["labs"]) != (other["machines"], other["labs"]):
            return False
        pairs = [(one["mean"], other["mean"])]
        for ends in ("interval", "predicted"):
            pairs += zip(
                one[ends] or (None,) * 2, other[ends] or (None,) * 2, strict=False
            )
        if any(not _is_near(left, right) for left, right in pairs):
            return False
    return bool(then["screened"] == now["screened"])


def _is_near(one: float | None, other: float | None) -> bool:
    if one is None or other is None:
        return one is other
    return abs(one - other) <= SAME * max(abs(one), abs(other))
