"""The studies' tools, metrics and parameters in our names. PURE.

A tool that nobody else has is declared with its study, like a lab's own benchmark.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final

Parameter = str | int | bool


@dataclass(frozen=True, slots=True)
class Known:
    """Our tool and metric for a printed one, and what its parameters become.

    ``fixed`` is what the printed name says beside; ``names`` are ours for printed ones,
    None: no part of the case, but a fact of the run. ``unit`` replaces one that means
    something else there.
    """

    tool: str
    metric: str
    fixed: Mapping[str, Parameter] = field(default_factory=dict)
    names: Mapping[str, str | None] = field(default_factory=dict)
    units: Mapping[str, str] = field(default_factory=dict)


def _size(text: str) -> str:
    """Sizes as fio and sysbench are given them: of 2^10 B."""
    number, letter = text[:-1], text[-1].upper()
    return f"{number} {letter}iB"


READ: Final[Mapping[str, Callable[[str], Parameter]]] = MappingProxyType(
    {
        "block": _size,
        "total": _size,
        "direct": lambda text: text == "1",
    }
)
"""How a value is read; others are texts."""

_LENGTH: Final = {"seconds": None}
_FIO: Final = {**_LENGTH, "bs": "block"}
# One stream is what iperf3 does unless it is told.
_IPERF: Final = {**_LENGTH, "proto": "protocol", "streams": None, "rate": "bitrate"}
_FILES: Final = {**_LENGTH, "bs": "block"}
_STRESS: Final = {**_LENGTH, "workers": "instances", "time": None}
WALL, CPU = "bogo op rate", "bogo op rate per CPU time"

KNOWN: Final[Mapping[tuple[str, str, str], Known]] = MappingProxyType(
    {
        **{
            ("stress-ng", f"{part} throughput", time): Known(
                "stress-ng", metric, names=_STRESS
            )
            for part in ("CPU", "memory", "cache")
            for time, metric in (("real", WALL), ("usr+sys", CPU))
        },
        ("STREAM", "memory bandwidth", ""): Known(
            "stream", "bandwidth", names={"best_of": None}
        ),
        ("fio", "disk throughput", ""): Known(
            # fio 2 counts KB of 1024 B.
            "fio",
            "throughput",
            names=_FIO,
            units={"KB/s": "KiB/s"},
        ),
        ("fio", "disk operations", ""): Known("fio", "IOPS", names=_FIO),
        ("fio", "completion latency", ""): Known(
            "fio", "completion latency mean", names=_FIO
        ),
        ("sysbench cpu", "CPU events", ""): Known(
            "sysbench",
            "CPU event rate",
            {"test": "cpu"},
            {**_LENGTH, "primes": "max_prime"},
        ),
        **{
            ("sysbench fileio", "disk throughput", operation): Known(
                "sysbench", f"{operation} throughput", {"test": "fileio"}, _FILES
            )
            for operation in ("read", "write")
        },
        ("sysbench oltp", "transactions", ""): Known(
            "sysbench",
            "transaction rate",
            {"test": "oltp"},
            {**_LENGTH, "script": "workload"},
        ),
        ("iperf3", "throughput", ""): Known("iperf3", "throughput", names=_IPERF),
        ("iperf3", "jitter", ""): Known("iperf3", "jitter", names=_IPERF),
        ("ab", "requests", ""): Known("ab", "request rate", names={"requests": None}),
        ("Intel LINPACK", "CPU throughput", ""): Known("intel-linpack", "performance"),
        ("RandomAccess", "memory updates", ""): Known("randomaccess", "update rate"),
        ("nccl-tests", "GPU bus bandwidth", ""): Known("nccl-tests", "bus bandwidth"),
        ("CUDA matrixMul", "GPU throughput", ""): Known(
            "cuda-matrixmul", "performance"
        ),
        ("boot timer", "time", ""): Known("boot-timer", "boot time"),
        ("GitLab CI pipeline", "time", ""): Known("gitlab-ci", "pipeline time"),
        ("twister", "time", ""): Known("twister", "time"),
        ("twister", "time per build", ""): Known("twister", "time per build"),
        ("stable-retro ppo", "training rate", ""): Known(
            "stable-retro-ppo", "training rate"
        ),
        ("pytorch benchmark", "inference time", ""): Known(
            "pytorch-benchmark", "inference time"
        ),
        ("ThreadContentionGenerator", "time", ""): Known(
            "thread-contention-generator", "time"
        ),
    }
)
"""By the printed tool and metric, and what tells metrics of one name apart."""


def known(tool: str, metric: str, *tells: str) -> Known | None:
    """Return what a printed metric is; None for one that has our names."""
    for each in (*tells, ""):
        if found := KNOWN.get((tool, metric, each)):
            return found
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
        "primary": True,
        **more,
    }


OWN_TOOLS: Final[Mapping[str, Mapping[str, Any]]] = MappingProxyType(
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
                _metric("time per build", "s", "lower", "application", primary=False),
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
    }
)
"""Tools of single studies, as their lab declares them, by slug."""
