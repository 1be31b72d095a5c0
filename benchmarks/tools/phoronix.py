"""Phoronix Test Suite: composite.xml, its exports (JSON, CSV, text) and the log.

The log prints the runs of a result, then their mean::

    Test Results:
        91.204
        91.367

    Average: 91.286 Seconds

Each raw value is a run. A result is identified by its test with version, arguments and
description; a unit other than the metric's is the parameter ``scale``. Each system of a
file is a part.
"""

from __future__ import annotations

import csv
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import dropwhile, takewhile
from math import fsum
from typing import Final, NamedTuple

from benchmarks import units
from benchmarks.errors import shorten
from benchmarks.parsing.parser_toolkit import (
    Draft,
    LineScanner,
    MatchedLine,
    append_limited,
    json_documents,
    line_error_at,
    parser,
)
from benchmarks.parsing.phoronix_files import (
    PhoronixEntry,
    PhoronixFile,
    PhoronixResult,
    PhoronixSystem,
    file_from_json,
    read_composites,
)
from benchmarks.parsing.tool import (
    NO_WORK_CLASS,
    Metric,
    Parameter,
    Tool,
    first_match,
    when,
)
from benchmarks.sentences import Sentence

MAX_PARAMETER: Final = 1000
_NUMBER: Final = re.compile(r"\d{1,30}(?:\.\d{0,30})?(?:[eE][+-]?\d{1,3})?", re.ASCII)
_PER_SECOND: Final = re.compile(
    r"(?!.*(?:bits?|bytes?|b)\b)[^/]{0,60}?(?:/| per )(?:s|sec|second)s?\.?",
    re.IGNORECASE,
)
_COMPONENT: Final = re.compile(r", (?=[A-Z][\w -]{1,30}: )")
_FACTS: Final = frozenset(
    {
        *("processor", "motherboard", "memory", "disk", "network"),
        *("os", "kernel", "compiler", "file-system", "system layer"),
    }
)
_DRAWN: Final = frozenset({"LINE_GRAPH", "FILLED_LINE_GRAPH", "SCATTER_PLOT"})
_UNMEASURED: Final = frozenset(
    {"NO_RESULT", "PASS_FAIL", "MULTI_PASS_FAIL", "IMAGE_COMPARISON"}
)
HIGHER, LOWER = "HIB", "LIB"
# A mean may be rounded; minimum, maximum and median are farther from the mean.
MEAN_TOLERANCE: Final = 0.005


class Scale(NamedTuple):
    metric: str
    unit: str
    is_default: bool = False


_SCALES: Final = {"byte/s": "B/s", "bytes/s": "B/s", "bytes per second": "B/s"}
# Metrics by dimension of the scale; "" is a score.
_DIMENSIONS: Final = {
    ("time", LOWER): Scale("time", "s"),
    ("data rate", HIGHER): Scale("data rate", "MB/s"),
    ("floating-point rate", HIGHER): Scale("floating-point rate", "Mflop/s"),
    ("rate", HIGHER): Scale("rate", "1/s"),
    ("", HIGHER): Scale("score", ""),
    ("", LOWER): Scale("score (lower is better)", ""),
}
_UNDIRECTED: Final = Scale("value", "")
_DEFAULT_SCALES: Final = {"time": "Seconds", "data rate": "MB/s"}
_PROPORTIONS: Final = {"higher": HIGHER, "lower": LOWER, "neither": ""}


def find_scale(scale: str, proportion: str) -> Scale:
    """Return metric and unit of values with this scale and direction."""
    name = _SCALES.get(scale.casefold(), scale)
    # "Seconds" is "seconds", but "M" is not "m".
    folded = name.casefold() if len(name) > 2 else name
    unit = units.find_unit(name) or units.find_unit(folded)
    if unit is None and _PER_SECOND.fullmatch(scale):
        unit = units.get_unit("1/s")
    metric = _DIMENSIONS.get((str(unit.dimension), proportion)) if unit else None
    if unit is None or metric is None:
        return _DIMENSIONS.get(("", proportion), _UNDIRECTED)
    is_default = _DEFAULT_SCALES.get(metric.metric) == scale
    return Scale(metric.metric, unit.symbol, is_default)


def original_value(metric: str, scale: str, value: float) -> str:
    """Return a stored value as a Phoronix file states it, in its scale."""
    better = TOOL.metric(metric).better
    unit = find_scale(scale or _DEFAULT_SCALES.get(metric, ""), _PROPORTIONS[better])
    stored = TOOL.metric(metric).unit
    in_scale = units.convert(value, stored, unit.unit) if unit.unit else value
    return f"{in_scale:.15g}"


def original_scale(metric: str, parameters: Mapping[str, str]) -> str:
    return parameters.get("scale", _DEFAULT_SCALES.get(metric, ""))


def _parameters(result: PhoronixResult, scale: Scale) -> dict[str, Parameter]:
    stated = {
        "test": result.identifier,
        "title": result.title,
        "version": result.version,
        "arguments": result.arguments,
        "description": result.description,
        "scale": "" if scale.is_default else result.scale,
    }
    return {name: text[:MAX_PARAMETER] for name, text in stated.items() if text}


@dataclass
class _LeftOut:
    """Titles of results without readings, by reason."""

    titles: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))

    def add(self, reason: str, result: PhoronixResult) -> None:
        name = " ".join(filter(None, (result.title, result.description)))
        self.titles[reason].append(name or result.identifier)

    def warn(self, draft: Draft) -> None:
        for reason, titles in self.titles.items():
            draft.add_warning(
                "left_out",
                "Left out because {reason}: {titles}.",
                reason=reason,
                titles=shorten(", ".join(dict.fromkeys(titles)), 200),
            )


_DRAWN_REASON: Final = Sentence("they are curves over time")
_UNMEASURED_REASON: Final = Sentence("they are not measurements")
_FAILED_REASON: Final = Sentence("they have no value, so the test failed")
_NOT_A_NUMBER: Final = Sentence("their values are not clear numbers above 0")


def _values(entry: PhoronixEntry, result: PhoronixResult) -> list[float] | str:
    """Return the value of each run, or why there is none."""
    form = result.display_format.upper()
    if form in _UNMEASURED:
        return _UNMEASURED_REASON
    if form in _DRAWN or "," in entry.value:
        return _DRAWN_REASON
    texts = entry.raw or ((entry.value,) if entry.value else ())
    if not texts:
        return _FAILED_REASON
    if not all(map(_NUMBER.fullmatch, texts)):
        return _NOT_A_NUMBER
    values = [float(text) for text in texts]
    return values if all(values) else _NOT_A_NUMBER


def _runs(file: PhoronixFile) -> Iterator[Draft]:
    known = {system.identifier: system for system in file.systems}
    entries: dict[str, list[tuple[PhoronixResult, PhoronixEntry]]] = {
        name: [] for name in known
    }
    for result in file.results:
        for entry in result.entries:
            entries.setdefault(entry.system, []).append((result, entry))
    for name, pairs in entries.items():
        system = known.get(name, PhoronixSystem(identifier=name))
        if len(known) == 1 and len(entries) == 1 and not name:
            system = next(iter(known.values()))
        yield from _runs_of_system(system, file.client, pairs)


def _runs_of_system(
    system: PhoronixSystem,
    client: str,
    pairs: Iterable[tuple[PhoronixResult, PhoronixEntry]],
) -> Iterator[Draft]:
    """Yield a run per execution of a test; a test may print several results."""
    left_out = _LeftOut()
    drafts: dict[tuple[str, str], list[Draft]] = {}
    for result, entry in pairs:
        values = _values(entry, result)
        if isinstance(values, str):
            left_out.add(values, result)
            continue
        key = (result.identifier or result.title, result.arguments)
        runs = drafts.setdefault(key, [])
        while len(runs) < len(values):
            runs.append(_draft(system, client))
        _add_values(runs, result, entry, values)
    created = [draft for runs in drafts.values() for draft in runs]
    created = created or [_draft(system, client)]
    left_out.warn(created[0])
    yield from created


def _draft(system: PhoronixSystem, client: str) -> Draft:
    parts = _COMPONENT.split(f"{system.hardware}, {system.software}")
    named = (part.partition(": ") for part in parts)
    facts = {key.casefold(): value for key, _, value in named}
    facts = {name: value for name, value in facts.items() if name in _FACTS and value}
    version = re.sub(r"^Phoronix Test Suite ", "", system.client or client)
    return Draft(part=system.identifier, facts={**facts}, tool_version=version)


def _add_values(
    runs: list[Draft],
    result: PhoronixResult,
    entry: PhoronixEntry,
    values: list[float],
) -> None:
    scale = find_scale(result.scale, result.proportion)
    parameters = _parameters(result, scale)
    for draft, value in zip(runs, values, strict=False):
        draft.add(scale.metric, value, scale.unit, **parameters)
    first = runs[0]
    if scale.metric == _UNDIRECTED.metric:
        first.add_warning(
            "no_direction",
            "It is not stated whether more or less is better ({title}), so these "
            "values get no verdict. composite.xml states it.",
            title=result.title or result.scale,
        )
    stated = float(entry.value) if _NUMBER.fullmatch(entry.value) else 0.0
    mean = fsum(values) / len(values)
    if stated and abs(mean - stated) > MEAN_TOLERANCE * stated:
        first.add_warning(
            "other_mean",
            "{title}: the file states {stated}, but the mean of its runs is {mean}. "
            "The runs are stored.",
            title=result.title or result.identifier,
            stated=entry.value,
            mean=f"{mean:.6g}",
        )


_CSV_HEAD: Final = re.compile(r'^ ?,,(?P<names>"[^\n]*")[ \t]*$', re.MULTILINE)
_CSV_TITLE: Final = re.compile(
    r"(?P<title>.*?)(?: - (?P<description>.*?))?(?: \((?P<scale>[^()]*)\))?", re.DOTALL
)
_RAW_HEAD: Final = re.compile(
    r'^"(?P<title>[^"\n]*)",?[ \t]*\n(?P<direction>Higher|Lower) Results Are Better',
    re.MULTILINE,
)


def is_export(text: str) -> bool:
    """Return whether a text is an export of a result file as JSON or CSV."""
    begin = text.lstrip()
    if begin.startswith("{"):
        return all(f'"{key}"' in begin for key in ("systems", "results", "proportion"))
    return bool(_RAW_HEAD.search(begin)) or (
        _CSV_HEAD.search(begin) is not None
        and re.search(r'^"[^\n]*",(?:HIB|LIB),', begin, re.MULTILINE) is not None
    )


def _split_title(text: str) -> dict[str, str]:
    """Return title, description and scale."""
    match = _CSV_TITLE.fullmatch(text)
    return match.groupdict("") if match else {}


def _file_from_csv(text: str) -> PhoronixFile | None:
    """Return the content of an export by ``result-file-to-csv``."""
    heads = list(_CSV_HEAD.finditer(text))
    if not heads:
        return None
    head = heads[-1]
    systems = next(csv.reader([head["names"]]))
    results = []
    position = head.end() + 1
    for line in text[head.end() + 1 :].split("\n"):
        start, position = position, position + len(line) + 1
        if not line.startswith('"'):
            if line.strip():
                break
            continue
        cells = next(csv.reader([line]))
        if len(cells) != len(systems) + 2 or position > len(text):
            why = Sentence("this row is incomplete. Upload the complete file.")
            raise line_error_at(text, start, why)
        title, proportion, *values = cells
        results.append(
            PhoronixResult(
                **_split_title(title),
                proportion=proportion,
                entries=tuple(
                    PhoronixEntry(system=system, value=value)
                    for system, value in zip(systems, values, strict=True)
                    if value
                ),
            )
        )
    return PhoronixFile(
        systems=tuple(PhoronixSystem(identifier=name) for name in systems),
        results=tuple(results),
    )


def _file_from_raw_csv(text: str) -> PhoronixFile | None:
    """Return the content of an export by ``result-file-raw-to-csv``."""
    results = []
    if not (heads := list(_RAW_HEAD.finditer(text))):
        return None
    ends = [*(head.start() for head in heads[1:]), len(text)]
    for head, end in zip(heads, ends, strict=True):
        # A row at the very end may be cut.
        lines = text[head.end() : end].split("\n")[1:-1]
        rows = dropwhile(lambda line: not line.strip(), lines)
        entries = tuple(
            PhoronixEntry(system=name, value="", raw=_clear_cells(raw))
            for name, *raw in csv.reader(takewhile(str.strip, rows))
            if any(raw)
        )
        results.append(
            PhoronixResult(
                **_split_title(head["title"]) | {"scale": ""},
                proportion=HIGHER if head["direction"] == "Higher" else LOWER,
                entries=entries,
            )
        )
    return PhoronixFile(results=tuple(results))


def _clear_cells(cells: Iterable[str]) -> tuple[str, ...]:
    """Return the values of a row; none is clear if a comma may be a decimal comma."""
    values = tuple(filter(None, cells))
    return values if len({"." in value for value in values}) == 1 else ("?",)


_CHART: Final = re.compile(
    r"\n[ \t]*+(?P<title>[^\n]{1,200})\n[ \t]*+(?P<description>[^\n]{0,300})"
    r"\n[ \t]*+(?P<scale>[^\n]{1,60}?) [<>] (?P<better>Lower|Higher) Is Better"
    r"(?P<rows>(?:\n[^\n|]{3,300}\|=*+[ \t]*+(?=\n)){1,200})",
    re.ASCII,
)
_BAR: Final = re.compile(
    r"[ \t]*+(?P<system>\S[^\n]{0,150}?)(?: \.{1,150})? (?P<value>[\d.]{1,30}) *\|"
)


def _file_from_charts(text: str) -> PhoronixFile | None:
    """Return the content of an export by ``result-file-to-text``."""
    results = []
    for chart in _CHART.finditer(f"\n{text}"):
        bars = [_BAR.match(row) for row in chart["rows"].split("\n")]
        results.append(
            PhoronixResult(
                title=chart["title"].strip(),
                description=chart["description"].strip(),
                scale=chart["scale"],
                proportion=HIGHER if chart["better"] == "Higher" else LOWER,
                entries=tuple(
                    PhoronixEntry(system=bar["system"], value=bar["value"])
                    for bar in bars
                    if bar
                ),
            )
        )
    return PhoronixFile(results=tuple(results)) if results else None


LINES = LineScanner(
    client=r"Phoronix Test Suite v?(?P<client>\d[\w.]{0,20})",
    profile=r"(?P<profile>[\w.-]{1,40}/[\w.+-]{1,80}-\d+\.\d+\.\d+)(?: \[[^\n]*\])?$",
    mean=r"(?:Average|Minimum|Maximum): *+(?P<mean>\S+) (?P<scale>\S[^\n]{0,60})$",
    heading=r"(?P<heading>\S[^\n]{1,200}):[ \t]*+$",
    value=r"(?P<value>[+-]?[\d.,]\S*|-?nan|-?inf\w*|Infinity)[ \t]*+$",
)


def _file_from_log(text: str) -> PhoronixFile | None:
    """Return the results that the program printed while it ran the tests."""
    client = profile = title = heading = ""
    values: list[str] = []
    results = []
    for line in LINES(text):
        if line.kind == "client":
            client = line["client"]
        elif line.kind == "profile":
            profile, title = line["profile"], heading
        elif line.kind == "heading":
            heading, values = line["heading"].strip(), []
        elif line.kind == "value":
            values.append(line["value"])
        elif values and profile:
            line.reject_if_truncated("scale")
            results.append(_logged_result(line, profile, title, heading, values))
            values = []
    return PhoronixFile(client=client, results=tuple(results)) if results else None


def _logged_result(
    line: MatchedLine, profile: str, title: str, heading: str, values: list[str]
) -> PhoronixResult:
    scale = line["scale"].strip()
    directions = (LOWER, HIGHER)
    known = [word for word in directions if find_scale(scale, word).unit]
    return PhoronixResult(
        identifier=profile,
        title=title,
        description="" if heading == "Test Results" else heading,
        scale=scale,
        proportion=known[0] if known else "",
        entries=(PhoronixEntry(system="", value=line["mean"], raw=tuple(values)),),
    )


@parser("This Phoronix file or log has no result.")
def parse(output: str) -> list[Draft]:
    files = [*read_composites(output)]
    if not files and "{" in output and '"proportion"' in output:
        files = [
            file_from_json(document)
            for document in json_documents(output, r"\{")
            if "results" in document
        ]
    if not files:
        readers = (_file_from_raw_csv, _file_from_csv, _file_from_log)
        read = (reader(output) for reader in (*readers, _file_from_charts))
        files = [file for file in read if file][:1]
    drafts: list[Draft] = []
    for file in files:
        for draft in _runs(file):
            append_limited(drafts, draft)
    return drafts


_TEST = r"[\w.-]*/(?:%s)-\d.*"
_WEB = when("application: web", test=_TEST % "apache|nginx")
_DATABASE = when("application: database", test=_TEST % "pgbench|mysqlslap|mariadb")
_BUILD = when("application: build", test=_TEST % r"build-[\w.-]+")
_COPY = when("memory: copy", test=_TEST % "stream|ramspeed")

TOOL = Tool(
    slug="phoronix",
    title="Phoronix Test Suite",
    homepage="https://www.phoronix-test-suite.com/",
    aliases=("PTS", "phoronix-test-suite"),
    metrics=(
        Metric("time", "s", "lower", "application", work_class=first_match(_BUILD)),
        Metric(
            "data rate", "MB/s", "higher", "application", work_class=first_match(_COPY)
        ),
        Metric(
            "rate",
            "1/s",
            "higher",
            "application",
            work_class=first_match(_WEB, _DATABASE),
        ),
        Metric(
            "floating-point rate",
            "Mflop/s",
            "higher",
            "application",
            work_class=NO_WORK_CLASS,
        ),
        Metric("score", "", "higher", "application", work_class=NO_WORK_CLASS),
        Metric(
            "score (lower is better)",
            "",
            "lower",
            "application",
            kind="speed",
            work_class=NO_WORK_CLASS,
        ),
        Metric("value", "", "neither", "application", allows_zero=True),
    ),
    labels=("{title}", "{description}", "{scale}"),
    version=1,
    parse=parse,
    signatures=(
        r"(?:<\?xml [^>\n]{0,80}>)?(?:<!--[^>\n]{0,200}-->)?<PhoronixTestSuite[ \t]*+>",
        r"Estimated Trial Run Count: *+\d",
        r"Started Run \d+ @ \d",
        r"[A-Za-z/][A-Za-z/ .()%]{0,59} [<>] (?:Lower|Higher) Is Better$",
    ),
    recognizes=is_export,
    programs=("phoronix-test-suite",),
    is_localized=False,
)
