"""The rows of the comparison as HTML.

Thousands of cells: one template rendered for each would take most of the page's time.
Whatever came from people goes through ``escape``.
"""

from html import escape

from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext as _

from benchmarks.selectors.comparison_columns import Column
from benchmarks.selectors.comparison_table import CaseGroup, CaseRow
from dashboard import wording
from dashboard.cells import CellView, cell_view
from dashboard.comparison_page import ComparisonPage


def group_html(group: CaseGroup, page: ComparisonPage) -> SafeString:
    """Return the rows of one tool and component."""
    return mark_safe("".join(_row(row, group, page) for row in group.rows))


def _row(row: CaseRow, group: CaseGroup, page: ComparisonPage) -> str:
    show, marks = page.selection.show, page.marks
    link = page.evidence_link
    cells = (
        _cell(cell_view(cell, marks.get(cell.id), show), place, link)
        if cell
        else f'<td class="cell cell-none{_edge(place)}">·</td>'
        for place, cell in zip(page.table.head.columns, row.cells, strict=True)
    )
    hidden = "" if is_found(page.selection.q, group, row) else " hidden"
    return f"<tr{hidden}>{_case(row)}{''.join(cells)}</tr>\n"


def _case(row: CaseRow) -> str:
    better = [wording.BETTER[row.better]] if row.better else []
    more = " · ".join([*map(wording.fact_text, row.facts), *map(str, better)])
    said = f'<span class="case-more">{escape(more)}</span>' if more else ""
    name = f'<span class="case-name">{escape(row.label)}</span>'
    return f'<th class="case" scope="row">{name}{said}</th>'


def _cell(view: CellView, place: Column, link: tuple[str, str]) -> str:
    address = escape(str(view.id).join(link))
    look = f"heat-{view.shade}" if view.shade else f"cell-{view.kind}"
    held = " withheld" if view.is_withheld else ""
    sign = f'<span class="sign" aria-hidden="true">{view.sign}</span> '
    state = f'<span class="state">{escape(view.state)}</span>' if view.state else ""
    return (
        f'<td class="cell {look}{held}{_edge(place)}"><a href="{address}"'
        f' aria-label="{escape(view.sentence)}">'
        f'<span class="top"><span class="n">n {view.n}</span> '
        f'<span class="main">{sign if view.sign else ""}{escape(view.main)}</span>'
        f'</span><span class="sub">{escape(view.sub)}</span>{state}</a></td>'
    )


def _edge(place: Column) -> str:
    return " edge" if place.is_edge else ""


def is_found(q: str, group: CaseGroup, row: CaseRow) -> bool:
    """Whether every word that is searched for stands in a row's or group's heading."""
    if not q:
        return True
    facts = [wording.fact_text(fact) for fact in (*group.facts, *row.facts)]
    component = wording.component_name(group.component)
    said = " ".join([component, group.tool, group.label, row.label, *facts]).casefold()
    return all(word in said for word in q.casefold().split())


def nothing_found(page: ComparisonPage) -> str:
    """Return what to say when a search hides every row; nothing where it does not."""
    rows = ((group, row) for group in page.table.groups for row in group.rows)
    if any(is_found(page.selection.q, group, row) for group, row in rows):
        return ""
    return _("No row has these words.")
