"""tiotest: threaded reads and writes of a file, sequential and random.

One result row, as printed by tiotest 0.5::

    | Write          64 MBs |    0.1 s | 589.590 MB/s |   0.0 %  |  66.4 % |

Its MB are 2^20 B. With ``-T`` a row is amount, times and latencies without titles::

    write:64.00000,0.10855,0.00012,0.07208,0.00712,8.08100,0.00000,0.00000

The boxes break where a number is wider than its column. The CPU columns of old
versions add up the threads: they pass 100 %.
"""

from dataclasses import dataclass, field

from benchmarks.parsing.contract import DISK, Cost, Metric, Tool, cost_metric, metrics
from benchmarks.parsing.scanning import Draft, Found, Parameter, Scanner, keep, parser

_ITEM = r"\| *+(?P<{0}>(?:Random )?(?:Write|Read))\b"
LINES = Scanner(
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
SHARES = {"over2": "requests over 2 s", "over10": "requests over 10 s"}


@dataclass
class Run(Draft):
    """One start: the sizes by operation, and which rows were read."""

    sizes: dict[str, str] = field(default_factory=dict)
    seen: set[tuple[str, str]] = field(default_factory=set)

    def read(self, line: Found) -> None:
        """A line of this start."""
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
def parse(output: str) -> list[Run]:
    """One run for each start."""
    runs = [Run()]
    for line in LINES(output):
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


TOOL = Tool(
    slug="tiotest",
    title="tiotest",
    homepage="https://sourceforge.net/projects/tiobench/",
    metrics=(
        Metric("rate", "MB/s", "higher", "disk"),
        Metric("time", "s", "lower", "disk"),
        *metrics(
            ("CPU user", "CPU system", *SHARES.values()),
            "%",
            "lower",
            "disk",
            zero_allowed=True,
        ),
        *metrics(
            (f"latency {which}" for which in ("mean", "max")), "ms", "lower", "disk"
        ),
        cost_metric("CPU time per data", "disk"),
    ),
    labels=("{size}", "{threads} threads"),
    primary={
        "rate": DISK,
    },
    implied={
        "time": ("rate",),
        "latency mean": (
            "rate",
            "time",
        ),
    },
    costs={
        "CPU time per data": Cost(
            (
                "CPU user",
                "CPU system",
            ),
            "rate",
        ),
    },
    version=2,
    parse=parse,
    signatures=(
        r"Tiotest (?:latency )?results\b",
        r"\| *+(?:Random )?(?:Write|Read) *+\d+ MBs *\|",
        r"r?(?:write|read):\d+\.\d{5},\d+\.\d{5},",
    ),
    programs=("tiotest",),
)
