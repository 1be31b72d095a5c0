"""Evidence on questions as JSON values (this module does not import Django).

Ratios are relative to native speed (1). ``tau`` is the standard deviation of their
natural logarithm between machines of different labs. Records of reviews published by
earlier versions lack the keys after ``i2`` and ``robust_error``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from math import exp
from typing import TYPE_CHECKING, Any, Final

from benchmarks.analysis.meta_analysis import Heterogeneity
from benchmarks.evidence.synthesis import (
    PooledEffect,
    Screening,
    Synthesis,
    WeightedMachine,
    machine_heterogeneity,
    syntheses_by_question,
    synthesis,
    weighted_machines,
)

if TYPE_CHECKING:
    from benchmarks.evidence.queries import Question, StudyAverage, StudyInfo
    from benchmarks.models import Version

Record = dict[str, Any]


def summary_record(question: Question, synthesis: Synthesis) -> Record:
    return {
        "hypervisor": question.hypervisor,
        "work_class": question.work_class,
        **_conclusion(synthesis),
        "screened": dict(synthesis.excluded_counts),
        "doubtful": synthesis.doubtful_count,
        "without_doubtful": _other_conclusion(synthesis.without_doubtful),
        "with_impossible": _other_conclusion(synthesis.with_screened),
        "without_models": _other_conclusion(synthesis.without_models),
        "spread": None,
        "units": None,
        "left_out": None,
        "subgroups": None,
    }


SUBGROUPS: Final[Mapping[str, Callable[[StudyAverage], str]]] = {
    "benchmark": lambda average: _benchmark(average),
    "decade": lambda average: average.decade,
    "virtualization": lambda average: average.virtualization,
    "path": lambda average: average.io_path,
}


def group_averages(
    averages: Iterable[StudyAverage], subgroup: str
) -> dict[str, list[StudyAverage]]:
    groups: dict[str, list[StudyAverage]] = defaultdict(list)
    for average in averages:
        groups[SUBGROUPS[subgroup](average)].append(average)
    return dict(sorted(groups.items()))


def question_record(
    question: Question,
    averages: Sequence[StudyAverage],
    *,
    without_doubtful: bool = False,
) -> Record:
    """``spread`` is null with fewer than three machines that repeated their runs."""
    pooled = synthesis(
        [average.average for average in averages], without_doubtful=without_doubtful
    )
    spread = machine_heterogeneity(pooled.machines)
    machines = weighted_machines(pooled, spread)
    record = pooled_record(question, averages, pooled, spread, machines)
    return {
        **record,
        "subgroups": _subgroups(averages, without_doubtful=without_doubtful),
    }


def pooled_record(
    question: Question,
    averages: Sequence[StudyAverage],
    synthesis: Synthesis,
    heterogeneity: Heterogeneity | None,
    weighted_machines: Iterable[WeightedMachine],
) -> Record:
    """Return a question's record without subgroups, from an existing synthesis."""
    by_machine: dict[Hashable, list[StudyAverage]] = defaultdict(list)
    for average in averages:
        if not average.average.exclusion_reason(synthesis.screening):
            by_machine[average.average.machine].append(average)
    machines = []
    for weighted in weighted_machines:
        members = [
            average
            for average in by_machine[weighted.machine.key]
            if weighted.machine.includes(average.average)
        ]
        machines.append(
            {
                "host": "" if weighted.machine.model_count else members[0].host.slug,
                "models": weighted.machine.model_count,
                "machines": weighted.machine.specimen_count or 1,
                "predicted": _ends(weighted.machine.predicted),
                "flagged_models": list(weighted.machine.flagged_models),
                "lab": weighted.machine.lab,
                "year": min(average.study.published[:4] for average in members),
                "studies": list(dict.fromkeys(map(study_name, members))),
                "benchmarks": list(dict.fromkeys(map(_benchmark, members))),
                "ratio": exp(weighted.machine.log_ratio),
                "interval": _ends(weighted.machine.interval),
                "standard_error": weighted.machine.variance
                and weighted.machine.variance**0.5,
                "is_single_run": weighted.machine.variance is None,
                "weight": weighted.weight,
                "is_pooled": weighted.is_pooled,
                "without": None
                if weighted.mean_without is None
                else exp(weighted.mean_without),
                "cells": weighted.machine.cell_count,
                "doubtful": sum(
                    average.average.cell_count
                    for average in members
                    if average.average.is_doubtful
                ),
                "configurations": [
                    {
                        "system": part.system,
                        "ratio": exp(part.log_ratio),
                        "interval": None
                        if part.half_width is None
                        else _ends(
                            (
                                part.log_ratio - part.half_width,
                                part.log_ratio + part.half_width,
                            )
                        ),
                        "cells": part.cell_count,
                    }
                    for part in weighted.machine.configurations
                ],
            }
        )
    record = summary_record(question, synthesis)
    if heterogeneity is not None:
        record["spread"] = {
            "tau": heterogeneity.tau2**0.5,
            "tau_low": heterogeneity.tau2_low**0.5,
            "tau_high": heterogeneity.tau2_high**0.5,
            "mean_dl": exp(heterogeneity.mean_dl),
            "robust_error": heterogeneity.robust_error,
        }
    return {
        **record,
        "units": machines,
        "left_out": list(_exclusion_records(synthesis, averages)),
    }


def _subgroups(
    averages: Sequence[StudyAverage], *, without_doubtful: bool
) -> list[Record]:
    parts = [
        ((by, name), average.average)
        for by in SUBGROUPS
        for name, members in group_averages(averages, by).items()
        for average in members
    ]
    return [
        {"by": by, "name": name, **_conclusion(pooled)}
        for (by, name), pooled in syntheses_by_question(
            parts,
            screening=Screening.SURE if without_doubtful else Screening.POSSIBLE,
        ).items()
        if pooled.machines or pooled.single_run_machines
    ]


def study_records(
    averages_by_question: Mapping[Question, Sequence[StudyAverage]],
    versions: Mapping[int, Version],
) -> list[Record]:
    """Return the studies with results on these questions, each with its latest version.

    ``digest`` is a SHA-256 of the study's results on these questions.
    """
    studies: dict[int, StudyInfo] = {}
    lines_by_study: dict[int, list[str]] = defaultdict(list)
    for question, parts in averages_by_question.items():
        for average in parts:
            studies[average.study.pk] = average.study
            lines_by_study[average.study.pk].append(_digest_line(question, average))
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
                "digest": sha256(
                    "\n".join(sorted(lines_by_study[pk])).encode()
                ).hexdigest(),
            }
        )
    return sorted(records, key=lambda record: str(record["study"]))


def _digest_line(question: Question, average: StudyAverage) -> str:
    results = average.average
    # The order in which PostgreSQL adds numbers varies, and with it the last digits.
    numbers = (
        "" if value is None else f"{value:.9g}"
        for value in (results.log_ratio, results.standard_error)
    )
    facts = (
        average.host.slug,
        *results.benchmark,
        results.exclusion,
        results.is_doubtful,
        average.virtualization,
    )
    return repr((*question, *facts, average.io_path, results.cell_count, *numbers))


def study_name(average: StudyAverage) -> str:
    return average.study.name


def _benchmark(average: StudyAverage) -> str:
    return " ".join(average.average.benchmark)


def _exclusion_records(
    pooled: Synthesis, averages: Iterable[StudyAverage]
) -> Iterator[Record]:
    for average in averages:
        if reason := average.average.exclusion_reason(pooled.screening):
            yield {
                "study": study_name(average),
                "tool": average.average.benchmark[0],
                "metric": average.average.benchmark[1],
                "reason": reason,
                "cells": list(average.cell_ids),
                "count": average.average.cell_count,
            }


def _other_conclusion(other: Synthesis | None) -> Record | None:
    return None if other is None else _conclusion(other)


def _conclusion(pooled: Synthesis) -> Record:
    return {
        "strength": pooled.strength.slug,
        "labs": pooled.lab_count,
        "pool": _pool(pooled.pool),
        "single_runs": _pool(pooled.single_run_pool),
    }


def _pool(pool: PooledEffect) -> Record:
    return {
        "machines": pool.machine_count,
        "labs": pool.lab_count,
        "mean": None if pool.mean is None else exp(pool.mean),
        "interval": _ends(pool.interval),
        "predicted": _ends(pool.predicted),
        "tau2": pool.tau2,
        "i2": pool.i2,
        "studies": pool.study_count,
        "tau2_lab": pool.tau2_lab,
        "tau2_machine": pool.tau2_machine,
        "is_one_lab": pool.is_one_lab,
        "method": pool.method,
    }


def _ends(ends: tuple[float, float] | None) -> list[float] | None:
    return None if ends is None else [exp(end) for end in ends]


RATIO_TOLERANCE: Final = 5e-7
"""The order of summation changes ratios by less."""


@dataclass(frozen=True)
class AnswerChange:
    before: Record
    after: Record


@dataclass(frozen=True)
class ReviewChanges:
    """Changes of the evidence since a review. Studies are named lab/study.

    ``removed`` studies no longer have results on the questions, or are not visible.
    """

    added: tuple[str, ...]
    removed: tuple[str, ...]
    changed: tuple[str, ...]
    changed_answers: tuple[AnswerChange, ...]


def review_changes(
    before: Sequence[Record],
    after: Sequence[Record],
    studies_before: Sequence[Record],
    studies_after: Sequence[Record],
) -> ReviewChanges:
    old = {str(row["study"]): row["digest"] for row in studies_before}
    new = {str(row["study"]): row["digest"] for row in studies_after}
    both = old.keys() & new.keys()
    return ReviewChanges(
        added=tuple(sorted(new.keys() - old.keys())),
        removed=tuple(sorted(old.keys() - new.keys())),
        changed=tuple(sorted(name for name in both if old[name] != new[name])),
        changed_answers=tuple(
            AnswerChange(previous, current)
            for previous, current in zip(before, after, strict=True)
            if not _is_same(previous, current)
        ),
    )


def _is_same(previous: Record, current: Record) -> bool:
    if previous["strength"] != current["strength"]:
        return False
    for name in ("pool", "single_runs"):
        first, second = previous[name], current[name]
        if (first["machines"], first["labs"]) != (second["machines"], second["labs"]):
            return False
        pairs = [(first["mean"], second["mean"])]
        for ends in ("interval", "predicted"):
            pairs += zip(
                first[ends] or (None,) * 2, second[ends] or (None,) * 2, strict=False
            )
        if any(not _is_near(left, right) for left, right in pairs):
            return False
    return bool(previous["screened"] == current["screened"])


def _is_near(first: float | None, second: float | None) -> bool:
    if first is None or second is None:
        return first is second
    return abs(first - second) <= RATIO_TOLERANCE * max(abs(first), abs(second))
