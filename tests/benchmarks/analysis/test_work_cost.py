import pytest

from benchmarks.analysis.work_cost import cost_unit, work_cost


@pytest.mark.parametrize(
    ("metric", "unit", "better", "cost"),
    [
        ("throughput", "MB/s", "higher", "J/MB"),
        ("throughput", "Mbit/s", "higher", "J/Mbit"),
        ("performance", "Mflop/s", "higher", "J/Mflop"),
        ("event rate", "1/s", "higher", "J"),
        ("event rate", "1/min", "higher", "J"),
        ("total time", "s", "lower", "J"),
        ("latency", "ms", "lower", ""),
        ("energy", "J", "lower", ""),
        ("events", "", "neither", ""),
        ("share", "%", "higher", ""),
    ],
)
def test_only_a_rate_or_the_time_of_the_whole_work_has_a_cost(
    metric, unit, better, cost
):
    assert cost_unit(metric, unit, better) == cost


@pytest.mark.parametrize(
    ("value", "unit", "better", "joules"),
    [
        (50.0, "MB/s", "higher", 2.0),
        (50.0, "1/s", "higher", 2.0),
        (60.0, "1/min", "higher", 100.0),
        (30.0, "s", "lower", 3000.0),
        (500.0, "ms", "lower", 50.0),
    ],
)
def test_100_watts_cost(value, unit, better, joules):
    assert work_cost(value, unit, better, 100.0) == pytest.approx(joules)


def test_twice_as_fast_at_the_same_power_costs_half():
    assert work_cost(2, "1/s", "higher", 80) == work_cost(1, "1/s", "higher", 80) / 2


@pytest.mark.parametrize(("value", "watts"), [(0, 100), (5, 0), (-1, 100)])
def test_where_nothing_was_done_there_is_no_cost(value, watts):
    assert work_cost(value, "1/s", "higher", watts) is None
