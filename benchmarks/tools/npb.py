"""NAS Parallel Benchmarks (NPB): kernels of numerical programs.

Mop/s are 10^6 operations of the kernel's own kind per second, so kernels cannot be
compared with each other. Only verified runs are read::

    Mop/s total     =                  1052.61
"""

from benchmarks.parsing.parser_toolkit import (
    Draft,
    LineScanner,
    MatchedLine,
    append_limited,
    parser,
)
from benchmarks.parsing.tool import NO_WORK_CLASS, Metric, Tool

LINES = LineScanner(
    begin=r"(?P<kernel>[A-Z]{2}(?:-MZ)?) Benchmark Completed\.?[ \t]*+$",
    kind=r"Class +=[ \t]++(?P<class>[A-Z])[ \t]*+$",
    time=r"Time in seconds +=[ \t]++(?P<time>[\d.]+)[ \t]*+(?=\n)",
    threads=r"Total (?:threads|processes) +=[ \t]++(?P<threads>\d+)[ \t]*+(?=\n)",
    rate=r"Mop/s total +=[ \t]++(?P<rate>[\d.]+)[ \t]*+(?=\n)",
    verified=r"Verification +=[ \t]++(?P<verified>[A-Z ]+?)[ \t]*+$",
    version=r"Version +=[ \t]++(?P<version>\d[\w.]*)[ \t]*+(?=\n)",
)


class NpbRun(Draft):
    is_verified = False
    results: tuple[float, float] = (0.0, 0.0)

    def read(self, line: MatchedLine) -> None:
        time, rate = self.results
        if line.kind == "kind":
            self.parameters["class"] = line["class"]
        elif line.kind == "threads":
            self.parameters["processes"] = line.integer("threads")
        elif line.kind == "version":
            self.tool_version = line["version"]
        elif line.kind == "time":
            self.results = line.number("time"), rate
        elif line.kind == "rate":
            self.results = time, line.number("rate")
        elif line["verified"] != "SUCCESSFUL":
            raise line.parse_error("the result was not verified.")
        else:
            self.is_verified = True

    def close(self) -> None:
        if self.is_verified:
            time, rate = self.results
            self.add("operation rate", rate * 1e6, "1/s")
            self.add("time", time, "s")


@parser("NPB printed no verified result.")
def parse(output: str) -> list[NpbRun]:
    runs = [NpbRun()]
    for line in LINES(output):
        if line.kind == "begin":
            append_limited(runs, NpbRun(parameters={"kernel": line["kernel"]}))
        elif "kernel" in runs[-1].parameters:
            runs[-1].read_line(runs[-1].read, line)
    return runs


TOOL = Tool(
    slug="npb",
    title="NAS Parallel Benchmarks",
    homepage="https://www.nas.nasa.gov/software/npb.html",
    metrics=(
        Metric("operation rate", "1/s", "higher", "CPU", work_class=NO_WORK_CLASS),
        Metric("time", "s", "lower", "CPU", implied_by=("operation rate",)),
    ),
    aliases=("NPB",),
    labels=("{kernel}.{class}", "{processes} processes"),
    version=1,
    parse=parse,
    signatures=(
        r"NAS Parallel Benchmarks ",
        r"[A-Z]{2}(?:-MZ)? Benchmark Completed",
    ),
    is_localized=False,
)
