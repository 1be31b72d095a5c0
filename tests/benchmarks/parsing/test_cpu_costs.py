"""CPU time per unit of data."""

import pytest

from benchmarks.parsing.cpu_costs import MeasuredSample, derive_costs
from benchmarks.tools import TOOLS


def derived(tool, *samples):
    return list(
        derive_costs(TOOLS[tool], [MeasuredSample(*sample) for sample in samples])
    )


def test_a_cpu_share_and_a_rate_give_the_cost():
    """20 % of a CPU for 100 MB/s: 2 ns per byte, 2.048 us for 1024 bytes."""
    (cost,) = derived(
        "iometer",
        ("CPU utilization (network)", {"operation": "write"}, 1, 20.0),
        ("network throughput", {"operation": "write"}, 1, 100.0),
    )

    assert cost.metric == "CPU time per data (network)"
    assert cost.parameters == {"operation": "write"}
    assert cost.value == pytest.approx(2.048)


def test_shares_of_both_modes_are_added():
    (cost,) = derived(
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
def test_unrelated_numbers_give_no_cost(rate):
    cpu = ("CPU utilization (network)", {"operation": "write"}, 1, 20.0)

    assert derived("iometer", cpu, ("network throughput", *rate)) == []


def test_a_share_of_both_directions_belongs_to_neither():
    cpu = ("CPU user", {"job": "x"}, 1, 5.0), ("CPU system", {"job": "x"}, 1, 5.0)
    read = ("throughput", {"job": "x", "operation": "read"}, 1, 100.0)
    write = ("throughput", {"job": "x", "operation": "write"}, 1, 100.0)

    assert derived("fio", *cpu, read, write) == []
    (cost,) = derived("fio", *cpu, read)
    assert cost.parameters == {"job": "x", "operation": "read"}


def test_a_part_of_the_shares_gives_no_cost():
    cpu = ("CPU user", {}, 1, 5.0)

    assert derived("tiotest", cpu, ("rate", {}, 1, 100.0)) == []


@pytest.mark.parametrize(
    "tool",
    [tool for tool in TOOLS.values() if tool.derived_costs],
    ids=lambda tool: tool.slug,
)
def test_costs_are_never_a_speed(tool):
    assert {tool.metric(name).kind for name in tool.derived_costs} == {"cost"}
