"""stress-ng: "bogus operations" of some 300 stressors, with ``--metrics``.

One result row, as printed by stress-ng 0.15.06 (on stderr)::

    stress-ng: metrc: [21804] cpu    3488   4.00   2.82   0.02   871.19   1229.60

The two lines above tell what its columns are. ``--yaml`` writes the same as
``bogo-ops-per-second-real-time: 871.190000``: where both are there, the rows are read.
"""

import re
from dataclasses import dataclass, field

from benchmarks.parsing.contract import Metric, Tool
from benchmarks.parsing.drafts import Draft, ParsedRun, Parser, finished, keep
from benchmarks.parsing.scanning import Found, Scanner
from benchmarks.sentences import Sentence

_SAYS = r"stress-ng: (?:[\d:.]++ )?(?:{0}): ++(?:\[\d++\] ++)?"
_INFO = rf"(?:{_SAYS.format('info|metrc')})?"
_NAME = r"[A-Za-z][\w-]*+"
LINES = Scanner(
    hogs=rf"{_INFO}dispatching hogs: (?P<hogs>[^\n]*)$",
    head=rf"{_INFO}stressor +(?P<head>bogo ops [^\n]*)$",
    under=rf"{_INFO}(?P<under>\(secs\) [^\n]*)$",
    result=rf"{_INFO}(?P<result>un)?successful run completed",
    failed=rf"{_INFO}(?P<what>failed|metrics untrustworthy|skipped): *+(?P<count>\d+)",
    trouble=_SAYS.format("fail|error"),
    yaml=r"system-info:[ \t]*+$",
    version=r"stress-ng(?:-version:|, version) (?P<version>\d[\w.]*+)",
    stressor=rf"- stressor: (?P<stressor>{_NAME})[ \t]*+$",
    value=r"(?P<key>bogo-ops(?:-per-second-[a-z-]++)?|wall-clock-time): +"
    r"(?P<value>\S+)[ \t]*+$",
    row=rf"(?P<prefix>{_INFO})(?P<name>{_NAME}) +(?P<cells>\S[^\n]*)$",
)
OPS, WALL, CPU = "bogo ops", "bogo op rate", "bogo op rate per CPU time"
KEYS = {
    "bogo-ops-per-second-real-time": WALL,
    "bogo-ops-per-second-usr-sys-time": CPU,
}
COLUMNS = ("bogo ops/s", OPS, "real time", "usr time", "sys time")
_COLUMN = re.compile("|".join((*COLUMNS, "CPU used per", "RSS Max", r"\S+")))
_CELL = re.compile(r"[+-]?(?:[\d.]\S*|nan|inf|infinity)", re.ASCII | re.IGNORECASE)
_RATE = re.compile(r"\((real|usr\+sys) time\)")
_HOGS = re.compile(rf"(\d{{1,9}}) ({_NAME})")


@dataclass(slots=True)
class Report:
    """One run in one of the two forms."""

    is_yaml: bool = False
    run: Draft = field(default_factory=Draft)
    instances: dict[str, int] = field(default_factory=dict)
    columns: list[str] = field(default_factory=list)
    ops: dict[str, float] = field(default_factory=dict)
    stressor: str = ""


def parse(output: str) -> tuple[ParsedRun, ...]:
    """One run for each table, or for each YAML file without its table."""
    reports = [Report()]
    for line in LINES(output):
        if line.kind in {"yaml", "stressor", "value"}:
            _read_yaml(line, reports)
        elif line.kind == "version":
            reports[-1].run.tool_version = line["version"]
        else:
            _read_text(line, reports)
    return finished(
        _runs(reports), Sentence('stress-ng printed no metrics: call it "--metrics".')
    )


def _runs(reports: list[Report]) -> list[Draft]:
    """The runs of the reports, without YAML that repeats the table beside it."""
    runs: list[Draft] = []
    table: Report | None = None
    for report, behind in zip(reports, [*reports[1:], Report()], strict=True):
        same = table if report.is_yaml and _repeats(report, table) else None
        if report.is_yaml and not same and report.ops == behind.ops:
            same = behind
        if same:
            same.run.tool_version = report.run.tool_version
        else:
            runs.append(report.run)
        table = None if report.is_yaml else report
    return runs


def _repeats(report: Report, table: Report | None) -> bool:
    return table is not None and report.ops.items() <= table.ops.items()


def _started(reports: list[Report], report: Report) -> Report:
    keep(reports, report)
    return report


def _read_yaml(line: Found, reports: list[Report]) -> None:
    report = reports[-1]
    if line.kind == "yaml" or not report.is_yaml:
        report = _started(reports, Report(is_yaml=True))
    if line.kind == "stressor":
        report.stressor = _named(line["stressor"])
    elif line.kind == "value" and report.stressor:
        if line["key"] == "bogo-ops":
            _add_ops(report, report.stressor, float(line.whole("value")))
        elif metric := KEYS.get(line["key"]):
            value = line.number("value", decimals=6)
            report.run.add(metric, value, "1/s", stressor=report.stressor)


def _read_text(line: Found, reports: list[Report]) -> None:
    report = reports[-1]
    if line.kind == "hogs" or (line.kind == "head" and (report.is_yaml or report.run)):
        instances = report.instances if line.kind == "head" else {}
        report = _started(reports, Report(instances=instances))
    if line.kind == "hogs":
        report.instances = {_named(n): int(i) for i, n in _HOGS.findall(line["hogs"])}
    elif line.kind == "head":
        report.columns = _columns(line["head"], ("real", "usr+sys"))
    elif line.kind == "under" and report.columns:
        if len(order := tuple(_RATE.findall(line["under"]))) == 2:
            report.columns = _columns(" ".join(report.columns), order)
    elif line.kind == "row":
        _read_row(line, report)
    else:
        _doubt(line, report.run)


def _columns(head: str, order: tuple[str, ...]) -> list[str]:
    """The names of the columns, up to the first that is unknown."""
    rates = iter([WALL if each == "real" else CPU for each in order])
    head = head.replace(CPU, "bogo ops/s").replace(WALL, "bogo ops/s")
    names: list[str] = []
    for name in _COLUMN.findall(head):
        if name not in COLUMNS:
            return [*names, "others"]
        names.append(next(rates, "others") if name == "bogo ops/s" else name)
    return names


def _read_row(line: Found, report: Report) -> None:
    row = _row(line, report.columns)
    name = _named(line["name"])
    if row.get("real time") == 0:
        report.run.mark("not_run", Sentence("{name} did not run: left out.", name=name))
        return
    if OPS in row:
        _add_ops(report, name, row[OPS])
    for metric in (each for each in (WALL, CPU) if each in row):
        report.run.add(metric, row[metric], "1/s", **_case(report, name))
    if "real time" in row:
        report.run.facts[f"{name} real time s"] = row["real time"]


def _row(line: Found, columns: list[str]) -> dict[str, float]:
    """The numbers of a row by their columns; empty if it is no row of the table."""
    cells = line["cells"].split()
    if not columns or not all(map(_CELL.fullmatch, cells)):
        return {}
    known = [name for name in columns if name != "others"]
    is_all = known == columns
    if len(cells) < len(known) or (is_all and len(cells) > len(known)):
        if line["prefix"]:
            raise line.refused(
                Sentence("its heading has {known} columns or more.", known=len(known))
            )
        return {}
    values = line.numbers("cells", decimals=2 if is_all else -1)
    if min(values) < 0:
        raise line.refused(Sentence("a number of it is negative."))
    return dict(zip(known, values[: len(known)], strict=True))


def _add_ops(report: Report, name: str, ops: float) -> None:
    report.ops[name] = ops
    report.run.add(OPS, ops, "", **_case(report, name))


def _case(report: Report, name: str) -> dict[str, str | int]:
    instances = report.instances.get(name)
    return {"stressor": name} | ({"instances": instances} if instances else {})


def _named(stressor: str) -> str:
    return stressor.replace("_", "-")


def _doubt(line: Found, run: Draft) -> None:
    if line.kind == "trouble" or (line.kind == "result" and line["result"]):
        run.mark(
            "failed", Sentence('stress-ng printed "{text}".', text=line.text.strip())
        )
    elif line.kind == "failed" and line.whole("count"):
        code = "failed" if line["what"] == "failed" else "doubtful"
        run.mark(code, Sentence('stress-ng printed "{text}".', text=line.text.strip()))


TOOL = Tool(
    slug="stress-ng",
    title="stress-ng",
    homepage="https://github.com/ColinIanKing/stress-ng",
    metrics=(
        Metric(name=OPS, unit="", better="neither", component="CPU", zero_allowed=True),
        Metric(name=WALL, unit="1/s", better="higher", component="CPU"),
        Metric(name=CPU, unit="1/s", better="higher", component="CPU"),
    ),
    labels=("{stressor}", "{instances} instances"),
    parser=Parser(
        version=2,
        parse=parse,
        signatures=(
            r"stress-ng: (?:[\d:.]++ )?[a-z]+: ",
            r"stress-ng-version: ",
            r"- stressor: ",
            r"stressor +bogo ops ",
        ),
        programs=("stress-ng",),
        localized=False,
    ),
)
