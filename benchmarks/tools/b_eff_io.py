"""b_eff_io: effective I/O bandwidth of a parallel application.

The last row of its output is the result. MB are 10^6 B, MByte 2^20 B. NOT VALID results
(too short, no shared file pointers, or errors) may not be compared between systems.
"""

import re
from dataclasses import dataclass, field

from benchmarks.parsing.parser_toolkit import (
    Draft,
    LineScanner,
    MatchedLine,
    append_limited,
    parser,
)
from benchmarks.parsing.tool import DISK, Metric, Tool
from benchmarks.sentences import Sentence

_RESULT = (
    r" +(?P<rate_{0}>\S+) MB/s on +(?P<processes_{0}>\S+) processes with "
    r"+(?P<memory_{0}>\S+) MByte/PE(?:,| and) *+scheduled time= *+(?P<minutes_{0}>\S+) "
    r"[mM]in\b(?P<judged_{0}>[^\n]*)"
)
LINES = LineScanner(
    summary=r"Summary of file I/O bandwidth accumulated on +(?P<processes>\S+) "
    r"processes with",
    version=r"set label 2 'rel\. (?P<version>[^'\n]*)'",
    weighted=r"weighted average bandwidth for (?P<operation>write|rewrite|read) *+: "
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
class BEffIoSummary:
    weighted: dict[int, list[MatchedLine]] = field(default_factory=dict)
    parts: dict[int, MatchedLine] = field(default_factory=dict)
    run: Draft = field(default_factory=Draft)
    has_validity_line: bool = False

    def read_last(self, last: MatchedLine) -> None:
        run, judged = self.run, last["judged_last"]
        # NOT VALID is at the end of the row, so truncation would hide it.
        if last.may_be_truncated("judged_last") and not self.has_validity_line:
            raise last.parse_error(
                "the text ends in the middle of this line, before VALID or NOT VALID."
            )
        if "NOT VALID" in judged:
            run.add_warning("not_valid", NOT_VALID)
        _count_errors(judged, run)
        if system := _SYSTEM.match(judged):
            run.facts["system"] = system[1]

        best = last.integer("processes_last")
        for processes in dict.fromkeys([*self.weighted, *self.parts, best]):
            line, kind = last, "last"
            if processes != best and processes in self.parts:
                line, kind = self.parts[processes], "part"
            run.parameters = {
                "processes": processes,
                "memory_per_process": f"{line.integer(f'memory_{kind}')} MiB",
                "scheduled_time": f"{line.number(f'minutes_{kind}'):g} min",
            }
            for row in self.weighted.get(processes, ()):
                rate = row.number("rate")
                run.add("weighted bandwidth", rate, "MB/s", operation=row["operation"])
            if line.integer(f"processes_{kind}") == processes:
                run.add("b_eff_io", line.number(f"rate_{kind}"), "MB/s")


@parser("b_eff_io did not print its last row, which contains the result.")
def parse(output: str) -> list[Draft]:
    runs: list[Draft] = []
    summary = BEffIoSummary()
    for line in LINES(output):
        run = summary.run
        if line.kind == "summary":
            # If a number of processes repeats, the last row of the first table is
            # missing.
            is_next = line.integer("processes") in summary.parts
            summary = BEffIoSummary() if is_next else summary
        elif line.kind == "weighted":
            summary.weighted.setdefault(line.integer("on"), []).append(line)
        elif line.kind == "part":
            summary.parts[line.integer("processes_part")] = line
            _count_errors(line["judged_part"], run)
        elif line.kind == "version":
            run.tool_version = line["version"].strip("$ ").removeprefix("Revision: ")
        elif line.kind == "validity":
            summary.has_validity_line = True
            if line["validity"] == "NOT VALID":
                run.add_warning("not_valid", NOT_VALID)
        elif line.kind == "criterion":
            run.add_warning(
                "not_valid", "Not reached: {criterion}.", criterion=line["criterion"]
            )
        elif line.kind == "error":
            run.add_warning(
                "errors", 'b_eff_io printed "{error}".', error=line["error"]
            )
        else:
            summary.read_last(line)
            append_limited(runs, run)
            summary = BEffIoSummary()
    return [*runs, summary.run]


def _count_errors(text: str, run: Draft) -> None:
    if errors := _ERRORS.search(text):
        run.add_warning(
            "errors", "Errors counted by b_eff_io: {errors}.", errors=errors[1]
        )


TOOL = Tool(
    slug="b_eff_io",
    title="b_eff_io",
    homepage="https://fs.hlrs.de/projects/par/mpi/b_eff_io/",
    metrics=(
        Metric("weighted bandwidth", "MB/s", "higher", "disk", work_class=DISK),
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
    is_localized=False,
)
