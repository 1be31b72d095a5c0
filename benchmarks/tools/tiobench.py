"""tiobench: tiotest called for several sizes and threads, as one report.

One result row, as printed by tiobench.pl of 2016 under "Sequential Reads"::

    6.18.44-fc-v657                64    4096    1         55.22 35.56%     0.071  \
      7.79   0.00000  0.00000     155

Sizes and rates are in MB of 2^20 B, latencies in ms. The identifier is the release of
the kernel, or what it was called with. A number wider than its column is printed as
``####``: it is missing.
"""

from dataclasses import dataclass, field

from benchmarks.parsing.contract import DISK, Cost, Metric, Tool, cost_metric, metrics
from benchmarks.parsing.scanning import Draft, Found, Parameter, Scanner, keep, parser
from benchmarks.sentences import Sentence

LINES = Scanner(
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
    """What is printed by one call: a run for each identifier, mostly one."""

    drafts: dict[str, Draft] = field(default_factory=dict)
    sections: set[str] = field(default_factory=set)
    case: dict[str, Parameter] = field(default_factory=dict)
    trouble: list[str] = field(default_factory=list)
    is_wide: bool = False

    def read(self, line: Found) -> None:
        """A row of one of its tables."""
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
def parse(output: str) -> list[Draft]:
    """One run for each report."""
    reports = [Report()]
    for line in LINES(output):
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


TOOL = Tool(
    slug="tiobench",
    title="tiobench",
    homepage="https://github.com/mkuoppal/tiobench",
    metrics=(
        Metric("rate", "MiB/s", "higher", "disk"),
        Metric("CPU", "%", "lower", "disk", zero_allowed=True),
        *metrics(
            (f"latency {which}" for which in ("mean", "max")), "ms", "lower", "disk"
        ),
        *metrics(
            (f"requests over {limit} s" for limit in (2, 10)),
            "%",
            "lower",
            "disk",
            zero_allowed=True,
        ),
        cost_metric("CPU time per data", "disk"),
    ),
    aliases=("tiobench.pl",),
    labels=("{size}", "{block}", "{threads} threads"),
    primary={
        "rate": DISK,
    },
    implied={
        "latency mean": ("rate",),
    },
    costs={
        "CPU time per data": Cost(("CPU",), "rate"),
    },
    version=1,
    parse=parse,
    signatures=(
        r"Identifier +Size +Size +Thr +Rate +\(CPU%\)",
        r"Dir +Size +Size +Thr +Rate +\(CPU%\)",
        r"CPU Eff   = Rate divided by CPU%",
        r"(?:Sequential|Random) (?:Reads|Writes)[ \t]*+$",
    ),
    programs=("tiobench", "tiobench.pl"),
)
