"""HPL (High-Performance Linpack), and HPC Challenge, which contains it among seven
tests.

HPCC appends to ``hpccoutf.txt``, and each summary is a run. GB and GBytes are 10^9 B,
GUP/s are 10^9 updates per second. A value of -1 means that the test was not done.
"""

from typing import Final

from benchmarks.parsing.parser_toolkit import (
    Draft,
    LineScanner,
    MatchedLine,
    append_limited,
    parser,
)
from benchmarks.parsing.tool import (
    COPY,
    FLOATING_POINT,
    NO_WORK_CLASS,
    Metric,
    Parameter,
    Tool,
    always,
)

HPCC_LINES = LineScanner(
    begin=r"Begin of Summary section\.",
    value=r"(?P<key>[A-Za-z]\w*+)=(?P<value>\S+)[ \t]*+$",
    end=r"End of Summary section\.",
)
METRICS_BY_SUFFIX: Final = {
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
SIZES = {
    "DGEMM": "DGEMM_N",
    "STREAM": "STREAM_VectorSize",
    "PTRANS": "PTRANS_n",
}
UPDATES = 10**9


@parser("HPCC printed no complete summary section.")
def parse_hpcc(output: str) -> list[Draft]:
    runs: list[Draft] = []
    summary: dict[str, MatchedLine] | None = None
    for line in HPCC_LINES(output):
        if line.kind == "begin":
            summary = {}
        elif line.kind == "value" and summary is not None:
            summary[line["key"]] = line
        elif line.kind == "end" and summary is not None:
            append_limited(runs, Draft())
            runs[-1].read_line(_read_hpcc, summary, runs[-1])
            summary = None
    return runs


def _read_hpcc(summary: dict[str, MatchedLine], run: Draft) -> None:
    versions = (summary.get(f"Version{part}") for part in ("Major", "Minor", "Micro"))
    run.tool_version = ".".join(line["value"] for line in versions if line)
    if processes := summary.get("CommWorldProcs"):
        run.parameters["processes"] = processes.integer("value")

    for key, line in summary.items():
        test, _, kind = key.rpartition("_")
        if (
            kind not in METRICS_BY_SUFFIX
            or not test
            or (value := line.parse_number(line["value"])) < 0
        ):
            continue
        metric, unit = METRICS_BY_SUFFIX[kind]
        case: dict[str, Parameter] = {"test": test}
        if metric == "memory bandwidth":
            case["operation"] = kind.casefold()
        base_name = test.removeprefix("Star").removeprefix("Single")
        if size := summary.get(SIZES.get(base_name, f"{base_name}_N")):
            case["size"] = size.integer("value")
        run.add(metric, value * UPDATES if kind == "GUPs" else value, unit, **case)

    success = summary.get("Success")
    if success is None or success["value"] != "1":
        run.add_failure(
            "failed", "The summary does not contain Success=1, so a test failed."
        )
    for key, line in summary.items():
        if key.endswith("_Errors") and line.number("value") > 0:
            run.add_warning("errors", "{key} is {value}.", key=key, value=line["value"])


HPCC = Tool(
    slug="hpcc",
    title="HPC Challenge",
    homepage="https://hpcchallenge.org/hpcc/",
    metrics=(
        Metric("performance", "Gflop/s", "higher", "CPU", work_class=FLOATING_POINT),
        Metric(
            "update rate",
            "1/s",
            "higher",
            "memory",
            work_class=always("memory: latency"),
        ),
        Metric("bandwidth", "GB/s", "higher", "network", work_class=NO_WORK_CLASS),
        Metric("memory bandwidth", "GB/s", "higher", "memory", work_class=COPY),
        Metric(
            "network latency",
            "us",
            "lower",
            "network",
            work_class=always("network: round trip"),
        ),
    ),
    aliases=("hpcc",),
    labels=("{test}",),
    version=3,
    parse=parse_hpcc,
    signatures=(
        r"This is the DARPA/DOE HPC Challenge",
        r"Begin of Summary section\.",
    ),
    programs=("hpcc",),
    is_localized=False,
    enclosed_tools=("hpl",),
    last_line="End of HPC Challenge tests.",
)

HPL_LINES = LineScanner(
    banner=r"(?:HPLinpack|HPL-\w+) +v?(?P<version>\d+(?:\.\d+)*) ",
    row=r"(?P<variant>W[RC]\d\w{0,15}) +(?P<n>\d+) +(?P<nb>\d+) +(?P<p>\d+) +"
    r"(?P<q>\d+) +(?P<time>\S+) +(?P<rate>\S+)",
    residual=r"\|\|Ax-b\|\|_oo[^\n]*= +(?P<residual>\S+) +\.+ (?P<check>PASSED|FAILED)",
    tests=r"(?P<failed>\d+) tests completed and failed residual checks",
    skipped=r"(?P<skipped>[1-9]\d*) tests skipped because of illegal input",
    error=r"(?P<error>HPL ERROR[^\n]*)",
)


@parser("HPL printed no result row.")
def parse_hpl(output: str) -> list[Draft]:
    runs = [Draft()]
    checks: list[int] = [0]
    for line in HPL_LINES(output):
        run = runs[-1]
        if line.kind == "banner":
            append_limited(runs, Draft(tool_version=line["version"]))
            append_limited(checks, 0)
        elif line.kind == "row":
            run.read_line(_read_hpl, line, run)
        elif line.kind == "skipped":
            run.add_warning(
                "skipped", "Tests skipped by HPL: {skipped}.", skipped=line["skipped"]
            )
        elif line.kind == "error":
            run.add_failure("failed", "{said}", said=line["error"].strip())
        else:
            checks[-1] += line.kind == "residual"
            if line["check"] == "FAILED" or line["failed"] not in {"", "0"}:
                run.add_failure("residual_check", "A residual check of HPL FAILED.")
    for run, done in zip(runs, checks, strict=True):
        if run and not done:
            run.add_warning(
                "unchecked",
                "HPL printed no residual check. The output may be truncated.",
            )
    return runs


def _read_hpl(line: MatchedLine, run: Draft) -> None:
    sizes = {name: line.integer(name) for name in ("n", "nb", "p", "q")}
    variant = line["variant"]
    run.add("time", line.number("time"), "s", variant=variant, **sizes)
    # A truncated number lacks its exponent.
    if "e" not in line["rate"].casefold():
        raise line.parse_error("the rate has no exponent. The line may be truncated.")
    run.add("performance", line.number("rate"), "Gflop/s", variant=variant, **sizes)


HPL = Tool(
    slug="hpl",
    title="HPL",
    homepage="https://www.netlib.org/benchmark/hpl/",
    metrics=(
        Metric("time", "s", "lower", "CPU", implied_by=("performance",)),
        Metric("performance", "Gflop/s", "higher", "CPU", work_class=FLOATING_POINT),
    ),
    aliases=("HPLinpack", "High-Performance Linpack"),
    labels=("n={n}", "{p}x{q}"),
    version=3,
    parse=parse_hpl,
    signatures=(r"HPLinpack +\d", r"HPL-\w+ +v?\d", r"T/V +N +NB +P +Q +Time"),
    programs=("xhpl",),
)
