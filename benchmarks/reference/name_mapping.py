"""Mapping of names that the reference studies print to our names. PURE."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final

Parameter = str | int | bool


@dataclass(frozen=True, slots=True)
class MetricMapping:
    """The tool and metric that a printed metric means, with a mapping of parameters.

    ``fixed`` are parameters that the printed name of the metric implies. ``names`` maps
    printed names of parameters to ours, or to None if they become facts of the run.
    ``units`` replaces printed units that have another meaning in the study.
    """

    tool: str
    metric: str
    fixed: Mapping[str, Parameter] = field(default_factory=dict)
    names: Mapping[str, str | None] = field(default_factory=dict)
    units: Mapping[str, str] = field(default_factory=dict)


def _size(text: str) -> str:
    """Return the size "4k", as printed by fio and sysbench, as "4 KiB"."""
    number, letter = text[:-1], text[-1].upper()
    return f"{number} {letter}iB"


PARAMETER_READERS: Final[Mapping[str, Callable[[str], Parameter]]] = MappingProxyType(
    {
        "block": _size,
        "total": _size,
        "direct": lambda text: text == "1",
        "file_size": _size,
        "record": _size,
        "streams": int,
    }
)
"""Functions that read values of parameters; other values stay texts."""

_LENGTH: Final = {"seconds": None}
_FIO: Final = {**_LENGTH, "bs": "block"}
_IPERF: Final = {**_LENGTH, "proto": "protocol", "streams": None, "rate": "bitrate"}
_FILES: Final = {**_LENGTH, "bs": "block"}
_STRESS: Final = {**_LENGTH, "workers": "instances", "time": None}
WALL, CPU = "bogo op rate", "bogo op rate per CPU time"

METRIC_MAPPINGS: Final[Mapping[tuple[str, str, str], MetricMapping]] = MappingProxyType(
    {
        **{
            ("stress-ng", f"{part} throughput", time): MetricMapping(
                "stress-ng", metric, names=_STRESS
            )
            for part in ("CPU", "memory", "cache")
            for time, metric in (("real", WALL), ("usr+sys", CPU))
        },
        ("STREAM", "memory bandwidth", ""): MetricMapping(
            "stream", "bandwidth", names={"best_of": None}
        ),
        ("fio", "disk throughput", ""): MetricMapping(
            # fio 2 counts KB of 1024 B.
            "fio",
            "throughput",
            names=_FIO,
            units={"KB/s": "KiB/s"},
        ),
        ("fio", "disk operations", ""): MetricMapping("fio", "IOPS", names=_FIO),
        ("fio", "completion latency", ""): MetricMapping(
            "fio", "completion latency mean", names=_FIO
        ),
        ("fio", "completion latency p99", ""): MetricMapping(
            "fio", "completion latency p99", names=_FIO
        ),
        ("sysbench cpu", "CPU events", ""): MetricMapping(
            "sysbench",
            "CPU event rate",
            {"test": "cpu"},
            {**_LENGTH, "primes": "max_prime"},
        ),
        **{
            ("sysbench fileio", "disk throughput", operation): MetricMapping(
                "sysbench", f"{operation} throughput", {"test": "fileio"}, _FILES
            )
            for operation in ("read", "write")
        },
        ("sysbench oltp", "transactions", ""): MetricMapping(
            "sysbench",
            "transaction rate",
            {"test": "oltp"},
            {**_LENGTH, "script": "workload"},
        ),
        ("iperf3", "throughput", ""): MetricMapping(
            "iperf3", "throughput", names=_IPERF
        ),
        ("iperf3", "jitter", ""): MetricMapping("iperf3", "jitter", names=_IPERF),
        ("ab", "requests", ""): MetricMapping(
            "ab", "request rate", names={"requests": None}
        ),
        ("Intel LINPACK", "CPU throughput", ""): MetricMapping(
            "intel-linpack", "performance"
        ),
        ("RandomAccess", "memory updates", ""): MetricMapping(
            "randomaccess", "update rate"
        ),
        ("nccl-tests", "GPU bus bandwidth", ""): MetricMapping(
            "nccl-tests", "bus bandwidth"
        ),
        ("CUDA matrixMul", "GPU throughput", ""): MetricMapping(
            "cuda-matrixmul", "performance"
        ),
        ("boot timer", "time", ""): MetricMapping("boot-timer", "boot time"),
        ("IOzone", "throughput", ""): MetricMapping(
            "iozone",
            "throughput",
            names={"size": "file_size", "reclen": "record"},
        ),
        **{
            ("lmbench bw_mem", "memory bandwidth", operation): MetricMapping(
                "lmbench-bw-mem", f"{operation} bandwidth"
            )
            for operation in ("read", "write", "read-write")
        },
        ("openssl speed", "throughput", ""): MetricMapping(
            "published-openssl-speed", "throughput"
        ),
        ("compression", "compression throughput", ""): MetricMapping(
            "compression", "throughput"
        ),
        ("pbzip2 and pigz", "time", ""): MetricMapping("pbzip2-pigz", "time"),
        **{
            ("NPB", "time", kernel): MetricMapping("published-npb", f"{kernel} time")
            for kernel in ("TOTAL", "CG", "DC")
        },
        ("pgbench", "transaction rate", ""): MetricMapping(
            "published-pgbench", "transaction rate"
        ),
        ("WildFly testsuite", "time", ""): MetricMapping("wildfly-testsuite", "time"),
        ("JMeter DayTrader", "requests", ""): MetricMapping(
            "jmeter-daytrader", "requests"
        ),
        ("weighttp", "requests", ""): MetricMapping(
            "weighttp", "request rate", names={"requests": None}
        ),
        ("GoBonnieGo", "disk operations", ""): MetricMapping(
            "published-gobonniego", "operation rate", names={"version": "version"}
        ),
        **{
            ("GoBonnieGo", "disk throughput", operation): MetricMapping(
                "published-gobonniego",
                f"{operation} throughput",
                names={"version": "version"},
            )
            for operation in ("read", "write")
        },
        **{
            ("ps and pmap", metric, ""): MetricMapping(
                "process-memory", metric, names={"memory": "memory"}
            )
            for metric in (
                "resident set",
                "private writable mappings",
                "total in guest",
                "available in guest",
            )
        },
        ("GitLab CI pipeline", "time", ""): MetricMapping("gitlab-ci", "pipeline time"),
        ("twister", "time", ""): MetricMapping("twister", "time"),
        ("twister", "time per build", ""): MetricMapping("twister", "time per build"),
        ("stable-retro ppo", "training rate", ""): MetricMapping(
            "stable-retro-ppo", "training rate"
        ),
        ("pytorch benchmark", "inference time", ""): MetricMapping(
            "pytorch-benchmark", "inference time"
        ),
        ("ThreadContentionGenerator", "time", ""): MetricMapping(
            "thread-contention-generator", "time"
        ),
    }
)
"""Mappings by printed tool, printed metric and a third text.

The third text (time or operation) distinguishes metrics of the same name.
"""


def find_mapping(tool: str, metric: str, *distinctions: str) -> MetricMapping | None:
    """Return the mapping of a printed metric; None if it already has our names.

    A mapping for one of the ``distinctions`` precedes the general one.
    """
    for distinction in (*filter(None, distinctions), ""):
        if mapping := METRIC_MAPPINGS.get((tool, metric, distinction)):
            return mapping
    return None


def _metric(
    name: str, unit: str, better: str, component: str, work: str = "", **more: Any
) -> dict[str, Any]:
    return {
        "name": name,
        "unit": unit,
        "better": better,
        "component": component,
        "work_class": work,
        "is_primary": True,
        **more,
    }


CUSTOM_TOOLS: Final[Mapping[str, Mapping[str, Any]]] = MappingProxyType(
    {
        "randomaccess": {
            "title": "RandomAccess",
            "description": "Updates of random words of memory in one program, in "
            "giga-updates a second.",
            "metrics": [_metric("update rate", "GUP/s", "higher", "memory")],
        },
        "nccl-tests": {
            "title": "NCCL tests",
            "homepage": "https://github.com/NVIDIA/nccl-tests",
            "metrics": [_metric("bus bandwidth", "GB/s", "higher", "application")],
        },
        "cuda-matrixmul": {
            "title": "CUDA matrixMul",
            "homepage": "https://github.com/NVIDIA/cuda-samples",
            "metrics": [_metric("performance", "Gflop/s", "higher", "application")],
        },
        "boot-timer": {
            "title": "Boot timer",
            "description": "From the start of a system until it answers; `method` says "
            "from when to when.",
            "metrics": [_metric("boot time", "s", "lower", "application")],
        },
        "gitlab-ci": {
            "title": "GitLab CI pipeline",
            "metrics": [
                _metric(
                    "pipeline time", "s", "lower", "application", "application-build"
                )
            ],
        },
        "twister": {
            "title": "Twister",
            "homepage": "https://docs.zephyrproject.org/latest/develop/test/twister.html",
            "metrics": [
                _metric("time", "s", "lower", "application", "application-build"),
                _metric(
                    "time per build", "s", "lower", "application", is_primary=False
                ),
            ],
        },
        "stable-retro-ppo": {
            "title": "Stable-Retro PPO",
            "homepage": "https://github.com/Farama-Foundation/stable-retro",
            "metrics": [_metric("training rate", "1/s", "higher", "application")],
        },
        "pytorch-benchmark": {
            "title": "PyTorch benchmark",
            "homepage": "https://github.com/pytorch/benchmark",
            "metrics": [_metric("inference time", "ms", "lower", "application")],
        },
        "thread-contention-generator": {
            "title": "ThreadContentionGenerator",
            "description": "Work of CPU and memory without disk or network, in whole "
            "minutes.",
            "metrics": [_metric("time", "min", "lower", "application")],
        },
        "lmbench-bw-mem": {
            "title": "lmbench bw_mem",
            "homepage": "https://lmbench.sourceforge.net/",
            "description": "Bandwidth of all processes together.",
            "metrics": [
                _metric("read bandwidth", "MB/s", "higher", "memory", "memory-read"),
                _metric("write bandwidth", "MB/s", "higher", "memory", "memory-write"),
                _metric("read-write bandwidth", "MB/s", "higher", "memory"),
            ],
        },
        "published-openssl-speed": {
            "title": "openssl speed (published)",
            "homepage": "https://docs.openssl.org/master/man1/openssl-speed/",
            "metrics": [_metric("throughput", "MB/s", "higher", "CPU", "cpu-integer")],
        },
        "compression": {
            "title": "Compression",
            "description": "Bytes of input that a compressor reads in a second.",
            "metrics": [_metric("throughput", "MB/s", "higher", "CPU", "cpu-integer")],
        },
        "pbzip2-pigz": {
            "title": "pbzip2 and pigz",
            "description": "Time of both compressors together.",
            "metrics": [_metric("time", "s", "lower", "CPU", "cpu-integer")],
        },
        "published-npb": {
            "title": "NAS Parallel Benchmarks (published)",
            "homepage": "https://www.nas.nasa.gov/software/npb.html",
            "metrics": [
                _metric("TOTAL time", "s", "lower", "CPU", "cpu-floating-point"),
                _metric(
                    *("CG time", "s", "lower", "CPU", "cpu-floating-point"),
                    is_primary=False,
                ),
                _metric("DC time", "s", "lower", "application", is_primary=False),
            ],
        },
        "published-pgbench": {
            "title": "pgbench (published)",
            "homepage": "https://www.postgresql.org/docs/current/pgbench.html",
            "metrics": [
                _metric(
                    *("transaction rate", "1/s", "higher", "application"),
                    "application-database",
                )
            ],
        },
        "wildfly-testsuite": {
            "title": "WildFly testsuite",
            "homepage": "https://github.com/wildfly/wildfly",
            "description": "Time without the time of the set-up.",
            "metrics": [_metric("time", "s", "lower", "application")],
        },
        "jmeter-daytrader": {
            "title": "JMeter DayTrader",
            "homepage": "https://github.com/WASdev/sample.daytrader7",
            "description": "Requests in the fixed time of a run.",
            "metrics": [
                _metric("requests", "", "higher", "application", "application-web")
            ],
        },
        "weighttp": {
            "title": "weighttp",
            "homepage": "https://github.com/lighttpd/weighttp",
            "metrics": [
                _metric(
                    *("request rate", "1/s", "higher", "network", "application-web"),
                    allows_zero=True,
                )
            ],
        },
        "published-gobonniego": {
            "title": "GoBonnieGo (published)",
            "homepage": "https://github.com/cunnie/gobonniego",
            "metrics": [
                _metric("operation rate", "1/s", "higher", "disk"),
                _metric(
                    *("read throughput", "MB/s", "higher", "disk"),
                    "disk-sequential-read",
                ),
                _metric(
                    *("write throughput", "MB/s", "higher", "disk"),
                    "disk-sequential-write",
                ),
            ],
        },
        "process-memory": {
            "title": "ps and pmap",
            "description": "Memory of the process of a virtual machine, and memory "
            "that its guest sees.",
            "metrics": [
                _metric("resident set", "MiB", "lower", "memory"),
                *(
                    _metric(name, "MiB", "neither", "memory", is_primary=False)
                    for name in (
                        "private writable mappings",
                        "total in guest",
                        "available in guest",
                    )
                ),
            ],
        },
    }
)
"""Tools that only one study used, by slug."""
