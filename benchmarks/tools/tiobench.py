"""tiotest: threaded reads and writes of a file; tiobench calls it for several sizes.

One result row, as printed by tiobench.pl of 2016 under "Sequential Reads"::

    6.18.44-fc-v657                64    4096    1         55.22 35.56%     0.071  \
      7.79   0.00000  0.00000     155

Sizes and rates are in MB of 2^20 B, latencies in ms. The identifier is the release of
the kernel, or what it was called with. A number wider than its column is printed as
``####``: it is missing.

One result row, as printed by tiotest 0.5::

    | Write          64 MBs |    0.1 s | 589.590 MB/s |   0.0 %  |  66.4 % |

Its MB are 2^20 B. With ``-T`` a row is amount, times and latencies without titles::

    write:64.00000,0.10855,0.00012,0.07208,0.00712,8.08100,0.00000,0.00000

The boxes break where a number is wider than its column. The CPU columns of old
versions add up the threads: they pass 100 %.
"""

from dataclasses import dataclass, field

from benchmarks.parsing.contract import (
    DISK,
    Metric,
    Parameter,
    Tool,
    cost_metric,
    metrics,
)
from benchmarks.parsing.scanning import Draft, Found, Scanner, keep, parser
from benchmarks.sentences import Sentence

SHARES = {"over2": "requests over 2 s", "over10": "requests over 10 s"}

TIOBENCH_LINES = Scanner(
    begin=r"Unit information[ \t]*+$",
    title=r"(?P<access>Sequential|Random) (?P<operation>Reads|Writes)[ \t]*+$",
    wide=r"Dir +Size +Size +Thr +Rate +\(CPU%\) +Rate +\(CPU%\) +Rate +\(CPU%\) ",
    row=r"(?!File |Identifier )(?P<row>\S[^\n]*%[^\n]*)$",
    trouble=r"(?P<trouble>Could not run [^\n]*|Timeout of \d+ seconds has [^\n]*|"
    r"Illegal division by zero [^\n]*)",
)
OPERATIONS = {"Reads": "read", "Writes": "write"}
COLUMNS = 10
# Where a row has its percent signs, counted from its end.
PERCENTS = [-6]
WIDE_PERCENTS = [-7, -5, -3, -1]
WIDE = (
    ("sequential", "read"),
    ("random", "read"),
    ("sequential", "write"),
    ("random", "write"),
)
# The columns behind size, block and threads; the last is computed of two of them.
METRICS = (
    ("rate", "MiB/s"),
    ("CPU", "%"),
    ("latency mean", "ms"),
    ("latency max", "ms"),
    ("requests over 2 s", "%"),
    ("requests over 10 s", "%"),
)


@dataclass
class Report:
    """The output of one call: a run for each identifier, mostly one."""

    drafts: dict[str, Draft] = field(default_factory=dict)
    sections: set[str] = field(default_factory=set)
    case: dict[str, Parameter] = field(default_factory=dict)
    trouble: list[str] = field(default_factory=list)
    is_wide: bool = False

    def read(self, line: Found) -> None:
        cells = line["row"].split()
        if not any(cell.endswith("%") for cell in cells):
            return
        percents = [-i for i in range(len(cells), 0, -1) if cells[-i][-1] == "%"]
        is_known = percents == (WIDE_PERCENTS if self.is_wide else PERCENTS)
        if not is_known or len(cells) <= COLUMNS or line.is_open("row"):
            raise line.refused("this row is cut or has other columns.")

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
        # Versions up to 0.3.1: a rate and the CPU for each of four tests in one row.
        for index, (access, operation) in enumerate(WIDE):
            case = {"operation": operation, "access": access} | sizes
            _add("rate", values[2 * index], "MiB/s", line, draft, case)
            _add("CPU", values[2 * index + 1], "%", line, draft, case)


@parser("tiobench printed no rates.")
def parse_tiobench(output: str) -> list[Draft]:
    """Return one run for each report."""
    reports = [Report()]
    for line in TIOBENCH_LINES(output):
        section = line["access"] + line["operation"]
        if line.kind == "begin" or section in reports[-1].sections:
            keep(reports, Report())
        if line.kind == "wide":
            keep(reports, Report(is_wide=True))
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
                run.mark("failed", trouble)
            keep(runs, run)
    return runs


def _add(
    metric: str,
    value: str,
    unit: str,
    line: Found,
    draft: Draft,
    case: dict[str, Parameter],
) -> None:
    value = value.removesuffix("%")
    if value.strip("#.") == "":
        draft.mark(
            "not_measured", "A {metric} was too wide for its column.", metric=metric
        )
        return
    draft.add(metric, line.amount_of(value), unit, **case)


def _whole(cell: str, line: Found) -> int:
    # A text of thousands of digits must not become a number.
    if not (cell.isascii() and cell.isdigit() and len(cell) < 19):
        raise line.refused('"{text}" is not a whole number.', text=cell)
    return int(cell)


TIOBENCH = Tool(
    slug="tiobench",
    title="tiobench",
    homepage="https://github.com/mkuoppal/tiobench",
    metrics=(
        Metric("rate", "MiB/s", "higher", "disk", work=DISK),
        Metric("CPU", "%", "lower", "disk", zero_allowed=True),
        Metric("latency mean", "ms", "lower", "disk", implied_by=("rate",)),
        Metric("latency max", "ms", "lower", "disk"),
        *metrics(
            SHARES.values(),
            "%",
            "lower",
            "disk",
            zero_allowed=True,
        ),
        cost_metric("CPU time per data", "disk", ("CPU",), "rate"),
    ),
    aliases=("tiobench.pl",),
    labels=("{size}", "{block}", "{threads} threads"),
    version=1,
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
TIOTEST_LINES = Scanner(
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
class Run(Draft):
    """One start: its sizes by operation, and the rows that were read."""

    sizes: dict[str, str] = field(default_factory=dict)
    seen: set[tuple[str, str]] = field(default_factory=set)

    def read(self, line: Found) -> None:
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

    def _read_terse(self, line: Found) -> None:
        cells = line["cells"].split(",")
        # Up to version 0.3.1 there are no latencies. All have five decimals: less than
        # 7 characters were cut.
        if len(cells) not in {4, 8} or (line.is_open("cells") and len(cells[-1]) < 7):
            raise line.refused("a row of eight (or four) numbers was expected.")
        numbers = [line.number_of(cell) for cell in cells]
        if min(numbers) < 0:
            raise line.refused("a number of this row is negative.")
        amount, time, user, system, *latencies = numbers
        if amount == 0:
            return  # the test was not asked for
        if time == 0:
            raise line.refused("data were moved in no time.")
        case: dict[str, Parameter] = {
            "operation": FIELDS[line["field"]],
            "size": f"{amount:.0f} MiB",
        }
        # It prints neither rates nor shares: both follow from its times.
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
def parse_tiotest(output: str) -> list[Run]:
    """Return one run for each start."""
    runs = [Run()]
    for line in TIOTEST_LINES(output):
        if line.kind == "cut":
            raise line.refused("this row is cut or has other columns.")
        row = (line.kind, line["item"] or line["of"] or line["field"])
        if line.kind == "head" or row in runs[-1].seen:
            keep(runs, Run())
        run = runs[-1]
        if line.kind == "head":
            run.parameters["threads"] = line.whole("threads")
        elif line.kind == "trouble":
            run.mark("failed", 'tiotest printed "{trouble}".', trouble=line["trouble"])
        else:
            run.seen.add(row)
            run.attempt(run.read, line)
    return runs


TIOTEST = Tool(
    slug="tiotest",
    title="tiotest",
    homepage="https://sourceforge.net/projects/tiobench/",
    metrics=(
        Metric("rate", "MB/s", "higher", "disk", work=DISK),
        Metric("time", "s", "lower", "disk", implied_by=("rate",)),
        *metrics(
            ("CPU user", "CPU system", *SHARES.values()),
            "%",
            "lower",
            "disk",
            zero_allowed=True,
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
    version=2,
    parse=parse_tiotest,
    signatures=(
        r"Tiotest (?:latency )?results\b",
        r"\| *+(?:Random )?(?:Write|Read) *+\d+ MBs *\|",
        r"r?(?:write|read):\d+\.\d{5},\d+\.\d{5},",
    ),
    programs=("tiotest",),
)
