"""One number of each test counts."""

from types import SimpleNamespace

import pytest

from benchmarks.comparing.verdicts import primary_ids
from benchmarks.parsing.contract import Cost, Metric, Tool, always, metrics
from benchmarks.tools import TOOLS
from tests.every import for_each

# They look on while another tool works.
OBSERVERS = {
    *("ipmi-dcmi", "libvirt-domstats", "openvz-beancounters", "pdh-csv", "xentop"),
    "xl-info",
}


def primaries(*cases):
    measured = {
        number: SimpleNamespace(tool=tool, metric=metric, parameters=parameters)
        for number, (tool, metric, parameters) in enumerate(cases)
    }
    return sorted(primary_ids(measured))


def test_operations_and_bytes_of_one_test_are_one():
    read, write = {"operation": "read"}, {"operation": "write"}

    assert primaries(
        ("fio", "throughput", read),
        ("fio", "IOPS", read),
        ("fio", "completion latency p99", read),
        ("fio", "IOPS", write),
    ) == [0, 3]


def test_what_follows_from_another_stands_for_its_test_where_that_was_not_measured():
    assert primaries(("linpack", "time", {"n": "2000"})) == [0]
    assert primaries(
        ("linpack", "time", {"n": "2000"}), ("linpack", "performance", {"n": "2000"})
    ) == [1]


def test_a_mean_over_what_parameters_tell_apart_is_implied_by_them():
    of = {"processes": "4"}

    assert primaries(
        ("b_eff_io", "b_eff_io", of),
        ("b_eff_io", "weighted bandwidth", {**of, "operation": "read"}),
    ) == [1]


def test_a_percentile_never_stands_for_a_test():
    assert primaries(("wrk", "latency percentile", {"percentile": "99"})) == []


@for_each("tool", TOOLS.values())
def test_every_tool_that_measures_work_names_what_stands_for_it(tool):
    assert bool(tool.primary) == (tool.slug not in OBSERVERS)
    for name in (*tool.primary, *tool.implied):
        assert tool.metric(name).kind in ("speed", "energy"), name


def test_a_tool_may_only_name_metrics_that_it_has():
    def tool(**named):
        metric = Metric("time", "s", "lower", "CPU", **named)
        return Tool(slug="x", title="X", homepage="", metrics=(metric,))

    with pytest.raises(ValueError, match='no metric "rate"'):
        tool(implied_by=("rate",))
    with pytest.raises(ValueError, match='no metric "rate"'):
        tool(cost=Cost(("time",), "rate"))
    with pytest.raises(ValueError, match='no metric "rate"'):
        metrics(("time",), "s", "lower", "CPU", work={"rate": always("CPU: integer")})
    with pytest.raises(ValueError, match="primary and implied"):
        tool(work=always("CPU: integer"), implied_by=("time",))
