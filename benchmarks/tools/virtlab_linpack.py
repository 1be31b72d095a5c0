"""Virtlab LINPACK: a dense system of n linear equations, by the agent's own kernel.

One result row, as printed by version 1.0::

    row double   1000          1       0.512345       0.512401   0.000092  ...

that is the precision, n, the repetition, the seconds by the machine's clock and by the
time server with its bound, Mflop/s (10^6) by each, and the normalized residual. The
time server's are read where it timed all repetitions of a size, else the machine's;
the others are facts. The last line is ``end``: an output without it was cut.
"""

from dataclasses import dataclass, field

from benchmarks.parsing.contract import Metric, Tool
from benchmarks.parsing.drafts import Draft, Parameter, ParsedRun, Parser
from benchmarks.parsing.scanning import Found
from benchmarks.parsing.virtlab_output import (
    BAND,
    Output,
    is_missed,
    is_timed_outside,
    kernel_lines,
    runs_of,
)
from benchmarks.sentences import Sentence

LINES = kernel_lines(
    "LINPACK",
    facts="sizes|budget|columns at once",
    row=r"row +(?P<precision>\S+) +(?P<n>\S+) +(?P<repetition>\S+) +(?P<local>\S+) +"
    r"(?P<external>\S+) +(?P<bound>\S+) +(?P<local_rate>\S+) +(?P<external_rate>\S+) +"
    r"(?P<residual>\S+)[ \t]*+$",
    verdict=r"residual (?P<of>double|single) (?P<order>\S+): (?P<worst>\S+) +"
    r"(?:of (?P<limit>\S+) +)?(?P<check>passed|failed)\b",
    skipped=r"skipped (?P<skipped>[^\n]*\S)",
    cut=r"(?:row|residual) ",
)
WARM_UP = "warm-up"
CLOCKS = {"external": "time server", "local": "the machine's own"}
Size = tuple[str, int]


@dataclass
class Solutions(Output[Size]):
    """One start of the program: its rows by precision and n, and what was checked."""

    subject = "LINPACK"

    checked: set[Size] = field(default_factory=set)

    def read_own(self, line: Found) -> None:
        if line.kind == "row":
            size = line["precision"], line.whole("n")
            self.rows.setdefault(size, []).append(line)
        elif line.kind == "skipped":
            said = Sentence("LINPACK skipped {skipped}.", skipped=line["skipped"])
            self.draft.mark("unfinished", said)
        else:
            self._judge(line)

    def _judge(self, line: Found) -> None:
        """What the program says for or against its own numbers."""
        precision, n = size = line["of"], line.whole("order")
        self.checked.add(size)
        if line["check"] == "failed":
            said = Sentence(
                "The residual check of n = {size} in {precision} precision failed.",
                size=n,
                precision=precision,
            )
            self.draft.mark("residual_check", said)
        else:
            worst = line.number("worst", decimals=6)
            self.draft.facts[f"residual, {precision}, n={n}"] = worst

    def take_rows(self) -> None:
        columns = str(self.draft.facts.get("columns at once", "all"))
        if columns != "all":
            self.draft.parameters["columns_at_once"] = columns
        for size, rows in self.rows.items():
            if size not in self.checked:
                raise rows[-1].refused(Sentence("its residual was not checked."))
            _add(self.draft, size, rows)


def parse(output: str) -> tuple[ParsedRun, ...]:
    """One run for each start of the program; each repetition is one of its readings."""
    nothing = Sentence("Virtlab LINPACK printed no result row.")
    return runs_of(output, LINES, Solutions, nothing)


def _add(draft: Draft, size: Size, rows: list[Found]) -> None:
    """The readings of a size; warm-ups and the other clock's times are facts."""
    precision, n = size
    parameters: dict[str, Parameter] = {"precision": precision, "n": n}
    counted = [row for row in rows if row["repetition"] != WARM_UP]
    told = "external" if is_timed_outside(counted) else "local"
    for row in counted:
        draft.add("time", row.number(told), "s", **parameters)
        rate = row.number(f"{told}_rate")
        draft.add("performance", rate, "Mflop/s", **parameters)
    name = f"{precision}, n={n}"
    draft.facts[f"clock, {name}"] = CLOCKS[told]
    _keep_facts(draft, name, rows, told)
    if is_missed(counted):
        said = Sentence(
            "The time server did not time all of {size} to {band:.0%}: its times are "
            "the machine's own.",
            size=name,
            band=BAND,
        )
        draft.mark("time_server", said)


def _keep_facts(draft: Draft, size: str, rows: list[Found], told: str) -> None:
    warm_ups = [row for row in rows if row["repetition"] == WARM_UP]
    counted = [row for row in rows if row["repetition"] != WARM_UP]
    other = "local" if told == "external" else "external"
    for name, which, clock in (
        ("warm-up s", warm_ups, told),
        (f"{other} s", counted, other),
        ("bound s", counted, "bound"),
    ):
        if told_ones := [row[clock] for row in which if row[clock] != "-"]:
            draft.facts[f"{name}, {size}"] = " ".join(told_ones)


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
