"""Evidence matrix: work classes in rows, hypervisors in columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import compress, groupby
from math import exp
from typing import Any

from django.urls import reverse
from django.utils.http import urlencode
from django.utils.translation import gettext as _

from benchmarks.analysis.meta_analysis import EvidenceStrength
from benchmarks.evidence.queries import Question, configuration_labels
from benchmarks.evidence.synthesis import NO_EVIDENCE, Synthesis
from benchmarks.hypervisor_names import MAIN_HYPERVISORS
from benchmarks.work_classes import WORK_CLASSES
from dashboard.kit import formatting
from dashboard.kit.subject_urls import work_url
from dashboard.wording import evidence

MIN_COLUMN_RESULTS = 3
MIN_COLUMN_SHARE = 0.25
LONG_DETAIL = 30


def question_url(question: Question, **choices: str) -> str:
    query = {"hypervisor": question.hypervisor, "work": question.work_class, **choices}
    return f"{reverse('dashboard:evidence-question')}?{urlencode(query)}"


def listed_labels(syntheses: Iterable[Synthesis]) -> dict[int, str]:
    """Return the labels that `evidence.matrix_entry` needs."""
    return configuration_labels(
        machine
        for synthesis in syntheses
        for machine in synthesis.main_machines
        if machine.listed_configurations
    )


def matrix_context(
    syntheses: Mapping[Question, Synthesis], *, without_doubtful: bool = False
) -> dict[str, Any]:
    machine_counts = Counter(dict.fromkeys(MAIN_HYPERVISORS, 0))
    for question, synthesis in syntheses.items():
        machine_counts[question.hypervisor] += (
            synthesis.pool.machine_count + synthesis.single_run_pool.machine_count
        )
    other_hypervisors = sorted(
        machine_counts.keys() - set(MAIN_HYPERVISORS),
        key=lambda name: (-machine_counts[name], name),
    )
    hypervisors = [*MAIN_HYPERVISORS, *other_hypervisors]
    options = {"doubtful": "exclude"} if without_doubtful else {}
    page_url = reverse("dashboard:evidence-question")
    hypervisor_queries = {name: urlencode({"hypervisor": name}) for name in hypervisors}
    labels = listed_labels(syntheses.values())
    areas: list[dict[str, Any]] = []
    for _area, members in groupby(WORK_CLASSES.values(), key=lambda work: work.area):
        rows = []
        for work in members:
            name = evidence.work_name(work.slug)
            work_query = urlencode({"work": work.slug, **options})
            cells = [
                _cell(
                    _("%(hypervisor)s, %(work)s")
                    % {"hypervisor": hypervisor, "work": name},
                    syntheses.get(Question(hypervisor, work.slug), NO_EVIDENCE),
                    f"{page_url}?{hypervisor_queries[hypervisor]}&{work_query}",
                    labels,
                )
                for hypervisor in hypervisors
            ]
            rows.append(
                {
                    "kind": evidence.work_kind(work.slug),
                    "url": work_url(work.slug),
                    "cells": cells,
                }
            )
        areas.append({"area": evidence.work_area(work.slug), "rows": rows})
    measured, shared_strength = _measured(hypervisors, areas), _shared_strength(areas)
    return {
        "hypervisors": hypervisors,
        "areas": areas,
        "without_doubtful": without_doubtful,
        "is_empty": not measured["areas"],
        "shared_strength": shared_strength,
        "measured": {**measured, "shared_strength": shared_strength},
    }


def _with_enough_results(
    hypervisors: Sequence[str], areas: Sequence[Mapping[str, Any]]
) -> list[bool]:
    """Return which columns are main ones, or have results in enough rows."""
    rows = [
        row["cells"]
        for area in areas
        for row in area["rows"]
        if not all(cell["is_empty"] for cell in row["cells"])
    ]
    needed = max(MIN_COLUMN_RESULTS, MIN_COLUMN_SHARE * len(rows))
    return [
        name in MAIN_HYPERVISORS
        or sum(bool(cells[column]["value"]) for cells in rows) >= needed
        for column, name in enumerate(hypervisors)
    ]


def _measured(
    hypervisors: Sequence[str], areas: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """Return the matrix without empty rows, and without columns with few results."""
    is_shown = _with_enough_results(hypervisors, areas)
    shown_areas = []
    for area in areas:
        rows = [
            {**row, "cells": [*compress(row["cells"], is_shown)]}
            for row in area["rows"]
            if not all(cell["is_empty"] for cell in row["cells"])
        ]
        if rows:
            shown_areas.append({**area, "rows": rows})
    return {
        "hypervisors": [*compress(hypervisors, is_shown)],
        "folded": [*compress(hypervisors, (not shown for shown in is_shown))],
        "areas": shown_areas,
    }


def _shared_strength(areas: Iterable[Mapping[str, Any]]) -> str:
    strengths = {
        cell["strength"]
        for area in areas
        for row in area["rows"]
        for cell in row["cells"]
        if cell["value"]
    }
    return strengths.pop() if len(strengths) == 1 else ""


def _cell(
    label: str, synthesis: Synthesis, url: str, labels: Mapping[int, str]
) -> dict[str, Any]:
    value, detail = evidence.matrix_entry(synthesis, labels)
    excluded_count = sum(synthesis.excluded_counts.values())
    if synthesis is NO_EVIDENCE:
        url, why = f"{url}#add-data", ""
    else:
        why = evidence.strength_reason(synthesis)
    excluded = evidence.short_exclusion(synthesis.excluded_counts)
    # The tooltip has all notes but the first, because cells are narrow.
    note, *others = evidence.matrix_notes(synthesis) or [""]
    why = " ".join(filter(None, [why, *(f"({other})" for other in others)]))
    has_strength = synthesis.strength != EvidenceStrength.NONE
    return {
        "label": label,
        "url": url,
        "value": value,
        "detail": detail,
        "note": note,
        "labs": evidence.labs_text(synthesis.lab_count) if synthesis.lab_count else "",
        "strength": str(evidence.EVIDENCE_STRENGTHS[synthesis.strength])
        if has_strength
        else "",
        "why": why,
        "classes": " ".join(_classes(synthesis, detail)),
        "excluded": excluded,
        "is_empty": not (value or excluded_count),
        "aria_label": value or excluded or _("not measured, plan a measurement"),
    }


def _classes(synthesis: Synthesis, detail: str) -> Iterator[str]:
    mean = synthesis.main_pool.mean
    if mean is not None:
        yield f"heat-{formatting.ratio_shade(exp(mean))}"
    if synthesis.is_single_runs:
        yield "hollow"
    if len(detail) > LONG_DETAIL:
        yield "long"
