"""What the headings and rows of a comparison say on paper: LaTeX and the report."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _

from benchmarks.comparing.table import CaseGroup, CaseRow, Column, ColumnHead
from benchmarks.models import Study
from dashboard import wording
from dashboard.kit.judged_tables import JudgedTable
from dashboard.kit.selections import SHOWN, SPEED


@dataclass(frozen=True)
class Source:
    """Where the numbers come from, what they show and are compared with."""

    title: str
    slug: str
    address: str
    against: str
    made_on: str
    show: str = SPEED
    equivalence_margin_percent: float = 2.0
    tested: int = 0
    """Of how many cells together the verdicts were corrected for."""


def source_of(
    request: HttpRequest, study: Study, judged: JudgedTable, page: str = "compare"
) -> Source:
    """Return where a comparison's numbers come from: that page, with its query."""
    address = reverse(f"dashboard:{page}", args=[study.lab.slug, study.slug])
    query = request.GET.urlencode()
    against = wording.against_text(judged.reference, judged.names)
    if judged.show != SPEED:
        against = f"{str(SHOWN[judged.show]).lower()}, {against}"
    return Source(
        title=study.title,
        slug=study.slug,
        address=request.build_absolute_uri(f"{address}?{query}" if query else address),
        against=against,
        made_on=timezone.now().date().isoformat(),
        show=judged.show,
        equivalence_margin_percent=study.equivalence_margin_percent,
        tested=judged.tested,
    )


SLOT = "slot"


def heading_lines(
    columns: Sequence[Column],
) -> Iterator[tuple[str, list[tuple[str, int]]]]:
    """Yield each line of the head: its property, and headings with their widths.

    The first line has the platforms and no name; empty lines are left out.
    """
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


def group_text(group: CaseGroup, between: str) -> str:
    """Return what the rows of a group have in common."""
    component = wording.component_name(group.component)
    if group.tool:
        component = f"{component}: {group.tool}"
    better = str(wording.BETTER.get(group.better, ""))
    facts = map(wording.fact_text, group.facts)
    return between.join(
        filter(None, (component, group.label, group.unit, better, *facts))
    )


def row_text(row: CaseRow, between: str) -> str:
    """Return what tells a row from the others of its group."""
    facts = map(wording.fact_text, row.facts)
    return between.join(filter(None, (row.label, *facts, row.unit)))


def guests_text(head: ColumnHead) -> list[str]:
    """Say what all systems but the native machine have in common, if anything."""
    facts = ", ".join(map(wording.fact_text, head.of_guests))
    return [_("All but native: %(facts)s.") % {"facts": facts}] if facts else []
