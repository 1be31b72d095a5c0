"""CPU time for a unit of data."""

import pytest

from benchmarks.parsing.cases import MeasuredSample, costs
from benchmarks.tools import TOOLS


def made(tool, *samples):
    return list(costs(TOOLS[tool], [MeasuredSample(*sample) for sample in samples]))


def test_a_share_of_the_time_and_a_rate_make_the_cost_of_the_data():
    """20 % of a CPU for 100 MB/s: 2 ns a byte, 2.048 us for 1024 of them."""
    (cost,) = made(
        "iometer",
        ("CPU utilization (network)", {"operation": "write"}, 1, 20.0),
        ("network throughput", {"operation": "write"}, 1, 100.0),
    )

    assert cost.metric == "CPU time per data (network)"
    assert cost.parameters == {"operation": "write"}
    assert cost.value == pytest.approx(2.048)


def test_shares_of_both_modes_add_up():
    (cost,) = made(
        "tiotest",
        ("CPU user", {"operation": "read"}, 1, 5.0),
        ("CPU system", {"operation": "read"}, 1, 15.0),
        ("rate", {"operation": "read"}, 1, 100.0),
    )

    assert cost.value == pytest.approx(2.048)


@pytest.mark.parametrize(
    "rate",
    [
        pytest.param(({"operation": "read"}, 1, 100.0), id="of another case"),
        pytest.param(({"operation": "write"}, 2, 100.0), id="of another repetition"),
        pytest.param(({"operation": "write"}, 1, 0.0), id="of nothing"),
    ],
)
def test_nothing_is_made_of_numbers_that_do_not_belong_together(rate):
    share = ("CPU utilization (network)", {"operation": "write"}, 1, 20.0)

    assert made("iometer", share, ("network throughput", *rate)) == []


def test_a_share_of_both_ways_is_of_neither():
    share = ("CPU user", {"job": "x"}, 1, 5.0), ("CPU system", {"job": "x"}, 1, 5.0)
    read = ("throughput", {"job": "x", "operation": "read"}, 1, 100.0)
    write = ("throughput", {"job": "x", "operation": "write"}, 1, 100.0)

    assert made("fio", *share, read, write) == []
    (cost,) = made("fio", *share, read)
    assert cost.parameters == {"job": "x", "operation": "read"}


def test_half_of_the_shares_is_no_cost():
    share = ("CPU user", {}, 1, 5.0)

    assert made("tiotest", share, ("rate", {}, 1, 100.0)) == []


@pytest.mark.parametrize(
    "tool", [tool for tool in TOOLS.values() if tool.costs], ids=lambda tool: tool.slug
)
def test_costs_are_never_a_speed(tool):
    assert {tool.metric(name).kind for name in tool.costs} == {"cost"}
