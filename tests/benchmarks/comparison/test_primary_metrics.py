"""One metric of each test is primary."""

from types import SimpleNamespace

import pytest

from benchmarks.comparison.comparison_table import Median, medians
from benchmarks.comparison.study_verdicts import primary_case_ids, primary_rows
from benchmarks.parsing.tool import CpuCost, Metric, Tool, always, metrics
from benchmarks.tools import TOOLS
from tests.comparison_rows import XEN, changed
from tests.for_each import for_each

# They only observe another tool.
OBSERVERS = {
    *("ipmi-dcmi", "libvirt-domstats", "openvz-beancounters", "pdh-csv", "xentop"),
    *("sysstat", "vmstat", "xl-info"),
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
    ) == [0, 2, 3]


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


def wrk(*percentiles):
    return [("wrk", "latency percentile", {"percentile": rank}) for rank in percentiles]


@pytest.mark.parametrize(
    ("percentiles", "primary"),
    [
        (["50", "90", "99", "99.9", "100"], 2),
        (["50", "75", "90", "95"], 3),
        (["99.9", "99.99"], 0),
        (["100", "99.9"], 1),
    ],
)
def test_one_tail_of_a_test_is_primary(percentiles, primary):
    assert primaries(*wrk(*percentiles)) == [primary]


def test_a_percentile_below_90_is_never_primary():
    assert primaries(*wrk("50", "75")) == []


def test_each_test_has_its_own_tail():
    read, write = {"operation": "read"}, {"operation": "write"}

    assert primaries(
        ("fio", "completion latency p95", read),
        ("fio", "completion latency p99", write),
        ("fio", "completion latency p99.9", write),
    ) == [0, 1]


def test_profiles_have_no_tails():
    measured = {
        1: SimpleNamespace(tool="wrk", metric="request rate", parameters={}),
        2: SimpleNamespace(
            tool="wrk", metric="latency percentile", parameters={"percentile": "99"}
        ),
    }

    assert primary_case_ids(measured) == {1, 2}
    assert primary_case_ids(measured, with_tails=False) == {1}


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


def fio_rows(*metrics, system=2):
    return [
        changed(
            XEN,
            id=100 * system + number,
            case_id=number,
            system_id=system,
            tool="fio",
            metric=metric,
            case=metric,
            parameters={"operation": "read"},
            ratio=0.5 + number / 10,
        )
        for number, metric in enumerate(metrics)
    ]


def test_medians_count_one_execution_once():
    rows = fio_rows(
        "throughput", "IOPS", "completion latency", "completion latency p99"
    )

    assert medians(rows)[2] == Median(0.5, 1)


def test_tools_without_primary_metrics_keep_all_rows():
    rows = fio_rows("throughput", "IOPS")
    observed = [
        changed(row, tool="xentop", id=row.id + 1000, case_id=row.case.id + 1000)
        for row in fio_rows("CPU", "memory", system=3)
    ]

    assert [row.id for row in primary_rows([*rows, *observed])] == [200, 1300, 1301]
