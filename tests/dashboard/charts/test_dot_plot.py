"""Dot plots as Plotly figures, SVG and files."""

import json
import re
from itertools import pairwise
from math import log10

import pytest

from dashboard.charts import plotly_renderer
from dashboard.charts.chart import (
    FAINT_OPACITY,
    ROW_NAME_CHARACTERS,
    SYMBOLS,
    Chart,
    ChartAxis,
    Panel,
    Points,
)
from dashboard.charts.dot_plot import MAX_SHOWN_RATIO, Dot, DotSeries, dot_plot
from dashboard.charts.matplotlib_renderer import render_chart_file
from dashboard.charts.plotly_renderer import escape_text
from dashboard.charts.svg_renderer import render_svg

TWO = [DotSeries("32-bit", "Xen, full"), DotSeries("64-bit", "Xen, full")]
PAYLOADS = [
    "<b>bold</b>",
    '<a href="javascript:alert(1)">x</a>',
    "<img src=x onerror=alert(1)>",
    "</script><script>alert(1)</script>",
    "a & b < c",
    "%{y} {{ x }} ${z}",
]


def dot(row=0, series=0, ratio=0.247):
    return Dot(row, series, ratio, "Xen", f"{ratio} of native")


def figure(dots, rows=("write", "read"), series=TWO):
    drawn = dot_plot(rows, series, dots, axis_title="Ratio")
    return drawn and plotly_renderer.plotly_figure(drawn)


def test_no_dots_give_no_chart():
    assert figure([]) is None


def test_each_system_with_a_ratio_has_a_series():
    drawn = figure([dot(0, 1, 0.5), dot(1, 1, 2.0)])

    assert [trace["name"] for trace in drawn["data"]] == ["64-bit"]
    assert drawn["data"][0]["x"] == [0.5, 2.0]
    assert drawn["layout"]["xaxis"]["type"] == "log"


def test_series_of_a_row_have_different_offsets():
    drawn = figure([dot(0, 0, 0.5), dot(0, 1, 0.5)])

    first, second = (trace["y"][0] for trace in drawn["data"])
    assert first != second
    assert round(first) == round(second) == 0


def test_series_of_a_group_share_a_color_and_differ_in_symbol():
    series = [*TWO, DotSeries("32-bit", "Xen, paravirtual")]
    drawn = figure([dot(0, 0), dot(0, 1), dot(0, 2)], series=series)

    assert [trace["marker"]["color"][-1] for trace in drawn["data"]] == ["1", "1", "2"]
    marks = [trace["marker"]["symbol"][0] for trace in drawn["data"]]
    assert marks[0] != marks[1]
    assert marks[0] == marks[2]


def test_extreme_ratios_are_arrows_at_the_edge():
    drawn = figure([dot(0, 0, 0.00098), dot(1, 0, 0.5)])

    trace = drawn["data"][0]
    assert trace["x"] == [1 / MAX_SHOWN_RATIO, 0.5]
    assert trace["marker"]["symbol"] == ["triangle-left-open", "circle"]
    assert "0.00098" in trace["text"][0]
    assert drawn["layout"]["xaxis"]["range"][0] > log10(0.00098)


def test_the_axis_always_shows_native_speed():
    low, high = figure([dot(ratio=0.1)])["layout"]["xaxis"]["range"]

    assert low < log10(0.1)
    assert high > 0


def test_the_native_line_is_above_the_row_shading():
    shapes = figure([dot()])["layout"]["shapes"]

    assert shapes[0]["fillcolor"] == "--sunken"
    assert (shapes[-1]["type"], shapes[-1]["x0"]) == ("line", 1)


@pytest.mark.parametrize(
    "ratios", [(0.842, 1.0), (0.29, 1.73), (0.12, 1.2), (0.02, 3), (0.98, 1.02)]
)
def test_both_ends_of_the_axis_have_ticks_nearby(ratios):
    drawn = figure([dot(row, 0, ratio) for row, ratio in enumerate(ratios)])

    axis = drawn["layout"]["xaxis"]
    low, high = axis["range"]
    places = [log10(tick) for tick in axis["tickvals"]]
    seen = [(place - low) / (high - low) for place in places if low <= place <= high]
    assert len(seen) >= 4
    assert seen[0] < 0.3
    assert seen[-1] > 0.7
    # Labels do not overlap on a phone, where the axis has 290 pixels.
    assert all(b - a > 24 / 290 for a, b in pairwise(seen))


def test_long_names_are_wrapped_and_not_truncated():
    name = "sysbench: Request latency max · write · memory · 1 thread, block 1 KiB"
    short = dot_plot(["write"], TWO, [dot()], axis_title="Ratio")
    long = dot_plot([name * 2], TWO, [dot()], axis_title="Ratio")

    ((_place, shown),) = long.panels[0].y.ticks
    assert "".join(shown.split()) == "".join((name * 2).split())
    assert max(map(len, shown.split("\n"))) <= ROW_NAME_CHARACTERS
    assert long.height - short.height >= 15


@pytest.mark.parametrize("name", PAYLOADS)
def test_names_are_escaped(name):
    dots = [Dot(0, 0, 0.5, name, name)]
    chart = dot_plot([name], [DotSeries(name, name)], dots, axis_title="Ratio")
    drawn = plotly_renderer.plotly_figure(chart)

    trace, layout = drawn["data"][0], drawn["layout"]
    shown = [trace["name"], trace["legendgrouptitle"]["text"]]
    shown += layout["yaxis"]["ticktext"]
    assert shown == [escape_text(name)] * 3
    assert not any("<" in text for text in shown)
    assert "<" not in trace["text"][0].replace("<br>", "")


def test_figures_are_json_serializable():
    drawn = figure([dot()])

    assert json.loads(json.dumps(drawn)) == drawn


def render_three_strengths(pen):
    """Render three ratios of one system: normal, faint and hollow."""
    dots = [
        Dot(row, 0, ratio, "Xen", "", strength)
        for row, (ratio, strength) in enumerate(
            ((0.5, ""), (0.6, "faint"), (0.7, "hollow"))
        )
    ]
    rows = ("one", "two", "three")
    return pen(dot_plot(rows, [DotSeries("", "Xen")], dots, axis_title="Ratio"))


def test_strength_is_visible_in_plotly():
    (trace,) = render_three_strengths(plotly_renderer.plotly_figure)["data"]

    assert trace["marker"]["symbol"] == ["circle", "circle", "circle-open"]
    assert trace["marker"]["opacity"] == [1.0, FAINT_OPACITY, 1.0]


def test_strength_is_visible_in_svg():
    svg = render_three_strengths(lambda chart: render_svg(chart, "a chart"))

    assert svg.count("hole") == 1
    assert svg.count(f'opacity="{FAINT_OPACITY}"') == 1


def test_strength_is_visible_in_files():
    svg = render_three_strengths(render_chart_file).decode()

    assert svg.count(f"opacity: {FAINT_OPACITY}") >= 1
    # Filled, faint, and outlined symbols.
    assert "fill: #ffffff; stroke: #000000" in svg


def test_only_outlined_symbols_are_rings():
    """Rings mean missing verdicts; series differ by shapes, holes and colors."""
    rings = [
        mark
        for symbol in SYMBOLS
        for mark in (
            render_svg(single(symbol), "a chart"),
            render_svg(single(f"{symbol}-open"), ""),
        )
    ]
    holes = [
        float(re.search(r'hole" stroke-width="([\d.]+)', ring)[1])
        if "hole" in ring
        else 0.0
        for ring in rings
    ]

    assert max(holes[::2]) < min(holes[1::2]) * 0.7


def single(symbol):
    points = Points(x=[1.0], y=[1.0], symbol=symbol)
    return Chart(
        panels=(Panel(x=ChartAxis(), y=ChartAxis(), series=(points,)),), height=200
    )
