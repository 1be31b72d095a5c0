"""A file of samples of a lab's own tool, CSV or JSON: a line or object each. PURE.

    run,metric,value,unit,kernel
    1,boot time,3.21,s,6.1
    2,boot time,3.34,s,6.1

``metric`` and ``value`` must be there; ``unit`` is the declared one where it is left
out, ``run`` tells executions apart (all are one without it), ``repetition`` counts
within a run. Every other column is a parameter. JSON is a list of objects as uploads
have them, each with ``parameters``.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import orjson

from benchmarks.errors import BenchmarksError, ParseError
from benchmarks.fingerprints import display_parameters
from benchmarks.parsing.contract import Reading, Tool, check_value, folded
from benchmarks.parsing.decoding import decode, with_points, writes_comma
from benchmarks.parsing.reading import ReadRun
from benchmarks.parsing.scanning import MAX_RUNS, LineError
from benchmarks.sentences import Sentence

NEEDED: Final = ("metric", "value")
KNOWN: Final = (*NEEDED, "unit", "run", "repetition")
SEPARATORS: Final = ",;\t"
MAX_SAMPLES_A_RUN: Final = 10_000


@dataclass(frozen=True, slots=True)
class TableRun:
    """One execution: its samples as in uploads, and their lines."""

    samples: tuple[Mapping[str, Any], ...]
    first_line: int | None = None
    last_line: int | None = None


@dataclass(frozen=True, slots=True)
class _Row:
    run: str
    sample: Mapping[str, Any]
    line: int | None = None


def read_table(
    tool: Tool, text: bytes | str, locale: str | None = None
) -> tuple[TableRun, ...]:
    """The runs of a file in its order, at least one, or a ParseError with the line.

    A decimal comma is read only if ``locale`` names one that writes it.
    """
    has_comma = writes_comma(locale)
    whole = decode(text)
    if not whole.strip():
        raise ParseError(Sentence("The file is empty. Send a table of samples."))
    is_json = whole.lstrip()[0] in "[{"
    rows = _objects(whole) if is_json else _lines(whole, has_comma)
    runs: dict[str, list[_Row]] = {}
    for row in rows:
        # Refuses an unknown metric, and names the known ones.
        unit = tool.metric(row.sample["metric"]).unit
        sample = {**row.sample}
        sample.setdefault("unit", unit)
        runs.setdefault(row.run, []).append(_Row(row.run, sample, row.line))
    if not runs:
        raise ParseError(Sentence("The file names no sample below its heading."))
    if len(runs) > MAX_RUNS:
        raise ParseError(
            Sentence("The text holds more than {most:,} runs: cut it.", most=MAX_RUNS)
        )
    for name, of_run in runs.items():
        if len(of_run) > MAX_SAMPLES_A_RUN:
            raise ParseError(
                Sentence(
                    'Run "{run}" has more than {most:,} samples.',
                    run=name,
                    most=MAX_SAMPLES_A_RUN,
                )
            )
    return tuple(
        TableRun(tuple(row.sample for row in of_run), of_run[0].line, of_run[-1].line)
        for of_run in runs.values()
    )


def read_runs(
    tool: Tool, version: int, text: bytes | str, locale: str | None = None
) -> tuple[ReadRun, ...]:
    """The same runs as outputs have them, for whoever looks before an upload.

    ``version`` is that of the declaration. A sample that would be refused is the
    problem of its run.
    """
    runs = []
    for run in read_table(tool, text, locale):
        readings = tuple(
            Reading(
                metric=sample["metric"],
                value=sample["value"],
                unit=sample["unit"],
                parameters=sample["parameters"],
                repetition=sample.get("repetition", 1),
            )
            for sample in run.samples
        )
        problem = None
        try:
            for reading in readings:
                display_parameters(reading.parameters)
                check_value(tool.metric(reading.metric), reading.value, reading.unit)
        except BenchmarksError as error:
            problem = ParseError(error.sentence)
        runs.append(
            ReadRun(
                tool=tool.slug,
                parser_version=version,
                first_line=run.first_line or 1,
                last_line=run.last_line or 1,
                readings=() if problem else readings,
                problem=problem,
            )
        )
    return tuple(runs)


def _lines(text: str, has_comma: bool) -> Iterator[_Row]:
    lines = text.split("\n")
    start = next(at for at, line in enumerate(lines) if line.strip())
    head = lines[start]
    separator = max(SEPARATORS, key=head.count)
    reader = csv.reader(lines[start:], delimiter=separator, strict=True)
    try:
        names = [name.strip() for name in next(reader)]
        columns = _columns(names, start + 1, head)
        for cells in reader:
            line = start + reader.line_num
            if any(cell.strip() for cell in cells):
                shown = lines[line - 1]
                yield _row(columns, cells, has_comma, line, shown)
    except csv.Error as error:
        line = start + max(reader.line_num, 1)
        raise LineError(line, lines[line - 1], str(error)) from None


def _columns(names: Sequence[str], line: int, shown: str) -> list[str]:
    columns = [folded(name) if folded(name) in KNOWN else name for name in names]
    if missing := [name for name in NEEDED if name not in columns]:
        raise LineError(
            line,
            shown,
            Sentence(
                "the heading has no column {missing}; begin with metric,value,unit.",
                missing=", ".join(missing),
            ),
        )
    if len(set(columns)) != len(columns) or "" in columns:
        raise LineError(
            line, shown, Sentence("each column needs a name, and a name of its own.")
        )
    return columns


def _row(
    columns: Sequence[str], cells: Sequence[str], has_comma: bool, line: int, shown: str
) -> _Row:
    if len(cells) != len(columns):
        why = Sentence(
            "it has {n} columns, the heading {columns}.",
            n=len(cells),
            columns=len(columns),
        )
        raise LineError(line, shown, why)
    given = {
        name: cell.strip() for name, cell in zip(columns, cells, strict=True) if cell
    }
    metric, value = given.pop("metric", ""), given.pop("value", "")
    if not metric or not value:
        raise LineError(line, shown, Sentence("a sample needs a metric and a value."))
    sample: dict[str, Any] = {
        "metric": metric,
        "value": _number(with_points(value) if has_comma else value, line, shown),
    }
    run, repetition = given.pop("run", ""), given.pop("repetition", "")
    if "unit" in given or "unit" in columns:
        sample["unit"] = given.pop("unit", "")
    if repetition:
        count = _number(repetition, line, shown)
        if count != int(count) or not 1 <= count < 2**31:
            why = Sentence("repetitions are counted 1, 2, 3.")
            raise LineError(line, shown, why)
        sample["repetition"] = int(count)
    # What is left out is not known of this sample.
    sample["parameters"] = {name: cell for name, cell in given.items() if cell}
    return _Row(run, sample, line)


def _number(text: str, line: int, shown: str) -> float:
    try:
        number = float(text) if "_" not in text and text.isascii() else math.nan
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        why = Sentence('"{text}" is not a number.', text=text[:40])
        raise LineError(line, shown, why)
    return number


def _objects(text: str) -> Iterator[_Row]:
    try:
        document = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        line = text.count("\n", 0, error.pos) + 1
        shown = text.split("\n")[line - 1]
        raise LineError(line, shown, Sentence("this is not JSON.")) from None
    samples = document.get("samples") if isinstance(document, dict) else document
    if not isinstance(samples, list):
        raise ParseError(
            Sentence('Send a list of samples, or an object with them as "samples".')
        )
    for at, sample in enumerate(samples):
        problem = _problem_of(sample)
        if problem:
            raise ParseError(Sentence("samples[{at}]: {why}", at=at, why=problem))
        known = {name: sample[name] for name in sample if name != "run"}
        yield _Row(str(sample.get("run", "")), {"parameters": {}, **known})


def _problem_of(sample: Any) -> str:
    """What is wrong with the shape of one object, or "" if nothing is."""
    if not isinstance(sample, dict):
        return Sentence("it is not an object.")
    allowed = (*KNOWN, "parameters")
    if unknown := [name for name in sample if name not in allowed]:
        return Sentence(
            '"{name}" is not known here; what tells benchmarks apart belongs in '
            "parameters.",
            name=str(unknown[0])[:40],
        )
    if not isinstance(sample.get("metric"), str) or not sample["metric"]:
        return Sentence("its metric is not text.")
    value, repetition = sample.get("value"), sample.get("repetition", 1)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return Sentence("its value is not a number.")
    if not isinstance(sample.get("unit", ""), str):
        return Sentence("its unit is not text.")
    if isinstance(repetition, bool) or not isinstance(repetition, int):
        return Sentence("repetitions are counted 1, 2, 3.")
    if not 1 <= repetition < 2**31:
        return Sentence("repetitions are counted 1, 2, 3.")
    if not isinstance(sample.get("parameters", {}), dict):
        return Sentence("its parameters are not an object.")
    return ""
