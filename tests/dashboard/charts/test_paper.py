"""Charts on paper: the same numbers in one ink, and the same file each time."""

import re
import warnings
from xml.etree import ElementTree

import pytest
from matplotlib.backends import backend_pgf

from dashboard.charts.bars import (
    bar_chart,
    curve,
    line_chart,
    sweep_plot,
    trend_plot,
)
from dashboard.charts.chart import (
    STROKE,
    Axis,
    Band,
    Box,
    Chart,
    Note,
    Panel,
    Points,
    Rule,
    Stroke,
    row_axis,
)
from dashboard.charts.dots import Dot, Series, dot_plot
from dashboard.charts.effects import half_normal_plot, line_plot
from dashboard.charts.paper import WIDTH_PT, font, paper
from dashboard.exports.escaping import tex
from tests.dashboard.exports.conftest import HOSTILE

SVG = "{http://www.w3.org/2000/svg}"
BARS = [("VM 1", [10.0, 4.0]), ("VM 2", [20.0, None])]
REFERENCES = [("one VM", 9.0)]
TARGETS = [("ideal", [8.0, 3.0])]
LINES = [
    Points(name=name, x=[1, 2], y=[3, 4], line=Stroke()) for name in ("one", "other")
]
MARKS = [(at, at, at / 2, at * 2, "") for at in (1.0, 2.0)]
CURVES = [curve("one", 0, MARKS, is_native=True)]
DOTS = [Dot(0, 0, 0.5, "", ""), Dot(1, 1, 1000.0, "", "")]
SERIES = [Series("32-bit", "Xen"), Series("64-bit", "KVM")]
CONTRASTS = [
    ("Bits", 1.4, 2.0, True, "told"),
    ("Tools", 1.01, 0.1, False, "told"),
]
CELL = Panel(
    x=Axis(title="MB/s"),
    y=row_axis(["this cell"]),
    series=(
        Box(0, 1, 2, 3, 4, 5),
        Points(x=[1, 5], y=[0, 0], symbol=STROKE, size=80, colour=("ink", "bad")),
    ),
    bands=(Band(axis="y", low=-0.5, high=0.5),),
    rules=(Rule(at=2, axis="x"),),
    notes=(Note(text="here", x=2), Note(text="there", x=3, beside="left")),
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
    "means": line_plot(["a, b", "c"], [("on", (0.3, None))], axis_title="E"),
    "half-normal": half_normal_plot(
        CONTRASTS, chance=1.05, margins=(1.1,), axis_title="x", other_title="y"
    ),
    "cell": Chart(panels=(CELL,), height=200),
    "panels": Chart(panels=(CELL, CELL, CELL), height=400, across=2, gap=0.1),
}


def elements(svg, name):
    return list(ElementTree.fromstring(svg).iter(f"{SVG}{name}"))


def words(svg):
    return ["".join(each.itertext()) for each in elements(svg, "text")]


@pytest.mark.parametrize("chart", CHARTS.values(), ids=CHARTS)
def test_every_kind_is_drawn_and_the_same_chart_is_the_same_file(chart):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        svg, pdf, pgf = paper(chart), paper(chart, "pdf"), paper(chart, "pgf")

    assert svg == paper(chart)
    assert pdf == paper(chart, "pdf")
    assert pgf == paper(chart, "pgf")
    assert pdf.startswith(b"%PDF-1.")
    assert ElementTree.fromstring(svg).get("viewBox").startswith(f"0 0 {WIDTH_PT} ")


def test_its_words_are_texts_in_a_family_that_comes_with_it():
    svg = paper(CHARTS["bars beside each other"])

    assert {"a", "b", "s", "VM 1", "VM 2", "one VM", "ideal"} <= set(words(svg))
    assert b"DejaVu Sans" in svg
    assert font().exists()


def test_series_differ_without_any_colour():
    svg = paper(CHARTS["bars end to end"]).decode()

    colours = {part[:7] for part in svg.split("fill: ")[1:] if part.startswith("#")}
    assert len(colours) >= 3
    assert all(len({each[1:3], each[3:5], each[5:7]}) == 1 for each in colours)


def test_names_are_written_beside_what_is_beyond_chance_alone():
    shown = words(paper(CHARTS["half-normal"]))

    assert "Bits" in shown
    assert "Tools" not in shown


def test_names_that_would_touch_are_left_out():
    ticks = tuple((at, f"a rather long name {at}") for at in range(12))
    panel = Panel(x=Axis(ends=(0, 11), ticks=ticks), y=Axis())
    shown = [text for text in words(paper(Chart(panels=(panel,), height=200))) if text]

    names = [text for text in shown if text.startswith("a rather")]
    assert 2 <= len(names) < 12


@pytest.mark.parametrize("name", [*HOSTILE, "</text><script>\x01", "$\\write18{ls}$"])
def test_a_name_is_a_text_wherever_it_stands(name):
    bars = [(name, [1.0]), ("other", [2.0])]
    svg = paper(bar_chart([name], bars, axis_title=name, mode="group"))

    tags = {each.tag.removeprefix(SVG) for each in ElementTree.fromstring(svg).iter()}
    assert "script" not in tags
    if "\x01" not in name and len(name) < 30:
        assert name in words(svg)


def test_pgf_needs_no_tex_to_be_made(monkeypatch):
    def start(_manager):
        raise AssertionError("a TeX was started")

    monkeypatch.setattr(backend_pgf.LatexManager, "__init__", start)
    pgf = paper(CHARTS["bars beside each other"], "pgf").decode()

    texts = re.findall(r"pgftext.*[ }](VM 1|VM 2|one VM|ideal)}", pgf)
    assert {*texts} == {"VM 1", "VM 2", "one VM", "ideal"}


def test_no_name_is_a_command_of_pgf():
    name = r"$\write18{ls}$ 5 % of \input{x} #1 & _^"
    bars = [(name, [1.0]), ("other", [2.0])]
    pgf = paper(bar_chart([name], bars, axis_title=name, mode="group"), "pgf").decode()

    assert tex(name) in pgf
    assert r"\write18" not in pgf
    assert r"\input" not in pgf
