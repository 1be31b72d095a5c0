"""The rows of the comparison as HTML.

Thousands of cells: one template rendered for each would take most of the page's time.
Whatever came from people goes through ``escape``. Roles are spelled out because the
style sheet lays rows out as boxes of their own, and not every browser then still says
that they are those of a table.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from html import escape
from itertools import islice
from typing import Final

from django.utils.safestring import SafeString, mark_safe

from benchmarks.comparing.table import CaseGroup, Column
from dashboard import wording
from dashboard.kit.selections import is_found
from dashboard.kit.table_cells import (
    CellView,
    cell_view,
    in_legible_units,
    row_decimals,
)
from dashboard.pages.compare.page import ComparisonPage
from dashboard.wording import verdicts

# The widths of columns that the style sheet knows, and how wide texts are, in rem.
WIDTHS: Final = (5, 6, 7, 8, 9, 10)
PADDING: Final = 1.0
LARGE: Final = 0.52
SMALL: Final = 0.385
# As many rows as a window shows: those a browser is given at once.
FIRST_ROWS: Final = 12
# A larger table is not sent whole before somebody asks for it; of such a one as many
# cells come as fill a few windows.
WIDE_CELLS: Final = 5_000
CELLS_AT_FIRST: Final = 1_200
# As many columns as are printed on a sheet, at the size that can be read.
PAPER_COLUMNS: Final = 20


@dataclass(frozen=True)
class GroupRows:
    """The rows of one tool and component; not found: a search hides all of them.

    The first are those that a window shows before it is scrolled: a browser is given
    the others later when it exchanges the table.
    """

    group: CaseGroup
    first: SafeString
    later: SafeString
    is_found: bool


@dataclass(frozen=True)
class GridRows:
    """All rows, and the class of the width in which every cell has room."""

    groups: tuple[GroupRows, ...]
    width: str
    is_too_wide_for_paper: bool
    left_out: int = 0
    """Rows that a search leaves and that are not sent."""

    @property
    def is_found(self) -> bool:
        """Whether a search leaves any row."""
        return any(group.is_found for group in self.groups)


def grid_rows(page: ComparisonPage, *, is_whole: bool = True) -> GridRows:
    """Return the rows of a comparison: of a wide one the first, unless it ``is_whole``.

    Those that a search hides are sent with the others, to be found by the next one.
    """
    chosen, table = page.chooser.selection, page.table
    is_n_told = table.runs is None
    sent, left_out = list(table.groups), 0
    if not is_whole and table.cell_count > WIDE_CELLS:
        sent, left_out = _first_rows(page)
    # As much as is sent: files and the chart keep the units of the metrics.
    sent = [in_legible_units(group) for group in sent]
    views = {
        cell.id: cell_view(
            cell,
            page.marks.get(cell.id),
            chosen.show,
            is_n_told=is_n_told,
            decimals=decimals,
        )
        for group in sent
        for row in group.rows
        for decimals in [row_decimals(row.cells)]
        for cell in row.cells
        if cell
    }
    groups, left = [], FIRST_ROWS
    for group in sent:
        are_found = [is_found(chosen.q, group, row) for row in group.rows]
        rows = list(_rows(group, are_found, page, views))
        # Where the rows end that hold the first of those found.
        ends = (end for end, is_shown in enumerate(are_found, start=1) if is_shown)
        first = max(islice(ends, max(left, 0)), default=0)
        left -= sum(are_found)
        groups.append(
            GroupRows(
                group,
                first=mark_safe("".join(rows[:first])),
                later=mark_safe("".join(rows[first:])),
                is_found=any(are_found),
            )
        )
    # The least width for the longest text: all columns are of one width.
    longest = max(map(_wanted_rem, views.values()), default=0.0) + PADDING
    width = next((rem for rem in WIDTHS if rem >= longest), WIDTHS[-1])
    return GridRows(
        tuple(groups),
        width=f"cells-{width}",
        is_too_wide_for_paper=len(table.head.columns) > PAPER_COLUMNS,
        left_out=left_out,
    )


def _first_rows(page: ComparisonPage) -> tuple[list[CaseGroup], int]:
    """The first rows that a search leaves, and how many it leaves beside them."""
    q, table = page.chooser.selection.q, page.table
    most = max(FIRST_ROWS, CELLS_AT_FIRST // len(table.head.columns))
    groups, left_out = [], 0
    for group in table.groups:
        rows = [row for row in group.rows if is_found(q, group, row)]
        if first := rows[:most]:
            groups.append(replace(group, rows=tuple(first)))
        most -= len(first)
        left_out += len(rows) - len(first)
    return groups, left_out


def _wanted_rem(view: CellView) -> float:
    beside = len(view.n) + 1 + 2 * len(view.sign)
    # Two speeds or a range may stand in two lines.
    parts = view.main.split() if view.kind == "plain" else [view.main]
    large = LARGE * max(map(len, parts), default=0) + SMALL * beside
    small = max(map(len, (view.interval, view.sub, view.state)))
    return max(large, SMALL * small)


def _rows(
    group: CaseGroup,
    are_found: list[bool],
    page: ComparisonPage,
    views: Mapping[int, CellView],
) -> Iterator[str]:
    before, after = map(escape, page.evidence_link)
    # Each sign beside a number, with its words for those who hear it.
    signs = {"": ""}
    for sign, words in verdicts.signs_in_words().items():
        heard = f'<span class="sign" role="img" aria-label="{escape(words)}">'
        signs[sign] = f"{heard}{sign}</span> "
    for row, is_shown in zip(group.rows, are_found, strict=True):
        # The unit of all its numbers stands here, once.
        unit = [unit] if (unit := row.unit or group.unit) else []
        better = [str(wording.BETTER[row.better])] if row.better else []
        more = " · ".join([*unit, *map(wording.fact_text, row.facts), *better])
        case = f'<span class="case-name">{escape(row.label)}</span>'
        if more:
            case += f'<span class="case-more">{escape(more)}</span>'
        cells = "".join(
            _cell(view, signs[view.sign], place, (before, after))
            if (view := cell and views[cell.id])
            else f'<td role="cell" class="cell cell-none{_edge(place)}">·</td>'
            for place, cell in zip(page.table.head.columns, row.cells, strict=True)
        )
        head = f'<th class="case" scope="row" role="rowheader">{case}</th>'
        yield f'<tr role="row"{"" if is_shown else " hidden"}>{head}{cells}</tr>\n'


def _cell(view: CellView, sign: str, place: Column, link: tuple[str, str]) -> str:
    """Return one of thousands: a byte or an element of it counts as many times."""
    look = f"heat-{view.shade}" if view.shade else f"cell-{view.kind}"
    held = " withheld" if view.is_withheld else ""
    n = f' <span class="n">{view.n}</span>' if view.n else ""
    state = f'<span class="state">{escape(view.state)}</span>' if view.state else ""
    first = f"<b>{sign}{escape(view.main)}</b>{n}"
    lines = (first, view.interval, escape(view.sub), state)
    content = "\n".join(filter(None, lines))
    return (
        f'<td role="cell" class="cell {look}{held}{_edge(place)}">'
        f'<a href="{link[0]}{view.id}{link[1]}">{content}</a></td>'
    )


def _edge(place: Column) -> str:
    return " edge" if place.is_edge else ""
