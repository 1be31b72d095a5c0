from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import exp
from typing import Any, Final

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from benchmarks.analysis.meta_analysis import EvidenceStrength
from benchmarks.evidence.queries import Question, StudyAverage, StudyInfo
from benchmarks.evidence.subjects import machine_slug
from benchmarks.evidence.synthesis import NO_EVIDENCE, POOLED, Synthesis
from benchmarks.work_classes import WORK_CLASSES
from dashboard.kit.evidence_matrix import listed_labels, question_url
from dashboard.kit.measuring import tools_for
from dashboard.kit.subject_urls import machine_url
from dashboard.wording import DASH, Text, evidence

Averages = Mapping[Question, Sequence[StudyAverage]]
Syntheses = Mapping[Question, Synthesis]


@dataclass(frozen=True, slots=True)
class Cell:
    text: str
    url: str = ""
    note: str = ""
    is_number: bool = False


@dataclass(frozen=True, slots=True)
class Table:
    slug: str
    title: str
    heads: tuple[Cell, ...]
    rows: tuple[tuple[Cell, ...], ...]
    note: str = ""


def measured_questions(
    questions: Iterable[Question], syntheses: Syntheses
) -> list[tuple[Question, Synthesis]]:
    """Return the questions that have comparable results, with their evidence."""
    found = ((asked, syntheses.get(asked, NO_EVIDENCE)) for asked in questions)
    return [pair for pair in found if pair[1].main_pool.machine_count]


def evidence_table(
    title: str,
    head: str,
    subjects: Iterable[tuple[Cell, Question, Synthesis]],
    reason: str = "",
) -> Table:
    subjects, rows = list(subjects), []
    labels = listed_labels(synthesis for _name, _question, synthesis in subjects)
    for name, question, synthesis in subjects:
        ratio, detail = evidence.matrix_entry(synthesis, labels)
        if not ratio:
            continue
        rows.append(
            (
                name,
                Cell(ratio, question_url(question), detail, is_number=True),
                Cell(evidence.machine_counts_text(synthesis)),
                Cell(evidence.labs_text(synthesis.lab_count)),
                Cell(
                    str(evidence.EVIDENCE_STRENGTHS[synthesis.strength]),
                    note=reason or evidence.strength_reason(synthesis),
                ),
            )
        )
    heads = (
        Cell(head),
        Cell(_("Relative performance"), is_number=True),
        Cell(_("Machines")),
        Cell(_("Labs")),
        Cell(_("Evidence")),
    )
    return Table("results", title, heads, tuple(rows))


def area_table(averages: Averages) -> Table:
    """Return the lowest and highest ratio of each machine by area of work."""
    machines: dict[str, dict[str, list[StudyAverage]]] = defaultdict(
        lambda: defaultdict(list)
    )
    for question, members in averages.items():
        area = WORK_CLASSES[question.work_class].area
        for member in _usable(members):
            machines[machine_slug(member)][area].append(member)
    areas = {
        work.area: work.slug
        for work in WORK_CLASSES.values()
        if any(work.area in found for found in machines.values())
    }
    rows = [
        (
            Cell(_machine_title(slug, found), machine_url(slug)),
            Cell(years_text(study.published for study in studies_of(found))),
            *(Cell(ratio_range(found.get(area, ())), is_number=True) for area in areas),
        )
        for slug, found in machines.items()
    ]
    rows.sort(key=lambda row: (row[1].text, row[0].text), reverse=True)
    heads = (
        Cell(_("Machine")),
        Cell(_("Published")),
        *(Cell(evidence.work_area(slug), is_number=True) for slug in areas.values()),
    )
    note = _("Lowest to highest result, in per cent of bare-metal speed.")
    return Table("machines", _("By machine"), heads, tuple(rows), note)


def _machine_title(slug: str, found: Mapping[str, Sequence[StudyAverage]]) -> str:
    first = next(_flat(found))
    if first.average.model:
        machines = len({average.host.pk for average in _flat(found)})
        counted = evidence.machines_text(machines)
        return f"{first.average.model} ({counted})"
    return first.host.title or slug


def _flat(groups: Mapping[Any, Sequence[StudyAverage]]) -> Iterator[StudyAverage]:
    return (average for averages in groups.values() for average in averages)


def studies_of(groups: Mapping[Any, Sequence[StudyAverage]]) -> Iterator[StudyInfo]:
    return (average.study for average in _flat(groups))


def _usable(members: Iterable[StudyAverage]) -> Iterator[StudyAverage]:
    for member in members:
        if member.average.exclusion in POOLED and member.lowest is not None:
            yield member


def years_text(dates: Iterable[str]) -> str:
    years = sorted({day[:4] for day in dates} - {""})
    return "\N{EN DASH}".join(dict.fromkeys((years[0], years[-1]))) if years else DASH


def ratio_range(averages: Iterable[StudyAverage]) -> str:
    ends = [
        exp(end)
        for average in averages
        for end in (average.lowest, average.highest)
        if end is not None
    ]
    return evidence.percent_range(min(ends), max(ends)) if ends else DASH


OPEN_TITLES: Final[Mapping[str, Text]] = {
    "contradictory": gettext_lazy("Labs contradict each other"),
    "single": gettext_lazy("Only single runs"),
    "one": gettext_lazy("Only one machine"),
    "excluded": gettext_lazy("Results that cannot be compared"),
    "missing": gettext_lazy("Not measured"),
}


def open_questions(
    questions: Iterable[Question], syntheses: Syntheses, *, names_work: bool
) -> tuple[dict[str, Any], ...]:
    """Return what is unknown, by kind, with the tools that would measure it."""
    groups: dict[str, list[dict[str, Any]]] = {kind: [] for kind in OPEN_TITLES}
    for question in questions:
        synthesis = syntheses.get(question, NO_EVIDENCE)
        if kind := _open_kind(synthesis):
            tools = tools_for(question.work_class) if names_work else ()
            entry = {
                "name": evidence.work_phrase(question.work_class)
                if names_work
                else question.hypervisor,
                "url": f"{question_url(question)}#add-data",
                "tools": ", ".join(tools),
                "needs_tool": names_work and not tools,
                "why": evidence.short_exclusion(synthesis.excluded_counts)
                if kind == "excluded"
                else "",
            }
            groups[kind].append(entry)
    return tuple(
        {"title": str(OPEN_TITLES[kind]), "entries": entries}
        for kind, entries in groups.items()
        if entries
    )


def _open_kind(synthesis: Synthesis) -> str:
    if not synthesis.main_pool.machine_count:
        return "excluded" if synthesis.excluded_counts else "missing"
    if synthesis.strength == EvidenceStrength.CONTRADICTORY:
        return "contradictory"
    if synthesis.is_single_runs:
        return "single"
    machines = evidence.physical_machine_count(synthesis.main_pool)
    return "one" if machines == 1 else ""


def results_text(count: int) -> str:
    return ngettext("%(n)s result", "%(n)s results", count) % {"n": count}


def studies_text(count: int) -> str:
    return ngettext("%(n)s study", "%(n)s studies", count) % {"n": count}
