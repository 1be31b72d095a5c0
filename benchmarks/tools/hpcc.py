"""HPC Challenge: seven tests of processors, memory and network over MPI.

One result row of its summary, as printed by HPCC 1.5.0::

    HPL_Tflops=0.00993528

``hpccoutf.txt`` is appended to: each summary is a run. GB and GBytes are 10^9 B, GUP/s
are 10^9 updates a second; -1 is a test that was not done.
"""

from typing import Final

from benchmarks.parsing.contract import (
    COPY,
    FLOATING_POINT,
    NO_CLASS,
    Metric,
    Tool,
    always,
)
from benchmarks.parsing.scanning import Draft, Found, Parameter, Scanner, keep, parser

LINES = Scanner(
    begin=r"Begin of Summary section\.",
    value=r"(?P<key>[A-Za-z]\w*+)=(?P<value>\S+)[ \t]*+$",
    end=r"End of Summary section\.",
)
KINDS: Final = {
    "Tflops": ("performance", "Tflop/s"),
    "Gflops": ("performance", "Gflop/s"),
    "GUPs": ("update rate", "1/s"),
    "GBs": ("bandwidth", "GB/s"),
    "Copy": ("memory bandwidth", "GB/s"),
    "Scale": ("memory bandwidth", "GB/s"),
    "Add": ("memory bandwidth", "GB/s"),
    "Triad": ("memory bandwidth", "GB/s"),
    "usec": ("network latency", "us"),
    "GBytes": ("bandwidth", "GB/s"),
}
# The size of a test's problem, where its own name does not lead to it.
SIZES = {
    "DGEMM": "DGEMM_N",
    "STREAM": "STREAM_VectorSize",
    "PTRANS": "PTRANS_n",
}
UPDATES = 10**9


@parser("HPCC printed no whole summary section.")
def parse(output: str) -> list[Draft]:
    """One run for each whole summary."""
    runs: list[Draft] = []
    summary: dict[str, Found] | None = None
    for line in LINES(output):
        if line.kind == "begin":
            summary = {}
        elif line.kind == "value" and summary is not None:
            summary[line["key"]] = line
        elif line.kind == "end" and summary is not None:
            keep(runs, Draft())
            runs[-1].attempt(_read, summary, runs[-1])
            summary = None
    return runs


def _read(summary: dict[str, Found], run: Draft) -> None:
    versions = (summary.get(f"Version{part}") for part in ("Major", "Minor", "Micro"))
    run.tool_version = ".".join(line["value"] for line in versions if line)
    if processes := summary.get("CommWorldProcs"):
        run.parameters["processes"] = processes.whole("value")

    for key, line in summary.items():
        test, _, kind = key.rpartition("_")
        if (
            kind not in KINDS
            or not test
            or (value := line.number_of(line["value"])) < 0
        ):
            continue
        metric, unit = KINDS[kind]
        case: dict[str, Parameter] = {"test": test}
        if metric == "memory bandwidth":
            case["operation"] = kind.casefold()
        # StarSTREAM and SingleSTREAM have the size of STREAM.
        alone = test.removeprefix("Star").removeprefix("Single")
        if size := summary.get(SIZES.get(alone, f"{alone}_N")):
            case["size"] = size.whole("value")
        run.add(metric, value * UPDATES if kind == "GUPs" else value, unit, **case)

    success = summary.get("Success")
    if success is None or success["value"] != "1":
        run.mark("failed", "The summary does not say Success=1: a test failed.")
    for key, line in summary.items():
        if key.endswith("_Errors") and line.number("value") > 0:
            run.mark("errors", "{key} is {value}.", key=key, value=line["value"])


TOOL = Tool(
    slug="hpcc",
    title="HPC Challenge",
    homepage="https://hpcchallenge.org/hpcc/",
    metrics=(
        Metric("performance", "Gflop/s", "higher", "CPU"),
        Metric("update rate", "1/s", "higher", "memory"),
        Metric("bandwidth", "GB/s", "higher", "network"),
        Metric("memory bandwidth", "GB/s", "higher", "memory"),
        Metric("network latency", "us", "lower", "network"),
    ),
    aliases=("hpcc",),
    labels=("{test}",),
    primary={
        "performance": FLOATING_POINT,
        "update rate": always("memory: latency"),
        "bandwidth": NO_CLASS,
        "memory bandwidth": COPY,
        "network latency": always("network: round trip"),
    },
    version=2,
    parse=parse,
    signatures=(
        r"This is the DARPA/DOE HPC Challenge",
        r"Begin of Summary section\.",
    ),
    programs=("hpcc",),
    localized=False,
    encloses=("hpl",),
    last_line="End of HPC Challenge tests.",
)
