"""Figures as SVG: the same numbers, readable in one ink, and no name is markup."""

from xml.etree import ElementTree

import pytest

from dashboard.charts.bars import Bars, Line, Reference, Targets, bar_chart, line_chart
from dashboard.charts.dots import Dot, Series, dot_plot
from dashboard.charts.effects import Contrast, half_normal_plot
from dashboard.charts.plotly import figure as on_screen
from dashboard.charts.vector import pen
from dashboard.charts.vector import plot as vector
from tests.dashboard.exports.conftest import HOSTILE

SVG = "{http://www.w3.org/2000/svg}"


def plot(chart, alt):
    return vector.plot(chart if isinstance(chart, dict) else on_screen(chart), alt)


def elements(svg, name):
    return list(ElementTree.fromstring(svg).iter(f"{SVG}{name}"))


def words(svg):
    return [each.text for each in elements(svg, "text")]


def test_stacked_bars_stand_end_to_end():
    bars = [Bars("VM 1", [10.0, 4.0]), Bars("VM 2", [20.0, None])]
    svg = plot(bar_chart(["a", "b"], bars, axis_title="MB/s", mode="stack"), "Sums")

    one, other, second = elements(svg, "rect")[2:]  # the first two are the legend's
    width = float(one.get("width"))
    assert float(other.get("x")) == pytest.approx(float(one.get("x")) + width, abs=0.2)
    assert float(other.get("width")) == pytest.approx(2 * width, abs=0.2)
    assert float(second.get("y")) > float(one.get("y"))
    assert {"VM 1", "VM 2", "a", "b", "MB/s"} <= set(words(svg))


def test_series_differ_without_any_colour():
    bars = [Bars(f"VM {at}", [1.0]) for at in range(3)]
    svg = plot(bar_chart(["a"], bars, axis_title="", mode="group"), "Bars")

    tones = [each.get("fill-opacity") for each in elements(svg, "rect")[3:]]
    assert len(set(tones)) == 3
    assert "currentColor" in svg
    assert "#" not in svg


def test_a_reference_is_a_dashed_line_across_the_rows():
    figure = bar_chart(
        ["a"],
        [Bars("VM", [2.0])],
        [Reference("native", 4.0)],
        axis_title="s",
        mode="group",
    )
    (line,) = elements(plot(figure, "Times"), "polyline")

    assert line.get("stroke-dasharray")


def test_each_row_has_its_own_targets_and_no_line_joins_them():
    targets = [Targets("ideal", [2.0, 3.0]), Targets("usual", [None, 4.0])]
    figure = bar_chart(
        ["a", "b"],
        [Bars("measured", [2.5, 4.5])],
        axis_title="s",
        mode="group",
        targets=targets,
    )
    svg = plot(figure, "Times")

    strokes = elements(svg, "polyline")
    assert len(strokes) == 3
    for each in strokes:
        (x1, _y1), (x2, _y2) = (it.split(",") for it in each.get("points").split())
        assert x1 == x2
    assert len({each.get("stroke-dasharray") for each in strokes}) == 2
    assert {"measured", "ideal", "usual"} <= set(words(svg))


def test_lines_rise_with_their_values():
    lines = [Line("sum", [1, 2, 3], [10.0, 20.0, 30.0], ["", "", ""])]
    svg = plot(line_chart(lines, x_title="VMs", y_title="MB/s", counts=True), "Curve")

    (line,) = elements(svg, "polyline")
    heights = [float(each.split(",")[1]) for each in line.get("points").split()]
    assert heights == sorted(heights, reverse=True)
    assert "1.5" not in words(svg)


def test_a_half_normal_plot_names_what_is_beyond_chance():
    contrasts = [
        Contrast("Bits", 1.4, 2.0, True, "told"),
        Contrast("Tools", 1.01, 0.1, False, "told"),
    ]
    figure = half_normal_plot(
        contrasts,
        chance=1.05,
        margins=(1.1, 1.2),
        axis_title="Size",
        other_title="Chance",
    )
    svg = plot(figure, "Half-normal")

    assert "Bits" in words(svg)
    assert "Tools" not in words(svg)
    assert len([each for each in elements(svg, "line") if each.get("stroke-dasharray")])


@pytest.mark.parametrize("name", HOSTILE)
def test_a_name_is_a_text_wherever_it_stands(name):
    bars = [Bars(name, [1.0]), Bars("other", [2.0])]
    svg = plot(bar_chart([name], bars, axis_title=name, mode="group"), name)

    tags = {each.tag.removeprefix(SVG) for each in ElementTree.fromstring(svg).iter()}
    assert tags <= {"svg", "text", "line", "rect", "polyline"}


def test_everything_stays_on_the_sheet():
    bars = [Bars("a rather long name of a series " * 2, [1e9]), Bars("b", [3.0])]
    svg = plot(bar_chart(["row"], bars, axis_title="J", mode="group"), "Energy")

    for each in elements(svg, "rect"):
        assert float(each.get("x")) + float(each.get("width")) <= pen.WIDTH


def test_ratios_stand_beside_the_names_of_their_rows_on_a_log_axis():
    series = [Series("32-bit", "Xen"), Series("64-bit", "Xen")]
    ratios = [Dot(0, 0, 0.1, "", ""), Dot(0, 1, 1.0, "", ""), Dot(1, 0, 10.0, "", "")]
    figure = dot_plot(["write", "read"], series, ratios, axis_title="Ratio")
    assert vector.can_plot(on_screen(figure))
    svg = plot(figure, "Ratios")

    assert {"write", "read", "Ratio", "0.1", "1", "10", "32-bit"} <= set(words(svg))
    _one, _other, *dots = elements(svg, "circle")  # the first two are the legend's
    low, high, middle = (float(each.get("cx")) for each in dots)
    assert middle == pytest.approx((low + high) / 2, abs=0.2)


def test_a_line_across_lies_level_and_long_names_below_in_lines():
    lines = [Line("one", [0, 1], [1, 3], ["", ""])]
    figure = on_screen(line_chart(lines, x_title="x", y_title="y"))
    ends = {"x0": -0.5, "x1": 1.5, "y0": 2, "y1": 2}
    plain = plot(figure, "")
    figure["layout"]["shapes"] = [{"type": "line", **ends}]
    figure["layout"]["xaxis"] |= {"tickvals": [0, 1], "ticktext": ["a<br>b", "c"]}
    svg = plot(figure, "")

    (across,) = [each for each in elements(svg, "line") if each.get("stroke-dasharray")]
    assert across.get("y1") == across.get("y2")
    assert {"a", "b", "c"} <= set(words(svg))
    assert height(svg) == pytest.approx(height(plain) + pen.LEADING)


def test_an_axis_of_dates_names_days():
    day_ms, first = 86_400_000, 1_772_323_200_000
    lines = [Line("one", [first, first + 30 * day_ms], [1, 3], ["", ""])]
    figure = on_screen(line_chart(lines, x_title="", y_title="y"))
    figure["layout"]["xaxis"] |= {"type": "date"}
    at = first + 15 * day_ms
    ends = {"x0": at, "x1": at, "y0": 0, "y1": 1}
    figure["layout"]["shapes"] = [{"type": "line", **ends}]
    assert vector.can_plot(figure)

    svg = plot(figure, "")

    days = [text for text in words(svg) if text and text.startswith("2026-")]
    assert days == sorted(days)
    assert 3 <= len(days) <= 6
    (upright,) = [
        each for each in elements(svg, "line") if each.get("stroke-dasharray")
    ]
    assert upright.get("x1") == upright.get("x2")


def height(svg):
    return float(ElementTree.fromstring(svg).get("viewBox").split()[-1])


@pytest.mark.parametrize(
    "trace",
    [
        {"type": "box"},
        {"type": "bar", "x": [1], "y": [1]},
        {"type": "scatter", "x": [1], "marker": {"symbol": ["line-ns"]}},
        {"type": "scatter", "x": [1], "error_x": {}},
        {"type": "scatter", "x": [1] * 1001},
    ],
)
def test_it_says_what_it_does_not_draw(trace):
    figure = {"data": [trace], "layout": {"xaxis": {}, "yaxis": {}}}

    assert not vector.can_plot(figure)
