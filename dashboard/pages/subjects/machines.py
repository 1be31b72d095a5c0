from __future__ import annotations

from typing import Any

from django.db.models import Q
from django.urls import reverse
from django.utils.translation import gettext as _

from benchmarks.evidence.queries import Question, StudyAverage
from benchmarks.evidence.subjects import (
    Machine,
    machine_averages,
    machine_syntheses,
    options_of,
)
from benchmarks.evidence.synthesis import POOLED
from benchmarks.hypervisor_names import MAIN_HYPERVISORS
from benchmarks.viewer import Viewer
from benchmarks.work_classes import WORK_CLASSES
from dashboard.kit.answers import answer, range_sentence
from dashboard.kit.evidence_matrix import question_url
from dashboard.kit.study_sources import study_sources
from dashboard.pages.subjects.hypervisors import option_table
from dashboard.pages.subjects.tables import (
    Averages,
    Cell,
    Table,
    evidence_table,
    measured_questions,
    open_questions,
    ratio_range,
    studies_of,
)
from dashboard.wording import evidence

MAX_LISTED = 200


def machine_page(viewer: Viewer, machine: Machine) -> dict[str, Any]:
    averages = machine_averages(viewer, machine)
    syntheses = machine_syntheses(averages)
    works = list(WORK_CLASSES)
    measured = measured_questions(
        sorted(
            syntheses,
            key=lambda asked: (asked.hypervisor, works.index(asked.work_class)),
        ),
        syntheses,
    )
    has_paired_runs = any(
        not member.average.specimen
        for members in averages.values()
        for member in members
    )
    tables = (
        evidence_table(
            _("By hypervisor and class of work"),
            _("Hypervisor, work"),
            (
                (Cell(_name(question)), question, synthesis)
                for question, synthesis in measured
            ),
            ""
            if has_paired_runs or not machine.is_model
            else _("One run per machine. No machine ran both sides."),
        ),
        _benchmark_table(averages),
        option_table(options_of(viewer, Q(host__in=machine.hosts))),
        _host_table(machine),
    )
    known = {question.work_class for question, _synthesis in measured}
    hypervisor = measured[0][0].hypervisor if measured else MAIN_HYPERVISORS[0]
    missing = [Question(hypervisor, work) for work in works if work not in known]
    return {
        "title": machine.title,
        "lead": _("Machines of one model") if machine.is_model else _("Machine"),
        "answer": answer(
            range_sentence(
                _("Virtual machines on %(machine)s") % {"machine": machine.title},
                ((_name(question), synthesis) for question, synthesis in measured),
                len(known),
            ),
            (
                (_name(question), question_url(question), synthesis)
                for question, synthesis in measured
            ),
        ),
        "tables": tuple(table for table in tables if table.rows),
        "facts": machine.common_facts,
        "open": open_questions(missing, syntheses, names_work=True),
        "sources": study_sources(studies_of(averages)),
        "query": {"machine": machine.slug},
        "is_known": bool(averages),
    }


def _benchmark_table(averages: Averages) -> Table:
    rows = [
        (
            Cell(evidence.metric_title(*member.average.benchmark)),
            Cell(question.hypervisor),
            Cell(ratio_range([member]), is_number=True),
            Cell(
                member.study.title,
                reverse("dashboard:study", args=[member.study.lab, member.study.slug]),
            ),
            Cell(_exclusion(member)),
        )
        for question, members in averages.items()
        for member in members
    ]
    heads = (
        Cell(_("Benchmark")),
        Cell(_("Hypervisor")),
        Cell(_("Lowest to highest result"), is_number=True),
        Cell(_("Study")),
        Cell(_("Excluded because")),
    )
    rows.sort(key=lambda row: (row[0].text, row[1].text))
    title = _("By benchmark")
    return Table("benchmarks", title, heads, tuple(rows[:MAX_LISTED]))


def _exclusion(member: StudyAverage) -> str:
    reason = member.average.exclusion
    return "" if reason in POOLED else str(evidence.EXCLUSION_TEXTS[reason])


def _name(question: Question) -> str:
    return _("%(hypervisor)s, %(work)s") % {
        "hypervisor": question.hypervisor,
        "work": evidence.work_phrase(question.work_class),
    }


def _host_table(machine: Machine) -> Table:
    rows = tuple(
        (
            Cell(
                host.title or host.slug,
                reverse("dashboard:host", args=[host.lab.slug, host.slug]),
            ),
            Cell(host.lab.name),
        )
        for host in machine.hosts[:MAX_LISTED]
    )
    title = _("Machines") if machine.is_model else _("Host")
    return Table("hosts", title, (Cell(_("Host")), Cell(_("Lab"))), rows)
