"""dd: how fast one process copies a file, GNU, BSD and busybox versions.

The rate is the number of bytes divided by the time, both as printed, because the
printed rate is rounded. Only the command states what was read and written::

    67108864 bytes (67 MB, 64 MiB) copied, 2.26508 s, 29.6 MB/s
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
from benchmarks.parsing.tool import DISK, Metric, Parameter, Tool
from benchmarks.units import format_whole_size

LINES = LineScanner(
    command=r"(?:[^\n$#%>+]*+[$#%>+]++ )?(?:sudo )?dd (?P<words>[^\n]*=[^\n]*)$",
    records=r"(?P<whole>\d+)\+(?P<partial>\d+) (?:records in|Datensätze ein)[ \t]*+$",
    result=r"(?P<bytes>\d{1,18}) [Bb]ytes? (?:\([^\n()]*\) )?"
    r"(?:copied, |kopiert, |transferred in )(?P<time>\S+) "
    r"(?:s|sec|secs|seconds)(?:, [^\n]*B/s| \([^\n]*\))[ \t]*+$",
    failed=r"dd: (?P<failed>[^\n]*)$",
)
_WORD = re.compile(r"\b(if|of|bs|ibs|iflag|oflag|conv)=(\S+)")
_SIZE = re.compile(r"(\d{1,12})([kKMG]?)(?:iB)?", re.ASCII)
_FACTORS = {"": 1, "k": 2**10, "K": 2**10, "M": 2**20, "G": 2**30}
# Sources and targets without a disk.
_NO_FILES = frozenset(
    {"/dev/zero", "/dev/null", "/dev/urandom", "/dev/random", "/dev/stdout"}
)
_FLAGS = ("direct", "dsync", "sync", "fdatasync", "fsync")


@dataclass
class DdRun(Draft):
    words: dict[str, str] = field(default_factory=dict)
    records: tuple[int, int] = (0, 0)

    def read(self, line: MatchedLine) -> None:
        amount, time = line.integer("bytes"), line.number("time")
        if not amount or not time:
            raise line.parse_error("no data were copied.")
        self._add_command()
        if block := self._block(amount):
            self.parameters["block"] = format_whole_size(block)
        self.facts["bytes"] = amount
        self.add("throughput", amount / time, "B/s")
        self.add("time", time, "s")

    def _add_command(self) -> None:
        if not self.words:
            return
        source, target = self.words.get("if", ""), self.words.get("of", "")
        flags = f"{self.words.get('iflag', '')},{self.words.get('oflag', '')},"
        names = set(f"{flags}{self.words.get('conv', '')}".split(","))
        case: dict[str, Parameter] = {flag: True for flag in _FLAGS if flag in names}
        if target not in _NO_FILES and target and source in _NO_FILES:
            case["operation"] = "write"
            self.facts["file"] = target
        elif source not in _NO_FILES and source and target in _NO_FILES:
            case["operation"] = "read"
            self.facts["file"] = source
        elif source and target:
            case["operation"] = "copy"
        self.parameters |= case

    def _block(self, amount: int) -> int:
        if size := _SIZE.fullmatch(self.words.get("bs", self.words.get("ibs", ""))):
            return int(size[1]) * _FACTORS[size[2]]
        whole, partial = self.records
        return amount // whole if whole and not partial and not amount % whole else 0


@parser("dd copied no data.")
def parse(output: str) -> list[DdRun]:
    runs: list[DdRun] = [DdRun()]
    for line in LINES(output):
        if runs[-1]:
            append_limited(runs, DdRun(words=runs[-1].words))
        if line.kind == "command":
            runs[-1].words = dict(_WORD.findall(line["words"]))
        elif line.kind == "records":
            runs[-1].records = line.integer("whole"), line.integer("partial")
        elif line.kind == "failed":
            runs[-1].add_failure("failed", "dd printed: {text}.", text=line["failed"])
        else:
            runs[-1].read_line(runs[-1].read, line)
    return runs


TOOL = Tool(
    slug="dd",
    title="dd",
    homepage="https://www.gnu.org/software/coreutils/dd",
    metrics=(
        Metric("throughput", "MB/s", "higher", "disk", work_class=DISK),
        Metric("time", "s", "lower", "disk", implied_by=("throughput",)),
    ),
    labels=("{block}",),
    version=1,
    parse=parse,
    signatures=(
        r"\d+\+\d+ (?:records in|Datensätze ein)[ \t]*+$",
        r"\d+ [Bb]ytes? (?:\([^\n()]*\) )?(?:copied, |kopiert, |transferred in )",
    ),
    programs=("dd",),
    needs_command=True,
    targets=("file",),
)
