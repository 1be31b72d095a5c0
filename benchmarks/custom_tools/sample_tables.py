"""Sample files of a lab's own tool: CSV with a line for each sample, or JSON. PURE.

    run,metric,value,unit,kernel
    1,boot time,3.21,s,6.1

The columns ``metric`` and ``value`` are required. ``unit`` defaults to the declared
unit. Lines with the same ``run`` belong to one run, in which ``repetition`` counts.
``runs`` and ``standard_deviation`` describe a published mean. Every other column is a
parameter. JSON is a list of sample objects as in uploads, with the parameters in
``parameters``.

A table without the columns ``metric`` and ``value`` may have a column for each metric
and a line for each run::

    boot time,kernel
    3.21,6.1
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
from benchmarks.parsing.decoding import (
    decode,
    replace_decimal_commas,
    uses_decimal_comma,
)
from benchmarks.parsing.parser_toolkit import MAX_RUNS, LineError
from benchmarks.parsing.run_extraction import ExtractedRun
from benchmarks.parsing.tool import (
    STANDARD_DEVIATION,
    SUMMARIZED_RUNS,
    Reading,
    Tool,
    check_value,
    normalize_name,
)
from benchmarks.sentences import Sentence

REQUIRED_COLUMNS: Final = ("metric", "value")
SUMMARY_COLUMNS: Final = (SUMMARIZED_RUNS, STANDARD_DEVIATION)
ALLOWED_COLUMNS: Final = (
    *(*REQUIRED_COLUMNS, "unit", "run", "repetition"),
    *SUMMARY_COLUMNS,
)
SEPARATORS: Final = ",;\t"
MAX_SAMPLES_A_RUN: Final = 10_000


@dataclass(frozen=True, slots=True)
class SampleFileRun:
    """The samples of one run, and its first and last line (None for JSON)."""

    samples: tuple[Mapping[str, Any], ...]
    first_line: int | None = None
    last_line: int | None = None


@dataclass(frozen=True, slots=True)
class _Row:
    run: str
    sample: Mapping[str, Any]
    line: int | None = None


def read_sample_file(
    tool: Tool, text: bytes | str, locale: str | None = None
) -> tuple[SampleFileRun, ...]:
    """Return the runs in a sample file, at least one.

    Decimal commas are accepted only if ``locale`` uses them. Raise ParseError with the
    line.
    """
    has_comma = uses_decimal_comma(locale)
    content = decode(text)
    if not content.strip():
        raise ParseError(Sentence("The file is empty. Send a table of samples."))
    is_json = content.lstrip()[0] in "[{"
    rows = _objects(content, tool) if is_json else _lines(content, has_comma, tool)
    runs: dict[str, list[_Row]] = {}
    for row in rows:
        # Raises an error for an unknown metric.
        unit = tool.metric(row.sample["metric"]).unit
        sample = {**row.sample}
        sample.setdefault("unit", unit)
        runs.setdefault(row.run, []).append(_Row(row.run, sample, row.line))
    if not runs:
        raise ParseError(Sentence("The file has no samples below its header."))
    if len(runs) > MAX_RUNS:
        raise ParseError(
            Sentence("The text has more than {most:,} runs. Split it.", most=MAX_RUNS)
        )
    for name, run_rows in runs.items():
        if len(run_rows) > MAX_SAMPLES_A_RUN:
            raise ParseError(
                Sentence(
                    'Run "{run}" has more than {most:,} samples.',
                    run=name,
                    most=MAX_SAMPLES_A_RUN,
                )
            )
    return tuple(
        SampleFileRun(
            tuple(row.sample for row in run_rows), run_rows[0].line, run_rows[-1].line
        )
        for run_rows in runs.values()
    )


def extract_sample_runs(
    tool: Tool, version: int, text: bytes | str, locale: str | None = None
) -> tuple[ExtractedRun, ...]:
    """Return the runs of a sample file in the form of parsed outputs, for previews.

    An invalid sample becomes the problem of its run.
    """
    runs = []
    for run in read_sample_file(tool, text, locale):
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
            ExtractedRun(
                tool=tool.slug,
                parser_version=version,
                first_line=run.first_line or 1,
                last_line=run.last_line or 1,
                readings=() if problem else readings,
                problem=problem,
            )
        )
    return tuple(runs)


def _lines(text: str, has_comma: bool, tool: Tool) -> Iterator[_Row]:
    lines = text.split("\n")
    start = next(index for index, line in enumerate(lines) if line.strip())
    head = lines[start]
    separator = max(SEPARATORS, key=head.count)
    reader = csv.reader(lines[start:], delimiter=separator, strict=True)
    try:
        names = [name.strip() for name in next(reader)]
        metrics = _metric_columns(names, tool)
        columns = names if metrics else _columns(names, start + 1, head)
        for cells in reader:
            line = start + reader.line_num
            if not any(cell.strip() for cell in cells):
                continue
            line_text = lines[line - 1]
            if len(cells) != len(columns):
                why = Sentence(
                    "the row has {n} columns, but the header has {columns}.",
                    n=len(cells),
                    columns=len(columns),
                )
                raise LineError(line, line_text, why)
            fields = dict(zip(columns, map(str.strip, cells), strict=True))
            if metrics:
                yield from _metric_rows(fields, metrics, has_comma, line, line_text)
            else:
                yield _row(fields, has_comma, line, line_text)
    except csv.Error as error:
        line = start + max(reader.line_num, 1)
        raise LineError(line, lines[line - 1], str(error)) from None


def _columns(names: Sequence[str], line: int, shown_line: str) -> list[str]:
    columns = [
        normalize_name(name) if normalize_name(name) in ALLOWED_COLUMNS else name
        for name in names
    ]
    if missing := [name for name in REQUIRED_COLUMNS if name not in columns]:
        raise LineError(
            line,
            shown_line,
            Sentence(
                "the header has no column {missing}. Start with metric,value,unit.",
                missing=", ".join(missing),
            ),
        )
    if len(set(columns)) != len(columns) or "" in columns:
        raise LineError(
            line,
            shown_line,
            Sentence("each column needs a unique name."),
        )
    return columns


def _metric_columns(names: Sequence[str], tool: Tool) -> list[str]:
    """Return the columns of metrics; [] if the table has a line for each sample."""
    if set(map(normalize_name, names)) & set(REQUIRED_COLUMNS):
        return []
    known = {normalize_name(metric.name) for metric in tool.metrics}
    metrics = [name for name in names if normalize_name(name) in known]
    return metrics if len(set(names)) == len(names) else []


def _metric_rows(
    fields: dict[str, str],
    metrics: Sequence[str],
    has_comma: bool,
    line: int,
    shown_line: str,
) -> Iterator[_Row]:
    """Yield a sample for each metric of a line."""
    values = {name: fields.pop(name) for name in metrics}
    run = fields.pop("run", "") or f"line {line}"
    parameters = {name: cell for name, cell in fields.items() if cell}
    for name, text in values.items():
        if text:
            number = replace_decimal_commas(text) if has_comma else text
            value = _number(number, line, shown_line)
            sample = {"metric": name, "value": value, "parameters": parameters}
            yield _Row(run, sample, line)


def _row(fields: dict[str, str], has_comma: bool, line: int, shown_line: str) -> _Row:
    metric, value = fields.pop("metric", ""), fields.pop("value", "")
    if not metric or not value:
        raise LineError(
            line, shown_line, Sentence("a sample needs a metric and a value.")
        )
    sample: dict[str, Any] = {
        "metric": metric,
        "value": _number(
            replace_decimal_commas(value) if has_comma else value, line, shown_line
        ),
    }
    run, repetition = fields.pop("run", ""), fields.pop("repetition", "")
    if "unit" in fields:
        sample["unit"] = fields.pop("unit")
    if repetition:
        why = Sentence("the repetition must be a whole number: 1, 2, 3.")
        sample["repetition"] = _whole_number(repetition, line, shown_line, why)
    if runs := fields.pop(SUMMARIZED_RUNS, ""):
        why = Sentence("runs, the number of runs, must be a whole number: 1, 2, 3.")
        sample[SUMMARIZED_RUNS] = _whole_number(runs, line, shown_line, why)
    if deviation := fields.pop(STANDARD_DEVIATION, ""):
        text = replace_decimal_commas(deviation) if has_comma else deviation
        sample[STANDARD_DEVIATION] = _number(text, line, shown_line)
    sample["parameters"] = {name: cell for name, cell in fields.items() if cell}
    return _Row(run, sample, line)


def _whole_number(text: str, line: int, shown_line: str, why: str) -> int:
    count = _number(text, line, shown_line)
    if count != int(count) or not 1 <= count < 2**31:
        raise LineError(line, shown_line, why)
    return int(count)


def _number(text: str, line: int, shown_line: str) -> float:
    try:
        number = float(text) if "_" not in text and text.isascii() else math.nan
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        why = Sentence('"{text}" is not a number.', text=text[:40])
        raise LineError(line, shown_line, why)
    return number


def _objects(text: str, tool: Tool) -> Iterator[_Row]:
    try:
        document = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        line = text.count("\n", 0, error.pos) + 1
        line_text = text.split("\n")[line - 1]
        raise LineError(line, line_text, Sentence("this is not valid JSON.")) from None
    if wide := _wide_objects(document, tool):
        yield from wide
        return
    samples = document.get("samples") if isinstance(document, dict) else document
    if not isinstance(samples, list):
        raise ParseError(
            Sentence(
                'Send a list of samples, or an object with this list as "samples".'
            )
        )
    for index, sample in enumerate(samples):
        problem = _shape_problem(sample)
        if problem:
            raise ParseError(Sentence("samples[{at}]: {why}", at=index, why=problem))
        sample_fields = {name: sample[name] for name in sample if name != "run"}
        yield _Row(str(sample.get("run", "")), {"parameters": {}, **sample_fields})


def _wide_objects(document: Any, tool: Tool) -> list[_Row]:
    """Return the samples of objects whose keys are metrics; each object is a run."""
    objects = document if isinstance(document, list) else [document]
    rows = []
    for index, fields in enumerate(objects, 1):
        metrics = _metric_columns(list(fields), tool) if type(fields) is dict else []
        numbers = {name: fields[name] for name in metrics}
        if not numbers or not all(type(n) in (int, float) for n in numbers.values()):
            return []
        rest = {name: fields[name] for name in fields if name not in metrics}
        run = str(rest.pop("run", f"object {index}"))
        for name, value in numbers.items():
            sample = {"metric": name, "value": value, "parameters": rest}
            rows.append(_Row(run, sample))
    return rows


def _is_count(value: Any) -> bool:
    return type(value) is int and 1 <= value < 2**31


def _shape_problem(sample: Any) -> str:
    if not isinstance(sample, dict):
        return Sentence("this is not an object.")
    allowed = (*ALLOWED_COLUMNS, "parameters")
    if unknown := [name for name in sample if name not in allowed]:
        return Sentence(
            '"{name}" is not a known field. Put values that distinguish '
            'benchmarks into "parameters".',
            name=str(unknown[0])[:40],
        )
    if not isinstance(sample.get("metric"), str) or not sample["metric"]:
        return Sentence("the metric is missing or is not text.")
    value, repetition = sample.get("value"), sample.get("repetition", 1)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return Sentence("the value is not a number.")
    if not isinstance(sample.get("unit", ""), str):
        return Sentence("the unit is not text.")
    if not _is_count(repetition):
        return Sentence("the repetition must be a whole number: 1, 2, 3.")
    if SUMMARIZED_RUNS in sample and not _is_count(sample[SUMMARIZED_RUNS]):
        return Sentence("runs, the number of runs, must be a whole number: 1, 2, 3.")
    deviation = sample.get(STANDARD_DEVIATION, 0)
    if isinstance(deviation, bool) or not isinstance(deviation, int | float):
        return Sentence("the standard deviation is not a number.")
    if not isinstance(sample.get("parameters", {}), dict):
        return Sentence("the parameters are not an object.")
    return ""
