"""Virtlab memory: bandwidth of caches and memory, by the agent's own kernel.

One result row, as printed by version 1.0::

    row copy  integer    67108864   1   0.124817   0.124923   0.000072   1075.3 ...

that is the operation, the type of the numbers, the bytes of a block (read, write) or of
each array (copy, scale, add, triad), the repetition, the seconds by the machine's clock
and by the time server with its bound, MB/s (10^6 B read and written) by each, a
checksum, and whether it was right. The time server's rates are read where it timed all
repetitions of a case, else the machine's. Without its last line ``end`` an output was
cut.
"""

from dataclasses import dataclass, field

from benchmarks.errors import ParseError
from benchmarks.sentences import Sentence
from benchmarks.tools.base import Metric, Tool
from benchmarks.tools.parser import Draft, Parameter, ParsedRun, Parser, finished, keep
from benchmarks.tools.scan import Found, Scanner

LINES = Scanner(
    title=r"Virtlab memory (?P<version>\S+)[ \t]*+$",
    fact=r"(?P<what>compiler|flags|built|clock|time server|bytes of a number|array|"
    r"minimum|repetitions): *+(?P<fact>\S[^\n]*+)",
    bits=r"bits: (?P<bits>\S+)[ \t]*+$",
    row=r"row +(?P<operation>\w+) +(?P<type>\w+) +(?P<bytes>\S+) +"
    r"(?P<repetition>\S+) +(?P<local>\S+) +(?P<external>\S+) +(?P<bound>\S+) +"
    r"(?P<local_rate>\S+) +(?P<external_rate>\S+) +(?P<sum>\S+) +"
    r"(?P<check>right|WRONG)[ \t]*+$",
    lost=r"time server lost: (?P<lost>[^\n]*\S)",
    end=r"end[ \t]*+$",
    cut=r"row ",
)
KNOWN = "1."
BAND = 0.02
TYPES = {"integer": "integer", "floating": "floating point"}
SIZES = {"read": "block", "write": "block"}


@dataclass
class Output:
    """One start of the program, and its rows case by case."""

    draft: Draft = field(default_factory=Draft)
    rows: dict[tuple[str, str, int], list[Found]] = field(default_factory=dict)
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
    return finished(drafts, Sentence("Virtlab memory printed no result row."))


def _read(line: Found, output: Output) -> None:
    draft = output.draft
    if line.kind == "title":
        if not line["version"].startswith(KNOWN):
            raise line.refused(
                Sentence("this version is not known here: update Virtlab.")
            )
        draft.tool_version = line["version"]
    elif line.kind == "fact":
        draft.facts[line["what"]] = line["fact"].strip()
    elif line.kind == "bits":
        draft.parameters["bits"] = line.whole("bits")
    elif line.kind == "lost":
        draft.mark("time_server", Sentence("The kernel lost its time server."))
    elif line.kind == "end":
        output.is_whole = True
    elif line.kind == "cut":
        raise line.refused(Sentence("this row is not whole."))
    else:
        case = line["operation"], line["type"], line.whole("bytes")
        output.rows.setdefault(case, []).append(line)


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
    slow = [_add(draft, case, rows) for case, rows in output.rows.items()]
    if any(slow):
        draft.mark(
            "time_server",
            Sentence(
                "The time server did not time all of {n} cases to "
                "{band:.0%}: their times are the machine's own.",
                n=sum(slow),
                band=BAND,
            ),
        )


def _add(draft: Draft, case: tuple[str, str, int], rows: list[Found]) -> bool:
    """The readings of a case; says if a time server was asked and was not used."""
    operation, kind, size = case
    parameters: dict[str, Parameter] = {
        "operation": operation,
        "type": TYPES.get(kind, kind),
        SIZES.get(operation, "array"): _size(size),
    }
    is_external = all(_is_told(row) for row in rows)
    for row in rows:
        rate = row.number("external_rate" if is_external else "local_rate")
        draft.add("bandwidth", rate, "MB/s", **parameters)
        if row["check"] == "WRONG":
            said = Sentence(
                "{operation} of {kind} numbers left wrong ones in memory.",
                operation=operation,
                kind=kind,
            )
            draft.mark("wrong_result", said)
    return not is_external and any(row["external"] != "-" for row in rows)


def _is_told(row: Found) -> bool:
    """Whether the time server timed this row, within the band."""
    if row["external"] == "-":
        return False
    return row.number("bound") <= BAND * row.number("external")


def _size(size: int) -> str:
    for unit, factor in (("MiB", 1 << 20), ("KiB", 1 << 10)):
        if size >= factor and size % factor == 0:
            return f"{size // factor} {unit}"
    return f"{size} B"


TOOL = Tool(
    slug="virtlab-memory",
    title="Virtlab memory",
    homepage="https://github.com/cruvolo/ramspeed-smp",
    metrics=(
        Metric(name="bandwidth", unit="MB/s", better="higher", component="memory"),
    ),
    labels=("{type}", "{block}", "{array}"),
    parser=Parser(
        version=1,
        parse=parse,
        signatures=(r"Virtlab memory \d",),
        programs=("virtlab-memory",),
        localized=False,
    ),
)
