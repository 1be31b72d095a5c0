"""Virtlab LINPACK: a dense system of n linear equations, by the agent's own kernel.

One result row, as printed by version 1.0::

    row double   1000          1       0.512345       0.512401   0.000092  ...

that is the precision, n, the repetition, the seconds by the machine's clock and by the
time server with its bound, Mflop/s (10^6) by each, and the normalized residual. The
time server's are read where it timed all repetitions of a size, else the machine's;
the others are facts. The last line is ``end``: an output without it was cut.
"""

from dataclasses import dataclass, field

from benchmarks.errors import ParseError
from benchmarks.sentences import Sentence
from benchmarks.tools.base import Metric, Tool
from benchmarks.tools.parser import Draft, Parameter, ParsedRun, Parser, finished, keep
from benchmarks.tools.scan import Found, Scanner

LINES = Scanner(
    title=r"Virtlab LINPACK (?P<version>\S+)[ \t]*+$",
    fact=r"(?P<what>compiler|flags|built|clock|time server|sizes|repetitions|budget|"
    r"columns at once): *+(?P<fact>\S[^\n]*+)",
    bits=r"bits: (?P<bits>\S+)[ \t]*+$",
    row=r"row +(?P<precision>\S+) +(?P<n>\S+) +(?P<repetition>\S+) +(?P<local>\S+) +"
    r"(?P<external>\S+) +(?P<bound>\S+) +(?P<local_rate>\S+) +(?P<external_rate>\S+) +"
    r"(?P<residual>\S+)[ \t]*+$",
    verdict=r"residual (?P<of>double|single) (?P<order>\S+): (?P<worst>\S+) +"
    r"(?:of (?P<limit>\S+) +)?(?P<check>passed|failed)\b",
    skipped=r"skipped (?P<skipped>[^\n]*\S)",
    lost=r"time server lost: (?P<lost>[^\n]*\S)",
    end=r"end[ \t]*+$",
    cut=r"(?:row|residual) ",
)
KNOWN = "1."
WARM_UP = "warm-up"
BAND = 0.02
CLOCKS = {"external": "time server", "local": "the machine's own"}


@dataclass
class Output:
    """One start of the program: its rows by precision and n, and what was checked."""

    draft: Draft = field(default_factory=Draft)
    rows: dict[tuple[str, int], list[Found]] = field(default_factory=dict)
    checked: set[tuple[str, int]] = field(default_factory=set)
    is_whole: bool = False


def parse(output: str) -> tuple[ParsedRun, ...]:
    """One run for each start of the program; each repetition is one of its readings."""
    outputs = [Output()]
    for line in LINES(output):
        if line.kind == "title":
            keep(outputs, Output())
        outputs[-1].draft.attempt(_read, line, outputs[-1])
    for each in outputs:
        each.draft.attempt(_close, each)
    drafts = [each.draft for each in outputs]
    return finished(drafts, Sentence("Virtlab LINPACK printed no result row."))


def _read(line: Found, output: Output) -> None:
    draft = output.draft
    if line.kind == "title":
        _open(line, draft)
    elif line.kind == "fact":
        draft.facts[line["what"]] = line["fact"].strip()
    elif line.kind == "bits":
        draft.parameters["bits"] = line.whole("bits")
    elif line.kind == "row":
        key = line["precision"], line.whole("n")
        output.rows.setdefault(key, []).append(line)
    elif line.kind == "cut":
        raise line.refused(Sentence("this line is not whole."))
    elif line.kind == "end":
        output.is_whole = True
    else:
        _judge(line, output)


def _open(line: Found, draft: Draft) -> None:
    if not line["version"].startswith(KNOWN):
        raise line.refused(Sentence("this version is not known here: update Virtlab."))
    draft.tool_version = line["version"]


def _judge(line: Found, output: Output) -> None:
    """What the program says for or against its own numbers."""
    draft = output.draft
    if line.kind == "skipped":
        draft.mark(
            "unfinished",
            Sentence("LINPACK skipped {skipped}.", skipped=line["skipped"]),
        )
    elif line.kind == "lost":
        draft.mark("time_server", Sentence("LINPACK lost its time server."))
    else:
        size = line["of"], line.whole("order")
        output.checked.add(size)
        if line["check"] == "failed":
            draft.mark(
                "residual_check",
                Sentence(
                    "The residual check of n = {size} in {precision} precision failed.",
                    size=size[1],
                    precision=size[0],
                ),
            )
        else:
            name = f"residual, {size[0]}, n={size[1]}"
            draft.facts[name] = line.number("worst", decimals=6)


def _close(output: Output) -> None:
    """Take the rows of a whole output; nothing of one that was cut."""
    draft = output.draft
    if not (output.rows or draft.tool_version):
        return
    if not (draft.tool_version and "bits" in draft.parameters):
        raise ParseError(
            Sentence("The output's head is missing: upload it from its first line.")
        )
    if not output.is_whole:
        raise ParseError(Sentence("The output has no last line `end`: it was cut."))
    columns = str(draft.facts.get("columns at once", "all"))
    if columns != "all":
        draft.parameters["columns_at_once"] = columns
    for (precision, n), rows in output.rows.items():
        if (precision, n) not in output.checked:
            raise rows[-1].refused(Sentence("its residual was not checked."))
        _add(draft, f"{precision}, n={n}", rows, {"precision": precision, "n": n})


def _add(
    draft: Draft, size: str, rows: list[Found], parameters: dict[str, Parameter]
) -> None:
    """The readings of a size; warm-ups and the other clock's times are facts."""
    counted = [row for row in rows if row["repetition"] != WARM_UP]
    told, other = clocks(counted)
    for row in counted:
        draft.add("time", row.number(told), "s", **parameters)
        rate = row.number(f"{told}_rate")
        draft.add("performance", rate, "Mflop/s", **parameters)
    draft.facts[f"clock, {size}"] = CLOCKS[told]
    _keep_facts(draft, size, rows, told, other)
    if told == "local" and any(row["external"] != "-" for row in counted):
        draft.mark(
            "time_server",
            Sentence(
                "The time server did not time all of {size} to {band:.0%}: its "
                "times are the machine's own.",
                size=size,
                band=BAND,
            ),
        )


def _keep_facts(
    draft: Draft, size: str, rows: list[Found], told: str, other: str
) -> None:
    counted = [row for row in rows if row["repetition"] != WARM_UP]
    for name, which, clock in (
        ("warm-up s", [row for row in rows if row not in counted], told),
        (f"{other} s", counted, other),
        ("bound s", counted, "bound"),
    ):
        if told_ones := [row[clock] for row in which if row[clock] != "-"]:
            draft.facts[f"{name}, {size}"] = " ".join(told_ones)


def clocks(rows: list[Found]) -> tuple[str, str]:
    """The clock whose times are read, and the other: the time server's if it timed
    every row, and each within the band."""
    is_external = all(
        row["external"] != "-" and row.number("bound") <= BAND * row.number("external")
        for row in rows
    )
    return ("external", "local") if is_external else ("local", "external")


TOOL = Tool(
    slug="virtlab-linpack",
    title="Virtlab LINPACK",
    homepage="https://www.netlib.org/linpack/",
    metrics=(
        Metric(name="time", unit="s", better="lower", component="CPU"),
        Metric(name="performance", unit="Mflop/s", better="higher", component="CPU"),
    ),
    labels=("n={n}", "{precision}"),
    parser=Parser(
        version=1,
        parse=parse,
        signatures=(r"Virtlab LINPACK \d",),
        programs=("virtlab-linpack",),
        localized=False,
    ),
)
