"""Charts as SVG: positions, symbols and text."""

import re
from dataclasses import replace
from xml.etree import ElementTree

import pytest

from dashboard.charts.bars_and_lines import (
    bar_chart,
    curve_points,
    trend_plot,
)
from dashboard.charts.chart import (
    Bars,
    Box,
    Chart,
    ChartAxis,
    ChartNote,
    LineStyle,
    Panel,
    Points,
    row_axis,
)
from dashboard.charts.dot_plot import Dot, DotSeries, dot_plot
from dashboard.charts.factor_effects import half_normal_plot
from dashboard.charts.svg_renderer import render_svg
from tests.dashboard.exports.conftest import HOSTILE


def elements(html, name, kind=""):
    return [
        item
        for item in ElementTree.fromstring(html).iter(name)
        if kind in (item.get("class") or "").split() or not kind
    ]


def words(html):
    return ["".join(element.itertext()) for element in elements(html, "text")]


def key(html):
    return ["".join(element.itertext()) for element in elements(html, "li")]


def places(path):
    """Return the points of a path in thousandths: to the right, and down."""
    found = re.findall(r"(-?\d+) (-?\d+)", path.get("d"))
    return [(int(x), int(y)) for x, y in found]


def share(text):
    return float(text.get("x").rstrip("%")), float(text.get("y").rstrip("%"))


def single(*series, **more):
    panel = Panel(x=ChartAxis(), y=ChartAxis(), series=series, **more)
    return render_svg(Chart(panels=(panel,), height=160), "")


def edges(panel, mode):
    return [(box.positions, box.values) for box in panel.bar_boxes(mode)]


def test_bars_are_stacked_or_grouped():
    one, other = (
        Bars(name=name, positions=[0], values=[value], color="series-1")
        for name, value in (("one", 10.0), ("other", 20.0))
    )
    panel = Panel(x=ChartAxis(), y=row_axis(["a"]), series=(one, other))

    assert edges(panel, "stack") == [
        ((-0.35, 0.35), (0, 10)),
        ((-0.35, 0.35), (10, 30)),
    ]
    assert edges(panel, "group") == [((-0.35, 0), (0, 10)), ((0, 0.35), (0, 20))]


def test_every_series_is_drawn():
    points = Points(x=[1, 2], y=[1, 2], symbol=("circle", "square-open"), low=[0, None])
    points = replace(points, high=[2, None], line=LineStyle(is_stepped=True))
    html = single(points, Box(0, 1.0, 1.5, 2.0, 2.5, 3.0))

    assert len(elements(html, "path", "mark")) == 3  # one of them is the hole of a ring
    assert len(elements(html, "path", "line")) == 2
    assert len(elements(html, "path", "box")) == 1


def test_references_and_targets_are_separate_lines():
    chart = bar_chart(
        ["a", "b"],
        [("measured", [2.5, 4.5])],
        [("native", 4.0)],
        axis_title="s",
        mode="group",
        targets=[("ideal", [2.0, 3.0])],
    )
    html = render_svg(chart, "")

    _key_target, _key_native, targets, native = elements(html, "path", "line")
    assert targets.get("d").count("M") == 2
    assert "dash" in native.get("class")
    assert {"measured", "ideal", "native"} <= set(key(html))


def test_extreme_values_are_arrows():
    points = Points(x=[1], y=[1], symbol="triangle-right-open")

    assert "▷" in words(single(points))


def test_ratios_are_on_a_log_axis_in_their_rows():
    series = [DotSeries("32-bit", "Xen"), DotSeries("64-bit", "Xen")]
    ratios = [Dot(0, 0, 0.1, "", ""), Dot(0, 1, 1.0, "", ""), Dot(1, 0, 10.0, "", "")]
    html = render_svg(
        dot_plot(["write", "read"], series, ratios, axis_title="Ratio"), ""
    )

    _one, _other, first, second = elements(html, "path", "mark")
    (low, top), (high, below) = places(first)
    ((middle, _y),) = places(second)
    assert middle == pytest.approx((low + high) / 2, abs=1)
    assert top < below
    assert key(html) == ["Xen, 32-bit", "Xen, 64-bit"]
    assert {"write", "read", "Ratio", "0.1", "1", "10"} <= set(words(html))


def test_row_labels_are_at_the_side_or_above_on_a_phone():
    html = render_svg(bar_chart(["a"], [("", [1])], axis_title="", mode="group"), "")

    (wide,) = [
        element
        for element in elements(html, "text", "svg-chart-wide")
        if element.text == "a"
    ]
    (narrow,) = elements(html, "text", "svg-chart-narrow")
    assert (share(wide), share(narrow)) == ((0, 50), (0, 0))


def test_tick_labels_that_do_not_fit_a_phone_are_hidden_there():
    ticks = tuple((at, f"a long name {at}") for at in range(6))
    panel = Panel(x=ChartAxis(limits=(0, 5), ticks=ticks), y=ChartAxis())
    html = render_svg(Chart(panels=(panel,), height=160), "")

    names = [
        element
        for element in elements(html, "text")
        if element.text.startswith("a long")
    ]
    hidden = [name for name in names if name.get("class") == "svg-chart-wide"]
    assert len(names) == 6
    assert 3 <= len(hidden) < 6


def test_a_half_normal_plot_labels_contrasts_beyond_chance():
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
    html = render_svg(chart, "Half-normal")

    assert "Bits" in words(html)
    assert "Tools" not in words(html)
    assert len(elements(html, "path", "rule")) == 2


def test_date_axes_have_days_and_changes_have_labels():
    day_ms, first = 86_400_000, 1_772_323_200_000
    marks = [(first + at * 15 * day_ms, 1, None, None, "") for at in range(3)]
    line = curve_points("one", 0, marks, is_native=False)
    chart = trend_plot([line], [(first, "x 1.2")], "MB/s")
    html = render_svg(chart, "")

    days = [text for text in words(html) if text.startswith("2026-")]
    assert days == sorted(days)
    assert 3 <= len(days) <= 6
    assert "x 1.2" in words(html)


def test_panels_are_stacked_or_side_by_side():
    panel = Panel(
        x=ChartAxis(), y=row_axis(["a"]), notes=(ChartNote(text="here", x=0),)
    )
    below = Chart(panels=(panel, panel), height=160, gap=0.1)
    beside = Chart(panels=(panel, panel), height=160, columns=2)

    def corners(chart):
        fields = elements(render_svg(chart, ""), "svg")
        return [(field.get("x"), field.get("y")) for field in fields if field.get("x")]

    assert corners(below) == [("0.0%", "0.0%"), ("0.0%", "55.0%")]
    assert corners(beside) == [("0.0%", "0.0%"), ("50.0%", "0.0%")]
    assert words(render_svg(below, "")).count("here") == 2


@pytest.mark.parametrize("name", HOSTILE)
def test_names_are_escaped(name):
    bars = [(name, [1.0]), ("other", [2.0])]
    html = render_svg(bar_chart([name], bars, axis_title=name, mode="group"), name)

    tags = {element.tag for element in ElementTree.fromstring(html).iter()}
    assert tags <= {"div", "ul", "li", "svg", "path", "text", "tspan"}
