from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from django.db.models import Q
from django.utils.text import capfirst
from django.utils.translation import gettext as _

from benchmarks.comparison.direct_comparisons import direct_groups, of_work
from benchmarks.evidence.queries import (
    Question,
    evidence_matrix,
    study_averages_by_question,
)
from benchmarks.evidence.subjects import listed_hypervisors, options_of
from benchmarks.evidence.synthesis import NO_EVIDENCE, syntheses_by_question
from benchmarks.hypervisor_names import MAIN_HYPERVISORS
from benchmarks.viewer import Viewer
from benchmarks.work_classes import WORK_CLASSES
from dashboard.kit.answers import answer, answer_sentence
from dashboard.kit.direct_results import direct_results
from dashboard.kit.evidence_matrix import question_url
from dashboard.kit.measuring import tools_for
from dashboard.kit.study_sources import study_sources
from dashboard.kit.subject_urls import hypervisor_url, work_url
from dashboard.pages.subjects.hypervisors import option_table
from dashboard.pages.subjects.tables import (
    Averages,
    Cell,
    Table,
    area_table,
    evidence_table,
    measured_questions,
    open_questions,
    studies_of,
)
from dashboard.wording import DASH, evidence

TAIL = "tail-latency"


def work_page(viewer: Viewer, work: str) -> dict[str, Any]:
    syntheses = evidence_matrix(viewer)
    questions = [Question(name, work) for name in listed_hypervisors(viewer)]
    averages = study_averages_by_question(viewer, questions)
    measured = measured_questions(questions, syntheses)
    measured.sort(key=lambda item: -item[1].main_pool.machine_count)
    tables = (
        evidence_table(
            _("By hypervisor"),
            _("Hypervisor"),
            (
                (
                    Cell(question.hypervisor, hypervisor_url(question.hypervisor)),
                    question,
                    synthesis,
                )
                for question, synthesis in measured
            ),
        ),
        benchmark_table([question for question, _synthesis in measured], averages),
        area_table(averages),
        option_table(options_of(viewer, Q(work_class=work))),
    )
    related = [
        (evidence.work_name(other.slug), work_url(other.slug))
        for other in WORK_CLASSES.values()
        if other.area == WORK_CLASSES[work].area and other.slug != work
    ]
    main = [Question(name, work) for name in MAIN_HYPERVISORS]
    return {
        "title": _("%(work)s in a virtual machine")
        % {"work": capfirst(evidence.work_phrase(work))},
        "lead": capfirst(evidence.work_name(work)),
        "answer": answer(
            answer_sentence(
                work,
                [
                    (question.hypervisor, synthesis)
                    for question, synthesis in measured
                    if question.hypervisor in MAIN_HYPERVISORS
                ],
            ),
            (
                (question.hypervisor, question_url(question), synthesis)
                for question, synthesis in measured
            ),
        ),
        "tables": tuple(table for table in tables if table.rows),
        "direct": direct_results(direct_groups(viewer, of_work(work))),
        "open": open_questions(
            dict.fromkeys([*main, *averages]), syntheses, names_work=False
        ),
        "tools": tools_for(work),
        "related": related,
        "has_tail": any(TAIL in url for _name, url in related),
        "sources": study_sources(studies_of(averages)),
        "query": {"work": work},
        "is_known": bool(averages),
    }


def benchmark_table(questions: Sequence[Question], averages: Averages) -> Table:
    parts = [
        ((member.average.benchmark, question.hypervisor), member.average)
        for question in questions
        for member in averages.get(question, ())
    ]
    pooled = syntheses_by_question(parts)
    benchmarks = sorted({benchmark for benchmark, _name in pooled})

    def row(benchmark: tuple[str, str]) -> Iterator[Cell]:
        yield Cell(evidence.metric_title(*benchmark))
        for question in questions:
            synthesis = pooled.get((benchmark, question.hypervisor), NO_EVIDENCE)
            ratio, _detail = evidence.matrix_entry(synthesis)
            note = evidence.machine_counts_text(synthesis) if ratio else ""
            yield Cell(ratio or DASH, note=note, is_number=True)

    heads = (
        Cell(_("Benchmark")),
        *(Cell(question.hypervisor, is_number=True) for question in questions),
    )
    rows = (tuple(row(benchmark)) for benchmark in benchmarks)
    return Table(
        "benchmarks",
        _("By benchmark"),
        heads,
        tuple(row for row in rows if any(cell.text != DASH for cell in row[1:])),
        _("Relative performance; bare metal = 1."),
    )
