"""openssl speed: throughput of ciphers and digests, and rate of signatures.

Numbers with a k are 1000 B/s. The clock is CPU time unless -elapsed is given, which is
not printed. -mr prints B/s. -multi adds the processes, whose number is not printed
either::

    AES-128-CBC     527016.44k   978214.40k  1025175.27k
"""

from dataclasses import dataclass, field

from benchmarks.parsing.parser_toolkit import (
    Draft,
    LineScanner,
    MatchedLine,
    append_limited,
    parser,
)
from benchmarks.parsing.tool import NO_WORK_CLASS, Metric, Options, Tool

LINES = LineScanner(
    version=r"(?:version: |OpenSSL )(?P<version>\d\S*)",
    compiler=r"compiler: (?P<compiler>[^\n]*)$",
    sizes=r"type +(?P<sizes>\d+ bytes[^\n]*)$",
    marked_sizes=r"\+H:(?P<marked_sizes>[\d:]+)[ \t]*+(?=\n)",
    row=r"(?P<name>[A-Za-z0-9][\w/().+-]*(?: [\w()/.-]+){0,3}) +"
    r"(?P<rates>[\d.]+k[^\n]*)(?=\n)",
    marked=r"\+F:\d+:(?P<marked>[^:\n]+):(?P<bytes>[\d.:]+)[ \t]*+(?=\n)",
    columns=r"(?P<columns>(?:sign|op|keygen|encap|encaps|encr) +[^\n]*/s[^\n]*)$",
    keys=r"(?P<algorithm>[A-Za-z0-9][^\n]{0,60}?) +(?P<times>[\d.]+s +[\d.][^\n]*)"
    r"(?=\n)",
)
UNIT = "kB/s"


@dataclass
class OpensslRun(Draft):
    sizes: list[str] = field(default_factory=list)
    columns: list[str] = field(default_factory=list)

    def read(self, line: MatchedLine) -> None:
        if line.kind == "sizes":
            self.sizes = line["sizes"].replace("bytes", "").split()
        elif line.kind == "marked_sizes":
            self.sizes = line["marked_sizes"].split(":")
        elif line.kind == "compiler":
            self.facts["compiler"] = line["compiler"]
        elif line.kind == "columns":
            self.columns = line["columns"].split()
        elif line.kind == "row":
            self._read_rates(line)
        elif line.kind == "marked":
            for size, cell in self._by_size(line, line["bytes"].split(":")):
                amount = line.parse_amount(cell)
                self._add(amount, "B/s", line["marked"], size)
        elif line.kind == "keys":
            self._read_keys(line)

    def _read_rates(self, line: MatchedLine) -> None:
        cells = line["rates"].split()
        if any(not cell.endswith("k") for cell in cells):
            raise line.parse_error("this row is truncated or has other columns.")
        for size, cell in self._by_size(line, cells):
            self._add(line.parse_amount(cell[:-1]), UNIT, line["name"], size)

    def _by_size(self, line: MatchedLine, cells: list[str]) -> list[tuple[str, str]]:
        if len(cells) != len(self.sizes):
            raise line.parse_error("the sizes of its columns are not known.")
        return list(zip(self.sizes, cells, strict=True))

    def _add(self, rate: float, unit: str, algorithm: str, size: str) -> None:
        case = {"algorithm": algorithm.casefold(), "block": f"{int(size)} B"}
        self.add("throughput", rate, unit, **case)

    def _read_keys(self, line: MatchedLine) -> None:
        cells = line["times"].split()
        if len(cells) != len(self.columns):
            raise line.parse_error("the names of its columns are not known.")
        algorithm = " ".join(line["algorithm"].split()).casefold()
        for column, cell in zip(self.columns, cells, strict=True):
            if column.endswith("/s"):
                rate = line.parse_amount(cell)
                operation = column.removesuffix("/s")
                self.add(
                    "key rate", rate, "1/s", algorithm=algorithm, operation=operation
                )


@parser("openssl speed printed no rate.")
def parse(output: str) -> list[OpensslRun]:
    runs: list[OpensslRun] = [OpensslRun()]
    for line in LINES(output):
        if line.kind in ("version", "marked_sizes"):
            append_limited(runs, OpensslRun(tool_version=line["version"]))
        runs[-1].read_line(runs[-1].read, line)
    return runs


TOOL = Tool(
    slug="openssl-speed",
    title="OpenSSL speed",
    homepage="https://docs.openssl.org/master/man1/openssl-speed/",
    metrics=(
        # Processors have instructions for single algorithms.
        Metric("throughput", "MB/s", "higher", "CPU", work_class=NO_WORK_CLASS),
        Metric("key rate", "1/s", "higher", "CPU", work_class=NO_WORK_CLASS),
    ),
    aliases=("openssl",),
    options=Options({"-multi": "processes", "--multi": "processes"}),
    labels=("{algorithm}", "{block}"),
    version=1,
    parse=parse,
    signatures=(
        r"The 'numbers' are in 1000s of bytes per second processed\.",
        r"version: \d\S*[ \t]*+\n[ \t]*+built on:",
        r"OpenSSL \d\S* [^\n]*\n[ \t]*+built on:",
        r"\+(?:DT|H|F|R\d?):",
        r"Doing \S+[^\n]* for \d+s(?: on \d+ size blocks)?: ",
        r"(?:sign|op) +(?:verify +sign/s verify/s|op/s)",
    ),
    programs=("openssl",),
    is_localized=False,
)
