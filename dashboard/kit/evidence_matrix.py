"""The matrix of evidence: work classes by hypervisors."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import groupby
from math import exp
from typing import Any

from django.urls import reverse
from django.utils.http import urlencode
from django.utils.translation import gettext as _

from benchmarks.analysis.pooling import EvidenceStrength
from benchmarks.evidence.reading import Question
from benchmarks.evidence.synthesis import NOTHING, Synthesis
from benchmarks.platforms import ASKED_FOR
from benchmarks.work_classes import WORK_CLASSES
from dashboard.kit import figures
from dashboard.wording import evidence


def question_address(question: Question, **choices: str) -> str:
    chosen = {"hypervisor": question.hypervisor, "work": question.work, **choices}
    return f"{reverse('dashboard:forest')}?{urlencode(chosen)}"


def matrix_of(
    found: Mapping[Question, Synthesis], *, with_flagged: bool = False
) -> dict[str, Any]:
    """Return the matrix; ``measured`` is the same without unmeasured work classes."""
    weight: dict[str, int] = dict.fromkeys(ASKED_FOR, 0)
    for question, synthesis in found.items():
        known = synthesis.pool.k + synthesis.single.k
        weight[question.hypervisor] = weight.get(question.hypervisor, 0) + known
    # The usual hypervisors in their order, then others by how much was measured.
    others = sorted(weight.keys() - set(ASKED_FOR), key=lambda it: (-weight[it], it))
    hypervisors = [*ASKED_FOR, *others]
    chosen = {"flagged": "with"} if with_flagged else {}
    # Addresses are put together once, not for each of some hundred cells.
    place = reverse("dashboard:forest")
    beginnings = {name: urlencode({"hypervisor": name}) for name in hypervisors}
    areas: list[dict[str, Any]] = []
    for _area, members in groupby(WORK_CLASSES.values(), key=lambda it: it.area):
        rows = []
        for work in members:
            name = evidence.work_name(work.slug)
            ending = urlencode({"work": work.slug, **chosen})
            cells = [
                _cell(
                    _("%(hypervisor)s, %(work)s")
                    % {"hypervisor": hypervisor, "work": name},
                    found.get(Question(hypervisor, work.slug), NOTHING),
                    f"{place}?{beginnings[hypervisor]}&{ending}",
                )
                for hypervisor in hypervisors
            ]
            rows.append({"kind": evidence.work_kind(work.slug), "cells": cells})
        areas.append({"area": evidence.work_area(work.slug), "rows": rows})
    measured = [
        {
            **area,
            "rows": [
                row
                for row in area["rows"]
                if not all(cell["is_empty"] for cell in row["cells"])
            ],
        }
        for area in areas
    ]
    measured = [area for area in measured if area["rows"]]
    return {
        "hypervisors": hypervisors,
        "areas": areas,
        "with_flagged": with_flagged,
        "is_empty": not measured,
        "measured": {"hypervisors": hypervisors, "areas": measured},
    }


def _cell(label: str, found: Synthesis, address: str) -> dict[str, Any]:
    """Return what is known of one question.

    ``figure`` is the pooled ratio, or a range where nothing is pooled; ``beside`` what
    to expect in another lab; ``screened`` counts results that were left out.
    """
    figure, beside = evidence.headline(found)
    mean, screened = found.counted.mean, sum(found.screened.values())
    if found is NOTHING:
        # What to measure, with the forms for it filled in.
        address, why = f"{address}#fill", _("Not measured: how to add it")
    else:
        why = str(evidence.WHY[found.strength])
    heard = _("measured, but not pooled") if screened else ""
    is_graded = found.strength != EvidenceStrength.NONE
    return {
        "label": label,
        "address": address,
        "figure": figure,
        "beside": beside,
        "labs": evidence.labs_text(found.labs) if found.labs else "",
        "strength": str(evidence.STRENGTHS[found.strength]) if is_graded else "",
        "why": why,
        "shade": figures.heat(exp(mean)) if mean is not None else "",
        "is_hollow": found.is_hollow,
        "screened": screened,
        "is_empty": not (figure or screened),
        # For screen readers.
        "heard": figure or heard or _("not measured: how to add it"),
    }
