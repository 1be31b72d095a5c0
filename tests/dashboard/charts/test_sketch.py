"""The light picture of a chart: where things stand, in letters of the page's size."""

import re
from dataclasses import replace
from xml.etree import ElementTree

import pytest

from dashboard.charts.bars import (
    bar_chart,
    curve,
    trend_plot,
)
from dashboard.charts.chart import (
    Axis,
    Bars,
    Box,
    Chart,
    Note,
    Panel,
    Points,
    Stroke,
    row_axis,
)
from dashboard.charts.dots import Dot, Series, dot_plot
from dashboard.charts.effects import half_normal_plot
from dashboard.charts.sketch import sketch
from tests.dashboard.exports.conftest import HOSTILE


def elements(html, name, kind=""):
    return [
        each
        for each in ElementTree.fromstring(html).iter(name)
        if kind in (each.get("class") or "").split() or not kind
    ]


def words(html):
    return ["".join(each.itertext()) for each in elements(html, "text")]


def key(html):
    return ["".join(each.itertext()) for each in elements(html, "li")]


def places(path):
    """Return the places of a path, across and from the top, of a thousand."""
    found = re.findall(r"(-?\d+) (-?\d+)", path.get("d"))
    return [(int(x), int(y)) for x, y in found]


def share(text):
    return float(text.get("x").rstrip("%")), float(text.get("y").rstrip("%"))


def single(*series, **more):
    panel = Panel(x=Axis(), y=Axis(), series=series, **more)
    return sketch(Chart(panels=(panel,), height=160), "")


def edges(panel, mode):
    return [(box.places, box.values) for box in panel.bar_boxes(mode)]


def test_bars_are_stacked_or_beside_each_other():
    one, other = (
        Bars(name=name, places=[0], values=[value], colour="series-1")
        for name, value in (("one", 10.0), ("other", 20.0))
    )
    panel = Panel(x=Axis(), y=row_axis(["a"]), series=(one, other))

    assert edges(panel, "stack") == [
        ((-0.35, 0.35), (0, 10)),
        ((-0.35, 0.35), (10, 30)),
    ]
    assert edges(panel, "group") == [((-0.35, 0), (0, 10)), ((0, 0.35), (0, 20))]


def test_every_series_is_drawn():
    points = Points(x=[1, 2], y=[1, 2], symbol=("circle", "square-open"), low=[0, None])
    points = replace(points, high=[2, None], line=Stroke(is_stepped=True))
    html = single(points, Box(0, 1.0, 1.5, 2.0, 2.5, 3.0))

    assert len(elements(html, "path", "mark")) == 3  # of which one makes a ring
    assert len(elements(html, "path", "line")) == 2
    assert len(elements(html, "path", "box")) == 1


def test_a_reference_and_targets_are_lines_that_no_line_joins():
    chart = bar_chart(
        ["a", "b"],
        [("measured", [2.5, 4.5])],
        [("native", 4.0)],
        axis_title="s",
        mode="group",
        targets=[("ideal", [2.0, 3.0])],
    )
    html = sketch(chart, "")

    _key_target, _key_native, targets, native = elements(html, "path", "line")
    assert targets.get("d").count("M") == 2
    assert "dash" in native.get("class")
    assert {"measured", "ideal", "native"} <= set(key(html))


def test_a_mark_beyond_the_edge_is_an_arrow():
    points = Points(x=[1], y=[1], symbol="triangle-right-open")

    assert "▷" in words(single(points))


def test_ratios_lie_on_a_log_axis_in_the_rows_of_their_names():
    series = [Series("32-bit", "Xen"), Series("64-bit", "Xen")]
    ratios = [Dot(0, 0, 0.1, "", ""), Dot(0, 1, 1.0, "", ""), Dot(1, 0, 10.0, "", "")]
    html = sketch(dot_plot(["write", "read"], series, ratios, axis_title="Ratio"), "")

    _one, _other, first, second = elements(html, "path", "mark")
    (low, top), (high, below) = places(first)
    ((middle, _y),) = places(second)
    assert middle == pytest.approx((low + high) / 2, abs=1)
    assert top < below
    assert key(html) == ["Xen, 32-bit", "Xen, 64-bit"]
    assert {"write", "read", "Ratio", "0.1", "1", "10"} <= set(words(html))


def test_rows_are_named_beside_themselves_and_above_on_a_phone():
    html = sketch(bar_chart(["a"], [("", [1])], axis_title="", mode="group"), "")

    (wide,) = [it for it in elements(html, "text", "sketch-wide") if it.text == "a"]
    (narrow,) = elements(html, "text", "sketch-narrow")
    assert (share(wide), share(narrow)) == ((0, 50), (0, 0))


def test_names_below_that_find_no_room_on_a_phone_are_left_out_there():
    ticks = tuple((at, f"a long name {at}") for at in range(6))
    panel = Panel(x=Axis(ends=(0, 5), ticks=ticks), y=Axis())
    html = sketch(Chart(panels=(panel,), height=160), "")

    names = [it for it in elements(html, "text") if it.text.startswith("a long")]
    hidden = [it for it in names if it.get("class") == "sketch-wide"]
    assert len(names) == 6
    assert 3 <= len(hidden) < 6


def test_a_half_normal_plot_names_what_is_beyond_chance():
    chart = half_normal_plot(
        [
            ("Bits", 1.4, 2.0, True, "told"),
            ("Tools", 1.01, 0.1, False, "told"),
        ],
        chance=1.05,
        margins=(1.1, 1.2),
        axis_title="Size",
        other_title="Chance",
    )
    html = sketch(chart, "Half-normal")

    assert "Bits" in words(html)
    assert "Tools" not in words(html)
    assert len(elements(html, "path", "rule")) == 2


def test_an_axis_of_dates_names_days_and_a_change_its_factor():
    day_ms, first = 86_400_000, 1_772_323_200_000
    marks = [(first + at * 15 * day_ms, 1, None, None, "") for at in range(3)]
    line = curve("one", 0, marks, is_native=False)
    chart = trend_plot([line], [(first, "x 1.2")], "MB/s")
    html = sketch(chart, "")

    days = [text for text in words(html) if text.startswith("2026-")]
    assert days == sorted(days)
    assert 3 <= len(days) <= 6
    assert "x 1.2" in words(html)


def test_panels_stand_below_each_other_or_side_by_side():
    panel = Panel(x=Axis(), y=row_axis(["a"]), notes=(Note(text="here", x=0),))
    below = Chart(panels=(panel, panel), height=160, gap=0.1)
    beside = Chart(panels=(panel, panel), height=160, across=2)

    def corners(chart):
        fields = elements(sketch(chart, ""), "svg")
        return [(it.get("x"), it.get("y")) for it in fields if it.get("x")]

    assert corners(below) == [("0.0%", "0.0%"), ("0.0%", "55.0%")]
    assert corners(beside) == [("0.0%", "0.0%"), ("50.0%", "0.0%")]
    assert words(sketch(below, "")).count("here") == 2


@pytest.mark.parametrize("name", HOSTILE)
def test_a_name_is_a_text_wherever_it_stands(name):
    bars = [(name, [1.0]), ("other", [2.0])]
    html = sketch(bar_chart([name], bars, axis_title=name, mode="group"), name)

    tags = {each.tag for each in ElementTree.fromstring(html).iter()}
    assert tags <= {"div", "ul", "li", "svg", "path", "text", "tspan"}
