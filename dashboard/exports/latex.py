r"""A comparison as LaTeX tables, as the compare page shows it.

Columns are systems, rows are cases. The text is a fragment for ``input``; its first
lines say which packages it needs. TeX does the layout: columns are shares of the
line, whatever the class of the document, and tabularray parts a long table at the end
of a page or of its column; siunitx sets a column's numbers on one decimal sign.

A cell that is not a number stands in three pairs of braces: so tabularray keeps it
from siunitx.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from django.utils.translation import gettext as _

from benchmarks.analysis.judgement import Judgement
from benchmarks.comparing.row import ComparisonRow
from benchmarks.comparing.table import CaseGroup, CaseRow, Column, ComparisonTable
from dashboard import wording
from dashboard.exports.escaping import OTHER_CHARACTER, tex
from dashboard.exports.sources import Source
from dashboard.exports.table_texts import (
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

# As many systems as a column of a two-column journal has room for.
SYSTEMS = 4
# What a row's label takes of the line, in parts of what a system takes.
LABEL_SHARE = 1.75
GAP_PT = 6
# A number with more digits has no room for those of others beside it: then the numbers
# of its column are centred, not aligned.
ALIGNED_DIGITS = 7
# A table with more lines than this may part at the end of a page; others float.
LINES = 16
PREAMBLE = r"""% In the preamble (Debian: texlive-latex-extra, texlive-science):
%   \usepackage[T1]{fontenc}
%   \usepackage{textcomp,tabularray}
%   \UseTblrLibrary{booktabs,siunitx}
% A table is as wide as the text: of article, IEEEtran, acmart, in one column or two."""
# Lines end in a command, so that no end of a line becomes a space on paper.
FONTS = r"""\providecommand{\virtlabfonts}{\ifdim\linewidth<300pt\relax
  \def\virtlabsmall{\fontsize{5}{6}\selectfont}\relax
  \def\virtlabnote{\fontsize{6}{7}\selectfont}\fontsize{7}{8.5}\selectfont\else
  \def\virtlabsmall{\fontsize{6}{7}\selectfont}\relax
  \def\virtlabnote{\fontsize{7}{8.5}\selectfont}\fontsize{8}{9.5}\selectfont\fi
  \sisetup{mode=text,reset-text-shape=false,table-align-text-after=false}}"""
SIGNS = {"slower": "$<$", "faster": "$>$", "equivalent": "$=$", "undetermined": "?"}
SIGNS_OF_ENERGY = {
    "less": "$<$",
    "more": "$>$",
    "equivalent": "$=$",
    "undetermined": "?",
}
NOT_MEASURED = r"{{{\textendash{}}}}"
NUMBER = re.compile(r"([-\N{MINUS SIGN}]?)([\d,]+(?:\.\d+)?)([^\d]*)")
SET_NUMBER = re.compile(r"(?:\\itshape )?(-?)(\d+)\.?(\d*)")
AFTER_SIGN = re.compile(r"(?<=[-_/.,=:;+&])")
# A longer word breaks after its signs; a longer part of it after so many letters.
WORD, PART = 8, 16


@for_files()
def latex(table: ComparisonTable, source: Source) -> str:
    """Return the tables of a comparison, each with caption, label and notes."""
    starts = range(0, len(table.head.columns), SYSTEMS)
    tables = (
        _table(table, source, slice(start, start + SYSTEMS), (number, len(starts)))
        for number, start in enumerate(starts, start=1)
    )
    head = f"% {tex(source.title)} ({source.slug}), {source.made_on}"
    return "\n".join([head, PREAMBLE, OTHER_CHARACTER, FONTS, *tables]) + "\n"


def _table(
    table: ComparisonTable, source: Source, part: slice, place: tuple[int, int]
) -> str:
    measured = [
        (group, row)
        for group in table.groups
        for row in group.rows
        if any(row.cells[part])
    ]
    cells = [cell for _group, row in measured for cell in row.cells[part] if cell]
    letters = letters_of(cells)
    texts = [row_cells(row, part, source.show, letters) for _group, row in measured]
    systems = table.head.columns[part]
    heads = list(_heading_lines(systems))
    body = list(_body_lines(measured, texts))
    caption = caption_text(table, source, place)
    shows = "" if source.show == SPEED else source.show
    part_of = str(place[0]) if place[1] > 1 else ""
    label = "tab:" + "-".join(filter(None, (source.slug, shows, part_of)))
    notes = " ".join(notes_below(table, source, letters))
    spec = [
        f" colspec={{{_columns(texts, len(systems))}}},",
        f" row{{1-{len(heads)}}}={{guard,c}}, cell{{1-{len(heads)}}}{{1}}={{l}},",
        f" colsep={GAP_PT / 2:g}pt, rowsep=0pt, hspan=minimal}}",
        r"\toprule",
        *heads,
        r"\midrule",
        *body,
        r"\bottomrule",
    ]
    if len(body) <= LINES:
        lines = [
            r"\begin{table}[htbp]\virtlabfonts",
            rf"\caption{{{caption}}}\label{{{label}}}",
            r"\begin{tblr}{",
            *spec,
            r"\end{tblr}",
            notes,
            r"\end{table}",
        ]
    else:
        # The notes stand behind: tabularray leaves no room on the last page for more
        # than it has on the others.
        lines = [
            r"\begingroup\virtlabfonts",
            rf"\begin{{longtblr}}[caption={{{caption}}},entry={{{tex(source.title)}}},",
            rf" label={{{label}}},postsep=\smallskipamount]{{rowhead={len(heads)},",
            *spec,
            r"\end{longtblr}",
            rf"\nopagebreak{notes}",
            r"\endgroup",
        ]
    return "\n".join(lines)


def letters_of(cells: Iterable[ComparisonRow]) -> dict[str, str]:
    """Return a letter for each thing that has to be explained below a table."""
    notes = sorted({note for cell in cells for note in _noted(cell)})
    # There are fewer notes than letters.
    return {note: chr(ord("a") + at) for at, note in enumerate(notes)}


def _columns(texts: Sequence[Sequence[tuple[str, str]]], count: int) -> str:
    """Return the column of the labels and those of the systems, between their gaps.

    Widths could be left to tabularray (X columns), which sets each cell three times.
    """
    share = 1 / (LABEL_SHARE + count)
    label, system = (
        rf"wd={part:.4f}\linewidth-{GAP_PT}pt" for part in (LABEL_SHARE * share, share)
    )
    systems = (
        f"Q[c,{system},si={{{number_format(cells)}}}]"
        for cells in zip(*texts, strict=True)
    )
    return "".join([f"Q[l,{label}]", *systems])


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


def _heading_lines(columns: Sequence[Column]) -> Iterator[str]:
    """Yield the platforms and, below, each property by which the columns differ."""
    for name, headings in heading_lines(columns):
        cells = [broken(wording.property_name(name)) if name else ""]
        rules, at = [], 2
        for text, width in headings:
            span = rf"\SetCell[c={width}]{{c}} " if width > 1 else ""
            cells += [f"{span}{{{broken(text)}}}", *([""] * (width - 1))]
            if text and width > 1:
                rules.append(rf"\cmidrule[lr]{{{at}-{at + width - 1}}}")
            at += width
        yield " & ".join(cells) + r" \\" + "".join(rules)


def _body_lines(
    measured: Sequence[tuple[CaseGroup, CaseRow]],
    texts: Sequence[Sequence[tuple[str, str]]],
) -> Iterator[str]:
    """Yield the rows, those of one tool and component under what they share.

    A line that ends with a star stays on the page of the next one.
    """
    shown = None
    for (group, row), cells in zip(measured, texts, strict=True):
        if group is not shown:
            shown = group
            title = rf"\bfseries {broken(group_text(group, ', '))}"
            span = rf"\SetCell[c={len(cells) + 1}]{{l}}"
            yield rf"{span} {{{title}}}{' &' * len(cells)} \\*"
        label = broken(row_text(row, ", "))
        firsts = " & ".join(first for first, _second in cells)
        if any(second for _first, second in cells):
            seconds = " & ".join(second for _first, second in cells)
            yield rf"\SetCell[r=2]{{h}} {{{label}}} & {firsts} \\*"
            yield rf" & {seconds} \\"
        else:
            yield rf"{{{label}}} & {firsts} \\"


def row_cells(
    row: CaseRow, part: slice, show: str, letters: Mapping[str, str]
) -> list[tuple[str, str]]:
    """Return the cells of a row that stand in one part of the table."""
    decimals = row_decimals(row.cells)
    return [_cell(cell, show, letters, decimals) for cell in row.cells[part]]


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
        signs = SIGNS_OF_ENERGY if row.shown.is_energy else SIGNS
        judgement = row.shown.judgement
        sign = _sign(judgement, signs)
        ends = interval_ends(row, show)
        second = f"[{tex(ends[0])}, {tex(ends[1])}]" if ends else ""
        return _number(ratio, sign + mark), _below(second)
    if row.shown.ratio_range is not None and show != VALUE:
        judgement = row.shown.judgement
        sign = _sign(judgement, SIGNS)
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


def _sign(judgement: Judgement | None, signs: Mapping[str, str]) -> str:
    """Return a verdict's sign, with a star where it rests on an assumption."""
    sign = signs.get(judgement.verdict, "") if judgement else ""
    return (
        f"{sign}{verdicts.WEAK}" if sign and judgement and judgement.is_weak else sign
    )


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
    """Return the state of a cell and what keeps the verdict from its number.

    Of what has no ratio a flag alone is told: a value stands for itself.
    """
    state = row.shown.full_state
    notes = [] if state in SILENT else [state]
    codes = verdicts.withheld(row.shown.judgement)
    has_ratio = row.shown.ratio is not None
    return notes + [code for code in codes if has_ratio or code == "flagged"]


def broken(text: str) -> str:
    """Return a text of which no word is too long for a narrow column.

    TeX hyphenates; where a word has signs, or is no word, it is told where to break.
    The empty space lets it hyphenate the first word of a cell, too.
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
    documents = dict.fromkeys(cell.document for cell in _cells(table) if cell.document)
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
        names = SIGNS_OF_ENERGY if source.show == ENERGY else SIGNS
        signs = (
            f"{sign} {tex(verdicts.verdict_name(name))}" for name, sign in names.items()
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
        judged = [cell.shown.judgement for cell in _cells(table)]
        yield tex(verdicts.scopes_text(verdicts.judged_scopes(judged)))
        if any(it and it.is_weak and it.is_assessed for it in judged):
            yield tex(f"{verdicts.WEAK} {verdicts.WEAK_MEANING}.")
    counts = {
        n for cell in _cells(table) for n in (cell.shown.n, cell.shown.baseline_n) if n
    }
    if len(counts) < 2:
        runs = _("Runs behind each number: %(least)s.")
    else:
        runs = _("Runs behind each number: %(least)s to %(most)s.")
    least, most = min(counts, default=0), max(counts, default=0)
    yield tex(runs % {"least": least, "most": most})


def _cells(table: ComparisonTable) -> Iterable[ComparisonRow]:
    rows = (row for group in table.groups for row in group.rows)
    return (cell for row in rows for cell in row.cells if cell)
