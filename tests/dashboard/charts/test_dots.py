"""Charts: plain values in, a Plotly figure out."""

import json
import re
from itertools import pairwise
from math import log10

import pytest

from dashboard.charts import plotly
from dashboard.charts.chart import (
    FAINT,
    ROW_LETTERS,
    SYMBOLS,
    Axis,
    Chart,
    Panel,
    Points,
)
from dashboard.charts.dots import FARTHEST, Dot, Series, dot_plot
from dashboard.charts.paper import paper
from dashboard.charts.plotly import plain
from dashboard.charts.sketch import sketch

TWO = [Series("32-bit", "Xen, full"), Series("64-bit", "Xen, full")]
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
    return drawn and plotly.figure(drawn)


def test_it_draws_nothing_out_of_nothing():
    assert figure([]) is None


def test_it_draws_one_series_for_each_system_that_has_a_ratio():
    drawn = figure([dot(0, 1, 0.5), dot(1, 1, 2.0)])

    assert [trace["name"] for trace in drawn["data"]] == ["64-bit"]
    assert drawn["data"][0]["x"] == [0.5, 2.0]
    assert drawn["layout"]["xaxis"]["type"] == "log"


def test_series_of_a_row_never_share_a_spot():
    drawn = figure([dot(0, 0, 0.5), dot(0, 1, 0.5)])

    first, second = (trace["y"][0] for trace in drawn["data"])
    assert first != second
    assert round(first) == round(second) == 0


def test_series_of_one_group_share_a_colour_and_differ_in_shape():
    series = [*TWO, Series("32-bit", "Xen, paravirtual")]
    drawn = figure([dot(0, 0), dot(0, 1), dot(0, 2)], series=series)

    assert [trace["marker"]["color"][-1] for trace in drawn["data"]] == ["1", "1", "2"]
    marks = [trace["marker"]["symbol"][0] for trace in drawn["data"]]
    assert marks[0] != marks[1]
    assert marks[0] == marks[2]


def test_a_ratio_beyond_the_axis_is_an_arrow_on_its_edge():
    drawn = figure([dot(0, 0, 0.00098), dot(1, 0, 0.5)])

    trace = drawn["data"][0]
    assert trace["x"] == [1 / FARTHEST, 0.5]
    assert trace["marker"]["symbol"] == ["triangle-left-open", "circle"]
    assert "0.00098" in trace["text"][0]
    assert drawn["layout"]["xaxis"]["range"][0] > log10(0.00098)


def test_the_axis_always_shows_native_speed():
    low, high = figure([dot(ratio=0.1)])["layout"]["xaxis"]["range"]

    assert low < log10(0.1)
    assert high > 0


def test_the_line_of_native_speed_lies_above_the_tints_of_rows():
    shapes = figure([dot()])["layout"]["shapes"]

    assert shapes[0]["fillcolor"] == "--sunken"
    assert (shapes[-1]["type"], shapes[-1]["x0"]) == ("line", 1)


@pytest.mark.parametrize(
    "ratios", [(0.842, 1.0), (0.29, 1.73), (0.12, 1.2), (0.02, 3), (0.98, 1.02)]
)
def test_no_end_of_the_axis_is_without_ticks(ratios):
    drawn = figure([dot(row, 0, ratio) for row, ratio in enumerate(ratios)])

    axis = drawn["layout"]["xaxis"]
    low, high = axis["range"]
    places = [log10(tick) for tick in axis["tickvals"]]
    seen = [(place - low) / (high - low) for place in places if low <= place <= high]
    assert len(seen) >= 4
    assert seen[0] < 0.3
    assert seen[-1] > 0.7
    # Of an axis of 290 pixels, on a phone: none touches the next.
    assert all(b - a > 24 / 290 for a, b in pairwise(seen))


def test_a_long_name_is_in_lines_that_have_room_and_is_not_cut():
    name = "sysbench: Request latency max · write · memory · 1 thread, block 1 KiB"
    short = dot_plot(["write"], TWO, [dot()], axis_title="Ratio")
    long = dot_plot([name * 2], TWO, [dot()], axis_title="Ratio")

    ((_place, shown),) = long.panels[0].y.ticks
    assert "".join(shown.split()) == "".join((name * 2).split())
    assert max(map(len, shown.split("\n"))) <= ROW_LETTERS
    assert long.height - short.height >= 15


@pytest.mark.parametrize("name", PAYLOADS)
def test_names_are_shown_and_never_read_as_markup(name):
    dots = [Dot(0, 0, 0.5, name, name)]
    chart = dot_plot([name], [Series(name, name)], dots, axis_title="Ratio")
    drawn = plotly.figure(chart)

    trace, layout = drawn["data"][0], drawn["layout"]
    shown = [trace["name"], trace["legendgrouptitle"]["text"]]
    shown += layout["yaxis"]["ticktext"]
    assert shown == [plain(name)] * 3
    assert not any("<" in text for text in shown)
    assert "<" not in trace["text"][0].replace("<br>", "")


def test_it_is_plain_data():
    drawn = figure([dot()])

    assert json.loads(json.dumps(drawn)) == drawn


def drawn_by_strength(pen):
    """Draw three ratios of one system: firm, faint and hollow, in this order."""
    dots = [
        Dot(row, 0, ratio, "Xen", "", strength)
        for row, (ratio, strength) in enumerate(
            ((0.5, ""), (0.6, "faint"), (0.7, "hollow"))
        )
    ]
    rows = ("one", "two", "three")
    return pen(dot_plot(rows, [Series("", "Xen")], dots, axis_title="Ratio"))


def test_hollow_and_faint_ratios_are_drawn_so_on_the_screen():
    (trace,) = drawn_by_strength(plotly.figure)["data"]

    assert trace["marker"]["symbol"] == ["circle", "circle", "circle-open"]
    assert trace["marker"]["opacity"] == [1.0, FAINT, 1.0]


def test_hollow_and_faint_ratios_are_drawn_so_in_a_sketch():
    svg = drawn_by_strength(lambda chart: sketch(chart, "a chart"))

    assert svg.count("hole") == 1
    assert svg.count(f'opacity="{FAINT}"') == 1


def test_hollow_and_faint_ratios_are_drawn_so_on_paper():
    svg = drawn_by_strength(paper).decode()

    assert svg.count(f"opacity: {FAINT}") >= 1
    # The marks: full, faint and full, and white with a black edge.
    assert "fill: #ffffff; stroke: #000000" in svg


def test_no_full_mark_is_a_ring():
    """A ring says something: series are told apart by pupils, forms and tones."""
    rings = [
        mark
        for symbol in SYMBOLS
        for mark in (
            sketch(single(symbol), "a chart"),
            sketch(single(f"{symbol}-open"), ""),
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
    return Chart(panels=(Panel(x=Axis(), y=Axis(), series=(points,)),), height=200)
