"""Cells set side by side, each read as the row that it is in a comparison.

What a row is: `comparison_row`. Thousands of them at once: `comparison_rows`.
"""

from collections.abc import Mapping
from typing import Any, Protocol, cast

from django.db.models import F, QuerySet

from benchmarks.analysis.judgement import Judgement
from benchmarks.comparing.references import Reference
from benchmarks.comparing.row import (
    OWN,
    Against,
    ComparisonRow,
    case_fields,
    compared_row,
    system_fields,
)
from benchmarks.models import Cell, Study
from benchmarks.viewer import Viewer


class AnnotatedCell(Protocol):
    """What `compared_cells` adds to a cell."""

    baseline_system_id: int | None
    baseline_doubts: str | None


def compared_cells(
    viewer: Viewer,
    *,
    study: Study | None = None,
    filters: Mapping[str, Any] | None = None,
) -> QuerySet[Cell]:
    """Return visible cells with all that a comparison row needs, in five queries.

    Cases, systems, hosts and studies are few and shared by many cells: each is read
    once, not once a cell as a join would. ``filters`` are Django look-ups on Cell
    ("case__component", "scenario", ...).
    """
    cells = Cell.objects.visible_to(viewer).filter(n__gt=0, **(filters or {}))
    if study is not None:
        cells = cells.filter(study=study)
    return (
        cells.select_related("efficiency")
        .annotate(
            baseline_system_id=F("efficiency__baseline__system_id"),
            baseline_doubts=F("efficiency__baseline__shape_codes"),
        )
        .prefetch_related("case", "system__host", "study")
        .order_by("pk")
    )


def comparison_row(
    cell: Cell,
    reference: Reference | None = None,
    judgement: Judgement | None = None,
) -> ComparisonRow:
    """Return a cell as a row, against its own baseline or a chosen reference system."""
    own = {name: getattr(cell, name) for name in (*OWN, "shape")}
    shared = {
        "study": cell.study.slug,
        "unit": cell.case.unit,
        **case_fields(cell.case),
        **system_fields(cell.system),
    }
    against = reference.against_cell(cell) if reference else _stored(cell)
    return compared_row(own, shared, against, judgement)


def _stored(cell: Cell) -> Against:
    stored = getattr(cell, "efficiency", None)
    if stored is None:
        return Against()
    return Against(
        state=stored.state,
        ratio=stored.ratio,
        baseline_value=stored.baseline_mean,
        baseline_n=stored.baseline_n,
        baseline_system_id=cast(AnnotatedCell, cell).baseline_system_id,
        reason=stored.reason,
        baseline_doubts=cast(AnnotatedCell, cell).baseline_doubts or "",
    )
