"""b_eff_io: effective I/O bandwidth of a parallel application.

The last row of its summary, as it is printed for 2 processes::

     b_eff_io =    4.057 MB/s on 2 processes with 1024 MByte/PE, scheduled time=3.3 Min

MB are 10^6 B, MByte 2^20 B. The last row is the result: the largest of the numbers of
processes above it. NOT VALID means that it may not be compared between systems: it was
too short, had no shared file pointers, or errors.
"""

import re
from dataclasses import dataclass, field

from benchmarks.parsing.contract import DISK, Metric, Tool
from benchmarks.parsing.scanning import Draft, Found, Scanner, keep, parser
from benchmarks.sentences import Sentence

_RESULT = (
    r" +(?P<rate_{0}>\S+) MB/s on +(?P<processes_{0}>\S+) processes with "
    r"+(?P<memory_{0}>\S+) MByte/PE(?:,| and) *+scheduled time= *+(?P<minutes_{0}>\S+) "
    r"[mM]in\b(?P<judged_{0}>[^\n]*)"
)
LINES = Scanner(
    summary=r"Summary of file I/O bandwidth accumulated on +(?P<processes>\S+) "
    r"processes with",
    version=r"set label 2 'rel\. (?P<version>[^'\n]*)'",
    weighted=r"weighted average bandwidth for (?P<way>write|rewrite|read) *+: "
    r"+(?P<rate>\S+) MB/s on +(?P<on>\S+) processes",
    part=rf"b_eff_io of these measurements ={_RESULT.replace('{0}', 'part')}",
    validity=r"(?P<validity>VALID|NOT VALID) for comparison of different systems",
    criterion=r"criterion \d: (?P<criterion>[^\n]*) -- NOT reached",
    error=r"\[\d+\] (?P<error>ERROR in [^:\n]*)",
    last=rf"b_eff_io ={_RESULT.replace('{0}', 'last')}",
)
_ERRORS = re.compile(r"with (\d{1,18}) ERRORS", re.ASCII)
_SYSTEM = re.compile(r", on ([^,\n]+)", re.ASCII)
NOT_VALID = Sentence("NOT VALID for comparison of different systems.")


@dataclass(slots=True)
class Summary:
    """The lines before the last row, by number of processes."""

    weighted: dict[int, list[Found]] = field(default_factory=dict)
    parts: dict[int, Found] = field(default_factory=dict)
    run: Draft = field(default_factory=Draft)
    is_judged: bool = False

    def read_last(self, last: Found) -> None:
        """Add the result, which is the last row, and the rows above it."""
        run, judged = self.run, last["judged_last"]
        # NOT VALID stands at its end: cut off, the doubt would be lost.
        if last.is_open("judged_last") and not self.is_judged:
            raise last.refused(
                "the text ends within this line, before it says if VALID."
            )
        if "NOT VALID" in judged:
            run.mark("not_valid", NOT_VALID)
        _count_errors(judged, run)
        if system := _SYSTEM.match(judged):
            run.facts["system"] = system[1]

        # Smaller numbers of processes stand above, each with a result of its own.
        best = last.whole("processes_last")
        for processes in dict.fromkeys([*self.weighted, *self.parts, best]):
            line, kind = last, "last"
            if processes != best and processes in self.parts:
                line, kind = self.parts[processes], "part"
            run.parameters = {
                "processes": processes,
                "memory_per_process": f"{line.whole(f'memory_{kind}')} MiB",
                "scheduled_time": f"{line.number(f'minutes_{kind}'):g} min",
            }
            for row in self.weighted.get(processes, ()):
                rate = row.number("rate")
                run.add("weighted bandwidth", rate, "MB/s", operation=row["way"])
            if line.whole(f"processes_{kind}") == processes:
                run.add("b_eff_io", line.number(f"rate_{kind}"), "MB/s")


@parser("b_eff_io did not print its last row, which is the result.")
def parse(output: str) -> list[Draft]:
    """Return one run for each start of the program: its last row ends it."""
    runs: list[Draft] = []
    summary = Summary()
    for line in LINES(output):
        run = summary.run
        if line.kind == "summary":
            # A second table of so many processes: the last row of the first is missing.
            is_next = line.whole("processes") in summary.parts
            summary = Summary() if is_next else summary
        elif line.kind == "weighted":
            summary.weighted.setdefault(line.whole("on"), []).append(line)
        elif line.kind == "part":
            summary.parts[line.whole("processes_part")] = line
            _count_errors(line["judged_part"], run)
        elif line.kind == "version":
            run.tool_version = line["version"].strip("$ ").removeprefix("Revision: ")
        elif line.kind == "validity":
            summary.is_judged = True
            if line["validity"] == "NOT VALID":
                run.mark("not_valid", NOT_VALID)
        elif line.kind == "criterion":
            run.mark(
                "not_valid", "Not reached: {criterion}.", criterion=line["criterion"]
            )
        elif line.kind == "error":
            run.mark("errors", 'b_eff_io printed "{error}".', error=line["error"])
        else:
            summary.read_last(line)
            keep(runs, run)
            summary = Summary()
    return [*runs, summary.run]


def _count_errors(text: str, run: Draft) -> None:
    if errors := _ERRORS.search(text):
        run.mark("errors", "b_eff_io counted {errors} errors.", errors=errors[1])


TOOL = Tool(
    slug="b_eff_io",
    title="b_eff_io",
    homepage="https://fs.hlrs.de/projects/par/mpi/b_eff_io/",
    metrics=(
        Metric("weighted bandwidth", "MB/s", "higher", "disk", work=DISK),
        Metric(
            "b_eff_io",
            "MB/s",
            "higher",
            "disk",
            title="b_eff_io",
            implied_by=("weighted bandwidth",),
        ),
    ),
    aliases=("beffio", "b-eff-io"),
    labels=("{processes} processes",),
    version=1,
    parse=parse,
    signatures=(
        r"Summary of file I/O bandwidth accumulated on +\d+ processes",
        r"weighted average bandwidth for (?:write|rewrite|read) *+:",
        r"b_eff_io (?:of these measurements )?= +\S+ MB/s on +\d+ processes",
        r"b_eff_io := maximum over all bw_partition",
    ),
    programs=("b_eff_io",),
    localized=False,
)
