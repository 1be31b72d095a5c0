"""What the headings and rows of a comparison say on paper: LaTeX and the report."""

from collections.abc import Iterator, Sequence
from itertools import groupby

from django.utils.translation import gettext as _

from benchmarks.comparing.table import CaseGroup, CaseRow, Column, ColumnHead
from dashboard import wording

SLOT = "slot"


def heading_lines(
    columns: Sequence[Column],
) -> Iterator[tuple[str, list[tuple[str, int]]]]:
    """Yield each line of the head: its property, and headings with their widths.

    The first line has the platforms and no name; one without any text is left out.
    Neighbours share a heading where all headings above them are shared as well.
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
