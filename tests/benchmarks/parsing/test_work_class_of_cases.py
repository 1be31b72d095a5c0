"""The work class of a case, as declared by its tool."""

import pytest

from benchmarks.parsing.tool import always, when
from benchmarks.tools import TOOLS
from benchmarks.work_classes import WORK_CLASSES


@pytest.mark.parametrize(
    ("tool", "metric", "parameters", "work"),
    [
        ("fio", "IOPS", "operation=read access=random", "disk-random-read"),
        (
            "fio",
            "throughput",
            "operation=write access=sequential",
            SEQUENTIAL := "disk-sequential-write",
        ),
        ("iometer", "disk throughput", "operation=write access=sequential", SEQUENTIAL),
        ("iometer", "disk throughput", "operation=mixed access=random", ""),
        ("tiotest", "rate", "operation=write", SEQUENTIAL),
        ("hdparm", "cached read", "operation=read", "memory-read"),
        ("ramspeed", "bandwidth", "operation=triad", "memory-copy"),
        (
            "netperf",
            "throughput",
            "test=TCP_MAERTS operation=receive",
            "network-throughput-in",
        ),
        ("netperf", "throughput", "test=TCP_STREAM", "network-throughput-out"),
        ("netperf", "transaction rate", "test=TCP_RR", "network-round-trip"),
        ("netperf", "transaction rate", "test=TCP_CRR", "network-requests"),
        ("sysbench", "total time", "test=cpu", "cpu-integer"),
        ("sysbench", "request latency mean", "test=oltp", "application-database"),
        ("sysbench", "CPU event rate", "threads=1", "cpu-integer"),
        ("sysbench", "transaction rate", "threads=1", "application-database"),
        ("sysbench", "total time", "test=threads", ""),
        ("stress-ng", "bogo op rate", "stressor=fork", "system-process-creation"),
        ("linpack", "time", "n=2000", "cpu-floating-point"),
        ("wrk", "request rate", "threads=2", "application-web"),
        ("rapl", "energy", "part=package", "energy-per-work"),
        ("wrk", "latency percentile", "percentile=99", "application-tail-latency"),
        ("fio", "completion latency p99", "operation=read", "disk-tail-latency"),
        ("netperf", "latency p99", "test=TCP_RR", "network-tail-latency"),
        ("sysbench", "request latency p95", "test=fileio", "disk-tail-latency"),
        ("sysbench", "request latency p95", "test=cpu", ""),
        ("sysbench", "request latency max", "test=oltp", ""),
    ],
)
def test_a_case_has_a_work_class(tool, metric, parameters, work):
    stated = dict(pair.split("=") for pair in parameters.split())

    assert TOOLS[tool].work_class_of(metric, stated) == work


def test_tools_declare_classes_of_the_vocabulary_only():
    declared = {
        slug
        for tool in TOOLS.values()
        for work in tool.primary_metrics.values()
        for slug in work.work_classes
    }

    # No tool measures it yet.
    assert WORK_CLASSES.keys() - declared == {"disk-fsync"}


def test_an_unknown_work_class_is_rejected():
    with pytest.raises(ValueError, match="is not a work class"):
        when("CPU: quick", test="cpu")
    with pytest.raises(ValueError, match="is not a work class"):
        always("speed")
