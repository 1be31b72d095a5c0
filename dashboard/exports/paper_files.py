import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from io import BytesIO
from typing import Any, Final, Literal

from django.conf import settings
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from benchmarks.analysis.intervals import WELCH_RUNS
from benchmarks.analysis.session_intervals import SESSION_UNIT_DESIGNS
from benchmarks.analysis.verdicts import RULE_SET
from benchmarks.comparison.cell_details import RunCounts
from benchmarks.comparison.comparison_row import ComparisonRow
from benchmarks.comparison.comparison_table import (
    SEPARATOR,
    CaseGroup,
    CaseRow,
    Column,
    ComparisonTable,
)
from benchmarks.models import Study
from dashboard import wording
from dashboard.charts.chart import AXES_HEIGHT_PX, SYMBOLS, Chart
from dashboard.charts.dot_plot import Dot, DotSeries, dot_plot, shortest_labels
from dashboard.exports.latex_escaping import CHARACTER_COMMAND
from dashboard.exports.latex_tables import allow_breaks
from dashboard.exports.table_headings import ExportSource, shared_guest_facts
from dashboard.kit.comparison_form import ENERGY
from dashboard.kit.formatting import number_format_for_files
from dashboard.kit.table_cells import charted_rows
from dashboard.wording import Text
from dashboard.wording.verdicts import MEASURED_VALUE, is_withheld_by_flag

CHART_WIDTHS_IN: Final = ("3.33", "7")
"""Width of a column, and of a page with two columns."""
MAX_PAPER_SYSTEMS: Final = len(SYMBOLS)
"""Each system has its own symbol, because paper has no colors."""
MAX_PAPER_ROWS: Final = 40
PAPER_ROW_PX: Final = 18
LANE_PX: Final = 3


def paper_chart_data(table: ComparisonTable, show: str) -> dict[str, Any] | None:
    rows, columns = charted_rows(table)
    if not rows:
        return None
    dots = [
        [
            row_index,
            lane,
            cell.result.displayed_ratio,
            cell.result.assessment.interval_style if cell.result.assessment else "",
            cell.result.interval,
        ]
        for row_index, (_group, row) in enumerate(rows)
        for lane, column in enumerate(columns)
        if (cell := row.cells[column]) and cell.result.is_chartable
    ]
    return {
        "kind": "ratios",
        "rows": _row_labels(rows),
        "systems": _system_names([table.head.columns[column] for column in columns]),
        "dots": dots,
        "axis_title": _axis_title(table, show),
    }


def chart_size_problem(values: Mapping[str, Any]) -> str:
    """Return why a chart does not fit on a page; "" if it fits."""
    if len(values["systems"]) > MAX_PAPER_SYSTEMS:
        text = _("A chart can show at most %(most)s systems; %(n)s are selected.")
        return text % {"most": MAX_PAPER_SYSTEMS, "n": len(values["systems"])}
    if len(values["rows"]) > MAX_PAPER_ROWS:
        text = _(
            "A chart on one page can show at most %(most)s rows; %(n)s are selected."
        )
        return text % {"most": MAX_PAPER_ROWS, "n": len(values["rows"])}
    return ""


def paper_chart(values: Mapping[str, Any]) -> Chart:
    dots = [
        Dot(row, system, ratio, "", "", strength, tuple(interval) if interval else None)
        for row, system, ratio, strength, interval in values["dots"]
    ]
    series = [DotSeries(name, "") for name in values["systems"]]
    chart = dot_plot(values["rows"], series, dots, axis_title=values["axis_title"])
    if chart is None:
        raise ValueError("Nothing is drawn.")
    rows_height = len(values["rows"]) * (PAPER_ROW_PX + LANE_PX * len(series))
    return replace(chart, height=AXES_HEIGHT_PX + rows_height)


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
        facts = [wording.short_fact_text(fact) for fact in column.facts if fact.value]
        needs_platform = len(platforms) > 1 or not facts
        names.append(", ".join([column.platform, *facts] if needs_platform else facts))
    return names


def _row_labels(rows: Sequence[tuple[CaseGroup, CaseRow]]) -> list[str]:
    tools = [group.tool for group, _row in rows]
    labels = shortest_labels([list(_label_parts(*row)) for row in rows])
    if len(set(tools)) < 2:
        return labels
    return [
        label if not tool or tool in label.split(", ") else f"{tool}: {label}"
        for tool, label in zip(tools, labels, strict=True)
    ]


def _label_parts(group: CaseGroup, row: CaseRow) -> Iterator[str]:
    parts = [*row.label.split(SEPARATOR), *group.label.split(SEPARATOR)]
    # An option may repeat a name in another form: "random write, randwrite".
    yield ", ".join(_without_repetitions(parts[: 1 + row.label.count(SEPARATOR)]))
    yield from map(wording.fact_text, row.facts)
    yield group.label
    yield group.tool
    yield wording.component_name(group.component)


def _without_repetitions(parts: Sequence[str]) -> Iterator[str]:
    seen = ""
    for part in parts:
        normalized = "".join(filter(str.isalnum, part.casefold()))
        if normalized not in seen:
            yield part
            seen += normalized


ChartFormat = Literal["pdf", "svg", "pgf"]
CHART_FORMATS: Final[tuple[ChartFormat, ...]] = ("pdf", "svg", "pgf")
POINTS_PER_INCH: Final = 72
# A constant time makes archives reproducible.
ZIP_TIMESTAMP: Final = (1980, 1, 1, 0, 0, 0)
EXAMPLE_DOCUMENT: Final = r"""\documentclass[twocolumn]{article}
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


def render_paper_chart(
    values: Mapping[str, Any], form: ChartFormat, inches: str
) -> bytes:
    """Return a chart as a file. Only workers call this, because of matplotlib."""
    from dashboard.charts.matplotlib_renderer import render_chart_file

    return render_chart_file(
        paper_chart(values), form, width=float(inches) * POINTS_PER_INCH
    )


def build_paper_archive(
    texts: Mapping[str, str], values: Mapping[str, Any] | None
) -> bytes:
    files = {name: text.encode() for name, text in texts.items()}
    figure = ""
    if values:
        figure = EXAMPLE_FIGURE
        for inches in CHART_WIDTHS_IN:
            for form in CHART_FORMATS:
                name = f"chart-{inches}in.{form}"
                files[name] = render_paper_chart(values, form, inches)
    files["example.tex"] = EXAMPLE_DOCUMENT.replace("%s", figure).encode()
    content = BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, file in sorted(files.items()):
            archive.writestr(
                zipfile.ZipInfo(name, ZIP_TIMESTAMP), file, zipfile.ZIP_DEFLATED
            )
    return content.getvalue()


SESSION_DESIGNS: Final = frozenset(design.slug for design in SESSION_UNIT_DESIGNS)
INTERVAL_TEXTS: Final[tuple[tuple[str, Text], ...]] = (
    (
        "sessions",
        gettext_lazy(
            "for repeated sessions, Student's t over the log ratios of sessions"
        ),
    ),
    (
        "welch",
        gettext_lazy(
            "for 5 or more runs per side, the log ratio of the means with "
            "Welch-Satterthwaite degrees of freedom and Student's t"
        ),
    ),
    (
        "ranks",
        gettext_lazy("for runs with outliers, the Hodges-Lehmann ratio with its ranks"),
    ),
    (
        "mover",
        gettext_lazy("for fewer runs, MOVER with each side's own quantile of t"),
    ),
)


@number_format_for_files()
def methods_paragraphs(
    study: Study, table: ComparisonTable, source: ExportSource, cell_runs: RunCounts
) -> tuple[str, ...]:
    """Return the paragraphs of a methods section; `docs/method.md` explains them."""
    cells = list(table.cells)
    return tuple(
        " ".join(filter(None, sentences))
        for sentences in (
            _measurement_sentences(study, table, cells, cell_runs),
            _comparison_sentences(study, source, cells),
            _source_sentences(study, source),
        )
        if any(sentences)
    )


@number_format_for_files()
def methods_tex(paragraphs: Iterable[str]) -> str:
    texts = "\n\n".join(map(allow_breaks, paragraphs))
    packages = r"% In the preamble: \usepackage[T1]{fontenc} \usepackage{textcomp}"
    return f"{packages}\n{CHARACTER_COMMAND}\n{texts}\n"


def _measurement_sentences(
    study: Study,
    table: ComparisonTable,
    cells: Sequence[ComparisonRow],
    run_counts: RunCounts,
) -> tuple[str, ...]:
    systems = "; ".join(wording.column_name(column) for column in table.head.columns)
    facts = table.head.constants
    hosts = ", ".join(sorted({cell.system.host.slug for cell in cells}))
    common = ", ".join(wording.fact_text(fact) for fact in facts if fact.name != "host")
    scenarios = sorted({wording.scenario_name(cell.scenario) for cell in cells})
    tools = ", ".join(_tools(cells, run_counts))
    ran = ngettext(
        "The results are based on %(n)s run",
        "The results are based on %(n)s runs",
        run_counts.runs,
    ) % {"n": run_counts.runs}
    if run_counts.sessions:
        session_text = ngettext(
            "%(ran)s in %(n)s session", "%(ran)s in %(n)s sessions", run_counts.sessions
        )
        ran = session_text % {"ran": ran, "n": run_counts.sessions}
    if run_counts.first_at and run_counts.last_at:
        days = {
            "first": f"{run_counts.first_at:%Y-%m-%d}",
            "last": f"{run_counts.last_at:%Y-%m-%d}",
        }
        range_text = _("%(ran)s, from %(first)s to %(last)s")
        ran = (
            range_text if days["first"] != days["last"] else _("%(ran)s, on %(last)s")
        ) % {
            "ran": ran,
            **days,
        }
    counts = sorted(
        {n for cell in cells for n in (cell.result.n, cell.result.baseline_n) if n}
    )
    mean_text = ""
    if counts:
        mean_text = _("Each mean is computed from %(n)s.") % {"n": _runs_range(counts)}
    return (
        _("Measured on %(hosts)s: %(systems)s.") % {"hosts": hosts, "systems": systems},
        _("Common to all systems: %(facts)s.") % {"facts": common} if common else "",
        *shared_guest_facts(table.head),
        _("Scenario: %(names)s.") % {"names": ", ".join(scenarios)},
        _("Benchmarks: %(tools)s.") % {"tools": tools},
        f"{ran}.",
        ngettext(
            "The start time of %(n)s run is not reported.",
            "The start times of %(n)s runs are not reported.",
            run_counts.undated_runs,
        )
        % {"n": run_counts.undated_runs}
        if run_counts.undated_runs
        else "",
        mean_text,
    )


def _runs_range(counts: Sequence[int]) -> str:
    if len(counts) == 1:
        return ngettext("%(n)s run", "%(n)s runs", counts[0]) % {"n": counts[0]}
    return _("%(least)s to %(most)s runs") % {"least": counts[0], "most": counts[-1]}


def _tools(cells: Iterable[ComparisonRow], run_counts: RunCounts) -> Iterator[str]:
    titles = {cell.case.tool: cell.tool_title for cell in cells}
    for tool, title in sorted(titles.items(), key=lambda pair: pair[1]):
        # The version of some tools starts with their name.
        reported = [
            version.removeprefix(f"{title} ")
            for version in run_counts.tool_versions.get(tool, ())
            if version
        ]
        versions = ", ".join(reported) if reported else _("(version not reported)")
        yield f"{title} {versions}"


def _comparison_sentences(
    study: Study, source: ExportSource, cells: Sequence[ComparisonRow]
) -> tuple[str, ...]:
    if source.quantity == MEASURED_VALUE:
        return (_("Values are means over runs, in the unit of the row."),)
    if source.quantity == ENERGY:
        ratio_text = _(
            "Ratios compare the energy (joules) for the same work, %(against)s: 1 "
            "is the baseline, lower is better."
        )
    else:
        ratio_text = _(
            "The repetitions within a run are averaged. Relative performance is "
            "the ratio of the mean rates, or of the baseline's mean time to the "
            "system's mean time, %(against)s: 1 is the same speed, higher is "
            "better."
        )
    interval_kinds = {_interval_kind(cell) for cell in cells}
    kinds = [str(text) for kind, text in INTERVAL_TEXTS if kind in interval_kinds]
    if kinds:
        intervals = _(
            "95%% confidence intervals are computed on the log scale: %(kinds)s."
        )
        intervals %= {"kinds": "; ".join(kinds)}
    else:
        intervals = _("Single runs have no intervals and no verdicts.")
    flagged = sum(
        bool(cell.result.assessment and is_withheld_by_flag(cell.result.assessment))
        for cell in cells
    )
    flags = ""
    if flagged:
        flags = ngettext(
            "%(n)s result is not assessed because it or its baseline is flagged.",
            "%(n)s results are not assessed because they or their baselines are "
            "flagged.",
            flagged,
        ) % {"n": flagged}
    return (
        ratio_text
        % {"against": source.compared_with.rpartition(", ")[2] or source.compared_with},
        intervals,
        _verdict_rule(study, source) if kinds else "",
        flags or _("No plausibility flag withholds a verdict on these results."),
    )


def _interval_kind(cell: ComparisonRow) -> str:
    assessment = cell.result.assessment
    if assessment is None or assessment.interval is None:
        return ""
    if assessment.design in SESSION_DESIGNS:
        return "sessions"
    if assessment.outliers:
        return "ranks"
    runs = (cell.result.n, cell.result.baseline_n or 0)
    return "welch" if min(runs) >= WELCH_RUNS else "mover"


def _verdict_rule(study: Study, source: ExportSource) -> str:
    margin = study.equivalence_margin_percent
    values = {
        "margin": f"{margin:g}",
        "low": f"{1 - margin / 100:g}",
        "high": f"{1 + margin / 100:g}",
        "n": source.tested_count,
    }
    text = _(
        "With an equivalence margin of %(margin)s%%, a system is slower if the "
        "whole interval is below %(low)s, faster if the whole interval is above "
        "%(high)s, equivalent if the interval is between the two, and undetermined "
        "otherwise."
    )
    if source.tested_count > 1:
        text += " " + _(
            "Verdicts are corrected for the %(n)s primary results of the study, which "
            "are tested together (Benjamini-Hochberg, 5%%)."
        )
    return text % values


def _source_sentences(study: Study, source: ExportSource) -> tuple[str, ...]:
    values = {
        "version": settings.VERSION,
        "rules": RULE_SET,
        "address": source.url,
        "day": source.created_on,
    }
    license_text = _("Data license: %(licence)s.") % {"licence": study.data_licence}
    return (
        _(
            "Analyzed with Virtlab %(version)s, rule set %(rules)s. Data: "
            "%(address)s, %(day)s."
        )
        % values,
        license_text if study.data_licence else "",
    )
