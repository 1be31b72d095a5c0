"""LINPACK: dense systems of n linear equations, solved by netlib's or Intel's program.

Output of netlib's ``linpack.c``::

        16384  15.02  88.94%   2.95%   8.11%  1630594.203

The last column is in KFLOPS (1000 floating-point operations per second). The last row,
which takes at least 10 s, is the result. "Array size 200" is n = 100. The output of
netlib's Java program and of older programs is also read.
"""

from dataclasses import dataclass

from benchmarks.parsing.parser_toolkit import (
    Draft,
    LineScanner,
    MatchedLine,
    append_limited,
    parser,
)
from benchmarks.parsing.tool import FLOATING_POINT, Metric, Parameter, Tool

NETLIB_LINES = LineScanner(
    banner=r"LINPACK benchmark, (?P<precision>Double|Single) precision",
    size=r"Array size +(?P<size>\S+) +X",
    variant=r"(?P<variant>Average rolled and unrolled|Rolled|Unrolled) performance:",
    head=r"Reps +Time\(s\) +DGEFA +DGESL +OVERHEAD +(?P<unit>[KM]FLOPS)",
    row=r"(?P<reps>\d+) +(?P<time>\S+) +\S+% +\S+% +\S+% +(?P<rate>\S+)[ \t]*+$",
    title=r"(?P<rolling>Rolled|Unrolled) (?P<title>Single|Double) +Precision"
    r"(?: Linpack| +(?P<final>\S+) +(?P<final_unit>[KM]flops))",
    order=r"(?:[Tt]imes are reported for matrices of order|Matrix order N +=) +"
    r"(?P<order>\S+)",
    lead=r"(?:(?:\d+ pass )?times for array with leading dimension of|"
    r"Leading matrix dimension LDA =) *+(?P<lead>\d+)",
    classic=r"(?i:[sd]gefa +[sd]gesl|factor +solve) +(?i:total +(?P<flops>[km]flops) +"
    r"unit +(?:cray-)?ratio)",
    times=r"\d[\d.eE+-]*+ +\S+ +\S+ +(?P<flop>\S+) +\S+ +\S+[ \t]*+$",
    java=r"Mflops/s: +(?P<java>\S+) +Time: +(?P<java_time>\S+)(?: secs)? +Norm Res: +"
    r"\S+ +Precision: ",
    compiled=r"(?P<what>Compiler|Optimisation|CFLAGS|Options)[ :=]++(?P<flags>\S.*+)",
)
UNITS = {"KFLOPS": "kflop/s", "MFLOPS": "Mflop/s"}
MIN_DURATION_S = 10


@dataclass
class LinpackTable(Draft):
    unit: str = ""
    last: MatchedLine | None = None

    def read(self, line: MatchedLine) -> None:
        if line.kind in {"head", "classic"}:
            self.unit = UNITS[(line["unit"] or line["flops"]).upper()]
        elif line.kind == "row":
            self.last = line
        elif line.kind == "variant" and not line["variant"].startswith("Average"):
            self.parameters["variant"] = line["variant"].casefold()
        elif line.kind == "lead":
            self.parameters["leading_dimension"] = line.integer("lead")
        elif line.kind == "compiled":
            self.facts[line["what"].casefold()] = line["flags"].strip()
        elif line.kind == "times" and self.unit:
            self.add("performance", line.number("flop"), self.unit)
        elif line.kind == "title":
            # This is the program's own summary.
            self.parameters.pop("leading_dimension", None)
            unit = UNITS[line["final_unit"].upper()]
            self.add("performance", line.number("final"), unit)

    def close(self) -> None:
        if not (row := self.last):
            if "array size" in self.facts and not self:
                size = self.facts["array size"]
                self.add_warning(
                    "unfinished", "No row was printed for {size}.", size=size
                )
            return
        if not self.unit:
            raise row.parse_error("no line above this row names its columns.")
        self.add("performance", row.number("rate", decimals=3), self.unit)
        self.facts["repetitions"] = row.integer("reps")
        if (time := row.number("time")) < MIN_DURATION_S:
            self.add_warning(
                "unfinished",
                "The last row took {time:g} s. LINPACK continues until a row takes "
                "{least} s, so rows may be missing.",
                time=time,
                least=MIN_DURATION_S,
            )


@parser("LINPACK printed no result row.")
def parse_netlib(output: str) -> list[LinpackTable]:
    tables = [LinpackTable()]
    precision: dict[str, Parameter] = {}
    for line in NETLIB_LINES(output):
        if line.kind == "banner":
            precision = {"precision": line["precision"].casefold()}
        elif line.kind == "title" and not line["final"]:
            precision = {
                "precision": line["title"].casefold(),
                "variant": line["rolling"].casefold(),
            }
        elif line.kind == "java":
            run = LinpackTable(parameters={"variant": "java"})
            run.add("performance", line.number("java"), "Mflop/s")
            run.add("time", line.number("java_time"), "s")
            append_limited(tables, run)
        elif line.kind == "order":
            n = line.integer("order")
            append_limited(tables, LinpackTable(parameters={"n": n, **precision}))
        elif line.kind == "size":
            # The array is twice as wide as the system.
            size = line.integer("size")
            run = LinpackTable(parameters={"n": size // 2, **precision})
            run.facts["array size"] = size
            append_limited(tables, run)
        else:
            tables[-1].read(line)
    return tables


NETLIB = Tool(
    slug="linpack",
    title="LINPACK",
    homepage="https://www.netlib.org/benchmark/",
    metrics=(
        Metric("time", "s", "lower", "CPU", implied_by=("performance",)),
        Metric("performance", "Mflop/s", "higher", "CPU", work_class=FLOATING_POINT),
    ),
    aliases=("netlib LINPACK",),
    labels=("n={n}",),
    version=3,
    parse=parse_netlib,
    signatures=(
        r"LINPACK benchmark, ",
        r"Enter array size \(q to quit\)",
        r"Reps +Time\(s\) +DGEFA",
        r"(?:Rolled|Unrolled) (?:Single|Double) +Precision Linpack",
        r"The LINPACK benchmark\.",
        r"(?i:[sd]gefa +[sd]gesl +total +[km]flops)",
        r"(?i:norm\.? ?resid +resid +machep)",
        r"Mflops/s: +\S+ +Time: +\S+",
    ),
    programs=("linpack", "linpackc", "linpackd", "clinpack"),
)

INTEL_LINES = LineScanner(
    started=r"Current date/time: *+(?P<date>[^\n]*)",
    fact=r"(?P<what>CPU frequency|Number of (?:CPUs|cores|threads)): *+(?P<fact>\S.*+)",
    head=r"Size +LDA +Align\. +Time\(s\) +GFlops +Residual",
    row=r"(?P<n>\d+) +(?P<lda>\d+) +(?P<align>\d+) +(?P<time>\S+) +(?P<rate>\S+) +"
    r"(?P<residual>\S+) +(?P<normed>\S+) +(?P<check>pass|fail)\b",
    verdict=r"Residual checks (?P<verdict>PASSED|FAILED)",
    stopped=r"(?P<error>(?:Error|ERROR|forrtl|Memory allocation)\b[^\n]*)",
)


@parser("Intel LINPACK printed no result row.")
def parse_intel(output: str) -> list[Draft]:
    runs = [Draft()]
    for line in INTEL_LINES(output):
        run = runs[-1]
        if line.kind == "started":
            append_limited(runs, Draft(facts={"started": line["date"].strip()}))
        elif line.kind == "fact":
            run.facts[line["what"]] = line["fact"].strip()
        # A copied table may lack the lines above it.
        elif line.kind == "head" and run and not run.facts:
            append_limited(runs, Draft())
        elif line.kind == "row":
            run.read_line(_read_intel, line, run)
        elif line["verdict"] == "FAILED":
            # The line is below all rows and does not show which one failed.
            run.add_failure(
                "residual_check", "LINPACK printed: Residual checks FAILED."
            )
        elif line.kind == "stopped":
            run.add_failure(
                "failed",
                "LINPACK printed: {error}",
                error=line["error"].strip(),
            )
    return runs


def _read_intel(line: MatchedLine, run: Draft) -> None:
    size = line.integer("n")
    parameters = {"n": size, "lda": line.integer("lda"), "align": line.integer("align")}
    run.add("time", line.number("time"), "s", **parameters)
    run.add("performance", line.number("rate"), "Gflop/s", **parameters)
    if line["check"] == "fail":
        run.add_failure(
            "residual_check",
            "The residual check of n = {size} failed.",
            size=size,
        )


INTEL = Tool(
    slug="intel-linpack",
    title="Intel Optimized LINPACK",
    homepage="https://www.intel.com/content/www/us/en/developer/articles/technical/"
    "onemkl-benchmarks-suite.html",
    metrics=(
        Metric("time", "s", "lower", "CPU", implied_by=("performance",)),
        Metric("performance", "Gflop/s", "higher", "CPU", work_class=FLOATING_POINT),
    ),
    aliases=("Intel LINPACK", "xlinpack"),
    labels=("n={n}",),
    version=3,
    parse=parse_intel,
    signatures=(
        r"Intel\(R\) (?:Optimized )?LINPACK",
        r"Sample data file lininput",
        r"=+ Timing linear equation system solver =+",
        r"Size +LDA +Align\. +Time\(s\) +GFlops",
    ),
    programs=("xlinpack_xeon64", "xlinpack_xeon32", "linpack_xeon64"),
)
