"""The matrix of evidence, work classes by hypervisors: on two pages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import groupby
from math import exp

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


@dataclass(frozen=True)
class MatrixCell:
    """What is known of one question; ``is_empty``: nobody measured it.

    ``figure`` is the pooled ratio, or a range where nothing is pooled, and ``beside``
    what another lab will see. ``screened`` counts cells that went nowhere.
    """

    label: str
    address: str
    figure: str = ""
    beside: str = ""
    labs: str = ""
    strength: str = ""
    why: str = ""
    shade: str = ""
    is_hollow: bool = False
    screened: int = 0

    @property
    def is_empty(self) -> bool:
        return not (self.figure or self.screened)

    @property
    def heard(self) -> str:
        """What somebody who cannot see it is told."""
        if self.figure:
            return self.figure
        if self.screened:
            return _("measured, but not pooled")
        return _("not measured: how to add it")


@dataclass(frozen=True)
class MatrixRow:
    """A class of work, a cell a hypervisor."""

    kind: str
    cells: tuple[MatrixCell, ...]


@dataclass(frozen=True)
class MatrixArea:
    """The classes of one area."""

    area: str
    rows: tuple[MatrixRow, ...]


@dataclass(frozen=True)
class Matrix:
    hypervisors: tuple[str, ...]
    areas: tuple[MatrixArea, ...]
    with_flagged: bool

    @property
    def is_empty(self) -> bool:
        """Whether nothing at all was measured."""
        return not self.measured.areas

    @property
    def measured(self) -> Matrix:
        """The same without the classes that nobody measured."""
        areas = []
        for area in self.areas:
            rows = tuple(
                row for row in area.rows if not all(it.is_empty for it in row.cells)
            )
            if rows:
                areas.append(MatrixArea(area.area, rows))
        return Matrix(self.hypervisors, tuple(areas), self.with_flagged)


def question_address(question: Question, **choices: str) -> str:
    """Return where all that is known of a question is shown."""
    chosen = {"hypervisor": question.hypervisor, "work": question.work, **choices}
    return f"{reverse('dashboard:forest')}?{urlencode(chosen)}"


def matrix_of(
    found: Mapping[Question, Synthesis], *, with_flagged: bool = False
) -> Matrix:
    """Arrange what is known; hypervisors by how much was measured of them."""
    weight: dict[str, int] = dict.fromkeys(ASKED_FOR, 0)
    for question, synthesis in found.items():
        known = synthesis.pool.k + synthesis.single.k
        weight[question.hypervisor] = weight.get(question.hypervisor, 0) + known
    # What people choose among comes first, in its own order.
    others = sorted(weight.keys() - set(ASKED_FOR), key=lambda it: (-weight[it], it))
    hypervisors = (*ASKED_FOR, *others)
    chosen = {"flagged": "with"} if with_flagged else {}
    # Words and addresses are made once, not for each of some hundred cells.
    place = reverse("dashboard:forest")
    beginnings = {name: urlencode({"hypervisor": name}) for name in hypervisors}
    areas = []
    for area, members in groupby(WORK_CLASSES.values(), key=lambda it: it.area):
        rows = []
        for work in members:
            name = evidence.work_name(work.slug)
            ending = urlencode({"work": work.slug, **chosen})
            cells = tuple(
                _cell(
                    Question(hypervisor, work.slug),
                    name,
                    found.get(Question(hypervisor, work.slug), NOTHING),
                    f"{place}?{beginnings[hypervisor]}&{ending}",
                )
                for hypervisor in hypervisors
            )
            rows.append(MatrixRow(evidence.work_kind(work.slug), cells))
        first = next(slug for slug in WORK_CLASSES if WORK_CLASSES[slug].area == area)
        areas.append(MatrixArea(evidence.work_area(first), tuple(rows)))
    return Matrix(hypervisors, tuple(areas), with_flagged)


def _cell(question: Question, work: str, found: Synthesis, address: str) -> MatrixCell:
    figure, beside = evidence.headline(found)
    mean = found.counted.mean
    label = _("%(hypervisor)s, %(work)s") % {
        "hypervisor": question.hypervisor,
        "work": work,
    }
    if found is NOTHING:
        # What would be measured there, and the forms for it, filled in.
        address, why = f"{address}#fill", _("Not measured: how to add it")
    else:
        why = str(evidence.WHY[found.strength])
    is_graded = found.strength != EvidenceStrength.NONE
    return MatrixCell(
        label=label,
        address=address,
        figure=figure,
        beside=beside,
        labs=evidence.labs_text(found.labs) if found.labs else "",
        strength=str(evidence.STRENGTHS[found.strength]) if is_graded else "",
        why=why,
        shade=figures.heat(exp(mean)) if mean is not None else "",
        is_hollow=found.is_hollow,
        screened=sum(found.screened.values()),
    )
