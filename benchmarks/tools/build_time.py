"""Time of a build or another command: bash and GNU ``time``, and kernbench.

Only a command above the output states what ran; without it, the number has no class of
work. kernbench prints the mean of its runs with their deviation::

    real	2m37.412s
"""

import re
from dataclasses import dataclass

from benchmarks.errors import ParseError
from benchmarks.parsing.parser_toolkit import (
    Draft,
    LineScanner,
    MatchedLine,
    append_limited,
    parser,
)
from benchmarks.parsing.tool import Metric, Tool, first_match, when

LINES = LineScanner(
    command=r"(?:[^\n$#%>+]*+[$#%>+]++ )(?:sudo )?(?:\S{0,40}/)?(?:time (?:-\S+ )*)?"
    r"(?P<program>make|ninja|cmake|cargo|dpkg-buildpackage)(?P<words> [^\n]*)?$",
    kernbench=r"Average (?P<load>Optimal|Half|Maximal) load -j(?: (?P<jobs>\d+))? Run "
    r"\(std deviation\):[ \t]*+$",
    row=r"(?P<row>Elapsed|User|System) Time (?P<seconds>[\d.]+)(?: \([\d.]+\))?"
    r"[ \t]*+(?=\n)",
    bash=r"(?P<bash>real|user|sys)[ \t]++(?:(?P<minutes>\d+)m)?(?P<rest>[\d.]+)s?"
    r"[ \t]*+(?=\n)",
    gnu=r"(?P<user>[\d.]+)user (?P<system>[\d.]+)system (?P<elapsed>[\d:.]+)elapsed ",
    verbose=r"(?P<verbose>User time \(seconds\)|System time \(seconds\)|Elapsed \(wall "
    r"clock\) time \(h:mm:ss or m:ss\)): (?P<value>[\d:.]+)[ \t]*+(?=\n)",
    commanded=r'Command being timed: "(?P<commanded>[^\n]*)"[ \t]*+$',
    failed=r"(?P<failed>make(?:\[\d+\])?: \*\*\* [^\n]*|Command exited with non-zero "
    r"status \d+)$",
)
METRICS = {
    "real": "elapsed time",
    "Elapsed": "elapsed time",
    "user": "user time",
    "User": "user time",
    "sys": "system time",
    "System": "system time",
}
_JOBS = re.compile(r"(?:^| )-j ?(\d+)")
_PROGRAM = re.compile(r"(?:\S{0,60}/)?(make|ninja|cmake|cargo)\b(.*)")
BUILD = first_match(
    when("application: build", program="kernbench|make|ninja|cmake|cargo|dpkg-.*")
)


def _seconds(line: MatchedLine, text: str) -> float:
    total = 0.0
    for part in text.split(":"):
        total = total * 60 + line.parse_amount(part)
    return total


@dataclass
class BuildRun(Draft):
    def begin(self, program: str, words: str) -> None:
        self.parameters["program"] = program
        if jobs := _JOBS.search(words):
            self.parameters["jobs"] = int(jobs[1])

    def read(self, line: MatchedLine) -> None:
        if line.kind == "row":
            if self.parameters.get("program") == "kernbench":
                self.add(METRICS[line["row"]], line.number("seconds"), "s")
        elif line.kind == "bash":
            minutes = line.integer("minutes") if line["minutes"] else 0
            value = 60 * minutes + line.number("rest")
            self.add(METRICS[line["bash"]], value, "s")
        elif line.kind == "gnu":
            self.add("elapsed time", _seconds(line, line["elapsed"]), "s")
            self.add("user time", line.number("user"), "s")
            self.add("system time", line.number("system"), "s")
        elif line.kind == "verbose":
            metric = METRICS[line["verbose"].split()[0]]
            self.add(metric, _seconds(line, line["value"]), "s")
        elif line.kind == "failed":
            self.add_failure("failed", 'It printed "{text}".', text=line["failed"])

    def close(self) -> None:
        if self and not any(
            reading.metric == "elapsed time" for reading in self.readings
        ):
            raise ParseError("The elapsed time was not printed.")


def _first_of(line: MatchedLine) -> str:
    """Return what would be repeated if another result began."""
    return line["bash"] or line["row"] or line["verbose"] or line["elapsed"]


@parser("No time of a command was printed.")
def parse(output: str) -> list[BuildRun]:
    runs = [BuildRun()]
    seen: set[str] = set()
    for line in LINES(output):
        if (
            line.kind in ("command", "kernbench", "commanded")
            or _first_of(line) in seen
        ):
            append_limited(runs, BuildRun())
            seen.clear()
        if line.kind == "command":
            runs[-1].begin(line["program"], line["words"])
        elif line.kind == "kernbench":
            runs[-1].begin("kernbench", f"-j {line['jobs']}")
            runs[-1].parameters["load"] = line["load"].lower()
        elif line.kind == "commanded":
            if program := _PROGRAM.match(line["commanded"]):
                runs[-1].begin(program[1], program[2])
        else:
            if first := _first_of(line):
                seen.add(first)
            runs[-1].read_line(runs[-1].read, line)
    return runs


_TIMED = re.compile(
    r"^(?:real[ \t]+(?:\d+m)?[\d.,]+s?|[\d.]+user [\d.]+system [\d:.]+elapsed )", re.M
)
TOOL = Tool(
    slug="build-time",
    title="Build time",
    homepage="https://www.gnu.org/software/time/",
    metrics=(
        Metric("elapsed time", "s", "lower", "application", work_class=BUILD),
        Metric("user time", "s", "lower", "application", kind="amount"),
        Metric("system time", "s", "lower", "application", kind="amount"),
    ),
    aliases=("time", "kernbench", "kernel build"),
    labels=("{program}", "-j{jobs}", "{load}"),
    version=1,
    parse=parse,
    signatures=(
        r"Average (?:Optimal|Half|Maximal) load -j[^\n]* Run \(std deviation\):",
        r'Command being timed: "',
    ),
    # Other tools are often timed too, so their own output comes first.
    recognizes=lambda text: _TIMED.search(text) is not None,
    programs=("make", "ninja", "kernbench"),
    needs_command=True,
)
