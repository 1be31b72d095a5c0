"""Charts of factor effects."""

import math

import pytest

from benchmarks.analysis.factor_effects.effects import FactorEffect
from dashboard.charts import factor_effects
from dashboard.charts.factor_effects import effect_bar, effect_limit
from dashboard.charts.plotly_renderer import plotly_figure


def line_plot(*given, **more):
    return plotly_figure(factor_effects.interaction_plot(*given, **more))


def half_normal_plot(*given, **more):
    return plotly_figure(factor_effects.half_normal_plot(*given, **more))


def effect(factor, margin=None, wide=None):
    return FactorEffect((), (), math.log(factor), margin=margin, wide_margin=wide)


def test_the_axis_is_the_shortest_that_contains_all_effects():
    assert effect_limit([effect(1.4), effect(0.95)]) == 1.5
    assert effect_limit([effect(1 / 1.4)]) == 1.5
    assert effect_limit([]) == 1.02
    assert effect_limit([effect(1000)]) == 100


def test_bars_extend_from_one_to_the_factor():
    bars = [effect_bar(effect(factor), 4.0) for factor in (2, 0.5, 400)]

    assert bars[0]["bar"] == ("50.00%", "25.00%")
    assert bars[1]["bar"] == ("25.00%", "25.00%")
    assert bars[2]["bar"] == ("50.00%", "50.00%")
    assert [bar["side"] for bar in bars] == ["above", "below", "above"]


def test_the_axis_contains_the_intervals():
    assert effect_limit([effect(1.01, margin=math.log(1.04))]) == 1.1
    assert effect_limit([effect(0.99, math.log(1.04), wide=math.log(1.2))]) == 1.25


def test_whiskers_show_the_intervals():
    bar = effect_bar(effect(2, margin=math.log(2), wide=math.log(8)), 4.0)

    assert bar["whisker"] == ("50.00%", "100.00%")
    assert bar["wide_whisker"] == ("0.00%", "100.00%")
    assert effect_bar(effect(2), 4.0)["whisker"] is None


def test_a_line_plot_has_a_line_for_each_level():
    drawn = line_plot(
        ["Ubuntu, 32-bit", "Ubuntu, 64-bit"],
        [("absent", (0.3, 1.0)), ("installed", (0.9, None))],
        axis_title="Relative performance",
    )

    assert [trace["name"] for trace in drawn["data"]] == ["absent", "installed"]
    assert drawn["data"][1]["y"] == [0.9, None]
    assert drawn["layout"]["xaxis"]["ticktext"] == [
        "Ubuntu<br>32-bit",
        "Ubuntu<br>64-bit",
    ]
    assert drawn["layout"]["yaxis"]["type"] == "log"


def test_the_native_line_is_always_in_range():
    lines = [("absent", (0.3, 0.5)), ("installed", (0.4, None))]
    layout = line_plot(["a", "b"], lines, axis_title="", line_at=1.0)["layout"]

    (native,) = layout["shapes"]
    low, high = layout["yaxis"]["range"]
    assert (native["y0"], native["y1"]) == (1.0, 1.0)
    assert low < math.log10(0.3) < 0 < high


def test_names_are_escaped_and_words_are_not_broken():
    drawn = line_plot(["<b>installed</b>"] * 4, [("<i>", (1.0,) * 4)], axis_title="<u>")

    layout = drawn["layout"]
    assert layout["xaxis"]["ticktext"][0] == "&lt;b&gt;installed&lt;/b&gt;"
    assert drawn["data"][0]["name"] == "&lt;i&gt;"
    assert layout["yaxis"]["title"]["text"] == "&lt;u&gt;"


def test_the_half_normal_plot_labels_contrasts_beyond_chance():
    drawn = half_normal_plot(
        [
            ("Tools", 2.0, 2.1, True, "told"),
            ("Bits", 1.01, 0.1, False, "told"),
        ],
        chance=1.05,
        margins=(1.1, 1.3),
        axis_title="Size",
        other_title="Quantile",
    )

    line, quiet, named = drawn["data"]
    assert line["x"] == [1, pytest.approx(1.05**2.1)]
    assert line["y"] == [0, 2.1]
    assert (named["text"], named["mode"]) == (["Tools"], "markers+text")
    assert (quiet["x"], quiet["y"], quiet["mode"]) == ([1.01], [0.1], "markers")
    assert [shape["x0"] for shape in drawn["layout"]["shapes"]] == [1.1, 1.3]


@pytest.mark.parametrize("is_named", [True, False])
def test_a_half_normal_plot_may_have_only_one_group(is_named):
    drawn = half_normal_plot(
        [("Tools", 2.0, 2.1, is_named, "told")],
        chance=1.05,
        margins=(),
        axis_title="",
        other_title="",
    )

    assert len(drawn["data"]) == 2  # the line of chance, and one half
