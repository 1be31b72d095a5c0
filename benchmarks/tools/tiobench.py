"""tiotest: threaded reads and writes of a file; tiobench runs it for several sizes.

Sizes and rates are in MB of 2^20 B, latencies in ms. The identifier is the kernel
release, or a given name. A number wider than its column is printed as ``####``.

With ``-T``, tiotest prints amount, times and latencies without titles. The CPU columns
of old versions add up the threads and may exceed 100 %.
"""

from dataclasses import dataclass, field

from benchmarks.parsing.parser_toolkit import (
    Draft,
    LineScanner,
    MatchedLine,
    append_limited,
    parser,
)
from benchmarks.parsing.tool import (
    DISK,
    Metric,
    Parameter,
    Tool,
    cost_metric,
    metrics,
)
from benchmarks.sentences import Sentence

SHARES = {"over2": "requests over 2 s", "over10": "requests over 10 s"}

TIOBENCH_LINES = LineScanner(
    begin=r"Unit information[ \t]*+$",
    title=r"(?P<access>Sequential|Random) (?P<operation>Reads|Writes)[ \t]*+$",
    wide=r"Dir +Size +Size +Thr +Rate +\(CPU%\) +Rate +\(CPU%\) +Rate +\(CPU%\) ",
    row=r"(?!File |Identifier )(?P<row>\S[^\n]*%[^\n]*)$",
    trouble=r"(?P<trouble>Could not run [^\n]*|Timeout of \d+ seconds has [^\n]*|"
    r"Illegal division by zero [^\n]*)",
)
OPERATIONS = {"Reads": "read", "Writes": "write"}
COLUMNS = 10
# Positions of cells with a percent sign, counted from the end of the row.
PERCENTS = [-6]
WIDE_PERCENTS = [-7, -5, -3, -1]
WIDE = (
    ("sequential", "read"),
    ("random", "read"),
    ("sequential", "write"),
    ("random", "write"),
)
# The columns after size, block and threads.
METRICS = (
    ("rate", "MiB/s"),
    ("CPU", "%"),
    ("latency mean", "ms"),
    ("latency max", "ms"),
    ("requests over 2 s", "%"),
    ("requests over 10 s", "%"),
)


@dataclass
class TiobenchReport:
    drafts: dict[str, Draft] = field(default_factory=dict)
    sections: set[str] = field(default_factory=set)
    case: dict[str, Parameter] = field(default_factory=dict)
    trouble: list[str] = field(default_factory=list)
    is_wide: bool = False

    def read(self, line: MatchedLine) -> None:
        cells = line["row"].split()
        if not any(cell.endswith("%") for cell in cells):
            return
        percents = [-i for i in range(len(cells), 0, -1) if cells[-i][-1] == "%"]
        is_known = percents == (WIDE_PERCENTS if self.is_wide else PERCENTS)
        if not is_known or len(cells) <= COLUMNS or line.may_be_truncated("row"):
            raise line.parse_error("this row is truncated or has different columns.")

        width = COLUMNS + self.is_wide
        name = " ".join(cells[:-width])
        size, block, threads, *values = cells[-width:]
        fact = "directory" if self.is_wide else "identifier"
        draft = self.drafts.setdefault(name, Draft(facts={fact: name}))
        sizes: dict[str, Parameter] = {
            "size": f"{_whole(size, line)} MiB",
            "block": f"{_whole(block, line)} B",
            "threads": _whole(threads, line),
        }
        if not self.is_wide:
            for (metric, unit), value in zip(METRICS, values, strict=False):
                _add(metric, value, unit, line, draft, self.case | sizes)
            return
        # Versions up to 0.3.1 print rate and CPU of four tests in one row.
        for index, (access, operation) in enumerate(WIDE):
            case = {"operation": operation, "access": access} | sizes
            _add("rate", values[2 * index], "MiB/s", line, draft, case)
            _add("CPU", values[2 * index + 1], "%", line, draft, case)


@parser("tiobench printed no rates.")
def parse_tiobench(output: str) -> list[Draft]:
    reports = [TiobenchReport()]
    for line in TIOBENCH_LINES(output):
        section = line["access"] + line["operation"]
        if line.kind == "begin" or section in reports[-1].sections:
            append_limited(reports, TiobenchReport())
        if line.kind == "wide":
            append_limited(reports, TiobenchReport(is_wide=True))
        elif line.kind == "title":
            reports[-1].sections.add(section)
            reports[-1].case = {
                "operation": OPERATIONS[line["operation"]],
                "access": line["access"].casefold(),
            }
        elif line.kind == "row" and (reports[-1].case or reports[-1].is_wide):
            reports[-1].read(line)
        elif line.kind == "trouble":
            reports[-1].trouble.append(line["trouble"])

    runs: list[Draft] = []
    for report in reports:
        troubles = [
            Sentence("tiobench printed: {trouble}", trouble=trouble)
            for trouble in report.trouble
        ]
        for run in report.drafts.values():
            for trouble in troubles:
                run.add_failure("failed", trouble)
            append_limited(runs, run)
    return runs


def _add(
    metric: str,
    value: str,
    unit: str,
    line: MatchedLine,
    draft: Draft,
    case: dict[str, Parameter],
) -> None:
    value = value.removesuffix("%")
    if value.strip("#.") == "":
        draft.add_warning(
            "not_measured",
            "A {metric} value was too wide for its column.",
            metric=metric,
        )
        return
    draft.add(metric, line.parse_amount(value), unit, **case)


def _whole(cell: str, line: MatchedLine) -> int:
    # Text with thousands of digits must not become a number.
    if not (cell.isascii() and cell.isdigit() and len(cell) < 19):
        raise line.parse_error('"{text}" is not a whole number.', text=cell)
    return int(cell)


TIOBENCH = Tool(
    slug="tiobench",
    title="tiobench",
    homepage="https://github.com/mkuoppal/tiobench",
    metrics=(
        Metric("rate", "MiB/s", "higher", "disk", work_class=DISK),
        Metric("CPU", "%", "lower", "disk", allows_zero=True),
        Metric("latency mean", "ms", "lower", "disk", implied_by=("rate",)),
        Metric("latency max", "ms", "lower", "disk"),
        *metrics(
            SHARES.values(),
            "%",
            "lower",
            "disk",
            allows_zero=True,
        ),
        cost_metric("CPU time per data", "disk", ("CPU",), "rate"),
    ),
    aliases=("tiobench.pl",),
    labels=("{size}", "{block}", "{threads} threads"),
    version=2,
    parse=parse_tiobench,
    signatures=(
        r"Identifier +Size +Size +Thr +Rate +\(CPU%\)",
        r"Dir +Size +Size +Thr +Rate +\(CPU%\)",
        r"CPU Eff   = Rate divided by CPU%",
        r"(?:Sequential|Random) (?:Reads|Writes)[ \t]*+$",
    ),
    programs=("tiobench", "tiobench.pl"),
)


_ITEM = r"\| *+(?P<{0}>(?:Random )?(?:Write|Read))\b"
TIOTEST_LINES = LineScanner(
    head=r"Tiotest results for (?P<threads>\S+) concurrent io threads",
    rate=rf"{_ITEM.format('item')} *+(?P<size>[^\s|]+) MBs *\| *(?P<time>[^\s|]+) s *\|"
    r" *(?P<rate>[^\s|]+) MB/s *\| *(?P<user>[^\s|]+) *% *\| *(?P<system>[^\s|]+) *% "
    r"*\|",
    latency=rf"{_ITEM.format('of')} *\| *(?P<mean>[^\s|]+) ms *\| *(?P<max>[^\s|]+) ms "
    r"*\| *(?P<over2>[^\s|]+) *\| *(?P<over10>[^\s|]+) *\|",
    cut=rf"{_ITEM.format('cut')}",
    terse=r"(?P<field>r?(?:write|read)):(?P<cells>[^\s:]+)[ \t]*+$",
    trouble=r"(?P<trouble>(?:Tried to (?:read|write) \d|Error \w+\(\)ing |"
    r"Thread\(\d+\) |Error in (?:seek|randomwrite)|Unable to start \d+ threads|"
    r"[A-Z][\w /]{2,60}: \S*_tiotest_pid)[^\n]*)",
)
FIELDS = {
    "write": "write",
    "rwrite": "random write",
    "read": "read",
    "rread": "random read",
}


@dataclass
class TiotestRun(Draft):
    sizes: dict[str, str] = field(default_factory=dict)
    seen: set[tuple[str, str]] = field(default_factory=set)

    def read(self, line: MatchedLine) -> None:
        if line.kind == "terse":
            self._read_terse(line)
            return
        operation = (line["item"] or line["of"]).casefold()
        if line.kind == "rate":
            self.sizes[operation] = f"{line.number('size'):.0f} MiB"
        case: dict[str, Parameter] = {"operation": operation}
        if size := self.sizes.get(operation):
            case["size"] = size
        if line.kind == "rate":
            self.add("rate", line.number("rate"), "MiB/s", **case)
            self.add("time", line.number("time"), "s", **case)
            for mode in ("user", "system"):
                self.add(f"CPU {mode}", line.number(mode), "%", **case)
        else:
            for which in ("mean", "max"):
                self.add(f"latency {which}", line.number(which), "ms", **case)
            for group, metric in SHARES.items():
                self.add(metric, line.number(group), "%", **case)

    def _read_terse(self, line: MatchedLine) -> None:
        cells = line["cells"].split(",")
        # Versions up to 0.3.1 have no latencies. All numbers have five decimals.
        if len(cells) not in {4, 8} or (
            line.may_be_truncated("cells") and len(cells[-1]) < 7
        ):
            raise line.parse_error("a row of eight (or four) numbers is expected.")
        numbers = [line.parse_number(cell) for cell in cells]
        if min(numbers) < 0:
            raise line.parse_error("this row contains a negative number.")
        amount, time, user, system, *latencies = numbers
        if amount == 0:
            return
        if time == 0:
            raise line.parse_error("data were transferred in a time of 0 s.")
        case: dict[str, Parameter] = {
            "operation": FIELDS[line["field"]],
            "size": f"{amount:.0f} MiB",
        }
        # Rates and shares are not printed; both follow from the times.
        self.add("rate", amount / time, "MiB/s", **case)
        self.add("time", time, "s", **case)
        self.add("CPU user", 100 * user / time, "%", **case)
        self.add("CPU system", 100 * system / time, "%", **case)
        if latencies:
            mean, longest, over2, over10 = latencies
            self.add("latency mean", mean, "ms", **case)
            self.add("latency max", longest, "ms", **case)
            self.add(SHARES["over2"], over2, "%", **case)
            self.add(SHARES["over10"], over10, "%", **case)


@parser("tiotest printed no rates.")
def parse_tiotest(output: str) -> list[TiotestRun]:
    runs = [TiotestRun()]
    for line in TIOTEST_LINES(output):
        if line.kind == "cut":
            raise line.parse_error("this row is truncated or has different columns.")
        row = (line.kind, line["item"] or line["of"] or line["field"])
        if line.kind == "head" or row in runs[-1].seen:
            append_limited(runs, TiotestRun())
        run = runs[-1]
        if line.kind == "head":
            run.parameters["threads"] = line.integer("threads")
        elif line.kind == "trouble":
            run.add_failure(
                "failed", 'tiotest printed "{trouble}".', trouble=line["trouble"]
            )
        else:
            run.seen.add(row)
            run.read_line(run.read, line)
    return runs


TIOTEST = Tool(
    slug="tiotest",
    title="tiotest",
    homepage="https://sourceforge.net/projects/tiobench/",
    metrics=(
        Metric("rate", "MB/s", "higher", "disk", work_class=DISK),
        Metric("time", "s", "lower", "disk", implied_by=("rate",)),
        *metrics(
            ("CPU user", "CPU system", *SHARES.values()),
            "%",
            "lower",
            "disk",
            allows_zero=True,
        ),
        Metric("latency mean", "ms", "lower", "disk", implied_by=("rate", "time")),
        Metric("latency max", "ms", "lower", "disk"),
        cost_metric(
            "CPU time per data",
            "disk",
            ("CPU user", "CPU system"),
            "rate",
        ),
    ),
    labels=("{size}", "{threads} threads"),
    version=3,
    parse=parse_tiotest,
    signatures=(
        r"Tiotest (?:latency )?results\b",
        r"\| *+(?:Random )?(?:Write|Read) *+\d+ MBs *\|",
        r"r?(?:write|read):\d+\.\d{5},\d+\.\d{5},",
    ),
    programs=("tiotest",),
)
