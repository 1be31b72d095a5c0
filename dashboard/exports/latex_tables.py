r"""Comparison as LaTeX tables, a fragment for ``\input``.

`DEFAULT_STYLE` breaks long tables across pages. `Tabular` is for publishers that
support only ``tabular``, siunitx and booktabs (such as ACM's TAPS). Three pairs of
braces protect a cell that is not a number from siunitx.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import ClassVar, Final

from django.utils.translation import gettext as _

from benchmarks.analysis.assessment import CellAssessment
from benchmarks.comparison.comparison_row import (
    ENERGY_PER_WORK,
    RELATIVE_SPEED,
    ComparisonRow,
)
from benchmarks.comparison.comparison_table import (
    CaseGroup,
    CaseRow,
    Column,
    ComparisonTable,
)
from dashboard import wording
from dashboard.exports.latex_escaping import CHARACTER_COMMAND, escape_latex
from dashboard.exports.table_headings import (
    ExportSource,
    group_text,
    heading_lines,
    row_text,
    shared_guest_facts,
)
from dashboard.kit.comparison_form import ENERGY, RELATIVE_PERFORMANCE
from dashboard.kit.formatting import number_format_for_files
from dashboard.kit.table_cells import (
    UNLABELLED_STATES,
    row_decimals,
    speeds_or_range,
    value_text,
)
from dashboard.wording import state_names, verdicts
from dashboard.wording.verdicts import (
    MEASURED_VALUE,
    OVERHEAD,
    interval_ends,
    ratio_range_ends,
    ratio_text,
)

# Width of the column of labels, relative to the column of a system.
LABEL_WIDTH_SHARE = 1.75
GAP_PT = 6
COLUMN_PT: Final = 229
DIGIT_PT: Final = 2.9
"""Width of an interval's digit in `virtlabsmall` (5 pt)."""
SMALL_FONT: Final = r"{{{\virtlabsmall }}}"
MIN_LABEL_WIDTH_SHARE: Final = 0.7
# Columns with longer numbers are centered, not aligned at the decimal point.
ALIGNED_DIGITS = 7
REQUIRED_PACKAGES = r"""% Preamble (Debian: texlive-latex-extra, texlive-science):
%   \usepackage[T1]{fontenc}"""
# Lines end in a command, because other line breaks would become spaces.
FONT_COMMANDS = r"""\providecommand{\virtlabfonts}{\ifdim\linewidth<300pt\relax
  \def\virtlabsmall{\fontsize{5}{6}\selectfont}\relax
  \def\virtlabnote{\fontsize{6}{7}\selectfont}\fontsize{7}{8.5}\selectfont\else
  \def\virtlabsmall{\fontsize{6}{7}\selectfont}\relax
  \def\virtlabnote{\fontsize{7}{8.5}\selectfont}\fontsize{8}{9.5}\selectfont\fi
  \sisetup{mode=text,reset-text-shape=false,table-align-text-after=false}}"""
LATEX_SIGNS = {
    **{"slower": "$<$", "faster": "$>$", "less": "$<$", "more": "$>$"},
    **{"equivalent": "$=$", "undetermined": "?"},
}
NOT_MEASURED = r"{{{\textendash{}}}}"
NUMBER = re.compile(r"([-\N{MINUS SIGN}]?)([\d,]+(?:\.\d+)?)([^\d]*)")
TYPESET_NUMBER = re.compile(r"(?:\\itshape )?(-?)(\d+)\.?(\d*)")
BREAK_AFTER_SIGN = re.compile(r"(?<=[-_/.,=:;+&])")
# Longer words may break after punctuation. Longer parts of words may break inside.
MAX_WORD, MAX_WORD_PART = 8, 16


GroupRow = tuple[CaseGroup, CaseRow]
CellTexts = Sequence[tuple[str, str]]
"""Cells of a row, each as (text, text below it)."""


@dataclass(frozen=True)
class LatexTableParts:
    caption: str
    label: str
    title: str
    heads: Sequence[str]
    body: Sequence[str]
    texts: Sequence[CellTexts]
    systems: int
    notes: str


@number_format_for_files()
def latex_tables(
    table: ComparisonTable, source: ExportSource, style: "LatexStyle | None" = None
) -> str:
    style = style or DEFAULT_STYLE
    size = style.most_systems
    parts = [
        (slice(start, start + size), group_rows)
        for start in range(0, len(table.head.columns), size)
        for group_rows in style.parts(table, slice(start, start + size))
    ]
    tables = (
        "\n".join(_table(table, source, part, group_rows, (number, len(parts)), style))
        for number, (part, group_rows) in enumerate(parts, start=1)
    )
    title_line = f"% {escape_latex(source.title)} ({source.slug}), {source.created_on}"
    return (
        "\n".join(
            [title_line, style.preamble, CHARACTER_COMMAND, FONT_COMMANDS, *tables]
        )
        + "\n"
    )


def _table(
    table: ComparisonTable,
    source: ExportSource,
    part: slice,
    group_rows: Sequence[GroupRow],
    part_number: tuple[int, int],
    style: "LatexStyle",
) -> Iterator[str]:
    cells = [cell for _group, row in group_rows for cell in row.cells[part] if cell]
    notes = sorted({note for cell in cells for note in _note_codes(cell)})
    letters = {note: chr(ord("a") + index) for index, note in enumerate(notes)}
    texts = []
    for _group, row in group_rows:
        decimals = row_decimals(row.cells)
        texts.append(
            [
                _cell(cell, source.quantity, letters, decimals)
                for cell in row.cells[part]
            ]
        )
    systems = table.head.columns[part]
    quantity_name = "" if source.quantity == RELATIVE_PERFORMANCE else source.quantity
    part_name = str(part_number[0]) if part_number[1] > 1 else ""
    names = (source.slug, style.name, quantity_name, part_name)
    return style.table(
        LatexTableParts(
            caption=caption_text(table, source, part_number),
            label="tab:" + "-".join(filter(None, names)),
            title=escape_latex(source.title),
            heads=list(_heading_lines(systems, texts, style)),
            body=list(_body_lines(group_rows, texts, style)),
            texts=texts,
            systems=len(systems),
            notes=" ".join(table_notes(table, source, letters)),
        )
    )


class Tabularray:
    """Style with tabularray: tables are as wide as the text and may break."""

    most_systems = 4
    name = ""
    # Longer tables are not floats, so they can break across pages.
    MAX_FLOATING_LINES: ClassVar = 16
    preamble = rf"""{REQUIRED_PACKAGES}
%   \usepackage{{textcomp,tabularray}}
%   \UseTblrLibrary{{booktabs,siunitx}}
% A table is as wide as the text: of article, IEEEtran, acmart, in one column or two."""

    def parts(self, table: ComparisonTable, part: slice) -> Iterable[list[GroupRow]]:
        yield [
            (group, row)
            for group in table.groups
            for row in group.rows
            if any(row.cells[part])
        ]

    def heading(
        self, text: str, width: int, systems: int, texts: Sequence[CellTexts]
    ) -> str:
        span = rf"\SetCell[c={width}]{{c}} " if width > 1 else ""
        return f"{span}{{{text}}}" + " & " * (width - 1)

    def rule(self, first: int, last: int) -> str:
        return rf"\cmidrule[lr]{{{first}-{last}}}"

    def title(self, text: str, width: int) -> str:
        # The star keeps this line on the page of the next one.
        return rf"\SetCell[c={width}]{{l}} {{\bfseries {text}}}{' &' * (width - 1)} \\*"

    def row(self, label: str, cells: CellTexts) -> Iterator[str]:
        firsts = " & ".join(first for first, _second in cells)
        if any(second for _first, second in cells):
            seconds = " & ".join(second for _first, second in cells)
            yield rf"\SetCell[r=2]{{h}} {{{label}}} & {firsts} \\*"
            yield rf" & {seconds} \\"
        else:
            yield rf"{{{label}}} & {firsts} \\"

    def table(self, parts: LatexTableParts) -> Iterator[str]:
        # Tabularray's X columns would set widths, too, but typeset cells three times.
        label, system = (f"wd={width}" for width in _widths(parts.systems))
        numbers = (
            f"Q[c,{system},si={{{number_format(cells)}}}]"
            for cells in zip(*parts.texts, strict=True)
        )
        heads = len(parts.heads)
        spec = tblr_spec(
            f"Q[l,{label}]{''.join(numbers)}",
            f"1-{heads}",
            (*parts.heads, r"\midrule", *parts.body),
        )
        if len(parts.body) <= self.MAX_FLOATING_LINES:
            yield from floating_tblr(
                "table", parts.caption, parts.label, spec, parts.notes
            )
            return
        # Notes follow the table: inside, tabularray would reserve space on every page.
        caption = f"caption={{{parts.caption}}},entry={{{parts.title}}}"
        yield r"\begingroup\virtlabfonts"
        yield rf"\begin{{longtblr}}[{caption},"
        yield rf" label={{{parts.label}}},postsep=\smallskipamount]{{rowhead={heads},"
        yield from (*spec, r"\end{longtblr}")
        yield from (rf"\nopagebreak{parts.notes}", r"\endgroup")


def tblr_spec(colspec: str, head_rows: str, rows: Iterable[str]) -> tuple[str, ...]:
    return (
        f" colspec={{{colspec}}},",
        f" row{{{head_rows}}}={{guard,c}}, cell{{{head_rows}}}{{1}}={{l}},",
        f" colsep={GAP_PT / 2:g}pt, rowsep=0pt, hspan=minimal}}",
        r"\toprule",
        *rows,
        r"\bottomrule",
    )


def floating_tblr(
    kind: str, caption: str, label: str, spec: Iterable[str], *notes: str
) -> Iterator[str]:
    yield rf"\begin{{{kind}}}[htbp]\virtlabfonts"
    yield rf"\caption{{{caption}}}\label{{{label}}}"
    yield from (r"\begin{tblr}{", *spec, r"\end{tblr}", *notes)
    yield rf"\end{{{kind}}}"


DEFAULT_STYLE: Final = Tabularray()


@dataclass(frozen=True)
class Tabular:
    """Style with only ``tabular``: tables fit a column or, if wide, the page."""

    is_wide: bool = False
    name: ClassVar = "paper"
    # A float must fit on a page.
    MOST_LINES: ClassVar = 34
    preamble: ClassVar = rf"""{REQUIRED_PACKAGES}
%   \usepackage{{textcomp,array,booktabs,siunitx}}
% For article, IEEEtran and acmart, in one column or two."""
    NARROW: ClassVar = (
        r"\ifdim\linewidth<450pt\relax\def\virtlabsmall{\fontsize{5}{6}\selectfont}"
        r"\fontsize{7}{8.5}\selectfont\fi"
    )

    @property
    def most_systems(self) -> int:
        return 5 if self.is_wide else 3

    def parts(self, table: ComparisonTable, part: slice) -> Iterable[list[GroupRow]]:
        lines: list[GroupRow] = []
        height = 0
        for group, row in next(iter(DEFAULT_STYLE.parts(table, part))):
            is_first = not lines or lines[-1][0] is not group
            row_height = 2 + is_first
            if lines and height + row_height > self.MOST_LINES:
                yield lines
                lines, height = [], 0
            lines.append((group, row))
            height += row_height
        if lines:
            yield lines

    def heading(
        self, text: str, width: int, systems: int, texts: Sequence[CellTexts]
    ) -> str:
        system = self._widths(systems, texts)[1]
        gaps = GAP_PT * (width - 1)
        total_width = rf"\dimexpr ({system})*{width}+{gaps}pt\relax"
        column = rf">{{\centering\arraybackslash}}p{{{total_width}}}"
        return rf"\multicolumn{{{width}}}{{{column}}}{{{text}}}"

    def rule(self, first: int, last: int) -> str:
        return rf"\cmidrule(lr){{{first}-{last}}}"

    def title(self, text: str, width: int) -> str:
        return (
            rf"\multicolumn{{{width}}}{{>{{\raggedright\arraybackslash}}"
            rf"p{{\dimexpr\linewidth-{GAP_PT}pt\relax}}}}{{\bfseries {text}}} \\*"
        )

    def row(self, label: str, cells: CellTexts) -> Iterator[str]:
        firsts = " & ".join(first for first, _second in cells)
        yield rf"{label} & {firsts} \\"
        if any(second for _first, second in cells):
            seconds = " & ".join(second for _first, second in cells)
            yield rf" & {seconds} \\"

    def table(self, parts: LatexTableParts) -> Iterator[str]:
        kind = "table*" if self.is_wide else "table"
        label, system = self._widths(parts.systems, parts.texts)
        labels = rf">{{\raggedright\arraybackslash}}p{{\dimexpr {label}\relax}}"
        numbers = (
            rf"S[{number_format(cells)},table-column-width=\dimexpr {system}\relax]"
            for cells in zip(*parts.texts, strict=True)
        )
        yield rf"\begin{{{kind}}}[htbp]\virtlabfonts{self.NARROW * self.is_wide}"
        yield rf"\setlength{{\tabcolsep}}{{{GAP_PT / 2:g}pt}}"
        yield rf"\caption{{{parts.caption}}}\label{{{parts.label}}}"
        yield rf"\begin{{tabular}}{{{labels}{''.join(numbers)}}}"
        yield from (r"\toprule", *parts.heads, r"\midrule", *parts.body)
        yield from (r"\bottomrule", r"\end{tabular}", parts.notes)
        yield rf"\end{{{kind}}}"

    def _widths(self, systems: int, texts: Sequence[CellTexts]) -> tuple[str, str]:
        intervals = [second for row in texts for _first, second in row if second]
        longest = max((len(text) - len(SMALL_FONT) for text in intervals), default=0)
        needed = (longest * DIGIT_PT + GAP_PT) / COLUMN_PT
        if self.is_wide or needed <= 1 / (LABEL_WIDTH_SHARE + systems):
            return _widths(systems)
        return _widths(systems, max(MIN_LABEL_WIDTH_SHARE, 1 / needed - systems))


LatexStyle = Tabularray | Tabular


def _widths(systems: int, label: float = LABEL_WIDTH_SHARE) -> tuple[str, str]:
    unit_width = 1 / (label + systems)
    label_width, system_width = (
        rf"{part:.4f}\linewidth-{GAP_PT}pt" for part in (label * unit_width, unit_width)
    )
    return label_width, system_width


def number_format(cells: Sequence[tuple[str, str]]) -> str:
    """Return the siunitx options that fit the digits of a column."""
    numbers = [number for first, _ in cells if (number := TYPESET_NUMBER.match(first))]
    sign = "-" if any(number[1] for number in numbers) else ""
    integer_digits = max((len(number[2]) for number in numbers), default=1)
    fraction_digits = max((len(number[3]) for number in numbers), default=0)
    # A minus sign is as wide as two digits.
    if integer_digits + fraction_digits + 2 * len(sign) > ALIGNED_DIGITS:
        return "table-alignment-mode=none"
    return f"table-format={sign}{integer_digits}.{fraction_digits}"


def _heading_lines(
    columns: Sequence[Column], texts: Sequence[CellTexts], style: "LatexStyle"
) -> Iterator[str]:
    for name, headings in heading_lines(columns):
        cells = [allow_breaks(wording.property_name(name)) if name else ""]
        rules, column = [], 2
        for text, width in headings:
            cells.append(style.heading(allow_breaks(text), width, len(columns), texts))
            if text and width > 1:
                rules.append(style.rule(column, column + width - 1))
            column += width
        yield " & ".join(cells) + r" \\" + "".join(rules)


def _body_lines(
    group_rows: Sequence[GroupRow], texts: Sequence[CellTexts], style: "LatexStyle"
) -> Iterator[str]:
    lines = zip(group_rows, texts, strict=True)
    for _key, members in groupby(lines, key=lambda line: id(line[0][0])):
        rows = list(members)
        group, width = rows[0][0][0], len(rows[0][1]) + 1
        yield style.title(allow_breaks(group_text(group, ", ")), width)
        for (_group, row), cells in rows:
            yield from style.row(allow_breaks(row_text(row, ", ")), cells)


def _cell(
    row: ComparisonRow | None, show: str, letters: Mapping[str, str], decimals: int
) -> tuple[str, str]:
    """Return a cell's text and the text below it, such as the interval."""
    if row is None:
        return NOT_MEASURED, ""
    note_letters = "".join(sorted(letters[note] for note in _note_codes(row)))
    superscript = rf"\textsuperscript{{{note_letters}}}" if note_letters else ""
    ratio = ratio_text(row, show)
    if ratio and show != MEASURED_VALUE:
        sign = _sign(row.result.assessment)
        ends = interval_ends(row, show)
        below = f"[{escape_latex(ends[0])}, {escape_latex(ends[1])}]" if ends else ""
        return _number(ratio, sign + superscript), _small_text(below)
    if row.result.ratio_range is not None and show != MEASURED_VALUE:
        sign = _sign(row.result.assessment)
        low, high = ratio_range_ends(row, show)
        below = rf"\textendash{{}} {escape_latex(high)}"
        return _number(low, sign + superscript), _small_text(below)
    if not row.result.n:
        failed = state_names.state_name(row.result.state)
        return _number(failed, superscript, r"\itshape "), ""
    ends = speeds_or_range(row.result) if row.result.value is None else None
    if ends:
        separator = r"\textbar{}" if row.result.mode_medians else r"\textendash{}"
        below = rf"{separator} \textit{{{escape_latex(ends[1])}}}"
        return _number(ends[0], superscript, r"\itshape "), _small_text(below)
    figure = value_text(row.result, decimals=decimals)
    return _number(figure, superscript, r"\itshape ") if figure else NOT_MEASURED, ""


def _sign(assessment: CellAssessment | None) -> str:
    sign = LATEX_SIGNS.get(assessment.verdict, "") if assessment else ""
    return (
        sign + verdicts.WEAK_SIGN
        if sign and assessment and assessment.is_weak
        else sign
    )


def _number(text: str, after: str, style: str = "") -> str:
    number = NUMBER.fullmatch(text)
    if number is None:
        return f"{{{{{{{style}{escape_latex(text)}{after}}}}}}}"
    sign, digits, unit = number.groups()
    after = f"{escape_latex(unit)}{after}"
    hanging = rf"{{\rlap{{{after}}}}}" if after else ""
    return f"{style}{'-' if sign else ''}{digits.replace(',', '')}{hanging}"


def _small_text(text: str) -> str:
    return rf"{{{{{{\virtlabsmall {text}}}}}}}" if text else ""


def _note_codes(row: ComparisonRow) -> list[str]:
    state = row.result.display_state
    notes = [] if state in UNLABELLED_STATES else [state]
    codes = verdicts.withheld_codes(row.result.assessment)
    has_ratio = row.result.ratio is not None
    return notes + [code for code in codes if has_ratio or code == "flagged"]


def allow_breaks(text: str) -> str:
    """Return a text escaped for LaTeX, in which long words may break.

    The empty space at its start allows hyphenation of the first word.
    """
    words = []
    for word in text.split(" "):
        parts = (
            filter(None, BREAK_AFTER_SIGN.split(word))
            if len(word) > MAX_WORD
            else [word]
        )
        pieces: list[str] = []
        for piece in parts:
            step = MAX_WORD_PART // 2 if len(piece) > MAX_WORD_PART else MAX_WORD_PART
            pieces += (
                piece[start : start + step] for start in range(0, len(piece), step)
            )
        words.append(r"\allowbreak{}".join(map(escape_latex, pieces)))
    return r"\hspace{0pt}" + " ".join(words)


def caption_text(
    table: ComparisonTable, source: ExportSource, part_number: tuple[int, int]
) -> str:
    common = [wording.scenario_name(table.scenario)] if table.scenario else []
    common += [wording.fact_text(fact) for fact in table.head.constants]
    texts = [f"{source.title}: {source.compared_with}."]
    if common:
        texts.append(
            _("Common to all systems: %(facts)s.") % {"facts": ", ".join(common)}
        )
    texts += shared_guest_facts(table.head)
    if part_number[1] > 1:
        values = {"part": part_number[0], "all": part_number[1]}
        texts.append(_("Part %(part)s of %(all)s.") % values)
    return allow_breaks(" ".join(texts))


def table_notes(
    table: ComparisonTable, source: ExportSource, letters: Mapping[str, str]
) -> Iterator[str]:
    yield r"{\par\smallskip\noindent\virtlabnote\raggedright"
    yield from _explanations(table, source)
    for note, letter in letters.items():
        meaning = verdicts.WITHHELD_REASONS.get(note) or state_names.state_meaning(note)
        yield rf"\textsuperscript{{{letter}}} {escape_latex(str(meaning))}."
    documents = dict.fromkeys(cell.document for cell in table.cells if cell.document)
    origins = "; ".join(map(allow_breaks, (*documents, source.url)))
    yield escape_latex(_("Source:"))
    yield rf"{origins}, {source.created_on}.\par}}"


def _explanations(table: ComparisonTable, source: ExportSource) -> Iterator[str]:
    meanings = {
        ENERGY: _(
            "Ratios of the energy (joules) for the same work: 1 is the baseline, "
            "lower is better. Energies are in italics, in the unit of the row."
        ),
        OVERHEAD: _(
            "Overheads: the loss relative to the baseline; lower is better. Measured "
            "values are in italics."
        ),
        MEASURED_VALUE: _(
            "Measured values are means over runs, in the unit of the row."
        ),
    }
    default_meaning = _(
        "Ratios: 1 is the baseline, higher is better. Measured values are in italics."
    )
    yield escape_latex(meanings.get(source.quantity, default_meaning))
    if source.quantity != MEASURED_VALUE and table.is_single_run:
        yield escape_latex(_("Single runs have no intervals and no verdicts."))
    elif source.quantity != MEASURED_VALUE:
        yield escape_latex(_("In brackets: 95% confidence intervals. Verdicts:"))
        measure = ENERGY_PER_WORK if source.quantity == ENERGY else RELATIVE_SPEED
        signs = (
            f"{LATEX_SIGNS[name]} {escape_latex(verdicts.verdict_name(name))}"
            for name in measure.verdicts
        )
        yield ", ".join(signs) + "."
        margin = _("The equivalence margin is %(margin)s%%.")
        if source.tested_count > 1:
            margin = _(
                "The equivalence margin is %(margin)s%%. Verdicts are corrected "
                "for %(n)s results tested together (Benjamini-Hochberg, 5%%)."
            )
        percent = f"{source.equivalence_margin_percent:g}"
        yield escape_latex(margin % {"margin": percent, "n": source.tested_count})
        assessments = [cell.result.assessment for cell in table.cells]
        yield escape_latex(
            verdicts.verdict_scopes_text(verdicts.count_verdict_scopes(assessments))
        )
        if any(
            assessment and assessment.is_weak and assessment.is_assessed
            for assessment in assessments
        ):
            yield escape_latex(f"{verdicts.WEAK_SIGN} {verdicts.WEAK_MEANING}.")
    counts = {
        n for cell in table.cells for n in (cell.result.n, cell.result.baseline_n) if n
    }
    if len(counts) < 2:
        runs = _("Runs per result: %(least)s.")
    else:
        runs = _("Runs per result: %(least)s to %(most)s.")
    minimum, maximum = min(counts, default=0), max(counts, default=0)
    yield escape_latex(runs % {"least": minimum, "most": maximum})
