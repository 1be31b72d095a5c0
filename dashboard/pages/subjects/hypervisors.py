from __future__ import annotations

from typing import Any

from django.db.models import Q
from django.urls import reverse
from django.utils.text import capfirst
from django.utils.translation import gettext as _

from benchmarks.comparison.direct_comparisons import beside_hypervisor, direct_groups
from benchmarks.evidence.queries import (
    Question,
    evidence_matrix,
    study_averages_by_question,
)
from benchmarks.evidence.subjects import OptionUse, options_of, versions_of
from benchmarks.system_options import VOCABULARY, find_option
from benchmarks.viewer import Viewer
from benchmarks.work_classes import WORK_CLASSES
from dashboard.kit.answers import answer, range_sentence
from dashboard.kit.direct_results import direct_results
from dashboard.kit.evidence_matrix import question_url
from dashboard.kit.study_sources import study_sources
from dashboard.kit.subject_urls import work_url
from dashboard.pages.subjects.tables import (
    Cell,
    Table,
    area_table,
    evidence_table,
    measured_questions,
    open_questions,
    results_text,
    studies_of,
    studies_text,
    years_text,
)
from dashboard.wording import DASH, evidence, property_name


def hypervisor_page(viewer: Viewer, name: str) -> dict[str, Any]:
    questions = [Question(name, work) for work in WORK_CLASSES]
    syntheses = evidence_matrix(viewer)
    averages = study_averages_by_question(viewer, questions)
    measured = measured_questions(questions, syntheses)
    tables = (
        evidence_table(
            _("By class of work"),
            _("Work class"),
            (
                (
                    Cell(
                        evidence.work_name(question.work_class),
                        work_url(question.work_class),
                    ),
                    question,
                    synthesis,
                )
                for question, synthesis in measured
            ),
        ),
        area_table(averages),
        _version_table(viewer, name),
        option_table(options_of(viewer, Q(hypervisor=name))),
    )
    return {
        "title": name,
        "lead": _("Measured speed of %(name)s") % {"name": name},
        "answer": answer(
            range_sentence(
                name,
                (
                    (evidence.work_phrase(question.work_class), synthesis)
                    for question, synthesis in measured
                ),
                len(measured),
            ),
            (
                (
                    capfirst(evidence.work_phrase(question.work_class)),
                    question_url(question),
                    synthesis,
                )
                for question, synthesis in measured
            ),
        ),
        "tables": tuple(table for table in tables if table.rows),
        "direct": direct_results(
            [
                group
                for group in direct_groups(viewer, beside_hypervisor(name))
                if name in group.hypervisors
            ]
        ),
        "open": open_questions(questions, syntheses, names_work=True),
        "sources": study_sources(studies_of(averages)),
        "query": {"hypervisor": name},
        "is_known": bool(averages),
    }


def _version_table(viewer: Viewer, name: str) -> Table:
    rows = (
        (
            Cell(use.version or _("not reported")),
            Cell(years_text((use.first, use.last))),
            Cell(studies_text(use.study_count)),
            Cell(results_text(use.result_count), is_number=True),
        )
        for use in versions_of(viewer, name)
    )
    heads = (
        Cell(_("Version")),
        Cell(_("Published")),
        Cell(_("Studies")),
        Cell(_("Results"), is_number=True),
    )
    return Table("versions", _("Versions"), heads, tuple(rows))


def option_table(uses: list[OptionUse]) -> Table:
    rows = (
        (
            Cell(property_name(use.name), _setting_url(use.name)),
            Cell(", ".join(use.values) or DASH),
            Cell(studies_text(use.study_count)),
        )
        for use in uses
    )
    heads = (Cell(_("Setting")), Cell(_("Values")), Cell(_("Studies")))
    return Table("settings", _("Settings that differ"), heads, tuple(rows))


def _setting_url(name: str) -> str:
    option = find_option(name)
    if option.name not in VOCABULARY:
        return ""
    return reverse("dashboard:setting", args=[option.slug])
