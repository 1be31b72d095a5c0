r"""A comparison as LaTeX tables, with columns for systems and rows for cases.

The text is a fragment for ``input``; its first lines name the packages it needs.
Column widths are shares of the line in any document class, and siunitx aligns
numbers on the decimal sign. `TABULARRAY` breaks long tables across pages; `Tabular`
is for publishers that typeset from the source (ACM's TAPS) and know nothing but
``tabular``, siunitx and booktabs.

Three pairs of braces keep a cell that is not a number from siunitx.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import ClassVar, Final

from django.utils.translation import gettext as _

from benchmarks.analysis.judgement import Judgement
from benchmarks.comparing.row import ENERGY_PER_WORK, RELATIVE_SPEED, ComparisonRow
from benchmarks.comparing.table import CaseGroup, CaseRow, Column, ComparisonTable
from dashboard import wording
from dashboard.exports.escaping import OTHER_CHARACTER, tex
from dashboard.exports.table_texts import (
    Source,
    group_text,
    guests_text,
    heading_lines,
    row_text,
)
from dashboard.kit.figures import for_files
from dashboard.kit.selections import ENERGY, SPEED
from dashboard.kit.table_cells import SILENT, both_ends, row_decimals, row_figure
from dashboard.wording import states, verdicts
from dashboard.wording.verdicts import (
    OVERHEAD,
    VALUE,
    interval_ends,
    ratio_range_ends,
    ratio_text,
)

# What a row's label takes of the line, in parts of what a system takes.
LABEL_SHARE = 1.75
GAP_PT = 6
COLUMN_PT: Final = 229
"""The narrowest column: of `article` in two columns."""
DIGIT_PT: Final = 2.9
"""Of an interval in `virtlabsmall`, which has 5 pt there."""
SMALL: Final = r"{{{\virtlabsmall }}}"
LEAST_LABEL_SHARE: Final = 0.7
# A number with more digits has no room for those of others beside it: then the numbers
# of its column are centred, not aligned.
ALIGNED_DIGITS = 7
NEEDED = r"""% In the preamble (Debian: texlive-latex-extra, texlive-science):
%   \usepackage[T1]{fontenc}"""
# Lines end in a command, so that no end of a line becomes a space on paper.
FONTS = r"""\providecommand{\virtlabfonts}{\ifdim\linewidth<300pt\relax
  \def\virtlabsmall{\fontsize{5}{6}\selectfont}\relax
  \def\virtlabnote{\fontsize{6}{7}\selectfont}\fontsize{7}{8.5}\selectfont\else
  \def\virtlabsmall{\fontsize{6}{7}\selectfont}\relax
  \def\virtlabnote{\fontsize{7}{8.5}\selectfont}\fontsize{8}{9.5}\selectfont\fi
  \sisetup{mode=text,reset-text-shape=false,table-align-text-after=false}}"""
SIGNS = {
    **{"slower": "$<$", "faster": "$>$", "less": "$<$", "more": "$>$"},
    **{"equivalent": "$=$", "undetermined": "?"},
}
NOT_MEASURED = r"{{{\textendash{}}}}"
NUMBER = re.compile(r"([-\N{MINUS SIGN}]?)([\d,]+(?:\.\d+)?)([^\d]*)")
SET_NUMBER = re.compile(r"(?:\\itshape )?(-?)(\d+)\.?(\d*)")
AFTER_SIGN = re.compile(r"(?<=[-_/.,=:;+&])")
# A longer word breaks after its signs; a longer part of it after so many letters.
WORD, PART = 8, 16


Measured = tuple[CaseGroup, CaseRow]
Texts = Sequence[tuple[str, str]]
"""The cells of a row, and the text below each."""


@dataclass(frozen=True)
class Written:
    """The parts of one table as LaTeX."""

    caption: str
    label: str
    title: str
    heads: Sequence[str]
    body: Sequence[str]
    texts: Sequence[Texts]
    systems: int
    notes: str


@for_files()
def latex(
    table: ComparisonTable, source: Source, setter: "Setter | None" = None
) -> str:
    """Return the tables of a comparison, each with caption, label and notes."""
    setter = setter or TABULARRAY
    size = setter.most_systems
    parts = [
        (slice(start, start + size), lines)
        for start in range(0, len(table.head.columns), size)
        for lines in setter.parts(table, slice(start, start + size))
    ]
    tables = (
        "\n".join(_table(table, source, part, lines, (number, len(parts)), setter))
        for number, (part, lines) in enumerate(parts, start=1)
    )
    head = f"% {tex(source.title)} ({source.slug}), {source.made_on}"
    return "\n".join([head, setter.preamble, OTHER_CHARACTER, FONTS, *tables]) + "\n"


def _table(
    table: ComparisonTable,
    source: Source,
    part: slice,
    measured: Sequence[Measured],
    place: tuple[int, int],
    setter: "Setter",
) -> Iterator[str]:
    cells = [cell for _group, row in measured for cell in row.cells[part] if cell]
    # Each note below the table has a letter.
    notes = sorted({note for cell in cells for note in _noted(cell)})
    letters = {note: chr(ord("a") + at) for at, note in enumerate(notes)}
    texts = []
    for _group, row in measured:
        decimals = row_decimals(row.cells)
        texts.append(
            [_cell(cell, source.show, letters, decimals) for cell in row.cells[part]]
        )
    systems = table.head.columns[part]
    shows = "" if source.show == SPEED else source.show
    part_of = str(place[0]) if place[1] > 1 else ""
    names = (source.slug, setter.name, shows, part_of)
    return setter.table(
        Written(
            caption=caption_text(table, source, place),
            label="tab:" + "-".join(filter(None, names)),
            title=tex(source.title),
            heads=list(_heading_lines(systems, texts, setter)),
            body=list(_body_lines(measured, texts, setter)),
            texts=texts,
            systems=len(systems),
            notes=" ".join(notes_below(table, source, letters)),
        )
    )


class Tabularray:
    """Tables that break across pages, as wide as the text or its column."""

    most_systems = 4
    name = ""
    # Tables with more lines may break across pages; others float.
    FLOATING_LINES: ClassVar = 16
    preamble = rf"""{NEEDED}
%   \usepackage{{textcomp,tabularray}}
%   \UseTblrLibrary{{booktabs,siunitx}}
% A table is as wide as the text: of article, IEEEtran, acmart, in one column or two."""

    def parts(self, table: ComparisonTable, part: slice) -> Iterable[list[Measured]]:
        yield [
            (group, row)
            for group in table.groups
            for row in group.rows
            if any(row.cells[part])
        ]

    def heading(
        self, text: str, width: int, systems: int, texts: Sequence[Texts]
    ) -> str:
        span = rf"\SetCell[c={width}]{{c}} " if width > 1 else ""
        return f"{span}{{{text}}}" + " & " * (width - 1)

    def rule(self, first: int, last: int) -> str:
        return rf"\cmidrule[lr]{{{first}-{last}}}"

    def title(self, text: str, width: int) -> str:
        # A line that ends with a star stays on the page of the next one.
        return rf"\SetCell[c={width}]{{l}} {{\bfseries {text}}}{' &' * (width - 1)} \\*"

    def row(self, label: str, cells: Texts) -> Iterator[str]:
        firsts = " & ".join(first for first, _second in cells)
        if any(second for _first, second in cells):
            seconds = " & ".join(second for _first, second in cells)
            yield rf"\SetCell[r=2]{{h}} {{{label}}} & {firsts} \\*"
            yield rf" & {seconds} \\"
        else:
            yield rf"{{{label}}} & {firsts} \\"

    def table(self, written: Written) -> Iterator[str]:
        # X columns would set widths, too, but they set each cell three times.
        label, system = (f"wd={width}" for width in _widths(written.systems))
        numbers = (
            f"Q[c,{system},si={{{number_format(cells)}}}]"
            for cells in zip(*written.texts, strict=True)
        )
        heads = len(written.heads)
        spec = tblr_spec(
            f"Q[l,{label}]{''.join(numbers)}",
            f"1-{heads}",
            (*written.heads, r"\midrule", *written.body),
        )
        if len(written.body) <= self.FLOATING_LINES:
            yield from floating_tblr(
                "table", written.caption, written.label, spec, written.notes
            )
            return
        # Notes follow the table: inside, tabularray would reserve their room on
        # every page.
        caption = f"caption={{{written.caption}}},entry={{{written.title}}}"
        yield r"\begingroup\virtlabfonts"
        yield rf"\begin{{longtblr}}[{caption},"
        yield rf" label={{{written.label}}},postsep=\smallskipamount]{{rowhead={heads},"
        yield from (*spec, r"\end{longtblr}")
        yield from (rf"\nopagebreak{written.notes}", r"\endgroup")


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


TABULARRAY: Final = Tabularray()


@dataclass(frozen=True)
class Tabular:
    """Tables of ``tabular`` alone, in a column or, in ``table*``, over the page."""

    is_wide: bool = False
    name: ClassVar = "paper"
    # ``tabular`` does not break, and a float has no more room.
    MOST_LINES: ClassVar = 34
    preamble: ClassVar = rf"""{NEEDED}
%   \usepackage{{textcomp,array,booktabs,siunitx}}
% For article, IEEEtran and acmart, in one column or two."""
    # The text of a class of one column is narrower than a page of two.
    NARROW: ClassVar = (
        r"\ifdim\linewidth<450pt\relax\def\virtlabsmall{\fontsize{5}{6}\selectfont}"
        r"\fontsize{7}{8.5}\selectfont\fi"
    )

    @property
    def most_systems(self) -> int:
        # Fewer than tabularray has room for, which breaks an interval in two lines.
        return 5 if self.is_wide else 3

    def parts(self, table: ComparisonTable, part: slice) -> Iterable[list[Measured]]:
        lines: list[Measured] = []
        height = 0
        for group, row in next(iter(TABULARRAY.parts(table, part))):
            is_first = not lines or lines[-1][0] is not group
            tall = 2 + is_first  # a number and its interval
            if lines and height + tall > self.MOST_LINES:
                yield lines
                lines, height = [], 0
            lines.append((group, row))
            height += tall
        if lines:
            yield lines

    def heading(
        self, text: str, width: int, systems: int, texts: Sequence[Texts]
    ) -> str:
        system = self._widths(systems, texts)[1]
        gaps = GAP_PT * (width - 1)
        wide = rf"\dimexpr ({system})*{width}+{gaps}pt\relax"
        column = rf">{{\centering\arraybackslash}}p{{{wide}}}"
        return rf"\multicolumn{{{width}}}{{{column}}}{{{text}}}"

    def rule(self, first: int, last: int) -> str:
        return rf"\cmidrule(lr){{{first}-{last}}}"

    def title(self, text: str, width: int) -> str:
        return (
            rf"\multicolumn{{{width}}}{{>{{\raggedright\arraybackslash}}"
            rf"p{{\dimexpr\linewidth-{GAP_PT}pt\relax}}}}{{\bfseries {text}}} \\*"
        )

    def row(self, label: str, cells: Texts) -> Iterator[str]:
        firsts = " & ".join(first for first, _second in cells)
        yield rf"{label} & {firsts} \\"
        if any(second for _first, second in cells):
            seconds = " & ".join(second for _first, second in cells)
            yield rf" & {seconds} \\"

    def table(self, written: Written) -> Iterator[str]:
        kind = "table*" if self.is_wide else "table"
        label, system = self._widths(written.systems, written.texts)
        labels = rf">{{\raggedright\arraybackslash}}p{{\dimexpr {label}\relax}}"
        numbers = (
            rf"S[{number_format(cells)},table-column-width=\dimexpr {system}\relax]"
            for cells in zip(*written.texts, strict=True)
        )
        yield rf"\begin{{{kind}}}[htbp]\virtlabfonts{self.NARROW * self.is_wide}"
        yield rf"\setlength{{\tabcolsep}}{{{GAP_PT / 2:g}pt}}"
        yield rf"\caption{{{written.caption}}}\label{{{written.label}}}"
        yield rf"\begin{{tabular}}{{{labels}{''.join(numbers)}}}"
        yield from (r"\toprule", *written.heads, r"\midrule", *written.body)
        yield from (r"\bottomrule", r"\end{tabular}", written.notes)
        yield rf"\end{{{kind}}}"

    def _widths(self, systems: int, texts: Sequence[Texts]) -> tuple[str, str]:
        """Return widths; in narrow columns labels give way to long intervals."""
        drawn = [second for row in texts for _first, second in row if second]
        longest = max((len(text) - len(SMALL) for text in drawn), default=0)
        needed = (longest * DIGIT_PT + GAP_PT) / COLUMN_PT
        if self.is_wide or needed <= 1 / (LABEL_SHARE + systems):
            return _widths(systems)
        return _widths(systems, max(LEAST_LABEL_SHARE, 1 / needed - systems))


Setter = Tabularray | Tabular


def _widths(systems: int, label: float = LABEL_SHARE) -> tuple[str, str]:
    """Return the widths of labels and of systems, without the gaps around them."""
    share = 1 / (label + systems)
    own, each = (rf"{part:.4f}\linewidth-{GAP_PT}pt" for part in (label * share, share))
    return own, each


def number_format(cells: Sequence[tuple[str, str]]) -> str:
    """Return for how many digits siunitx keeps room in a column."""
    numbers = [number for first, _ in cells if (number := SET_NUMBER.match(first))]
    sign = "-" if any(number[1] for number in numbers) else ""
    whole = max((len(number[2]) for number in numbers), default=1)
    fraction = max((len(number[3]) for number in numbers), default=0)
    # A minus takes the room of two digits.
    if whole + fraction + 2 * len(sign) > ALIGNED_DIGITS:
        return "table-alignment-mode=none"
    return f"table-format={sign}{whole}.{fraction}"


def _heading_lines(
    columns: Sequence[Column], texts: Sequence[Texts], setter: "Setter"
) -> Iterator[str]:
    """Yield the platforms and, below, each property by which the columns differ."""
    for name, headings in heading_lines(columns):
        cells = [broken(wording.property_name(name)) if name else ""]
        rules, at = [], 2
        for text, width in headings:
            cells.append(setter.heading(broken(text), width, len(columns), texts))
            if text and width > 1:
                rules.append(setter.rule(at, at + width - 1))
            at += width
        yield " & ".join(cells) + r" \\" + "".join(rules)


def _body_lines(
    measured: Sequence[Measured], texts: Sequence[Texts], setter: "Setter"
) -> Iterator[str]:
    """Yield the rows, those of one tool and component under what they share."""
    lines = zip(measured, texts, strict=True)
    for _key, members in groupby(lines, key=lambda line: id(line[0][0])):
        rows = list(members)
        group, width = rows[0][0][0], len(rows[0][1]) + 1
        yield setter.title(broken(group_text(group, ", ")), width)
        for (_group, row), cells in rows:
            yield from setter.row(broken(row_text(row, ", ")), cells)


def _cell(
    row: ComparisonRow | None, show: str, letters: Mapping[str, str], decimals: int
) -> tuple[str, str]:
    """Return a cell and what stands below it: an interval, or the other of two ends."""
    if row is None:
        return NOT_MEASURED, ""
    marks = "".join(sorted(letters[note] for note in _noted(row)))
    mark = rf"\textsuperscript{{{marks}}}" if marks else ""
    ratio = ratio_text(row, show)
    if ratio and show != VALUE:
        sign = _sign(row.shown.judgement)
        ends = interval_ends(row, show)
        second = f"[{tex(ends[0])}, {tex(ends[1])}]" if ends else ""
        return _number(ratio, sign + mark), _below(second)
    if row.shown.ratio_range is not None and show != VALUE:
        sign = _sign(row.shown.judgement)
        low, high = ratio_range_ends(row, show)
        second = rf"\textendash{{}} {tex(high)}"
        return _number(low, sign + mark), _below(second)
    ends = both_ends(row.shown) if row.shown.value is None else None
    if ends:
        between = r"\textbar{}" if row.shown.speeds else r"\textendash{}"
        second = rf"{between} \textit{{{tex(ends[1])}}}"
        return _number(ends[0], mark, r"\itshape "), _below(second)
    figure = row_figure(row.shown, decimals=decimals)
    return _number(figure, mark, r"\itshape ") if figure else NOT_MEASURED, ""


def _sign(judgement: Judgement | None) -> str:
    """Return a verdict's sign, with a star where it rests on an assumption."""
    sign = SIGNS.get(judgement.verdict, "") if judgement else ""
    return sign + verdicts.WEAK if sign and judgement and judgement.is_weak else sign


def _number(text: str, after: str, style: str = "") -> str:
    r"""Return a number as siunitx reads it; what stands after it takes no room."""
    number = NUMBER.fullmatch(text)
    if number is None:
        return f"{{{{{{{style}{tex(text)}{after}}}}}}}"
    sign, digits, unit = number.groups()
    after = f"{tex(unit)}{after}"
    hanging = rf"{{\rlap{{{after}}}}}" if after else ""
    return f"{style}{'-' if sign else ''}{digits.replace(',', '')}{hanging}"


def _below(text: str) -> str:
    return rf"{{{{{{\virtlabsmall {text}}}}}}}" if text else ""


def _noted(row: ComparisonRow) -> list[str]:
    """Return the state of a cell and what withholds its verdict."""
    state = row.shown.full_state
    notes = [] if state in SILENT else [state]
    codes = verdicts.withheld(row.shown.judgement)
    has_ratio = row.shown.ratio is not None
    return notes + [code for code in codes if has_ratio or code == "flagged"]


def broken(text: str) -> str:
    """Return a text whose long words may break after their signs.

    The empty space lets TeX hyphenate the first word of a cell, too.
    """
    words = []
    for word in text.split(" "):
        parts = filter(None, AFTER_SIGN.split(word)) if len(word) > WORD else [word]
        pieces: list[str] = []
        for piece in parts:
            step = PART // 2 if len(piece) > PART else PART
            pieces += (piece[at : at + step] for at in range(0, len(piece), step))
        words.append(r"\allowbreak{}".join(map(tex, pieces)))
    return r"\hspace{0pt}" + " ".join(words)


def caption_text(table: ComparisonTable, source: Source, place: tuple[int, int]) -> str:
    common = [wording.scenario_name(table.scenario)] if table.scenario else []
    common += [wording.fact_text(fact) for fact in table.head.constants]
    texts = [f"{source.title}: {source.against}."]
    if common:
        texts.append(_("In common: %(facts)s.") % {"facts": ", ".join(common)})
    texts += guests_text(table.head)
    if place[1] > 1:
        words = {"part": place[0], "all": place[1]}
        texts.append(_("Part %(part)s of %(all)s.") % words)
    return broken(" ".join(texts))


def notes_below(
    table: ComparisonTable, source: Source, letters: Mapping[str, str]
) -> Iterator[str]:
    """Yield what stands below a table, as one paragraph."""
    yield r"{\par\smallskip\noindent\virtlabnote\raggedright"
    yield from _remarks(table, source)
    for note, letter in letters.items():
        meaning = verdicts.WITHHELD.get(note) or states.state_meaning(note)
        yield rf"\textsuperscript{{{letter}}} {tex(str(meaning))}."
    documents = dict.fromkeys(cell.document for cell in table.cells if cell.document)
    origins = "; ".join(map(broken, (*documents, source.address)))
    yield tex(_("Source:"))
    yield rf"{origins}, {source.made_on}.\par}}"


def _remarks(table: ComparisonTable, source: Source) -> Iterator[str]:
    """Say what the numbers and signs are, and how many runs stand behind them."""
    meanings = {
        ENERGY: _(
            "Ratios of the joules for the same work: 1 is the baseline, less is "
            "better. In italics: energies, in the unit of the row."
        ),
        OVERHEAD: _(
            "Overheads: the loss against the baseline; less is better. In italics: "
            "values."
        ),
        VALUE: _("Measured values: means over runs, in the unit of the row."),
    }
    usual = _("Ratios: 1 is the baseline, more is better. In italics: values.")
    yield tex(meanings.get(source.show, usual))
    if source.show != VALUE and table.is_single_run:
        yield tex(_("Single runs: there are no intervals and no verdicts."))
    elif source.show != VALUE:
        yield tex(_("In brackets: 95 % intervals. Verdicts:"))
        measure = ENERGY_PER_WORK if source.show == ENERGY else RELATIVE_SPEED
        signs = (
            f"{SIGNS[name]} {tex(verdicts.verdict_name(name))}"
            for name in measure.verdicts
        )
        yield ", ".join(signs) + "."
        margin = _("The equivalence margin is %(margin)s %%.")
        if source.tested > 1:
            margin = _(
                "The equivalence margin is %(margin)s %%; corrected for %(n)s results "
                "that were tested together (Benjamini-Hochberg, 5 %%)."
            )
        percent = f"{source.equivalence_margin_percent:g}"
        yield tex(margin % {"margin": percent, "n": source.tested})
        judged = [cell.shown.judgement for cell in table.cells]
        yield tex(verdicts.scopes_text(verdicts.judged_scopes(judged)))
        if any(it and it.is_weak and it.is_assessed for it in judged):
            yield tex(f"{verdicts.WEAK} {verdicts.WEAK_MEANING}.")
    counts = {
        n for cell in table.cells for n in (cell.shown.n, cell.shown.baseline_n) if n
    }
    if len(counts) < 2:
        runs = _("Runs behind each number: %(least)s.")
    else:
        runs = _("Runs behind each number: %(least)s to %(most)s.")
    least, most = min(counts, default=0), max(counts, default=0)
    yield tex(runs % {"least": least, "most": most})
