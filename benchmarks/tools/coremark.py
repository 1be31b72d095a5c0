"""CoreMark: iterations per second of lists, matrices and a state machine.

Only a validated run of at least 10 s is a result. The rate depends on the
compiler and its flags, so they are parameters.
"""

from dataclasses import dataclass

from benchmarks.parsing.parser_toolkit import (
    Draft,
    LineScanner,
    MatchedLine,
    append_limited,
    parser,
)
from benchmarks.parsing.tool import Metric, Tool, always

LINES = LineScanner(
    begin=r"(?P<begin>[\w ]+) run parameters for coremark\.[ \t]*+$",
    size=r"CoreMark Size +: (?P<size>\d+)[ \t]*+(?=\n)",
    rate=r"Iterations/Sec +: (?P<rate>\d[\d.]*)[ \t]*+(?=\n)",
    compiler=r"Compiler version *: (?P<compiler>[^\n]+)(?=\n)",
    flags=r"Compiler flags +: (?P<flags>[^\n]+)(?=\n)",
    threads=r"Parallel \w+ : (?P<threads>\d+)[ \t]*+(?=\n)",
    invalid=r"(?P<invalid>ERROR! [^\n]*|Errors detected|Cannot validate operation[^\n]*"
    r"|\[\d+\]ERROR! [^\n]*)$",
    valid=r"Correct operation validated\.",
)


@dataclass
class CoreMarkRun(Draft):
    rate: float = 0.0
    is_valid: bool = False

    def read(self, line: MatchedLine) -> None:
        if line.kind == "invalid":
            raise line.parse_error("CoreMark says that this result is not valid.")
        if line.kind == "rate":
            self.rate = line.number("rate")
        elif line.kind == "size":
            self.parameters["size"] = line.integer("size")
        elif line.kind == "threads":
            self.parameters["threads"] = line.integer("threads")
        elif line.kind in ("compiler", "flags"):
            self.parameters[line.kind] = " ".join(line[line.kind].split())
        elif line.kind == "valid":
            self.is_valid = True

    def close(self) -> None:
        if self.is_valid:
            self.add("iteration rate", self.rate, "1/s")


@parser("CoreMark did not validate a result.")
def parse(output: str) -> list[CoreMarkRun]:
    runs: list[CoreMarkRun] = [CoreMarkRun()]
    for line in LINES(output):
        if line.kind == "begin":
            append_limited(runs, CoreMarkRun(facts={"run": line["begin"]}))
        else:
            runs[-1].read_line(runs[-1].read, line)
    return runs


TOOL = Tool(
    slug="coremark",
    title="CoreMark",
    homepage="https://www.eembc.org/coremark/",
    metrics=(
        Metric(
            "iteration rate", "1/s", "higher", "CPU", work_class=always("CPU: integer")
        ),
    ),
    labels=("{threads} threads", "{compiler}"),
    version=1,
    parse=parse,
    signatures=(
        r"[\w ]+ run parameters for coremark\.",
        r"CoreMark Size +: \d",
    ),
    programs=("coremark", "coremark.exe"),
    is_localized=False,
)
