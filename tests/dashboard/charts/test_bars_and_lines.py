"""Bar and line charts as Plotly figures."""

from dashboard.charts import bars_and_lines as charts
from dashboard.charts.chart import LineStyle, Points
from dashboard.charts.plotly_renderer import plotly_figure


def bar_chart(*rows, **more):
    return plotly_figure(charts.bar_chart(*rows, **more))


def line_chart(*lines, **more):
    return plotly_figure(charts.line_chart(*lines, **more))


def test_bars_have_rows_and_references_span_all_rows():
    bars = [("VM 1", [10, 20]), ("VM 2", [30, None])]
    drawn = bar_chart(
        ["2 VMs", "3 VMs"],
        bars,
        [("alone", 25)],
        axis_title="MB/s",
        mode="stack",
    )

    assert [trace["type"] for trace in drawn["data"]] == ["bar", "bar", "scatter"]
    assert drawn["data"][2]["x"] == [25, 25]
    assert drawn["data"][2]["y"] == [-0.5, 1.5]
    assert drawn["layout"]["yaxis"]["ticktext"] == ["2 VMs", "3 VMs"]


def test_grouped_bars_need_higher_rows():
    bars = [("a", [1]), ("b", [2]), ("c", [3])]
    heights = [
        bar_chart(["row"], bars, axis_title="", mode=mode)["layout"]["height"]
        for mode in ("stack", "group")
    ]

    assert heights[0] < heights[1]


def test_a_target_is_a_vertical_stroke_at_its_row():
    drawn = bar_chart(
        ["2 VMs", "3 VMs"],
        [("measured", [287, 429])],
        axis_title="s",
        mode="group",
        targets=[("alone", [214, 321]), ("as cores", [None, 430])],
    )

    bar, alone, cores = drawn["data"]
    assert alone["x"] == [214, 214, None, 321, 321, None]
    assert [round(y) for y in alone["y"] if y is not None] == [0, 0, 1, 1]
    assert cores["x"] == [430, 430, None]
    assert len({str(item["line"]) for item in (alone, cores)}) == 2
    looks = [item.get("line", item.get("marker")) for item in drawn["data"]]
    assert len({look["color"] for look in looks}) == 3
    assert bar["type"] == "bar"


def test_expected_lines_are_dashed_without_markers():
    line = Points(x=[1, 3], y=[10, 30], line=LineStyle(dash="dash"))
    drawn = line_chart([line], x_title="VMs", y_title="MB/s")

    (trace,) = drawn["data"]
    assert (trace["mode"], trace["line"]["dash"]) == ("lines", "dash")


def test_names_are_escaped():
    name = "<b>bold</b>"
    drawn = bar_chart([name], [(name, [1])], axis_title=name, mode="group")
    line = Points(name=name, x=[1], y=[2], hover_texts=[name], line=LineStyle())
    curve = line_chart([line], x_title=name, y_title=name)

    assert "<b>" not in str(drawn) + str(curve)


def test_a_window_is_shaded_and_a_marked_point_has_a_ring():
    line = Points(x=[0, 1], y=[90, 100], hover_texts=["a", "b"], line=LineStyle())
    drawn = line_chart([line], x_title="s", y_title="W", window=(0.2, 0.8), marked=line)

    (shape,) = drawn["layout"]["shapes"]
    assert (shape["x0"], shape["x1"]) == (0.2, 0.8)
    assert drawn["data"][-1]["marker"]["symbol"] == "circle-open"


def test_long_series_have_no_markers():
    times = list(range(1000))
    line = Points(x=times, y=times, line=LineStyle())
    drawn = line_chart([line], x_title="s", y_title="W")

    assert drawn["data"][0]["mode"] == "lines"
