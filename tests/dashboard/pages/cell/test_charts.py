"""The charts of a cell as Plotly figures."""

import json

import pytest

from benchmarks.analysis.intervals import MeanInterval
from dashboard.charts import plotly_renderer
from dashboard.pages.cell import charts
from dashboard.pages.cell.charts import (
    ChartRun,
    SampleSeries,
    SpeedMode,
    quantiles,
    round_numbers,
    shared_bins,
)

HDPARM = (
    108.43,
    55.64,
    62.37,
    107.52,
    58.87,
    61.35,
    111.1,
    57.87,
    58.17,
    109.02,
    59.19,
)
SPEEDS = (
    SpeedMode("59 MB/s (64%)", 58.87, 7),
    SpeedMode("109 MB/s (36%)", 108.725, 4),
)
PAYLOAD = '<a href="javascript:alert(1)">x</a>'


def on_screen(chart):
    return chart and plotly_renderer.plotly_figure(chart)


def histogram(sides, *titles):
    return on_screen(charts.histogram_chart(sides, *titles))


def ecdf(sides, *titles):
    return on_screen(charts.ecdf_chart(sides, *titles))


def side(values, name="this result", **more):
    strands = tuple(
        ChartRun(f"run {at}", "", (value,)) for at, value in enumerate(values, start=1)
    )
    given = {"color": "series-2", "unit": "MB/s", "runs": strands, **more}
    return SampleSeries(name=name, values=tuple(values), **given)


def side_of_runs(runs, **more):
    """Return a side of runs with several samples each."""
    strands = tuple(ChartRun(f"run {at}", "", each) for at, each in enumerate(runs, 1))
    values = [value for each in runs for value in each]
    return side(values, runs=strands, **more)


def bimodal():
    return side(HDPARM, speeds=SPEEDS, period=3)


def drawn_strip(*sides):
    return on_screen(charts.strip_plot(sides, "MB/s"))


def drawn_order(*sides):
    return on_screen(charts.run_order_plot(sides, "MB/s", "run", "first run"))


def traces(figure, **wanted):
    return [
        trace
        for trace in figure["data"]
        if all(trace.get(name) == value for name, value in wanted.items())
    ]


def dots(figure):
    return [trace for trace in figure["data"] if "symbol" in trace.get("marker", {})]


def test_no_chart_without_data():
    assert drawn_strip() is None
    assert drawn_order(side([1.0])) is None
    assert histogram([side([1.0, 2.0])], "MB/s", "n") is None
    assert ecdf([], "MB/s", "share") is None


def test_strip_plot_shows_every_sample():
    figure = drawn_strip(side([1.0, 2.0]), side([3.0], "baseline"))

    first, second = dots(figure)
    assert (first["x"], second["x"]) == ([1.0, 2.0], [3.0])
    assert {round(y) for y in first["y"]} == {0}
    assert {round(y) for y in second["y"]} == {1}


def test_strip_plot_has_line_per_run():
    (trace,) = dots(drawn_strip(side_of_runs([(1.0, 2.0), (3.0, 4.0)])))

    first, second = trace["y"][:2], trace["y"][2:]
    assert len(set(first)) == len(set(second)) == 1
    assert first[0] < second[0]
    assert trace["marker"]["symbol"] == ["circle", "circle", "square", "square"]
    assert trace["text"][3] == "run 2, 2: 4\N{NO-BREAK SPACE}MB/s"


def test_outliers_are_ringed_and_kept():
    figure = drawn_strip(side([1.0, 1.1, 9.0], outliers=(2,)))

    (ring,) = [it for it in dots(figure) if it["marker"]["symbol"] == "circle-open"]
    assert ring["x"] == [9.0]
    assert 9.0 in dots(figure)[0]["x"]


def test_mean_has_interval_and_is_faint_for_two_runs():
    mean = MeanInterval(2.0, 1.0, 3.5)
    figure = drawn_strip(side([1.0, 3.0], mean=mean, is_faint=True))

    (mean,) = [trace for trace in dots(figure) if "error_x" in trace]
    assert mean["error_x"]["array"] == [1.5]
    assert mean["error_x"]["arrayminus"] == [1.0]
    assert mean["opacity"] < 1


def test_box_shows_given_quartiles():
    (box,) = traces(drawn_strip(side([1.0], box=(1, 2, 3, 4, 5))), type="box")

    assert [box[name][0] for name in ("lowerfence", "q1", "median", "q3")] == [
        1,
        2,
        3,
        4,
    ]
    assert traces(drawn_strip(side([1.0])), type="box") == []


def test_strip_plot_has_line_per_mode():
    (marks,) = [
        trace
        for trace in dots(drawn_strip(bimodal()))
        if trace["marker"]["symbol"] == "line-ns"
    ]

    assert marks["x"] == [58.87, 108.725]
    assert len(set(marks["marker"]["line"]["color"])) == 2


def test_order_plot_colors_modes_and_marks_period():
    low, high = dots(drawn_order(bimodal()))

    assert low["name"] == "59 MB/s (64%)"
    assert high["x"] == [1, 4, 7, 10]
    assert set(high["marker"]["symbol"]) == {"circle"}
    assert set(low["marker"]["symbol"]) == {"square", "diamond"}
    assert len(low["x"]) == 7


def test_each_side_has_order_panel():
    layout = drawn_order(side([1.0, 2.0]), side([3.0, 4.0], "baseline"))["layout"]

    assert layout["xaxis"]["title"]["text"] == "this result: run"
    assert layout["xaxis2"]["title"]["text"] == "baseline: run"
    assert layout["yaxis2"]["domain"][1] < layout["yaxis"]["domain"][0]


def test_sessions_are_separated_and_labeled():
    strands = tuple(
        ChartRun(f"run {at}", session, (float(at),))
        for at, session in enumerate(["Mon", "Mon", "Tue"], start=1)
    )
    layout = drawn_order(side([1.0, 2.0, 3.0], runs=strands))["layout"]

    assert [line["x0"] for line in layout["shapes"]] == [2.5]
    assert [note["text"] for note in layout["annotations"]] == ["Mon", "Tue"]


def test_runs_are_separated_with_means_centered():
    runs = [(float(at), at + 1.0) for at in range(5)]
    strands = tuple(ChartRun(f"run {at}", "", each) for at, each in enumerate(runs))
    figure = drawn_order(side([at + 0.5 for at in range(5)], runs=strands))

    assert [line["x0"] for line in figure["layout"]["shapes"]] == [2.5, 4.5, 6.5, 8.5]
    samples, _path, means = figure["data"]
    assert len(samples["x"]) == 10
    assert means["x"] == [1.5, 3.5, 5.5, 7.5, 9.5]


def test_different_first_run_is_labeled():
    layout = drawn_order(side([9.0, 1.0, 1.1], has_separate_first=True))["layout"]

    assert [(note["text"], note["x"]) for note in layout["annotations"]] == [
        ("first run", 1.0)
    ]


def test_histogram_counts_points_once_and_colors_modes():
    figure = histogram([bimodal(), side([60.0] * 5, "baseline")], "MB/s", "n")

    low, high, other = figure["data"]
    assert (sum(low["y"]), sum(high["y"]), sum(other["y"])) == (7, 4, 5)
    assert low["marker"]["color"] != high["marker"]["color"]
    assert [note["text"] for note in figure["layout"]["annotations"]] == [
        "59 MB/s (64%)",
        "109 MB/s (36%)",
    ]


@pytest.mark.parametrize(
    ("others", "moved"),
    [
        ((), None),
        (range(900, 930, 3), (1, "left")),
        (range(-900, -870, 3), (0, "right")),
    ],
)
def test_close_mode_labels_do_not_overlap(others, moved):
    far = [side(tuple(map(float, others)), name="baseline")] if others else []

    figure = histogram([bimodal(), *far], "MB/s", "number")

    notes = figure["layout"]["annotations"]
    beside = [
        (at, note["xanchor"]) for at, note in enumerate(notes) if "xshift" in note
    ]
    assert beside == ([moved] if moved else [])


def test_single_run_has_no_distribution():
    assert (
        histogram([side_of_runs([tuple(map(float, range(50)))])], "MB/s", "n") is None
    )


def test_bins_cover_equal_and_many_values():
    same = shared_bins([side([3.0] * 6)])
    many = shared_bins([side([float(at % 97) for at in range(5000)])])

    assert sum(same.counts[0]) == 6
    assert sum(many.counts[0]) == 5000
    assert len(many.counts[0]) <= 40


def test_ecdf_reaches_one_and_differs_by_line_style():
    own, other = ecdf([side(HDPARM), side([1.0] * 5, "baseline")], "MB/s", "share")[
        "data"
    ]

    assert own["x"] == [55.64, *sorted(HDPARM)]
    assert own["y"][-1] == pytest.approx(100)
    assert own["line"].get("dash") != other["line"].get("dash")


def test_quantiles_include_extremes():
    values = quantiles(side(HDPARM))

    assert (values[0], values[-1]) == (min(HDPARM), max(HDPARM))
    assert values[3] == 61.35


@pytest.mark.parametrize("draw", [drawn_strip, drawn_order])
def test_names_are_escaped(draw):
    strands = (ChartRun(PAYLOAD, PAYLOAD, (1.0,)), ChartRun(PAYLOAD, "", (2.0,)))
    figure = draw(side([1.0, 2.0], PAYLOAD, runs=strands))

    assert "<a" not in json.dumps(figure)


def test_colors_are_css_variables():
    figure = drawn_strip(bimodal())

    assert dots(figure)[1]["marker"]["color"] == "--series-2"
    assert json.loads(json.dumps(figure)) == figure


def test_bin_width_follows_narrower_side():
    near, far = side([100.0, 100.1, 100.2, 100.3, 100.4]), side([110.0] * 5)

    bins = shared_bins([near, far])

    assert len(bins.counts[0]) == 40
    assert bins.counts[1][-1] == 5


@pytest.mark.parametrize(
    ("low", "high", "ticks"),
    [
        (55.64, 111.1, [60, 80, 100]),
        (102.7, 112.6, [104, 106, 108, 110, 112]),
        (0.1234, 0.1236, [0.1234, 0.12345, 0.1235, 0.12355, 0.1236]),
        (-0.5, 0.5, [-0.4, -0.2, 0, 0.2, 0.4]),
    ],
)
def test_ticks_are_round(low, high, ticks):
    assert round_numbers(low, high) == ticks


def test_many_samples_have_short_hover_texts():
    trace = dots(drawn_strip(side_of_runs([tuple(map(float, range(1001)))])))[0]

    assert "text" not in trace
    assert trace["hovertemplate"] == "%{x}\N{NO-BREAK SPACE}MB/s<extra></extra>"


def test_percentages_have_no_space_before_the_sign():
    percentages = side([5.0], unit="%")
    many = dots(drawn_strip(side([5.0] * 1001, unit="%")))[0]

    assert percentages.text("run 1", 5.0) == "run 1: 5%"
    assert many["hovertemplate"] == "%{x}%<extra></extra>"
