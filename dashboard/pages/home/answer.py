"""The answer on the home page: what hypervisors cost for one class of work."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any, Final

from benchmarks.evidence.queries import Question
from benchmarks.evidence.subjects import MachineName
from benchmarks.evidence.synthesis import NO_EVIDENCE, Synthesis
from benchmarks.hypervisor_names import MAIN_HYPERVISORS
from benchmarks.work_classes import WORK_CLASSES
from dashboard.kit.answers import answer, answer_sentence
from dashboard.kit.evidence_matrix import question_url
from dashboard.kit.subject_urls import machine_url, work_url
from dashboard.wording import evidence

Syntheses = Mapping[Question, Synthesis]
DEFAULT_WORK: Final = "application-database"


def best_known_work(syntheses: Syntheses) -> str:
    """Return the class of work that was measured with most of the main hypervisors.

    Of several, the one on most machines.
    """

    def rank(work: str) -> tuple[int, int, bool]:
        counts = [
            syntheses.get(Question(name, work), NO_EVIDENCE).main_pool.machine_count
            for name in MAIN_HYPERVISORS
        ]
        return sum(map(bool, counts)), sum(counts), work == DEFAULT_WORK

    return max(WORK_CLASSES, key=rank)


def chosen_hypervisors(names: Iterable[str], offered: Sequence[str]) -> list[str]:
    requested = set(names)
    chosen = [name for name in offered if name in requested]
    return chosen or [name for name in offered if name in MAIN_HYPERVISORS]


EvidenceOfMachine = Callable[[str, Sequence[Question]], Syntheses]
"""Returns the evidence of one machine (a slug) on questions."""


def answer_context(
    syntheses: Syntheses,
    work: str,
    hypervisors: Sequence[str],
    *,
    machine: str = "",
    machines: Sequence[MachineName] = (),
    evidence_of_machine: EvidenceOfMachine = lambda _slug, _questions: {},
) -> dict[str, Any]:
    if work not in WORK_CLASSES:
        work = best_known_work(syntheses)
    offered = _offered(syntheses)
    chosen = chosen_hypervisors(hypervisors, offered)
    questions = [Question(name, work) for name in chosen]
    title = dict(machines).get(machine, "")
    known = evidence_of_machine(machine, questions) if title else syntheses
    pairs = [
        (name, known.get(question, NO_EVIDENCE))
        for name, question in zip(chosen, questions, strict=True)
    ]
    return {
        "machines": [(slug, name, slug == machine) for slug, name in machines],
        "works": _work_groups(syntheses, work),
        "main": [(name, name in chosen) for name in offered[: len(MAIN_HYPERVISORS)]],
        "others": [(name, name in chosen) for name in offered[len(MAIN_HYPERVISORS) :]],
        "has_other": any(name not in MAIN_HYPERVISORS for name in chosen),
        **answer(
            answer_sentence(work, pairs, title),
            (
                (
                    name,
                    machine_url(machine)
                    if title and synthesis.main_pool.machine_count
                    else question_url(Question(name, work)),
                    synthesis,
                )
                for name, synthesis in pairs
            ),
        ),
        "work": evidence.work_phrase(work),
        "work_url": work_url(work),
    }


def _offered(syntheses: Syntheses) -> list[str]:
    measured = {
        question.hypervisor
        for question, synthesis in syntheses.items()
        if synthesis.main_pool.machine_count
    }
    return [*MAIN_HYPERVISORS, *sorted(measured - set(MAIN_HYPERVISORS))]


def _work_groups(syntheses: Syntheses, chosen: str) -> list[dict[str, Any]]:
    measured = {
        question.work_class
        for question, synthesis in syntheses.items()
        if synthesis.main_pool.machine_count
    }
    # Applications first: visitors know them best.
    works = sorted(WORK_CLASSES.values(), key=lambda work: work.area != "application")
    return [
        {
            "area": evidence.work_area(area_works[0].slug),
            "works": [
                {
                    "slug": work.slug,
                    "label": evidence.work_phrase(work.slug),
                    "is_chosen": work.slug == chosen,
                    "is_measured": work.slug in measured,
                }
                for work in area_works
            ],
        }
        for _area, members in groupby(works, key=lambda work: work.area)
        if (area_works := list(members))
    ]
