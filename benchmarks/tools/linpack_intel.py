"""Intel Optimized LINPACK: dense systems of many sizes, each solved several times.

One result row, as printed by ``xlinpack_xeon64``::

    20000  20000  4      18.362     290.4959 3.520981e-10 3.116839e-02   pass
"""

from benchmarks.parsing.contract import FLOATING_POINT, Metric, Tool
from benchmarks.parsing.scanning import Draft, Found, Scanner, keep, parser

LINES = Scanner(
    started=r"Current date/time: *+(?P<date>[^\n]*)",
    fact=r"(?P<what>CPU frequency|Number of (?:CPUs|cores|threads)): *+(?P<fact>\S.*+)",
    head=r"Size +LDA +Align\. +Time\(s\) +GFlops +Residual",
    row=r"(?P<n>\d+) +(?P<lda>\d+) +(?P<align>\d+) +(?P<time>\S+) +(?P<rate>\S+) +"
    r"(?P<residual>\S+) +(?P<normed>\S+) +(?P<check>pass|fail)\b",
    verdict=r"Residual checks (?P<verdict>PASSED|FAILED)",
    stopped=r"(?P<error>(?:Error|ERROR|forrtl|Memory allocation)\b[^\n]*)",
)


@parser("Intel LINPACK printed no result row.")
def parse(output: str) -> list[Draft]:
    """One run for each start of the program."""
    runs = [Draft()]
    for line in LINES(output):
        run = runs[-1]
        if line.kind == "started":
            keep(runs, Draft(facts={"started": line["date"].strip()}))
        elif line.kind == "fact":
            run.facts[line["what"]] = line["fact"].strip()
        # A copied table may lack the lines above it.
        elif line.kind == "head" and run and not run.facts:
            keep(runs, Draft())
        elif line.kind == "row":
            run.attempt(_read, line, run)
        elif line["verdict"] == "FAILED":
            # It stands below all rows and says nothing about which.
            run.mark("residual_check", "LINPACK printed: Residual checks FAILED.")
        elif line.kind == "stopped":
            run.mark(
                "failed",
                "LINPACK printed: {error}",
                error=line["error"].strip(),
            )
    return runs


def _read(line: Found, run: Draft) -> None:
    size = line.whole("n")
    parameters = {"n": size, "lda": line.whole("lda"), "align": line.whole("align")}
    run.add("time", line.number("time"), "s", **parameters)
    run.add("performance", line.number("rate"), "Gflop/s", **parameters)
    if line["check"] == "fail":
        run.mark(
            "residual_check",
            "The residual check of n = {size} failed.",
            size=size,
        )


TOOL = Tool(
    slug="intel-linpack",
    title="Intel Optimized LINPACK",
    homepage="https://www.intel.com/content/www/us/en/developer/articles/technical/"
    "onemkl-benchmarks-suite.html",
    metrics=(
        Metric("time", "s", "lower", "CPU"),
        Metric("performance", "Gflop/s", "higher", "CPU"),
    ),
    aliases=("Intel LINPACK", "xlinpack"),
    labels=("n={n}",),
    primary={
        "performance": FLOATING_POINT,
    },
    implied={
        "time": ("performance",),
    },
    version=2,
    parse=parse,
    signatures=(
        r"Intel\(R\) (?:Optimized )?LINPACK",
        r"Sample data file lininput",
        r"=+ Timing linear equation system solver =+",
        r"Size +LDA +Align\. +Time\(s\) +GFlops",
    ),
    programs=("xlinpack_xeon64", "xlinpack_xeon32", "linpack_xeon64"),
)
