r"""The chosen results as ``tabular``, for classes that take no other packages.

The same cells, caption and notes as in `latex`, which lets tabularray part a long
table; publishers that typeset from the source (ACM's TAPS) know ``tabular`` with
siunitx and booktabs alone. A table is as wide as the column, or as the page: ``table*``
is one as wide as the text in a class of one column.
"""

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Final

from benchmarks.comparing.table import CaseGroup, CaseRow, Column, ComparisonTable
from dashboard import wording
from dashboard.exports.escaping import OTHER_CHARACTER, tex
from dashboard.exports.latex import (
    FONTS,
    LABEL_SHARE,
    broken,
    caption_text,
    letters_of,
    notes_below,
    number_format,
    row_cells,
)
from dashboard.exports.sources import Source
from dashboard.exports.table_texts import group_text, heading_lines, row_text
from dashboard.kit.figures import for_files
from dashboard.kit.selections import SPEED

# Fewer than tabularray has room for, which breaks an interval into two lines.
SYSTEMS: Final = 3
SYSTEMS_OF_A_PAGE: Final = 5
MOST_LINES: Final = 34
"""Of one table: ``tabular`` does not part, and a float has no more room."""
PREAMBLE: Final = r"""% In the preamble (Debian: texlive-latex-extra, texlive-science):
%   \usepackage[T1]{fontenc}
%   \usepackage{textcomp,array,booktabs,siunitx}
% For article, IEEEtran and acmart, in one column or two."""
# The text of a class of one column is narrower than a page of two.
NARROW: Final = (
    r"\ifdim\linewidth<450pt\relax\def\virtlabsmall{\fontsize{5}{6}\selectfont}"
    r"\fontsize{7}{8.5}\selectfont\fi"
)
GAP_PT: Final = 6
COLUMN_PT: Final = 229
"""The narrowest: of `article` in two columns."""
DIGIT_PT: Final = 2.9
"""Of an interval in `virtlabsmall`, which has 5 pt there."""
SMALL: Final = r"{{{\virtlabsmall }}}"
LEAST_LABEL_SHARE: Final = 0.7

Measured = tuple[CaseGroup, CaseRow]
Texts = Sequence[tuple[str, str]]
"""What stands in a row, system by system, and below it."""


@for_files()
def tabular(table: ComparisonTable, source: Source, *, is_wide: bool = False) -> str:
    """Return the tables of some results, each with caption, label and notes."""
    size = SYSTEMS_OF_A_PAGE if is_wide else SYSTEMS
    places = range(0, len(table.head.columns), size)
    parts = [
        (slice(start, start + size), lines)
        for start in places
        for lines in _parted(table, slice(start, start + size))
    ]
    tables = (
        _table(table, source, part, lines, (number, len(parts)), is_wide)
        for number, (part, lines) in enumerate(parts, start=1)
    )
    head = f"% {tex(source.title)} ({source.slug}), {source.made_on}"
    return "\n".join([head, PREAMBLE, OTHER_CHARACTER, FONTS, *tables]) + "\n"


def _parted(table: ComparisonTable, part: slice) -> Iterator[list[Measured]]:
    """Yield the rows of these systems, as many at a time as a table has room for."""
    lines: list[Measured] = []
    height = 0
    for group in table.groups:
        for row in group.rows:
            if not any(row.cells[part]):
                continue
            is_first = not lines or lines[-1][0] is not group
            tall = 2 + is_first  # a number and its interval
            if lines and height + tall > MOST_LINES:
                yield lines
                lines, height = [], 0
            lines.append((group, row))
            height += tall
    if lines:
        yield lines


def _table(
    table: ComparisonTable,
    source: Source,
    part: slice,
    measured: Sequence[Measured],
    place: tuple[int, int],
    is_wide: bool,
) -> str:
    systems = table.head.columns[part]
    letters = letters_of(
        cell for _group, row in measured for cell in row.cells[part] if cell
    )
    texts = [row_cells(row, part, source.show, letters) for _group, row in measured]
    shows = "" if source.show == SPEED else source.show
    part_of = str(place[0]) if place[1] > 1 else ""
    label = "tab:" + "-".join(filter(None, (source.slug, "paper", shows, part_of)))
    kind = "table*" if is_wide else "table"
    widths = _widths(len(systems), [] if is_wide else texts)
    caption = caption_text(table, source, place)
    return "\n".join(
        [
            rf"\begin{{{kind}}}[htbp]\virtlabfonts{NARROW if is_wide else ''}",
            rf"\setlength{{\tabcolsep}}{{{GAP_PT / 2:g}pt}}",
            rf"\caption{{{caption}}}\label{{{label}}}",
            rf"\begin{{tabular}}{{{_columns(texts, widths)}}}",
            r"\toprule",
            *_heading(systems, widths[1]),
            r"\midrule",
            *_body(measured, texts),
            r"\bottomrule",
            r"\end{tabular}",
            " ".join(notes_below(table, source, letters)),
            rf"\end{{{kind}}}",
        ]
    )


def _widths(count: int, texts: Sequence[Texts]) -> tuple[str, str]:
    """Return how wide the labels are and a system is, without the gaps around them.

    In the narrowest of columns the labels give way to intervals of many digits.
    """
    drawn = [second for row in texts for _first, second in row]
    longest = max((len(text) - len(SMALL) for text in drawn if text), default=0)
    needed = (longest * DIGIT_PT + GAP_PT) / COLUMN_PT
    labels = LABEL_SHARE
    if needed > 1 / (labels + count):
        labels = max(LEAST_LABEL_SHARE, 1 / needed - count)
    share = 1 / (labels + count)
    label, system = (
        rf"{part:.4f}\linewidth-{GAP_PT}pt" for part in (labels * share, share)
    )
    return label, system


def _columns(texts: Sequence[Texts], widths: tuple[str, str]) -> str:
    label, system = widths
    labels = rf">{{\raggedright\arraybackslash}}p{{\dimexpr {label}\relax}}"
    numbers = (
        rf"S[{number_format(cells)},table-column-width=\dimexpr {system}\relax]"
        for cells in zip(*texts, strict=True)
    )
    return "".join([labels, *numbers])


def _heading(columns: Sequence[Column], system: str) -> Iterator[str]:
    """Yield the platforms and, below, each property by which the columns differ."""
    for name, headings in heading_lines(columns):
        cells = [broken(wording.property_name(name)) if name else ""]
        rules, at = [], 2
        for text, width in headings:
            cells.append(_spanning(broken(text), width, system))
            if text and width > 1:
                rules.append(rf"\cmidrule(lr){{{at}-{at + width - 1}}}")
            at += width
        yield " & ".join(cells) + r" \\" + "".join(rules)


def _spanning(text: str, width: int, system: str) -> str:
    """Return a heading over so many columns, with the gaps between them."""
    gaps = GAP_PT * (width - 1)
    wide = rf"\dimexpr ({system})*{width}+{gaps}pt\relax"
    column = rf">{{\centering\arraybackslash}}p{{{wide}}}"
    return rf"\multicolumn{{{width}}}{{{column}}}{{{text}}}"


def _body(measured: Sequence[Measured], texts: Sequence[Texts]) -> Iterator[str]:
    """Yield the rows, those of one tool and component under what they share."""
    lines = zip(measured, texts, strict=True)
    for _key, members in groupby(lines, key=lambda line: id(line[0][0])):
        rows = list(members)
        group, width = rows[0][0][0], len(rows[0][1]) + 1
        title = broken(group_text(group, ", "))
        yield (
            rf"\multicolumn{{{width}}}{{>{{\raggedright\arraybackslash}}"
            rf"p{{\dimexpr\linewidth-{GAP_PT}pt\relax}}}}{{\bfseries {title}}} \\*"
        )
        for (_group, row), cells in rows:
            firsts = " & ".join(first for first, _second in cells)
            yield rf"{broken(row_text(row, ', '))} & {firsts} \\"
            if any(second for _first, second in cells):
                seconds = " & ".join(second for _first, second in cells)
                yield rf" & {seconds} \\"
