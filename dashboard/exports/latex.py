"""A comparison as LaTeX tables with booktabs, as the compare page shows it.

Columns are systems, as many a table as the lines of a page have room for; rows are
cases. Long tables become longtable. The text is a fragment for ``input``; its first
lines say which packages it needs.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from django.utils.translation import gettext as _

from benchmarks.comparing.row import ComparisonRow
from benchmarks.comparing.table import CaseGroup, CaseRow, Column, ComparisonTable
from dashboard import wording
from dashboard.exports.escaping import OTHER_CHARACTER, tex
from dashboard.exports.latex_widths import (
    BOLD,
    COLUMN_PT,
    GAP_PT,
    ITALIC,
    LABEL_PT,
    PAPER_PT,
    PLAIN,
    SMALL,
    SMALL_ITALIC,
    breakable,
    parts_that_fit,
    table_pt,
    width_pt,
)
from dashboard.kit.figures import for_files
from dashboard.kit.selections import ENERGY, SPEED
from dashboard.kit.table_cells import SILENT, both_ends, row_figure
from dashboard.wording import states, verdicts
from dashboard.wording.verdicts import OVERHEAD, VALUE, interval_ends, ratio_text

END = r" \\"
SIGNS = {"slower": r"$<$", "faster": r"$>$", "equivalent": "$=$", "undetermined": "?"}
SIGNS_OF_ENERGY = {
    "less": r"$<$",
    "more": r"$>$",
    "equivalent": "$=$",
    "undetermined": "?",
}
NOT_MEASURED = r"\textendash{}"
SMALLER = r"\virtlabsmall"
# A verdict's sign, and the letter of a note.
SIGN_PT, MARK_PT = 7.0, 5.0


def headings(columns: Sequence[Column], widths: Sequence[float]) -> list[str]:
    """Return the platforms and, below, each property by which the columns differ."""
    lines = [_heading("", [(column.platform,) for column in columns], widths)]
    for depth, fact in enumerate(columns[0].facts):
        paths = (
            (column.platform, *(each.value for each in column.facts[: depth + 1]))
            for column in columns
        )
        lines.append(_heading(fact.name, paths, widths))
    return lines


def _heading(
    name: str, paths: Iterable[tuple[str, ...]], widths: Sequence[float]
) -> str:
    """Write one line of the head; neighbours that agree so far share an entry."""
    said = wording.property_name(name) if name else ""
    cells, rules, at = [breakable(said, LABEL_PT)], [], 0
    for path, members in groupby(paths):
        count = len(list(members))
        room = sum(widths[at : at + count]) + GAP_PT * (count - 1)
        text = wording.property_value(name, path[-1])
        box = rf"\parbox[t]{{{room:.1f}pt}}{{\centering {breakable(text, room)}}}"
        cells.append(rf"\multicolumn{{{count}}}{{c}}{{{box}}}")
        if text and count > 1:
            rules.append(rf"\cmidrule(lr){{{at + 2}-{at + count + 1}}}")
        at += count
    return " & ".join(cells) + END + "".join(rules)


@dataclass(frozen=True)
class CellStyle:
    """What cells show, and the letters of what is explained below."""

    show: str
    marks: Mapping[str, str]


def column_widths(groups: Sequence[CaseGroup], show: str) -> list[float]:
    """Return what each column takes at most, in points."""
    rows = [row.cells for group in groups for row in group.rows]
    return [
        max((_cell_pt(cell, show) for cell in cells if cell), default=0.0)
        for cells in zip(*rows, strict=True)
    ]


def group_lines(
    group: CaseGroup,
    rows: Sequence[CaseRow],
    part: slice,
    style: CellStyle,
    widths: Sequence[float],
) -> Iterator[str]:
    """Return the rows of one tool and component under what they have in common."""
    whole = table_pt(widths)
    column = f"@{{}}p{{{whole:.1f}pt}}@{{}}"
    said = breakable(_group_text(group), whole, BOLD)
    bold = rf"\raggedright\textbf{{{said}}}"
    yield rf"\multicolumn{{{len(widths) + 1}}}{{{column}}}{{{bold}}}{END}"
    for row in rows:
        cells = (
            _cell(cell, style, room)
            for cell, room in zip(row.cells[part], widths, strict=True)
        )
        label = breakable(_label(row), LABEL_PT)
        yield " & ".join([rf"\raggedright {label}", *cells]) + END


def _group_text(group: CaseGroup) -> str:
    component = wording.component_name(group.component)
    better = str(wording.BETTER.get(group.better, ""))
    facts = (wording.fact_text(fact) for fact in group.facts)
    said = (f"{component}: {group.tool}", group.label, group.unit, better, *facts)
    return ", ".join(filter(None, said))


def _label(row: CaseRow) -> str:
    parts = (row.label, *(wording.fact_text(fact) for fact in row.facts), row.unit)
    return ", ".join(filter(None, parts))


def _cell_pt(row: ComparisonRow, show: str) -> float:
    """Return what `_cell` takes at most; the head wants some room in any case."""
    mark = MARK_PT * len(_noted(row))
    ratio = ratio_text(row, show)
    if ratio and show != VALUE:
        small = ", ".join(interval_ends(row, show) or ())
        wide = width_pt(ratio) + SIGN_PT + mark
        return max(COLUMN_PT, wide, width_pt(f"[{small}]", SMALL))
    ends = both_ends(row.shown) if row.shown.value is None else None
    if ends is None:
        return max(COLUMN_PT, width_pt(row_figure(row.shown), ITALIC) + mark)
    first, second = width_pt(ends[0], ITALIC), width_pt(ends[1], SMALL_ITALIC)
    return max(COLUMN_PT, first + mark, second + width_pt("| ", SMALL))


def _cell(row: ComparisonRow | None, style: CellStyle, room_pt: float) -> str:
    if row is None:
        return NOT_MEASURED
    letters = "".join(sorted(style.marks[it] for it in _noted(row)))
    mark = rf"\textsuperscript{{{letters}}}" if letters else ""
    ratio = ratio_text(row, style.show)
    if not ratio or style.show == VALUE:
        return _figure(row, mark, room_pt)
    signs = SIGNS_OF_ENERGY if row.shown.is_energy else SIGNS
    sign = signs.get(row.shown.judgement.verdict, "") if row.shown.judgement else ""
    text = f"{tex(ratio)}{sign}{mark}"
    ends = interval_ends(row, style.show)
    if ends is None:
        return text
    low, high = map(tex, ends)
    return _two_lines(text, f"[{low}, {high}]", room_pt)


def _two_lines(first: str, second: str, room_pt: float) -> str:
    """Return a cell whose first line stands beside those of its row."""
    lines = rf"\raggedleft {first}\\{{{SMALLER} {second}\strut}}"
    return rf"\parbox[t]{{{room_pt:.1f}pt}}{{{lines}}}"


def _figure(row: ComparisonRow, mark: str, room_pt: float) -> str:
    """Return a value; both speeds or a range in two lines, for they are wide."""
    ends = both_ends(row.shown) if row.shown.value is None else None
    if ends is None:
        said = tex(row_figure(row.shown))
        return rf"\textit{{{said}}}{mark}" if said else NOT_MEASURED + mark
    low, high = map(tex, ends)
    between = r"\textbar{}" if row.shown.speeds else NOT_MEASURED
    first = rf"\textit{{{low}}}{mark}"
    return _two_lines(first, rf"{between} \textit{{{high}}}", room_pt)


def marks_of(cells: Iterable[ComparisonRow | None]) -> dict[str, str]:
    """Return a letter for each thing that has to be explained below the table."""
    noted = sorted({it for cell in cells if cell is not None for it in _noted(cell)})
    return {it: chr(ord("a") + at) for at, it in enumerate(noted)}


def _noted(row: ComparisonRow) -> list[str]:
    """Return the state of a cell and what keeps the verdict from its number.

    Of what has no ratio a flag alone is told: a value stands for itself.
    """
    state = row.shown.full_state
    noted = [] if state in SILENT else [state]
    codes = verdicts.withheld(row.shown.judgement)
    return noted + [
        it for it in codes if row.shown.ratio is not None or it == "flagged"
    ]


LINES = 16
PACKAGES = r"% \usepackage[T1]{fontenc} \usepackage{textcomp,booktabs,longtable}"
FONT = r"\fontsize{8}{9.5}\selectfont\setlength{\tabcolsep}{3pt}"
SMALLER_FONT = rf"\providecommand{{{SMALLER}}}{{\fontsize{{6}}{{7}}\selectfont}}"


@dataclass(frozen=True)
class Source:
    """Where the numbers come from.

    ``show`` is what cells show, ``against`` says so and what they are set against.
    """

    title: str
    slug: str
    address: str
    against: str
    made_on: str
    show: str = SPEED
    equivalence_margin_percent: float = 2.0
    tested: int = 0
    """Of how many cells together the verdicts were corrected for."""


@dataclass(frozen=True)
class Parts:
    """What a table is put together from."""

    columns: str
    caption: str
    headings: list[str]
    body: list[str]
    notes: str


@for_files()
def latex(table: ComparisonTable, source: Source) -> str:
    """Return the tables of a comparison, each with caption, label and notes."""
    widths = column_widths(table.groups, source.show)
    parts = parts_that_fit(widths)
    tables = (
        _table(table, source, part, widths[part], (at, len(parts)))
        for at, part in enumerate(parts, start=1)
    )
    head = [
        f"% {tex(source.title)} ({source.slug}), {source.made_on}",
        f"% No table is wider than {PAPER_PT:g} pt, the text of a page of article.",
        PACKAGES,
    ]
    return "\n".join([*head, OTHER_CHARACTER, SMALLER_FONT, *tables]) + "\n"


def _table(
    table: ComparisonTable,
    source: Source,
    part: slice,
    widths: Sequence[float],
    place: tuple[int, int],
) -> str:
    columns = table.head.columns[part]
    measured = [
        (group, [row for row in group.rows if any(row.cells[part])])
        for group in table.groups
    ]
    marks = marks_of(c for _, rows in measured for row in rows for c in row.cells[part])
    style = CellStyle(source.show, marks)
    body = [
        line
        for group, rows in measured
        if rows
        for line in group_lines(group, rows, part, style, widths)
    ]
    part_of = str(place[0]) if place[1] > 1 else ""
    shows = "" if source.show == SPEED else source.show
    label = "-".join(filter(None, [source.slug, shows, part_of]))
    parts = Parts(
        columns=rf"@{{}}p{{{LABEL_PT:g}pt}}{'r' * len(columns)}@{{}}",
        caption=rf"\caption{{{_caption(table, source, place)}}}\label{{tab:{label}}}",
        headings=headings(columns, widths),
        body=body,
        notes=_notes(table, source, marks),
    )
    return _long(parts) if len(body) > LINES else _short(parts)


def _short(parts: Parts) -> str:
    lines = [
        rf"\begin{{table}}[htbp]\centering{FONT}",
        parts.caption,
        rf"\begin{{tabular}}{{{parts.columns}}}",
        r"\toprule",
        *parts.headings,
        r"\midrule",
        *parts.body,
        r"\bottomrule",
        r"\end{tabular}",
        parts.notes,
        r"\end{table}",
    ]
    return "\n".join(lines)


def _long(parts: Parts) -> str:
    head = [r"\toprule", *parts.headings, r"\midrule"]
    lines = [
        rf"\begingroup{FONT}",
        rf"\begin{{longtable}}{{{parts.columns}}}",
        parts.caption + END,
        *head,
        r"\endfirsthead",
        *head,
        r"\endhead",
        r"\bottomrule",
        r"\endfoot",
        *parts.body,
        r"\end{longtable}",
        parts.notes,
        r"\par\endgroup",
    ]
    return "\n".join(lines)


def _caption(table: ComparisonTable, source: Source, place: tuple[int, int]) -> str:
    common = [wording.scenario_name(table.scenario)] if table.scenario else []
    common += [wording.fact_text(fact) for fact in table.head.constants]
    said = [f"{source.title}: {source.against}."]
    if common:
        said.append(_("In common: %(facts)s.") % {"facts": ", ".join(common)})
    if guests := ", ".join(map(wording.fact_text, table.head.of_guests)):
        said.append(_("All but native: %(facts)s.") % {"facts": guests})
    if place[1] > 1:
        said.append(
            _("Part %(part)s of %(all)s.") % {"part": place[0], "all": place[1]}
        )
    return breakable(" ".join(said), PAPER_PT)


def _notes(table: ComparisonTable, source: Source, marks: dict[str, str]) -> str:
    said = [tex(_meaning(source.show)), *_signs(table, source)]
    said += [
        rf"\textsuperscript{{{mark}}} {tex(_told(noted))}."
        for noted, mark in marks.items()
    ]
    said.append(tex(_runs(table)))
    said.append(tex(_("Source:")) + f" {_documents(table)}{_address(source)}.")
    text = rf"\scriptsize\raggedright {' '.join(said)}"
    return rf"\par\smallskip\noindent\parbox{{\linewidth}}{{{text}}}"


def _told(noted: str) -> str:
    """Return what a state means, or what keeps a verdict back."""
    return str(verdicts.WITHHELD.get(noted) or states.state_meaning(noted))


def _meaning(show: str) -> str:
    """Return what the numbers of the cells are."""
    if show == ENERGY:
        return _(
            "Ratios of the joules that the same work took: 1 is the baseline, less is "
            "better. In italics: energies, in the unit of the row."
        )
    if show == OVERHEAD:
        return _(
            "Overheads: what is lost of the baseline's 1; less is better. In italics: "
            "values."
        )
    if show == VALUE:
        return _("Measured values: means over runs, in the unit of the row.")
    return _("Ratios: 1 is the baseline, more is better. In italics: values.")


def _signs(table: ComparisonTable, source: Source) -> Iterator[str]:
    if source.show == VALUE:
        return
    if table.is_single_run:
        yield tex(_("Single runs: there are no intervals and no verdicts."))
        return
    yield tex(_("In brackets: 95 % intervals. Verdicts:"))
    names = SIGNS_OF_ENERGY if source.show == ENERGY else SIGNS
    signs = (
        f"{sign} {tex(verdicts.verdict_name(name))}" for name, sign in names.items()
    )
    yield ", ".join(signs) + "."
    yield tex(_judged_how(source))


def _judged_how(source: Source) -> str:
    """Return the equivalence margin of verdicts, and for what they are corrected."""
    words = {"margin": f"{source.equivalence_margin_percent:g}", "n": source.tested}
    if source.tested < 2:
        return _("The equivalence margin is %(margin)s %%.") % words
    return (
        _(
            "The equivalence margin is %(margin)s %%; corrected for %(n)s cells that "
            "were tested together (Benjamini-Hochberg, 5 %%)."
        )
        % words
    )


def _runs(table: ComparisonTable) -> str:
    """Return how many runs stand behind each number, baselines included."""
    cells = (c for group in table.groups for row in group.rows for c in row.cells if c)
    counts = {n for cell in cells for n in (cell.shown.n, cell.shown.baseline_n) if n}
    if len(counts) < 2:
        return _("Runs behind each number: %(n)s.") % {"n": min(counts, default=0)}
    words = {"least": min(counts), "most": max(counts)}
    return _("Runs behind each number: %(least)s to %(most)s.") % words


def _address(source: Source) -> str:
    """Return the address, broken after its parts, and the day."""
    parts = re.split(r"(?<=[/&])", source.address)
    broken = r"\allowbreak{}".join(breakable(part, PAPER_PT, PLAIN) for part in parts)
    return f"{broken}, {source.made_on}"


def _documents(table: ComparisonTable) -> str:
    cells = (c for group in table.groups for row in group.rows for c in row.cells if c)
    found = dict.fromkeys(cell.document for cell in cells if cell.document)
    return "".join(f"{breakable(document, PAPER_PT)}; " for document in found)
