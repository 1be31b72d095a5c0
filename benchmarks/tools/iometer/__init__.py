"""Iometer: disk and network load of chosen block sizes, reads and writes.

Its CSV file holds a row for each target under a line that names the columns::

    ALL,All,4K read,1,2,2,1523.41,1523.41,0,5.95082,5.95082,0,6.23989,6.23989,0,...

``MBps`` is 2^20 B/s in files of 2006 and where it is called binary, 10^6 B/s where it
is called decimal. A line with an apostrophe names what stands below it. The rates are
those of the timer of the machine that is measured.
"""

from benchmarks.parsing.contract import Metric, Tool
from benchmarks.parsing.drafts import Draft, ParsedRun, Parser, finished, keep
from benchmarks.parsing.scanning import Found, Scanner
from benchmarks.sentences import Sentence
from benchmarks.tools.iometer.blocks import Block
from benchmarks.tools.iometer.readings import run

LINES = Scanner(
    key=r"'(?P<key>[^\n,]*+)[^\n]*",
    value=r"(?P<value>[^'\n][^\n]*)",
)
CUT = Sentence("The results end before the time stamp that stands below them.")


def parse(output: str) -> tuple[ParsedRun, ...]:
    """One run for each block of results that its time stamp closes."""
    runs: list[Draft] = []
    block = Block()
    key = ""
    for line in LINES(output):
        if line.kind == "value":
            _read_value(key, line, block)
            continue
        key = line["key"].strip().casefold()
        if key == "test type":
            block = Block()
        elif key == "results":
            block.close()
        elif key == "target type":
            block.columns = line.text.strip(" ',").split(",")
        elif key == "time stamp" and block.total:
            keep(runs, run(block, block.total))
            block.close()
    if runs and block.total:
        runs[-1].mark(
            "incomplete", Sentence("More results follow that are cut. {cut}", cut=CUT)
        )
    return finished(runs, Sentence("Iometer wrote no whole results. {cut}", cut=CUT))


def _read_value(key: str, line: Found, block: Block) -> None:
    text = line["value"].strip().rstrip(",")
    if key == "target type":
        block.read_row(line)
    elif key == "access specification name":
        block.name_specification(text)
    elif key == "size":
        block.read_specification(line)
    elif key == "version":
        block.version = text
    elif key == "time stamp":
        block.facts["time stamp"] = text
    elif key == "test type" and (description := text.partition(",")[2]):
        block.facts["description"] = description


TOOL = Tool(
    slug="iometer",
    title="Iometer",
    homepage="http://www.iometer.org/",
    metrics=(
        Metric(
            name="network throughput",
            unit="MB/s",
            better="higher",
            component="network",
        ),
        Metric(
            name="CPU utilization (network)",
            unit="%",
            better="lower",
            component="network",
            zero_allowed=True,
        ),
        Metric(name="disk throughput", unit="MB/s", better="higher", component="disk"),
        Metric(
            name="CPU utilization (disk)",
            unit="%",
            better="lower",
            component="disk",
            zero_allowed=True,
        ),
        Metric(name="IOps", unit="1/s", better="higher", component="disk"),
        Metric(name="response time mean", unit="ms", better="lower", component="disk"),
        Metric(name="response time max", unit="ms", better="lower", component="disk"),
    ),
    labels=("{block_size}",),
    parser=Parser(
        version=1,
        parse=parse,
        signatures=(
            r"'Test Type,Test Description",
            r"'Target Type,Target Name,Access Specification Name",
        ),
        localized=False,
    ),
)
