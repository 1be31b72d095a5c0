"""What is known of a question as plain values: for the API, files and reviews. PURE.

Ratios are to native, whose speed is 1; ``tau`` is the standard deviation between
machines of the natural logarithm. A record holds nothing but what JSON has.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from math import exp
from typing import TYPE_CHECKING, Any, Final

from benchmarks.analysis.pooling import Heterogeneity
from benchmarks.evidence.synthesis import (
    Pool,
    Synthesis,
    Weighed,
    spread_of,
    syntheses,
    synthesis,
    weighed,
)

if TYPE_CHECKING:
    from benchmarks.evidence.reading import Found, Question, StudyRead
    from benchmarks.models import Version

Record = dict[str, Any]


def summary_record(question: Question, whole: Synthesis) -> Record:
    """Return what is known of a question without who measured it."""
    return {
        "hypervisor": question.hypervisor,
        "work_class": question.work,
        **_answer(whole),
        "screened": dict(whole.screened),
        "spread": None,
        "units": None,
        "left_out": None,
        "subgroups": None,
    }


# What studies of one question have in common, and are looked at apart by.
SUBGROUPS: Final[Mapping[str, Callable[[Found], str]]] = {
    "benchmark": lambda found: _benchmark(found),
    "decade": lambda found: found.decade,
    "virtualization": lambda found: found.virtualization,
    "path": lambda found: found.path,
}


def grouped(found: Iterable[Found], by: str) -> dict[str, list[Found]]:
    groups: dict[str, list[Found]] = defaultdict(list)
    for each in found:
        groups[SUBGROUPS[by](each)].append(each)
    return dict(sorted(groups.items()))


def question_record(
    question: Question, found: Sequence[Found], *, with_flagged: bool = False
) -> Record:
    """Return all that is known of a question: machines, their pools, what is left out.

    ``spread`` is null below three machines with repeated runs.
    """
    whole = synthesis((each.part for each in found), with_flagged=with_flagged)
    spread = spread_of(whole.units)
    machines = weighed(whole, spread)
    record = machines_record(question, found, whole, spread, machines)
    return {**record, "subgroups": _subgroups(found, with_flagged=with_flagged)}


def machines_record(
    question: Question,
    found: Sequence[Found],
    whole: Synthesis,
    spread: Heterogeneity | None,
    shown: Iterable[Weighed],
) -> Record:
    """Return the same without subgroups, of what is put together already.

    ``shown`` are the machines that are listed.
    """
    by_unit: dict[Hashable, list[Found]] = defaultdict(list)
    for each in found:
        if each.part.obstacle not in whole.screened:
            by_unit[each.part.unit].append(each)
    machines = []
    for it in shown:
        members = [each for each in by_unit[it.unit.key] if it.unit.rests_on(each.part)]
        machines.append(
            {
                "host": members[0].host.slug,
                "lab": it.unit.lab,
                "year": min(each.study.published[:4] for each in members),
                "studies": list(dict.fromkeys(map(study_name, members))),
                "benchmarks": list(dict.fromkeys(map(_benchmark, members))),
                "ratio": exp(it.unit.log_ratio),
                "interval": _ends(it.unit.interval),
                "standard_error": it.unit.variance and it.unit.variance**0.5,
                "is_single_run": it.unit.variance is None,
                "weight": it.weight,
                "is_pooled": it.is_pooled,
                "without": None if it.without is None else exp(it.without),
                "cells": it.unit.cells,
            }
        )
    record = summary_record(question, whole)
    if spread is not None:
        record["spread"] = {
            "tau": spread.tau2**0.5,
            "tau_low": spread.tau2_low**0.5,
            "tau_high": spread.tau2_high**0.5,
            "mean_dl": exp(spread.mean_dl),
        }
    return {**record, "units": machines, "left_out": list(_left_out(whole, found))}


def _subgroups(found: Sequence[Found], *, with_flagged: bool) -> list[Record]:
    parts = [
        ((by, name), each.part)
        for by in SUBGROUPS
        for name, members in grouped(found, by).items()
        for each in members
    ]
    return [
        {"by": by, "name": name, **_answer(whole)}
        for (by, name), whole in syntheses(parts, with_flagged=with_flagged).items()
        if whole.units or whole.hollow
    ]


def study_records(
    found: Mapping[Question, Sequence[Found]], versions: Mapping[int, Version]
) -> list[Record]:
    """Return the studies behind some questions, each with its latest version.

    ``digest`` is a SHA-256 of what a study says of these questions: another one where
    anything of that changed.
    """
    studies: dict[int, StudyRead] = {}
    said: dict[int, list[str]] = defaultdict(list)
    for question, parts in found.items():
        for each in parts:
            studies[each.study.pk] = each.study
            said[each.study.pk].append(_said(question, each))
    records = []
    for pk, study in studies.items():
        version = versions.get(pk)
        records.append(
            {
                "study": study.name,
                "title": study.title,
                "author": study.author,
                "institution": study.institution,
                "published": study.published,
                "data_licence": study.data_licence,
                "version": version
                and {
                    "id": version.pk,
                    "number": version.number,
                    "level": version.level,
                    "sha256": version.digest,
                },
                "digest": sha256("\n".join(sorted(said[pk])).encode()).hexdigest(),
            }
        )
    return sorted(records, key=lambda record: str(record["study"]))


def _said(question: Question, found: Found) -> str:
    part = found.part
    # Rounded: PostgreSQL adds in any order, and floats differ in their last digits.
    numbers = (
        "" if value is None else f"{value:.9g}" for value in (part.log_ratio, part.sd)
    )
    facts = (found.host.slug, *part.benchmark, part.obstacle, found.virtualization)
    return repr((*question, *facts, found.path, part.cells, *numbers))


def study_name(found: Found) -> str:
    return found.study.name


def _benchmark(found: Found) -> str:
    return " ".join(found.part.benchmark)


def _left_out(whole: Synthesis, found: Iterable[Found]) -> Iterator[Record]:
    for each in found:
        if each.part.obstacle in whole.screened:
            yield {
                "study": study_name(each),
                "tool": each.part.benchmark[0],
                "metric": each.part.benchmark[1],
                "reason": each.part.obstacle,
                "cells": list(each.cell_ids),
                "count": each.part.cells,
            }


def _answer(whole: Synthesis) -> Record:
    return {
        "strength": whole.strength.slug,
        "labs": whole.labs,
        "pool": _pool(whole.pool),
        "single_runs": _pool(whole.single),
    }


def _pool(pool: Pool) -> Record:
    return {
        "machines": pool.k,
        "labs": pool.labs,
        "mean": None if pool.mean is None else exp(pool.mean),
        "interval": _ends(pool.interval),
        "predicted": _ends(pool.predicted),
        "tau2": pool.tau2,
        "i2": pool.i2,
    }


def _ends(ends: tuple[float, float] | None) -> list[float] | None:
    return None if ends is None else [exp(end) for end in ends]


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
