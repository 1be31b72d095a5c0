"""One metric of each test is primary."""

from types import SimpleNamespace

import pytest

from benchmarks.comparison.study_verdicts import primary_case_ids
from benchmarks.parsing.tool import CpuCost, Metric, Tool, always, metrics
from benchmarks.tools import TOOLS
from tests.for_each import for_each

# They only observe another tool.
OBSERVERS = {
    *("ipmi-dcmi", "libvirt-domstats", "openvz-beancounters", "pdh-csv", "xentop"),
    "xl-info",
}


def primaries(*cases):
    measured = {
        number: SimpleNamespace(tool=tool, metric=metric, parameters=parameters)
        for number, (tool, metric, parameters) in enumerate(cases)
    }
    return sorted(primary_case_ids(measured))


def test_operations_and_bytes_of_one_test_count_once():
    read, write = {"operation": "read"}, {"operation": "write"}

    assert primaries(
        ("fio", "throughput", read),
        ("fio", "IOPS", read),
        ("fio", "completion latency p99", read),
        ("fio", "IOPS", write),
    ) == [0, 3]


def test_implied_metrics_are_primary_if_the_implying_one_is_missing():
    assert primaries(("linpack", "time", {"n": "2000"})) == [0]
    assert primaries(
        ("linpack", "time", {"n": "2000"}), ("linpack", "performance", {"n": "2000"})
    ) == [1]


def test_a_mean_over_parameters_is_implied_by_them():
    of = {"processes": "4"}

    assert primaries(
        ("b_eff_io", "b_eff_io", of),
        ("b_eff_io", "weighted bandwidth", {**of, "operation": "read"}),
    ) == [1]


def test_a_percentile_is_never_primary():
    assert primaries(("wrk", "latency percentile", {"percentile": "99"})) == []


@for_each("tool", TOOLS.values())
def test_every_work_tool_has_primary_metrics(tool):
    assert bool(tool.primary_metrics) == (tool.slug not in OBSERVERS)
    for name in (*tool.primary_metrics, *tool.implied_metrics):
        assert tool.metric(name).kind in ("speed", "energy"), name


def test_a_tool_may_only_name_metrics_that_it_has():
    def tool(**named):
        metric = Metric("time", "s", "lower", "CPU", **named)
        return Tool(slug="x", title="X", homepage="", metrics=(metric,))

    with pytest.raises(ValueError, match='no metric "rate"'):
        tool(implied_by=("rate",))
    with pytest.raises(ValueError, match='no metric "rate"'):
        tool(cpu_cost=CpuCost(("time",), "rate"))
    with pytest.raises(ValueError, match='metric "rate"'):
        metrics(
            ("time",), "s", "lower", "CPU", work_class={"rate": always("CPU: integer")}
        )
    with pytest.raises(ValueError, match="primary and implied"):
        tool(work_class=always("CPU: integer"), implied_by=("time",))
