"""Charts by matplotlib: monochrome and reproducible."""

import re
import warnings
from xml.etree import ElementTree

import pytest
from matplotlib.backends import backend_pgf

from dashboard.charts.bars_and_lines import (
    bar_chart,
    curve_points,
    line_chart,
    sweep_plot,
    trend_plot,
)
from dashboard.charts.chart import (
    VERTICAL_STROKE,
    Box,
    Chart,
    ChartAxis,
    ChartBand,
    ChartNote,
    LineStyle,
    Panel,
    Points,
    ReferenceLine,
    row_axis,
)
from dashboard.charts.dot_plot import Dot, DotSeries, dot_plot
from dashboard.charts.factor_effects import half_normal_plot, interaction_plot
from dashboard.charts.matplotlib_renderer import WIDTH_PT, font_path, render_chart_file
from dashboard.exports.latex_escaping import escape_latex
from tests.dashboard.exports.conftest import HOSTILE

SVG = "{http://www.w3.org/2000/svg}"
BARS = [("VM 1", [10.0, 4.0]), ("VM 2", [20.0, None])]
REFERENCES = [("one VM", 9.0)]
TARGETS = [("ideal", [8.0, 3.0])]
LINES = [
    Points(name=name, x=[1, 2], y=[3, 4], line=LineStyle()) for name in ("one", "other")
]
MARKS = [(at, at, at / 2, at * 2, "") for at in (1.0, 2.0)]
CURVES = [curve_points("one", 0, MARKS, is_native=True)]
DOTS = [Dot(0, 0, 0.5, "", ""), Dot(1, 1, 1000.0, "", "")]
SERIES = [DotSeries("32-bit", "Xen"), DotSeries("64-bit", "KVM")]
CONTRASTS = [
    ("Bits", 1.4, 2.0, True, "told"),
    ("Tools", 1.01, 0.1, False, "told"),
]
CELL = Panel(
    x=ChartAxis(title="MB/s"),
    y=row_axis(["this cell"]),
    series=(
        Box(0, 1, 2, 3, 4, 5),
        Points(
            x=[1, 5], y=[0, 0], symbol=VERTICAL_STROKE, size=80, color=("ink", "bad")
        ),
    ),
    bands=(ChartBand(axis="y", low=-0.5, high=0.5),),
    reference_lines=(ReferenceLine(value=2, axis="x"),),
    notes=(ChartNote(text="here", x=2), ChartNote(text="there", x=3, line_side="left")),
)
CHARTS = {
    "bars end to end": bar_chart(["a", "b"], BARS, axis_title="MB/s", mode="stack"),
    "bars beside each other": bar_chart(
        ["a", "b"], BARS, REFERENCES, axis_title="s", mode="group", targets=TARGETS
    ),
    "lines": line_chart(LINES, x_title="VMs", y_title="MB/s", window=(1, 1.5)),
    "sweep": sweep_plot(
        CURVES, [(1, "1"), (2, "2")], titles=("", ""), is_log=(True, True), line_at=1
    ),
    "trend": trend_plot(CURVES, [(1.5, "x 1.2")], "MB/s"),
    "dots": dot_plot(["a", "b"], SERIES, DOTS, axis_title="Ratio"),
    "means": interaction_plot(["a, b", "c"], [("on", (0.3, None))], axis_title="E"),
    "half-normal": half_normal_plot(
        CONTRASTS, chance=1.05, margins=(1.1,), axis_title="x", other_title="y"
    ),
    "cell": Chart(panels=(CELL,), height=200),
    "panels": Chart(panels=(CELL, CELL, CELL), height=400, columns=2, gap=0.1),
}


def elements(svg, name):
    return list(ElementTree.fromstring(svg).iter(f"{SVG}{name}"))


def words(svg):
    return ["".join(element.itertext()) for element in elements(svg, "text")]


@pytest.mark.parametrize("chart", CHARTS.values(), ids=CHARTS)
def test_every_chart_type_renders_reproducibly(chart):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        svg, pdf, pgf = (
            render_chart_file(chart),
            render_chart_file(chart, "pdf"),
            render_chart_file(chart, "pgf"),
        )

    assert svg == render_chart_file(chart)
    assert pdf == render_chart_file(chart, "pdf")
    assert pgf == render_chart_file(chart, "pgf")
    assert pdf.startswith(b"%PDF-1.")
    assert ElementTree.fromstring(svg).get("viewBox").startswith(f"0 0 {WIDTH_PT} ")


def test_svg_text_is_kept_in_the_bundled_font():
    svg = render_chart_file(CHARTS["bars beside each other"])

    assert {"a", "b", "s", "VM 1", "VM 2", "one VM", "ideal"} <= set(words(svg))
    assert b"DejaVu Sans" in svg
    assert font_path().exists()


def test_series_differ_without_colors():
    svg = render_chart_file(CHARTS["bars end to end"]).decode()

    colors = {part[:7] for part in svg.split("fill: ")[1:] if part.startswith("#")}
    assert len(colors) >= 3
    assert all(len({color[1:3], color[3:5], color[5:7]}) == 1 for color in colors)


def test_only_contrasts_beyond_chance_have_labels():
    shown = words(render_chart_file(CHARTS["half-normal"]))

    assert "Bits" in shown
    assert "Tools" not in shown


def test_overlapping_tick_labels_are_omitted():
    ticks = tuple((at, f"a rather long name {at}") for at in range(12))
    panel = Panel(x=ChartAxis(limits=(0, 11), ticks=ticks), y=ChartAxis())
    shown = [
        text
        for text in words(render_chart_file(Chart(panels=(panel,), height=200)))
        if text
    ]

    names = [text for text in shown if text.startswith("a rather")]
    assert 2 <= len(names) < 12


@pytest.mark.parametrize("name", [*HOSTILE, "</text><script>\x01", "$\\write18{ls}$"])
def test_names_are_escaped(name):
    bars = [(name, [1.0]), ("other", [2.0])]
    svg = render_chart_file(bar_chart([name], bars, axis_title=name, mode="group"))

    tags = {
        element.tag.removeprefix(SVG) for element in ElementTree.fromstring(svg).iter()
    }
    assert "script" not in tags
    if "\x01" not in name and len(name) < 30:
        assert name in words(svg)


def test_pgf_is_created_without_tex(monkeypatch):
    def start(_manager):
        raise AssertionError("a TeX was started")

    monkeypatch.setattr(backend_pgf.LatexManager, "__init__", start)
    pgf = render_chart_file(CHARTS["bars beside each other"], "pgf").decode()

    texts = re.findall(r"pgftext.*[ }](VM 1|VM 2|one VM|ideal)}", pgf)
    assert {*texts} == {"VM 1", "VM 2", "one VM", "ideal"}


def test_names_are_escaped_in_pgf():
    name = r"$\write18{ls}$ 5 % of \input{x} #1 & _^"
    bars = [(name, [1.0]), ("other", [2.0])]
    pgf = render_chart_file(
        bar_chart([name], bars, axis_title=name, mode="group"), "pgf"
    ).decode()

    assert escape_latex(name) in pgf
    assert r"\write18" not in pgf
    assert r"\input" not in pgf
