"""Files for a paper: the chart of its ratios, its methods, an archive of all files.

`docs/method.md` explains what the methods paragraphs state.
"""

import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from io import BytesIO
from typing import Any, Final, Literal

from django.conf import settings
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from benchmarks.analysis.designs import OF_SESSIONS
from benchmarks.analysis.intervals import WELCH_RUNS
from benchmarks.analysis.verdicts import RULE_SET
from benchmarks.comparing.cell_evidence import RunsBehind
from benchmarks.comparing.row import ComparisonRow
from benchmarks.comparing.table import (
    PART,
    CaseGroup,
    CaseRow,
    Column,
    ComparisonTable,
)
from benchmarks.models import Study
from dashboard import wording
from dashboard.charts.chart import FRAME_PX, SYMBOLS, Chart
from dashboard.charts.dots import Dot, Series, dot_plot, short_labels
from dashboard.exports.escaping import OTHER_CHARACTER
from dashboard.exports.latex import broken
from dashboard.exports.table_texts import Source
from dashboard.kit.figures import for_files
from dashboard.kit.selections import ENERGY
from dashboard.kit.table_cells import drawn_rows
from dashboard.wording import Text
from dashboard.wording.verdicts import VALUE, is_flagged

WIDTHS: Final = ("3.33", "7")
"""Inches: of a column, and of a page of two columns."""
MOST_SYSTEMS: Final = len(SYMBOLS)
"""A mark for each: paper has no colours."""
MOST_ROWS: Final = 40
ROW_PX: Final = 18
LANE_PX: Final = 3


def chart_values(table: ComparisonTable, show: str) -> dict[str, Any] | None:
    rows, places = drawn_rows(table)
    if not rows:
        return None
    dots = [
        [
            line,
            lane,
            cell.shown.written_ratio,
            cell.shown.judgement.strength if cell.shown.judgement else "",
            cell.shown.interval,
        ]
        for line, (_group, row) in enumerate(rows)
        for lane, place in enumerate(places)
        if (cell := row.cells[place]) and cell.shown.is_drawn
    ]
    return {
        "kind": "ratios",
        "rows": short_labels([list(_label_parts(*row)) for row in rows]),
        "systems": _system_names([table.head.columns[at] for at in places]),
        "dots": dots,
        "axis_title": _axis_title(table, show),
    }


def too_much(values: Mapping[str, Any]) -> str:
    """Return why a chart is too large for a page; empty if it can be drawn."""
    if len(values["systems"]) > MOST_SYSTEMS:
        text = _("A chart tells %(most)s systems apart; %(n)s are chosen.")
        return text % {"most": MOST_SYSTEMS, "n": len(values["systems"])}
    if len(values["rows"]) > MOST_ROWS:
        text = _("A page has room for a chart of %(most)s rows; %(n)s are chosen.")
        return text % {"most": MOST_ROWS, "n": len(values["rows"])}
    return ""


def chart_of(values: Mapping[str, Any]) -> Chart:
    dots = [
        Dot(row, system, ratio, "", "", strength, tuple(interval) if interval else None)
        for row, system, ratio, strength, interval in values["dots"]
    ]
    series = [Series(name, "") for name in values["systems"]]
    chart = dot_plot(values["rows"], series, dots, axis_title=values["axis_title"])
    if chart is None:
        raise ValueError("Nothing is drawn.")
    tall = len(values["rows"]) * (ROW_PX + LANE_PX * len(series))
    return replace(chart, height=FRAME_PX + tall)


def _axis_title(table: ComparisonTable, show: str) -> str:
    is_relative = bool({"relative", "other_host"} & table.states.keys())
    if show == ENERGY:
        return _("energy for the same work (baseline = 1)")
    if is_relative:
        return _("performance (reference = 1)")
    return _("relative performance (baseline = 1)")


def _system_names(columns: Sequence[Column]) -> list[str]:
    platforms = {column.platform for column in columns}
    names = []
    for column in columns:
        facts = [wording.fact_in_brief(fact) for fact in column.facts if fact.value]
        is_told = len(platforms) > 1 or not facts
        names.append(", ".join([column.platform, *facts] if is_told else facts))
    return names


def _label_parts(group: CaseGroup, row: CaseRow) -> Iterator[str]:
    parts = [*row.label.split(PART), *group.label.split(PART)]
    # "random write, randwrite": an option of a tool may repeat its name.
    yield ", ".join(_unlike(parts[: 1 + row.label.count(PART)]))
    yield from map(wording.fact_text, row.facts)
    yield group.label
    yield group.tool
    yield wording.component_name(group.component)


def _unlike(parts: Sequence[str]) -> Iterator[str]:
    said = ""
    for part in parts:
        letters = "".join(filter(str.isalnum, part.casefold()))
        if letters not in said:
            yield part
            said += letters


ChartForm = Literal["pdf", "svg", "pgf"]
CHART_FORMS: Final[tuple[ChartForm, ...]] = ("pdf", "svg", "pgf")
POINTS_AN_INCH: Final = 72
# A fixed date: archives of the same numbers are the same bytes.
LONG_AGO: Final = (1980, 1, 1, 0, 0, 0)
EXAMPLE: Final = r"""\documentclass[twocolumn]{article}
% IEEEtran, acmart: the same. Each file says which packages it needs.
\usepackage[T1]{fontenc}
\usepackage{textcomp,array,booktabs,siunitx,graphicx,pgf,url}
\begin{document}
\input{methods}
\input{table}
%s\nocite{*}
\bibliographystyle{plain}
\bibliography{study}
\end{document}
"""
EXAMPLE_FIGURE: Final = r"""\begin{figure}[htbp]\centering
\includegraphics[width=\columnwidth]{chart-3.33in.pdf}% or \input{chart-3.33in.pgf}
\caption{Relative performance of the systems of the table.}
\end{figure}
"""


def drawn_chart(values: Mapping[str, Any], form: ChartForm, inches: str) -> bytes:
    """Return a chart as a file. Only for workers: it imports matplotlib."""
    from dashboard.charts.paper import paper

    return paper(chart_of(values), form, width=float(inches) * POINTS_AN_INCH)


def archive(texts: Mapping[str, str], values: Mapping[str, Any] | None) -> bytes:
    """Return all files of a paper as a zip. Only for workers."""
    files = {name: text.encode() for name, text in texts.items()}
    figure = ""
    if values:
        figure = EXAMPLE_FIGURE
        for inches in WIDTHS:
            for form in CHART_FORMS:
                name = f"chart-{inches}in.{form}"
                files[name] = drawn_chart(values, form, inches)
    files["example.tex"] = EXAMPLE.replace("%s", figure).encode()
    content = BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, file in sorted(files.items()):
            packed.writestr(zipfile.ZipInfo(name, LONG_AGO), file, zipfile.ZIP_DEFLATED)
    return content.getvalue()


BY_SESSIONS: Final = frozenset(design.slug for design in OF_SESSIONS)
INTERVALS: Final[tuple[tuple[str, Text], ...]] = (
    (
        "sessions",
        gettext_lazy(
            "where sessions were repeated, Student's t over the log ratios of sessions"
        ),
    ),
    (
        "welch",
        gettext_lazy(
            "of 5 runs a side and more, the log ratio of the means with "
            "Welch-Satterthwaite degrees of freedom and Student's t"
        ),
    ),
    (
        "mover",
        gettext_lazy("of fewer runs, MOVER with each side's own quantile of t"),
    ),
)


@for_files()
def methods(
    study: Study, table: ComparisonTable, source: Source, behind: RunsBehind
) -> tuple[str, ...]:
    """Return the paragraphs; ``behind`` are the runs of the table's cells."""
    cells = list(table.cells)
    return tuple(
        " ".join(filter(None, sentences))
        for sentences in (
            _measured(study, table, cells, behind),
            _compared(study, source, cells),
            _made(study, source),
        )
        if any(sentences)
    )


@for_files()
def methods_tex(paragraphs: Iterable[str]) -> str:
    texts = "\n\n".join(map(broken, paragraphs))
    needs = r"% In the preamble: \usepackage[T1]{fontenc} \usepackage{textcomp}"
    return f"{needs}\n{OTHER_CHARACTER}\n{texts}\n"


def _measured(
    study: Study,
    table: ComparisonTable,
    cells: Sequence[ComparisonRow],
    behind: RunsBehind,
) -> tuple[str, ...]:
    systems = "; ".join(wording.column_name(it) for it in table.head.columns)
    facts = [*table.head.constants, *table.head.of_guests]
    hosts = ", ".join(sorted({cell.system.host.slug for cell in cells}))
    common = ", ".join(wording.fact_text(it) for it in facts if it.name != "host")
    scenarios = sorted({wording.scenario_name(cell.scenario) for cell in cells})
    tools = ", ".join(_tools(cells, behind))
    ran = ngettext(
        "The results rest on %(n)s run", "The results rest on %(n)s runs", behind.runs
    ) % {"n": behind.runs}
    if behind.sessions:
        sittings = ngettext(
            "%(ran)s in %(n)s session", "%(ran)s in %(n)s sessions", behind.sessions
        )
        ran = sittings % {"ran": ran, "n": behind.sessions}
    if behind.first and behind.last:
        days = {"first": f"{behind.first:%Y-%m-%d}", "last": f"{behind.last:%Y-%m-%d}"}
        between = _("%(ran)s, from %(first)s to %(last)s")
        ran = (
            between if days["first"] != days["last"] else _("%(ran)s, on %(last)s")
        ) % {
            "ran": ran,
            **days,
        }
    counts = sorted({n for it in cells for n in (it.shown.n, it.shown.baseline_n) if n})
    each = ""
    if counts:
        each = _("Each mean is of %(n)s.") % {"n": _span(counts)}
    return (
        _("Measured on %(hosts)s: %(systems)s.") % {"hosts": hosts, "systems": systems},
        _("In common: %(facts)s.") % {"facts": common} if common else "",
        _("Scenario: %(names)s.") % {"names": ", ".join(scenarios)},
        _("Benchmarks: %(tools)s.") % {"tools": tools},
        f"{ran}.",
        _("Start times of %(n)s runs are not stated.") % {"n": behind.undated}
        if behind.undated
        else "",
        each,
    )


def _span(counts: Sequence[int]) -> str:
    """Return how many runs, or from how many to how many."""
    if len(counts) == 1:
        return ngettext("%(n)s run", "%(n)s runs", counts[0]) % {"n": counts[0]}
    return _("%(least)s to %(most)s runs") % {"least": counts[0], "most": counts[-1]}


def _tools(cells: Iterable[ComparisonRow], behind: RunsBehind) -> Iterator[str]:
    """Yield each tool with its versions, or that its runs state none."""
    titles = {cell.case.tool: cell.tool_title for cell in cells}
    for tool, title in sorted(titles.items(), key=lambda pair: pair[1]):
        # Some tools print their name before their version.
        stated = [
            version.removeprefix(f"{title} ")
            for version in behind.versions.get(tool, ())
            if version
        ]
        versions = ", ".join(stated) if stated else _("(version not stated)")
        yield f"{title} {versions}"


def _compared(
    study: Study, source: Source, cells: Sequence[ComparisonRow]
) -> tuple[str, ...]:
    if source.show == VALUE:
        return (_("Values are means over runs, in the unit of the row."),)
    if source.show == ENERGY:
        told = _(
            "Ratios are of the joules for the same work, %(against)s: 1 is the "
            "baseline, less is better."
        )
    else:
        told = _(
            "A run's repetitions are collapsed to its mean. Relative performance is "
            "the ratio of the mean rates, or of the baseline's mean time to the "
            "system's, %(against)s: 1 is as fast, more is better."
        )
    found = {_interval_kind(it) for it in cells}
    kinds = [str(text) for kind, text in INTERVALS if kind in found]
    if kinds:
        intervals = _("95 %% intervals are made on the log scale: %(kinds)s.")
        intervals %= {"kinds": "; ".join(kinds)}
    else:
        intervals = _("Single runs: there are no intervals and no verdicts.")
    flagged = sum(
        bool(it.shown.judgement and is_flagged(it.shown.judgement)) for it in cells
    )
    flags = ""
    if flagged:
        flags = ngettext(
            "%(n)s result is not assessed: it or its baseline is flagged.",
            "%(n)s results are not assessed: they or their baselines are flagged.",
            flagged,
        ) % {"n": flagged}
    return (
        told % {"against": source.against.rpartition(", ")[2] or source.against},
        intervals,
        _verdict_rule(study, source) if kinds else "",
        flags or _("No plausibility flag is open on these results."),
    )


def _interval_kind(cell: ComparisonRow) -> str:
    judged = cell.shown.judgement
    if judged is None or judged.interval is None:
        return ""
    if judged.design in BY_SESSIONS:
        return "sessions"
    runs = (cell.shown.n, cell.shown.baseline_n or 0)
    return "welch" if min(runs) >= WELCH_RUNS else "mover"


def _verdict_rule(study: Study, source: Source) -> str:
    margin = study.equivalence_margin_percent
    words = {
        "margin": f"{margin:g}",
        "low": f"{1 - margin / 100:g}",
        "high": f"{1 + margin / 100:g}",
        "n": source.tested,
    }
    text = _(
        "With an equivalence margin of %(margin)s %%, a system is slower if the "
        "interval lies wholly below %(low)s, faster if wholly above %(high)s, "
        "equivalent if wholly between them, else undetermined."
    )
    if source.tested > 1:
        text += " " + _(
            "Verdicts are corrected for the %(n)s results tested together "
            "(Benjamini-Hochberg, 5 %%)."
        )
    return text % words


def _made(study: Study, source: Source) -> tuple[str, ...]:
    words = {
        "version": settings.VERSION,
        "rules": RULE_SET,
        "address": source.address,
        "day": source.made_on,
    }
    licence = _("The data are under %(licence)s.") % {"licence": study.data_licence}
    return (
        _(
            "Analysed by Virtlab %(version)s, rule set %(rules)s; data: %(address)s, "
            "%(day)s."
        )
        % words,
        licence if study.data_licence else "",
    )
