"""LINPACK: a dense system of n linear equations solved, as netlib's programs do it.

One result row, as printed by netlib's ``linpack.c``::

        16384  15.02  88.94%   2.95%   8.11%  1630594.203

The last column is in KFLOPS, 1000 floating-point operations a second; the last row is
the result, after at least 10 s. "Array size 200" is n = 100. The older programs
(``clinpack.c``, ``linpackd.f``, LINPACK_BENCH) print a row of ``dgefa dgesl total
mflops unit ratio`` or ``Factor Solve Total MFLOPS`` for each time they solved it, the
Java one a single line ``Mflops/s: ... Time: ... Norm Res: ... Precision: ...``.
"""

from dataclasses import dataclass, field

from benchmarks.parsing.contract import Metric, Tool
from benchmarks.parsing.drafts import Draft, ParsedRun, Parser, finished, keep
from benchmarks.parsing.scanning import Found, Scanner
from benchmarks.sentences import Sentence

LINES = Scanner(
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
LONG_ENOUGH_S = 10


@dataclass
class Table:
    """The rows of one array size."""

    draft: Draft = field(default_factory=Draft)
    unit: str = ""
    last: Found | None = None


def parse(output: str) -> tuple[ParsedRun, ...]:
    """One run for each array size that was solved."""
    tables = [Table()]
    precision: dict[str, str] = {}
    for line in LINES(output):
        table = tables[-1]
        if line.kind == "banner":
            precision = {"precision": line["precision"].casefold()}
        elif line.kind == "title" and not line["final"]:
            precision = {
                "precision": line["title"].casefold(),
                "variant": line["rolling"].casefold(),
            }
        elif line.kind in {"size", "order", "java"}:
            keep(tables, _opened(line, precision))
        elif line.kind in {"head", "classic"}:
            table.unit = UNITS[(line["unit"] or line["flops"]).upper()]
        elif line.kind == "row":
            table.last = line
        else:
            _read(line, table)
    for table in tables:
        table.draft.attempt(_close, table)
    return finished(
        [table.draft for table in tables], Sentence("LINPACK printed no result row.")
    )


def _opened(line: Found, precision: dict[str, str]) -> Table:
    if line.kind == "java":
        return _of_java(line)
    table = Table()
    if line.kind == "size":
        size = line.whole("size")
        table.draft.facts["array size"] = size
        table.draft.parameters.update(n=size // 2)
    else:
        table.draft.parameters.update(n=line.whole("order"))
    table.draft.parameters.update(precision)
    return table


def _of_java(line: Found) -> Table:
    """The one row of the Java program, which does not tell the order of its system."""
    table = Table()
    table.draft.parameters["variant"] = "java"
    table.draft.add("performance", line.number("java"), "Mflop/s")
    table.draft.add("time", line.number("java_time"), "s")
    return table


def _read(line: Found, table: Table) -> None:
    if line.kind == "variant" and not line["variant"].startswith("Average"):
        table.draft.parameters["variant"] = line["variant"].casefold()
    elif line.kind == "lead":
        table.draft.parameters["leading_dimension"] = line.whole("lead")
    elif line.kind == "compiled":
        table.draft.facts[line["what"].casefold()] = line["flags"].strip()
    elif line.kind == "times" and table.unit:
        table.draft.add("performance", line.number("flop"), table.unit)
    elif line.kind == "title":
        # The program's own summary of all its rows.
        table.draft.parameters.pop("leading_dimension", None)
        unit = UNITS[line["final_unit"].upper()]
        table.draft.add("performance", line.number("final"), unit)


def _close(table: Table) -> None:
    """The last row is the result."""
    if not (row := table.last):
        if "array size" in table.draft.facts and not table.draft:
            size = table.draft.facts["array size"]
            told = Sentence("It printed no row for {size}.", size=size)
            table.draft.mark("unfinished", told)
        return
    if not table.unit:
        raise row.refused(Sentence("no line above it says what its columns are."))
    table.draft.add("performance", row.number("rate", decimals=3), table.unit)
    table.draft.facts["repetitions"] = row.whole("reps")
    if (time := row.number("time")) < LONG_ENOUGH_S:
        table.draft.mark(
            "unfinished",
            Sentence(
                "The last row took {time:g} s: LINPACK goes on until a row "
                "takes {least} s, so rows may be missing.",
                time=time,
                least=LONG_ENOUGH_S,
            ),
        )


TOOL = Tool(
    slug="linpack",
    title="LINPACK",
    homepage="https://www.netlib.org/benchmark/",
    metrics=(
        Metric(name="time", unit="s", better="lower", component="CPU"),
        Metric(name="performance", unit="Mflop/s", better="higher", component="CPU"),
    ),
    aliases=("netlib LINPACK",),
    labels=("n={n}",),
    parser=Parser(
        version=2,
        parse=parse,
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
    ),
)
