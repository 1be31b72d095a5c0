"""HPL (High-Performance Linpack): a dense system over MPI processes.

One result row, as printed by HPL 2.0::

    WR11C2R4        1200    80     1     2               0.12              9.935e+00
"""

from benchmarks.parsing.contract import FLOATING_POINT, Metric, Tool
from benchmarks.parsing.scanning import Draft, Found, Scanner, keep, parser

LINES = Scanner(
    banner=r"(?:HPLinpack|HPL-\w+) +v?(?P<version>\d+(?:\.\d+)*) ",
    row=r"(?P<variant>W[RC]\d\w{0,15}) +(?P<n>\d+) +(?P<nb>\d+) +(?P<p>\d+) +"
    r"(?P<q>\d+) +(?P<time>\S+) +(?P<rate>\S+)",
    residual=r"\|\|Ax-b\|\|_oo[^\n]*= +(?P<residual>\S+) +\.+ (?P<check>PASSED|FAILED)",
    tests=r"(?P<failed>\d+) tests completed and failed residual checks",
    skipped=r"(?P<skipped>[1-9]\d*) tests skipped because of illegal input",
    error=r"(?P<error>HPL ERROR[^\n]*)",
)


@parser("HPL printed no result row.")
def parse(output: str) -> list[Draft]:
    """One run for each start of the program; its tests are the run's cases."""
    runs = [Draft()]
    checks: list[int] = [0]
    for line in LINES(output):
        run = runs[-1]
        if line.kind == "banner":
            keep(runs, Draft(tool_version=line["version"]))
            keep(checks, 0)
        elif line.kind == "row":
            run.attempt(_read, line, run)
        elif line.kind == "skipped":
            run.mark("skipped", "HPL skipped {skipped} tests.", skipped=line["skipped"])
        elif line.kind == "error":
            run.mark("failed", "{said}", said=line["error"].strip())
        else:
            checks[-1] += line.kind == "residual"
            if line["check"] == "FAILED" or line["failed"] not in {"", "0"}:
                run.mark("residual_check", "A residual check of HPL FAILED.")
    for run, done in zip(runs, checks, strict=True):
        if run and not done:
            run.mark("unchecked", "HPL printed no residual check: is the output cut?")
    return runs


def _read(line: Found, run: Draft) -> None:
    sizes = {name: line.whole(name) for name in ("n", "nb", "p", "q")}
    variant = line["variant"]
    run.add("time", line.number("time"), "s", variant=variant, **sizes)
    # The mantissa always has the same digits: a cut number lacks its exponent.
    if "e" not in line["rate"].casefold():
        raise line.refused("the rate has no exponent: is the line cut?")
    run.add("performance", line.number("rate"), "Gflop/s", variant=variant, **sizes)


TOOL = Tool(
    slug="hpl",
    title="HPL",
    homepage="https://www.netlib.org/benchmark/hpl/",
    metrics=(
        Metric("time", "s", "lower", "CPU"),
        Metric("performance", "Gflop/s", "higher", "CPU"),
    ),
    aliases=("HPLinpack", "High-Performance Linpack"),
    labels=("n={n}", "{p}x{q}"),
    primary={
        "performance": FLOATING_POINT,
    },
    implied={
        "time": ("performance",),
    },
    version=2,
    parse=parse,
    signatures=(r"HPLinpack +\d", r"HPL-\w+ +v?\d", r"T/V +N +NB +P +Q +Time"),
    programs=("xhpl",),
)
