"""The charts of a cell: sides in, Plotly figures out."""

import json

import pytest

from benchmarks.analysis.intervals import MeanInterval
from dashboard.charts import plotly
from dashboard.pages.cell import charts
from dashboard.pages.cell.charts import (
    Side,
    Speed,
    Strand,
    bins_of,
    quantiles,
    round_numbers,
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
SPEEDS = (Speed("59 MB/s (64 %)", 58.87, 7), Speed("109 MB/s (36 %)", 108.725, 4))
PAYLOAD = '<a href="javascript:alert(1)">x</a>'


def on_screen(chart):
    return chart and plotly.figure(chart)


def histogram(sides, *titles):
    return on_screen(charts.histogram(sides, *titles))


def ecdf(sides, *titles):
    return on_screen(charts.ecdf(sides, *titles))


def side(values, name="this result", **more):
    strands = tuple(
        Strand(f"run {at}", "", (value,)) for at, value in enumerate(values, start=1)
    )
    given = {"colour": "series-2", "unit": "MB/s", "strands": strands, **more}
    return Side(name=name, series=tuple(values), **given)


def iterated(runs, **more):
    """Return a side of few runs with several samples each."""
    strands = tuple(Strand(f"run {at}", "", each) for at, each in enumerate(runs, 1))
    values = [value for each in runs for value in each]
    return side(values, strands=strands, **more)


def bimodal():
    return side(HDPARM, speeds=SPEEDS, period=3)


def drawn_strip(*sides):
    return on_screen(charts.strip(sides, "MB/s"))


def drawn_order(*sides):
    return on_screen(charts.order(sides, "MB/s", "run", "first run"))


def traces(figure, **wanted):
    return [
        trace
        for trace in figure["data"]
        if all(trace.get(name) == value for name, value in wanted.items())
    ]


def dots(figure):
    return [trace for trace in figure["data"] if "symbol" in trace.get("marker", {})]


def test_nothing_is_drawn_of_nothing():
    assert drawn_strip() is None
    assert drawn_order(side([1.0])) is None
    assert histogram([side([1.0, 2.0])], "MB/s", "n") is None
    assert ecdf([], "MB/s", "share") is None


def test_the_strip_has_a_dot_for_every_sample_of_both_sides():
    figure = drawn_strip(side([1.0, 2.0]), side([3.0], "baseline"))

    first, second = dots(figure)
    assert (first["x"], second["x"]) == ([1.0, 2.0], [3.0])
    assert {round(y) for y in first["y"]} == {0}
    assert {round(y) for y in second["y"]} == {1}


def test_runs_of_a_strip_lie_on_lines_of_their_own():
    (trace,) = dots(drawn_strip(iterated([(1.0, 2.0), (3.0, 4.0)])))

    first, second = trace["y"][:2], trace["y"][2:]
    assert len(set(first)) == len(set(second)) == 1
    assert first[0] < second[0]
    assert trace["marker"]["symbol"] == ["circle", "circle", "square", "square"]
    assert trace["text"][3] == "run 2, 2: 4 MB/s"


def test_outliers_are_ringed_and_stay():
    figure = drawn_strip(side([1.0, 1.1, 9.0], outliers=(2,)))

    (ring,) = [it for it in dots(figure) if it["marker"]["symbol"] == "circle-open"]
    assert ring["x"] == [9.0]
    assert 9.0 in dots(figure)[0]["x"]


def test_the_mean_is_drawn_with_its_interval_and_faint_for_two_runs():
    mean = MeanInterval(2.0, 1.0, 3.5)
    figure = drawn_strip(side([1.0, 3.0], mean=mean, is_faint=True))

    (mean,) = [trace for trace in dots(figure) if "error_x" in trace]
    assert mean["error_x"]["array"] == [1.5]
    assert mean["error_x"]["arrayminus"] == [1.0]
    assert mean["opacity"] < 1


def test_a_box_shows_the_quartiles_it_is_given_and_only_those():
    (box,) = traces(drawn_strip(side([1.0], box=(1, 2, 3, 4, 5))), type="box")

    assert [box[name][0] for name in ("lowerfence", "q1", "median", "q3")] == [
        1,
        2,
        3,
        4,
    ]
    assert traces(drawn_strip(side([1.0])), type="box") == []


def test_two_speeds_are_two_lines_in_the_strip():
    (marks,) = [
        trace
        for trace in dots(drawn_strip(bimodal()))
        if trace["marker"]["symbol"] == "line-ns"
    ]

    assert marks["x"] == [58.87, 108.725]
    assert len(set(marks["marker"]["line"]["color"])) == 2


def test_the_order_plot_colours_speeds_and_marks_the_period():
    low, high = dots(drawn_order(bimodal()))

    assert low["name"] == "59 MB/s (64 %)"
    assert high["x"] == [1, 4, 7, 10]
    assert set(high["marker"]["symbol"]) == {"circle"}
    assert set(low["marker"]["symbol"]) == {"square", "diamond"}
    assert len(low["x"]) == 7


def test_each_side_has_an_order_panel_of_its_own():
    layout = drawn_order(side([1.0, 2.0]), side([3.0, 4.0], "baseline"))["layout"]

    assert layout["xaxis"]["title"]["text"] == "this result: run"
    assert layout["xaxis2"]["title"]["text"] == "baseline: run"
    assert layout["yaxis2"]["domain"][1] < layout["yaxis"]["domain"][0]


def test_sessions_are_parted_and_named():
    strands = tuple(
        Strand(f"run {at}", session, (float(at),))
        for at, session in enumerate(["Mon", "Mon", "Tue"], start=1)
    )
    layout = drawn_order(side([1.0, 2.0, 3.0], strands=strands))["layout"]

    assert [line["x0"] for line in layout["shapes"]] == [2.5]
    assert [note["text"] for note in layout["annotations"]] == ["Mon", "Tue"]


def test_runs_of_several_samples_are_parted_and_their_means_stand_amid_them():
    runs = [(float(at), at + 1.0) for at in range(5)]
    strands = tuple(Strand(f"run {at}", "", each) for at, each in enumerate(runs))
    figure = drawn_order(side([at + 0.5 for at in range(5)], strands=strands))

    assert [line["x0"] for line in figure["layout"]["shapes"]] == [2.5, 4.5, 6.5, 8.5]
    samples, _path, means = figure["data"]
    assert len(samples["x"]) == 10
    assert means["x"] == [1.5, 3.5, 5.5, 7.5, 9.5]


def test_a_first_run_that_differs_is_named():
    layout = drawn_order(side([9.0, 1.0, 1.1], is_first_apart=True))["layout"]

    assert [(note["text"], note["x"]) for note in layout["annotations"]] == [
        ("first run", 1.0)
    ]


def test_the_histogram_counts_every_point_once_and_colours_the_speeds():
    figure = histogram([bimodal(), side([60.0] * 5, "baseline")], "MB/s", "n")

    low, high, other = figure["data"]
    assert (sum(low["y"]), sum(high["y"]), sum(other["y"])) == (7, 4, 5)
    assert low["marker"]["color"] != high["marker"]["color"]
    assert [note["text"] for note in figure["layout"]["annotations"]] == [
        "59 MB/s (64 %)",
        "109 MB/s (36 %)",
    ]


@pytest.mark.parametrize(
    ("others", "moved"),
    [
        ((), None),
        (range(900, 930, 3), (1, "left")),
        (range(-900, -870, 3), (0, "right")),
    ],
)
def test_of_labels_that_lie_near_each_other_one_stands_beside_its_line(others, moved):
    far = [side(tuple(map(float, others)), name="baseline")] if others else []

    figure = histogram([bimodal(), *far], "MB/s", "number")

    notes = figure["layout"]["annotations"]
    beside = [
        (at, note["xanchor"]) for at, note in enumerate(notes) if "xshift" in note
    ]
    assert beside == ([moved] if moved else [])


def test_a_single_run_has_no_distribution_however_many_samples_it_has():
    assert histogram([iterated([tuple(map(float, range(50)))])], "MB/s", "n") is None


def test_bins_cover_equal_values_and_many_values():
    same = bins_of([side([3.0] * 6)])
    many = bins_of([side([float(at % 97) for at in range(5000)])])

    assert sum(same.counts[0]) == 6
    assert sum(many.counts[0]) == 5000
    assert len(many.counts[0]) <= 40


def test_the_ecdf_rises_to_one_and_differs_in_more_than_colour():
    own, other = ecdf([side(HDPARM), side([1.0] * 5, "baseline")], "MB/s", "share")[
        "data"
    ]

    assert own["x"] == [55.64, *sorted(HDPARM)]
    assert own["y"][-1] == pytest.approx(100)
    assert own["line"].get("dash") != other["line"].get("dash")


def test_quantiles_begin_and_end_with_the_extremes():
    values = quantiles(side(HDPARM))

    assert (values[0], values[-1]) == (min(HDPARM), max(HDPARM))
    assert values[3] == 61.35


@pytest.mark.parametrize("draw", [drawn_strip, drawn_order])
def test_names_are_shown_and_never_read_as_markup(draw):
    strands = (Strand(PAYLOAD, PAYLOAD, (1.0,)), Strand(PAYLOAD, "", (2.0,)))
    figure = draw(side([1.0, 2.0], PAYLOAD, strands=strands))

    assert "<a" not in json.dumps(figure)


def test_colours_are_tokens_of_the_style_sheet():
    figure = drawn_strip(bimodal())

    assert dots(figure)[1]["marker"]["color"] == "--series-2"
    assert json.loads(json.dumps(figure)) == figure


def test_bins_are_as_fine_as_the_narrower_side_needs():
    near, far = side([100.0, 100.1, 100.2, 100.3, 100.4]), side([110.0] * 5)

    bins = bins_of([near, far])

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
def test_ticks_are_round_numbers(low, high, ticks):
    assert round_numbers(low, high) == ticks


def test_very_many_samples_tell_their_value_alone():
    trace = dots(drawn_strip(iterated([tuple(map(float, range(1001)))])))[0]

    assert "text" not in trace
    assert trace["hovertemplate"] == "%{x} MB/s<extra></extra>"
