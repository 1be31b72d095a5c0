"""Virtlab LINPACK: a dense system of n linear equations, by the agent's own kernel.

One result row, as printed by version 1.0::

    row double   1000          1       0.512345       0.512401   0.000092  ...

that is the precision, n, the repetition, the seconds by the machine's clock and by the
time server with its bound, Mflop/s (10^6) by each, and the normalized residual. The
time server's are read where it timed all repetitions of a size, else the machine's;
the others are facts. The last line is ``end``: an output without it was cut.
"""

from dataclasses import dataclass, field

from benchmarks.parsing.contract import FLOATING_POINT, Metric, Tool
from benchmarks.parsing.scanning import Found, parser
from benchmarks.parsing.virtlab_output import (
    BAND,
    Output,
    is_missed,
    is_timed_outside,
    kernel_lines,
    runs_of,
)

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
            self.mark(
                "unfinished", "LINPACK skipped {skipped}.", skipped=line["skipped"]
            )
        else:
            self._take_verdict(line)

    def _take_verdict(self, line: Found) -> None:
        # What the program says for or against its own numbers.
        precision, n = size = line["of"], line.whole("order")
        self.checked.add(size)
        if line["check"] == "failed":
            self.mark(
                "residual_check",
                "The residual check of n = {size} in {precision} precision failed.",
                size=n,
                precision=precision,
            )
        else:
            worst = line.number("worst", decimals=6)
            self.facts[f"residual, {precision}, n={n}"] = worst

    def take_rows(self) -> None:
        columns = str(self.facts.get("columns at once", "all"))
        if columns != "all":
            self.parameters["columns_at_once"] = columns
        for size, rows in self.rows.items():
            if size not in self.checked:
                raise rows[-1].refused("its residual was not checked.")
            self._take_size(size, rows)

    def _take_size(self, size: Size, rows: list[Found]) -> None:
        # Warm-ups and the other clock's times are facts, no readings.
        precision, n = size
        name = f"{precision}, n={n}"
        warm_ups = [row for row in rows if row["repetition"] == WARM_UP]
        counted = [row for row in rows if row["repetition"] != WARM_UP]
        clocks = ("external", "local")
        clock, other = clocks if is_timed_outside(counted) else clocks[::-1]
        for row in counted:
            time, rate = row.number(clock), row.number(f"{clock}_rate")
            self.add("time", time, "s", precision=precision, n=n)
            self.add("performance", rate, "Mflop/s", precision=precision, n=n)

        self.facts[f"clock, {name}"] = CLOCKS[clock]
        for fact, which, group in (
            ("warm-up s", warm_ups, clock),
            (f"{other} s", counted, other),
            ("bound s", counted, "bound"),
        ):
            if times := [row[group] for row in which if row[group] != "-"]:
                self.facts[f"{fact}, {name}"] = " ".join(times)
        if is_missed(counted):
            self.mark(
                "time_server",
                "The time server did not time all of {size} to {band:.0%}: its times "
                "are the machine's own.",
                size=name,
                band=BAND,
            )


@parser("Virtlab LINPACK printed no result row.")
def parse(output: str) -> list[Solutions]:
    """One run for each start of the program; each repetition is one of its readings."""
    return runs_of(output, LINES, Solutions)


TOOL = Tool(
    slug="virtlab-linpack",
    title="Virtlab LINPACK",
    homepage="https://www.netlib.org/linpack/",
    metrics=(
        Metric("time", "s", "lower", "CPU"),
        Metric("performance", "Mflop/s", "higher", "CPU"),
    ),
    labels=("n={n}", "{precision}"),
    primary={
        "performance": FLOATING_POINT,
    },
    implied={
        "time": ("performance",),
    },
    version=1,
    parse=parse,
    signatures=(r"Virtlab LINPACK \d",),
    programs=("virtlab-linpack",),
    localized=False,
)
