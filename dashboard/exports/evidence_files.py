from __future__ import annotations

import json
import re
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

from django.utils.text import slugify
from django.utils.translation import gettext as _

from benchmarks.evidence.json_records import Record
from benchmarks.evidence.queries import Question
from dashboard.exports.comparison_records import csv_text
from dashboard.exports.latex_escaping import CHARACTER_COMMAND, escape_latex
from dashboard.exports.latex_tables import (
    DEFAULT_STYLE,
    FONT_COMMANDS,
    GAP_PT,
    NUMBER,
    allow_breaks,
    floating_tblr,
    number_format,
    tblr_spec,
)
from dashboard.kit import formatting
from dashboard.kit.formatting import number_format_for_files
from dashboard.kit.report_elements import ReportTable, TableCell, TableRow, heading_row
from dashboard.wording import evidence

EVIDENCE_FIELDS: Final = (
    *("hypervisor", "work_class", "section", "grouped_by", "group"),
    *("lab", "host", "year", "studies"),
    *("benchmarks", "ratio", "low", "high", "prediction_low", "prediction_high"),
    "standard_error",
    *("weight", "mean_without", "machine_count", "lab_count", "study_count"),
    *("cell_count", "tau", "tau_low", "tau_high", "tau_lab", "tau_machine"),
    *("predicts_same_lab", "method", "i2", "dersimonian_laird_mean", "strength"),
    *("is_single_run", "reason"),
    *("includes_doubtful", "rule_set", "url", "created_on"),
)
# Keys of stored records -> names in the API and in JSON files.
QUESTION_NAMES: Final = {
    "doubtful": "doubtful_count",
    "labs": "lab_count",
    "single_runs": "single_run_pool",
    "screened": "excluded_counts",
    "spread": "heterogeneity",
    "units": "machines",
    "left_out": "exclusions",
    "by": "grouped_by",
    "name": "group",
}
POOL_NAMES: Final = {
    "machines": "machine_count",
    "labs": "lab_count",
    "studies": "study_count",
    "interval": "confidence_interval",
    "predicted": "prediction_interval",
    "is_one_lab": "predicts_same_lab",
}
MACHINE_NAMES: Final = {
    "doubtful": "doubtful_count",
    "interval": "confidence_interval",
    "without": "mean_without",
    "cells": "cell_count",
    "models": "model_count",
    "machines": "machine_count",
    "predicted": "prediction_interval",
}
EXCLUSION_NAMES: Final = {"count": "cell_count"}
HETEROGENEITY_NAMES: Final = {
    "mean_dl": "dersimonian_laird_mean",
    "robust_error": "robust_standard_error",
}
MAX_TABLE_LINES: Final = 26
"""Lines that fit on any page."""
MAX_FLOATS: Final = 12
"""TeX can hold only a few pending floats."""
MARKDOWN_SPECIAL: Final = re.compile(r"([\\`*_{}\[\]<>()#+!|~&$^=-])")


@dataclass(frozen=True)
class EvidenceSource:
    title: str
    name: str
    url: str
    created_on: str
    rule_set: int
    without_doubtful: bool
    authors: str = ""
    review_fields: Mapping[str, Any] = field(default_factory=dict)


def evidence_json(
    questions: Sequence[Record], studies: Sequence[Record], source: EvidenceSource
) -> str:
    document = {
        "title": source.title,
        **({"authors": source.authors} if source.authors else {}),
        **source.review_fields,
        "url": source.url,
        "created_on": source.created_on,
        "rule_set": source.rule_set,
        "includes_doubtful": not source.without_doubtful,
        "questions": [_question_json(record) for record in questions],
        "studies": list(studies),
    }
    return json.dumps(document, ensure_ascii=False, allow_nan=False, indent=1) + "\n"


def _question_json(record: Record) -> Record:
    parts: Record = {
        "pool": _rename_keys(record["pool"], POOL_NAMES),
        "single_runs": _rename_keys(record["single_runs"], POOL_NAMES),
    }
    lists = {"units": MACHINE_NAMES, "left_out": EXCLUSION_NAMES}
    for name, names in lists.items():
        if record.get(name) is not None:
            parts[name] = [_rename_keys(item, names) for item in record[name]]
    for name in ("without_doubtful", "with_impossible"):
        if record.get(name) is not None:
            parts[name] = _question_json(record[name])
    if record.get("spread") is not None:
        parts["spread"] = _rename_keys(record["spread"], HETEROGENEITY_NAMES)
    if record.get("subgroups") is not None:
        parts["subgroups"] = [_question_json(group) for group in record["subgroups"]]
    return _rename_keys({**record, **parts}, QUESTION_NAMES)


def _rename_keys(record: Record, names: Mapping[str, str]) -> Record:
    return {names.get(key, key): value for key, value in record.items()}


def evidence_csv(
    questions: Sequence[Record], studies: Sequence[Record], source: EvidenceSource
) -> str:
    """Return CSV with a line for each machine, pool and kind of excluded result.

    ``section`` is ``machine``, ``exclusion``, ``pool`` or ``single_run_pool``, with the
    prefix ``subgroup_`` for pools of subgroups.
    """
    common = {
        "includes_doubtful": str(not source.without_doubtful).lower(),
        "rule_set": source.rule_set,
        "url": source.url,
        "created_on": source.created_on,
    }
    empty = dict.fromkeys(EVIDENCE_FIELDS)
    return csv_text(
        EVIDENCE_FIELDS,
        (
            {**empty, **line, **common}
            for record in questions
            for line in _csv_records(record)
        ),
    )


def _csv_records(record: Record) -> Iterator[Mapping[str, Any]]:
    question = {name: record[name] for name in ("hypervisor", "work_class")}
    for unit in record["units"] or ():
        low, high = unit["interval"] or (None, None)
        copied_fields = ("lab", "host", "year", "studies", "benchmarks", "ratio")
        yield {
            **question,
            "section": "machine",
            **{name: unit[name] for name in copied_fields},
            "low": low,
            "high": high,
            # Reviews by older versions of Virtlab do not contain it.
            "standard_error": unit.get("standard_error"),
            "weight": unit["weight"] if unit["is_pooled"] else None,
            "mean_without": unit["without"],
            "cell_count": unit["cells"],
            "is_single_run": str(unit["is_single_run"]).lower(),
        }
    yield from _pool_records(record, question, record["spread"])
    for group in record.get("subgroups") or ():
        subgroup = {"grouped_by": group["by"], "group": group["name"]}
        yield from _pool_records(group, {**question, **subgroup}, kind="subgroup_")
    for exclusion in record["left_out"] or ():
        yield {
            **question,
            "section": "exclusion",
            "studies": exclusion["study"],
            "benchmarks": f"{exclusion['tool']} {exclusion['metric']}",
            "cell_count": exclusion["count"],
            "reason": exclusion["reason"],
        }


def _pool_records(
    record: Record,
    common: Mapping[str, Any],
    spread: Record | None = None,
    *,
    kind: str = "",
) -> Iterator[Mapping[str, Any]]:
    for part, section in (("pool", "pool"), ("single_runs", "single_run_pool")):
        pool = record[part]
        if not pool["machines"]:
            continue
        low, high = pool["interval"] or (None, None)
        prediction_low, prediction_high = pool["predicted"] or (None, None)
        yield {
            **common,
            "section": f"{kind}{section}",
            "ratio": pool["mean"],
            "low": low,
            "high": high,
            "prediction_low": prediction_low,
            "prediction_high": prediction_high,
            "machine_count": pool["machines"],
            "lab_count": pool["labs"],
            "study_count": pool.get("studies"),
            "tau": _root(pool["tau2"]),
            "tau_lab": _root(pool.get("tau2_lab")),
            "tau_machine": _root(pool.get("tau2_machine")),
            "predicts_same_lab": pool.get("is_one_lab"),
            "method": pool.get("method"),
            "i2": pool["i2"],
            **(_heterogeneity(spread) if part == "pool" and spread else {}),
            "strength": record["strength"],
        }


def _root(variance: float | None) -> float | None:
    return None if variance is None else variance**0.5


def _heterogeneity(spread: Record) -> Mapping[str, Any]:
    columns = {name: spread[name] for name in ("tau", "tau_low", "tau_high")}
    return {**columns, "dersimonian_laird_mean": spread["mean_dl"]}


@number_format_for_files()
def evidence_latex(
    questions: Sequence[Record], studies: Sequence[Record], source: EvidenceSource
) -> str:
    """Return tables as a LaTeX fragment that starts with a list of its packages."""
    lines = [
        f"% {escape_latex(source.title)}, {source.created_on}",
        DEFAULT_STYLE.preamble,
        CHARACTER_COMMAND,
        FONT_COMMANDS,
    ]
    count = 0
    for name, table in _tables(questions, studies, source):
        parts = list(_page_rows(table))
        for number, rows in enumerate(parts, start=1):
            part_number = (number, len(parts)) if len(parts) > 1 else None
            lines += _latex_table(table, rows, f"{source.name}-{name}", part_number)
            count += 1
            if count % MAX_FLOATS == 0:
                lines.append(r"\clearpage")
    return "\n".join(lines) + "\n"


@number_format_for_files()
def evidence_markdown(
    questions: Sequence[Record], studies: Sequence[Record], source: EvidenceSource
) -> str:
    lines = [f"# {_escape_markdown(source.title)}", ""]
    if source.authors:
        lines += [_escape_markdown(source.authors), ""]
    lines += [_escape_markdown(_source_sentence(source)), "", f"<{source.url}>", ""]
    for _name, table in _tables(questions, studies, source):
        lines += [f"## {_escape_markdown(table.caption)}", ""]
        alignments = (
            "--:" if cell.is_number else "---" for cell in table.header_rows[0].cells
        )
        head = [_markdown_row(table.header_rows[0]), f"| {' | '.join(alignments)} |"]
        if not any(line.is_heading for line in table.rows):
            lines += head
        for index, line in enumerate(table.rows):
            if line.is_heading:
                title = f"### {_escape_markdown(line.cells[0].text)}"
                lines += [*([""] if index else []), title, "", *head]
            else:
                lines.append(_markdown_row(line))
        lines.append("")
    return "\n".join(lines)


EVIDENCE_FORMATS: Final = {
    "csv": evidence_csv,
    "json": evidence_json,
    "tex": evidence_latex,
    "md": evidence_markdown,
}


def _escape_markdown(text: str) -> str:
    return MARKDOWN_SPECIAL.sub(r"\\\1", " ".join(text.split()))


def _markdown_row(line: TableRow) -> str:
    return f"| {' | '.join(_escape_markdown(entry.text) for entry in line.cells)} |"


def _source_sentence(source: EvidenceSource) -> str:
    screening = (
        _("Impossible and doubtful results are excluded.")
        if source.without_doubtful
        else _("Impossible results are excluded; doubtful ones have less weight.")
    )
    return _(
        "Ratios to native runs (native = 1) on the same machine or, for providers, on "
        "machines of the same model, computed on %(day)s with rule set %(rules)s. "
        "%(screening)s"
    ) % {"day": source.created_on, "rules": source.rule_set, "screening": screening}


def question_name(record: Record) -> str:
    return f"{record['hypervisor']}, {evidence.work_name(record['work_class'])}"


def evidence_file_name(question: Question) -> str:
    """Return the name of files without extension: "kvm-disk-random-write"."""
    return slugify(f"{question.hypervisor}-{question.work_class}")


_ratio_text: Final = partial(evidence.pooled_ratio, none="")
_interval_text: Final = partial(evidence.pooled_interval, none="")


def _percent_text(value: float | None) -> str:
    return "" if value is None else formatting.number(100 * value, ".1f")


def _number_text(value: float | None, spec: str = ".3f") -> str:
    return "" if value is None else formatting.number(value, spec)


def _table(
    caption: str,
    heads: Sequence[str],
    weights: tuple[int, ...],
    numbers: Container[int],
    groups: Iterable[tuple[str, Iterable[Sequence[str]]]],
) -> ReportTable:
    def table_row(texts: Sequence[str]) -> TableRow:
        cells = enumerate(texts)
        return TableRow(
            tuple(TableCell(text, is_number=index in numbers) for index, text in cells)
        )

    lines: list[TableRow] = []
    for title, rows in groups:
        lines += [heading_row(title, len(heads))] if title else []
        lines += map(table_row, rows)
    return ReportTable(
        caption, (table_row(heads),), tuple(lines), len(heads), column_weights=weights
    )


def _tables(
    questions: Sequence[Record], studies: Sequence[Record], source: EvidenceSource
) -> Iterator[tuple[str, ReportTable]]:
    yield "answers", _summary_table(questions, source)
    row_writers: dict[str, Callable[[Sequence[Record]], Iterable[Sequence[str]]]] = {
        "units": partial(map, _machine_texts),
        "subgroups": _subgroup_texts,
        "left_out": partial(map, _exclusion_texts),
    }
    groups = {
        name: [
            (question_name(question), write(question[name]))
            for question in questions
            if question.get(name)
        ]
        for name, write in row_writers.items()
    }
    heads: tuple[str, ...]
    interval = _("95% CI")
    if rows := groups["units"]:
        caption = _("Machines, their weights, and the pooled mean without each lab")
        weight = _("Weight (%)"), _("Mean without this lab")
        heads = _("Lab, machine"), _("Studies"), _("Ratio"), interval, *weight
        yield (
            "machines",
            _table(caption, heads, (26, 25, 10, 16, 11, 12), {2, 4, 5}, rows),
        )
    if rows := groups["subgroups"]:
        pool = (
            _("Mean (REML)"),
            interval,
            _("Prediction for another machine"),
            _("Machines"),
        )
        caption, heads = _("Subgroups"), (_("Grouped by"), _("Group"), *pool)
        yield "subgroups", _table(caption, heads, (17, 28, 11, 16, 16, 12), {2}, rows)
    if rows := groups["left_out"]:
        heads = _("Study"), _("Benchmark"), _("Reason"), _("Results")
        yield (
            "left-out",
            _table(
                _("Excluded results and reasons"), heads, (30, 25, 33, 12), {3}, rows
            ),
        )
    if studies:
        heads = _("Study"), _("Title"), _("Authors"), _("Published"), _("Version")
        rows = [("", map(_study_texts, studies))]
        yield "studies", _table(_("Studies"), heads, (22, 32, 24, 11, 11), (), rows)


def _summary_table(questions: Sequence[Record], source: EvidenceSource) -> ReportTable:
    rows: list[tuple[str, ...]] = []
    for record in questions:
        pool_names = [
            name for name in ("pool", "single_runs") if record[name]["machines"]
        ] or ["pool"]
        for name in pool_names:
            pool, spread = record[name], record["spread"] if name == "pool" else None
            label = question_name(record)
            if name == "single_runs":
                label = _("%(question)s: single runs") % {"question": label}
            rows.append(
                (
                    label,
                    _ratio_text(pool["mean"], pool["interval"]),
                    _interval_text(pool["interval"]),
                    _interval_text(pool["predicted"]),
                    _ratio_text(
                        spread["mean_dl"] if spread else None, pool["interval"]
                    ),
                    _number_text(_root(pool["tau2"])),
                    _percent_text(pool["i2"]),
                    str(pool["machines"]),
                    str(pool["labs"]),
                    record["strength"] if name == pool_names[0] else "",
                )
            )
    return _table(
        f"{source.title}. {_source_sentence(source)}",
        (
            *(_("Hypervisor, work class"), _("Mean (REML)")),
            *(_("95% CI"), _("Prediction for another machine")),
            *(_("Mean (DerSimonian-Laird)"), _("τ (ln ratio)"), _("I² (%)")),
            *(_("Machines"), _("Labs"), _("Evidence")),
        ),
        (15, 11, 12, 12, 9, 8, 7, 9, 7, 10),
        {1, 4, 5, 6},
        [("", rows)],
    )


def _machine_texts(unit: Record) -> tuple[str, ...]:
    return (
        ", ".join(filter(None, (unit["lab"], unit["host"], unit["year"]))),
        "; ".join(unit["studies"]),
        # Old reviews list no configurations.
        ", ".join(_ratio_text(part["ratio"]) for part in unit.get("configurations", ()))
        or _ratio_text(unit["ratio"], unit["interval"]),
        _("single runs") if unit["is_single_run"] else _interval_text(unit["interval"]),
        _percent_text(unit["weight"]) if unit["is_pooled"] else "",
        _ratio_text(unit["without"]),
    )


def _subgroup_texts(groups: Iterable[Record]) -> Iterator[tuple[str, ...]]:
    for group in groups:
        for part in ("pool", "single_runs"):
            pool = group[part]
            if pool["machines"]:
                machines = str(pool["machines"])
                if part == "single_runs":
                    machines = _("%(n)s, single runs") % {"n": machines}
                yield (
                    str(evidence.SUBGROUP_NAMES[group["by"]]),
                    group["name"] or _("not reported"),
                    _ratio_text(pool["mean"], pool["interval"]),
                    _interval_text(pool["interval"]),
                    _interval_text(pool["predicted"]),
                    machines,
                )


def _exclusion_texts(exclusion: Record) -> tuple[str, ...]:
    return (
        exclusion["study"],
        f"{exclusion['tool']} {exclusion['metric']}",
        str(evidence.EXCLUSION_TEXTS[exclusion["reason"]]),
        str(exclusion["count"]),
    )


def _study_texts(study: Record) -> tuple[str, ...]:
    source = ", ".join(filter(None, (study["author"], study["institution"])))
    version = str(study["version"]["number"]) if study["version"] else ""
    return study["study"], study["title"], source, study["published"], version


def _page_rows(table: ReportTable) -> Iterator[list[TableRow]]:
    part: list[TableRow] = []
    height_used, title, is_new = 0, None, False
    for line in table.rows:
        if line.is_heading:
            title, is_new = line, True
            continue
        height = max(
            -(-len(entry.text) // max(weight, 4))
            for entry, weight in zip(line.cells, table.column_weights, strict=True)
        )
        if part and height_used + height > MAX_TABLE_LINES:
            yield part
            part, height_used = [], 0
        if title and (is_new or not part):
            part.append(title)
            height_used += 1
        is_new = False
        part.append(line)
        height_used += height
    if part:
        yield part


def _latex_table(
    table: ReportTable,
    rows: Sequence[TableRow],
    name: str,
    part_number: tuple[int, int] | None,
) -> Iterator[str]:
    caption = table.caption
    if part_number:
        values = {"part": part_number[0], "all": part_number[1]}
        caption += " " + _("Part %(part)s of %(all)s.") % values
        name += f"-{part_number[0]}"
    head = " & ".join(
        f"{{{{{{{allow_breaks(cell.text)}}}}}}}" for cell in table.header_rows[0].cells
    )
    body = [
        DEFAULT_STYLE.title(allow_breaks(row.cells[0].text), table.column_count)
        if row.is_heading
        else " & ".join(map(_latex_cell, row.cells)) + r" \\"
        for row in rows
    ]
    lines = [row.cells for row in rows if not row.is_heading]
    colspec = ""
    for weight, *cells in zip(table.column_weights, *lines, strict=True):
        width = rf"wd={weight / 100:.4f}\linewidth-{GAP_PT}pt"
        if cells[0].is_number:
            numbers = number_format(
                [(_siunitx_number(cell.text), "") for cell in cells]
            )
            colspec += f"Q[c,{width},si={{{numbers}}}]"
        else:
            colspec += f"Q[l,{width}]"
    spec = tblr_spec(colspec, "1", (rf"{head} \\", r"\midrule", *body))
    yield from floating_tblr("table*", allow_breaks(caption), f"tab:{name}", spec)


def _latex_cell(cell: TableCell) -> str:
    return (
        _siunitx_number(cell.text)
        if cell.is_number
        else f"{{{allow_breaks(cell.text)}}}"
    )


def _siunitx_number(text: str) -> str:
    """Return a number as siunitx expects it; other text is protected by braces."""
    if (number := NUMBER.fullmatch(text)) and not number[3]:
        return f"{'-' if number[1] else ''}{number[2].replace(',', '')}"
    return f"{{{{{{{escape_latex(text)}}}}}}}"
