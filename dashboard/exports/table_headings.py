from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _

from benchmarks.comparison.comparison_table import (
    CaseGroup,
    CaseRow,
    Column,
    ColumnHead,
)
from benchmarks.models import Study
from dashboard import wording
from dashboard.kit.comparison_form import QUANTITIES, RELATIVE_PERFORMANCE
from dashboard.kit.comparison_from_url import AssessedTable


@dataclass(frozen=True)
class ExportSource:
    """Origin of exported results, stated in every file."""

    title: str
    slug: str
    url: str
    compared_with: str
    created_on: str
    quantity: str = RELATIVE_PERFORMANCE
    equivalence_margin_percent: float = 2.0
    tested_count: int = 0


def export_source(
    request: HttpRequest, study: Study, assessed: AssessedTable, page: str = "compare"
) -> ExportSource:
    page_url = reverse(f"dashboard:{page}", args=[study.lab.slug, study.slug])
    query = request.GET.urlencode()
    compared_with = wording.compared_with_text(
        assessed.reference, assessed.system_names
    )
    if assessed.quantity != RELATIVE_PERFORMANCE:
        compared_with = f"{str(QUANTITIES[assessed.quantity]).lower()}, {compared_with}"
    return ExportSource(
        title=study.title,
        slug=study.slug,
        url=request.build_absolute_uri(f"{page_url}?{query}" if query else page_url),
        compared_with=compared_with,
        created_on=timezone.now().date().isoformat(),
        quantity=assessed.quantity,
        equivalence_margin_percent=study.equivalence_margin_percent,
        tested_count=assessed.tested_count,
    )


SLOT = "slot"


def heading_lines(
    columns: Sequence[Column],
) -> Iterator[tuple[str, list[tuple[str, int]]]]:
    """Yield the property and headings (text, width) of header lines with text."""
    properties = ["", *(fact.name for fact in columns[0].facts)]
    for depth, name in enumerate(properties):
        paths = [
            (column.platform, *(fact.value for fact in column.facts[:depth]))
            for column in columns
        ]
        headings = []
        for path, members in groupby(paths):
            if name == SLOT and path[-1]:
                text = wording.slot_text(path[-1])
            else:
                text = wording.property_value(name, path[-1])
            headings.append((text, len(list(members))))
        if any(text for text, _width in headings):
            yield name, headings


def group_text(group: CaseGroup, separator: str) -> str:
    component = wording.component_name(group.component)
    if group.tool:
        component = f"{component}: {group.tool}"
    better = str(wording.DIRECTION_NAMES.get(group.better, ""))
    facts = map(wording.fact_text, group.facts)
    return separator.join(
        filter(None, (component, group.label, group.unit, better, *facts))
    )


def row_text(row: CaseRow, separator: str) -> str:
    facts = map(wording.fact_text, row.facts)
    return separator.join(filter(None, (row.label, *facts, row.unit)))


def shared_guest_facts(head: ColumnHead) -> list[str]:
    """Return a sentence on the facts that all systems except native share, if any."""
    facts = ", ".join(map(wording.fact_text, head.guest_constants))
    return (
        [_("All systems except native: %(facts)s.") % {"facts": facts}] if facts else []
    )
