"""All rows of one study's comparison at once, for a table of thousands of cells."""

from collections.abc import Iterable, Mapping
from typing import Any, cast

from django.db.models import Case as Choice
from django.db.models import F, JSONField, Q, When

from benchmarks.comparing.references import Reference
from benchmarks.comparing.row import (
    CIRCUMSTANCES,
    OWN,
    Against,
    ComparisonRow,
    case_fields,
    compared_row,
    system_fields,
)
from benchmarks.comparing.verdicts import Verdicts
from benchmarks.models import Case, Cell, Study, System
from benchmarks.parsing.contract import Better

STORED = (
    *("state", "ratio", "baseline_mean", "baseline_n", "baseline__system", "reason"),
    "baseline__shape_codes",
)
# Shapes are long: they come only with the few cells that no single figure describes.
SHAPE = When(~Q(shape_codes=""), then=F("shape"))


def comparison_rows(
    study: Study,
    *,
    systems: Iterable[System],
    filters: Mapping[str, Any],
    reference: Reference | None = None,
    verdicts: Verdicts | None = None,
) -> list[ComparisonRow]:
    """Return the study's cells of these systems as rows, in two queries.

    Cells come as plain values: an object each would cost more than all else.
    ``systems`` have their hosts with them. With ``verdicts`` every row is judged in
    words, too.
    """
    stored = (f"efficiency__{name}" for name in STORED)
    cells = Cell.objects.filter(study=study, n__gt=0, **filters).order_by("pk")
    doubted = Choice(SHAPE, default=None, output_field=JSONField())
    found = list(cells.annotate(doubted=doubted).values_list(*OWN, *stored, "doubted"))
    cases = Case.objects.in_bulk({values[0] for values in found})
    of_cases = {pk: case_fields(case) for pk, case in cases.items()}
    of_systems = {each.pk: system_fields(each) for each in systems}
    rows = []
    for values in found:
        case, own = cases[values[0]], dict(zip(OWN, values, strict=False))
        own["shape"] = values[-1]
        against = _against(reference, case, own, values[len(OWN) : -1])
        rows.append(
            compared_row(
                own,
                {"study": study.slug, "unit": case.unit}
                | of_cases[case.pk]
                | of_systems[own["system_id"]],
                against,
                verdicts.of(own["pk"]) if verdicts else None,
            )
        )
    return rows


def _against(
    reference: Reference | None,
    case: Case,
    own: Mapping[str, Any],
    stored: tuple[Any, ...],
) -> Against:
    if reference is None:
        told = (*stored[:-1], stored[-1] or "")
        return Against(*told) if told[0] else Against()
    circumstances = tuple(own[name] for name in CIRCUMSTANCES)
    return reference.against(
        own["system_id"], circumstances, own["mean"], cast(Better, case.better)
    )
