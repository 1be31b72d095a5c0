"""Pooled evidence as files: CSV, JSON, LaTeX and Markdown of the same records."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

from django.utils.text import slugify
from django.utils.translation import gettext as _

from benchmarks.evidence.reading import Question
from benchmarks.evidence.records import Record
from dashboard.exports.escaping import OTHER_CHARACTER, tex
from dashboard.exports.latex import (
    FONTS,
    GAP_PT,
    NUMBER,
    TABULARRAY,
    broken,
    floating_tblr,
    number_format,
    tblr_spec,
)
from dashboard.exports.records import csv_text
from dashboard.kit import figures
from dashboard.kit.document import Entry, Line, Table, heading
from dashboard.kit.figures import for_files
from dashboard.wording import evidence

FIELDS: Final = (
    *("hypervisor", "work_class", "part", "by", "name"),
    *("lab", "host", "year", "studies"),
    *("benchmarks", "ratio", "low", "high", "predicted_low", "predicted_high"),
    "standard_error",
    *("weight", "without", "machines", "labs", "cells", "tau", "tau_low", "tau_high"),
    *("i2", "mean_dl", "strength", "is_single_run", "reason"),
    *("with_flagged", "rule_set", "address", "made_on"),
)
LINES: Final = 26
"""So many lines of a table find room on any page; a longer one has parts."""
FLOATS: Final = 12
"""TeX holds few tables that found no page yet."""
MARKDOWN: Final = re.compile(r"([\\`*_{}\[\]<>()#+!|~&$^=-])")


@dataclass(frozen=True)
class EvidenceSource:
    """Where a file's numbers come from; ``stated`` is of reviews alone."""

    title: str
    name: str
    address: str
    made_on: str
    rule_set: int
    with_flagged: bool
    authors: str = ""
    stated: Mapping[str, Any] = field(default_factory=dict)


def evidence_json(
    questions: Sequence[Record], studies: Sequence[Record], source: EvidenceSource
) -> str:
    document = {
        "title": source.title,
        **({"authors": source.authors} if source.authors else {}),
        **source.stated,
        "address": source.address,
        "made_on": source.made_on,
        "rule_set": source.rule_set,
        "with_flagged": source.with_flagged,
        "questions": list(questions),
        "studies": list(studies),
    }
    # NaN is no JSON: no file is better than one that programs refuse.
    return json.dumps(document, ensure_ascii=False, allow_nan=False, indent=1) + "\n"


def evidence_csv(
    questions: Sequence[Record], studies: Sequence[Record], source: EvidenceSource
) -> str:
    """Return a line for each machine, each pool and each left-out result.

    ``part`` is ``machine``, ``pool``, ``single_runs``, ``left_out``, ``subgroup_pool``
    or ``subgroup_single_runs``.
    """
    common = {
        "with_flagged": str(source.with_flagged).lower(),
        "rule_set": source.rule_set,
        "address": source.address,
        "made_on": source.made_on,
    }
    empty = dict.fromkeys(FIELDS)
    return csv_text(
        FIELDS,
        (
            {**empty, **line, **common}
            for record in questions
            for line in _lines(record)
        ),
    )


def _lines(record: Record) -> Iterator[Mapping[str, Any]]:
    asked = {name: record[name] for name in ("hypervisor", "work_class")}
    for unit in record["units"] or ():
        low, high = unit["interval"] or (None, None)
        stated = ("lab", "host", "year", "studies", "benchmarks", "ratio", "without")
        yield {
            **asked,
            "part": "machine",
            **{name: unit[name] for name in stated},
            "low": low,
            "high": high,
            # A review of before does not say it.
            "standard_error": unit.get("standard_error"),
            "weight": unit["weight"] if unit["is_pooled"] else None,
            "cells": unit["cells"],
            "is_single_run": str(unit["is_single_run"]).lower(),
        }
    yield from _pool_lines(record, asked, record["spread"])
    for group in record.get("subgroups") or ():
        named = {name: group[name] for name in ("by", "name")}
        yield from _pool_lines(group, {**asked, **named}, kind="subgroup_")
    for left in record["left_out"] or ():
        yield {
            **asked,
            "part": "left_out",
            "studies": left["study"],
            "benchmarks": f"{left['tool']} {left['metric']}",
            "cells": left["count"],
            "reason": left["reason"],
        }


def _pool_lines(
    record: Record,
    stated: Mapping[str, Any],
    spread: Record | None = None,
    *,
    kind: str = "",
) -> Iterator[Mapping[str, Any]]:
    for part in ("pool", "single_runs"):
        pool = record[part]
        if not pool["machines"]:
            continue
        low, high = pool["interval"] or (None, None)
        predicted_low, predicted_high = pool["predicted"] or (None, None)
        yield {
            **stated,
            "part": f"{kind}{part}",
            "ratio": pool["mean"],
            "low": low,
            "high": high,
            "predicted_low": predicted_low,
            "predicted_high": predicted_high,
            "machines": pool["machines"],
            "labs": pool["labs"],
            "tau": None if pool["tau2"] is None else pool["tau2"] ** 0.5,
            "i2": pool["i2"],
            **((spread or {}) if part == "pool" else {}),
            "strength": record["strength"],
        }


@for_files()
def evidence_latex(
    questions: Sequence[Record], studies: Sequence[Record], source: EvidenceSource
) -> str:
    """Return the tables as a fragment; its first lines say what packages it needs."""
    lines = [
        f"% {tex(source.title)}, {source.made_on}",
        TABULARRAY.preamble,
        OTHER_CHARACTER,
        FONTS,
    ]
    count = 0
    for name, table in _tables(questions, studies, source):
        parts = list(_parts(table))
        for number, rows in enumerate(parts, start=1):
            place = (number, len(parts)) if len(parts) > 1 else None
            lines += _latex_table(table, rows, f"{source.name}-{name}", place)
            count += 1
            if count % FLOATS == 0:
                lines.append(r"\clearpage")
    return "\n".join(lines) + "\n"


@for_files()
def evidence_markdown(
    questions: Sequence[Record], studies: Sequence[Record], source: EvidenceSource
) -> str:
    """Return headings, a sentence for each question, and the tables as GitHub's."""
    lines = [f"# {_plain(source.title)}", ""]
    if source.authors:
        lines += [_plain(source.authors), ""]
    lines += [_plain(_basis(source)), "", f"<{source.address}>", ""]
    for _name, table in _tables(questions, studies, source):
        lines += [f"## {_plain(table.caption)}", ""]
        marks = ("--:" if cell.is_number else "---" for cell in table.head[0].entries)
        head = [_row(table.head[0]), f"| {' | '.join(marks)} |"]
        if not any(line.is_heading for line in table.lines):
            lines += head
        for at, line in enumerate(table.lines):
            if line.is_heading:
                title = f"### {_plain(line.entries[0].text)}"
                lines += [*([""] if at else []), title, "", *head]
            else:
                lines.append(_row(line))
        lines.append("")
    return "\n".join(lines)


EVIDENCE_FORMS: Final = {
    "csv": evidence_csv,
    "json": evidence_json,
    "tex": evidence_latex,
    "md": evidence_markdown,
}


def _plain(text: str) -> str:
    return MARKDOWN.sub(r"\\\1", " ".join(text.split()))


def _row(line: Line) -> str:
    return f"| {' | '.join(_plain(entry.text) for entry in line.entries)} |"


def _basis(source: EvidenceSource) -> str:
    flagged = (
        _("Flagged results are included.")
        if source.with_flagged
        else _("Flagged results are left out.")
    )
    return _(
        "Ratios to each machine's own native runs, native = 1; made on %(day)s by "
        "rule set %(rules)s. %(flagged)s"
    ) % {"day": source.made_on, "rules": source.rule_set, "flagged": flagged}


def question_name(record: Record) -> str:
    return f"{record['hypervisor']}, {evidence.work_name(record['work_class'])}"


def file_name(question: Question) -> str:
    """Return what files of a question are called: "kvm-disk-random-write"."""
    return slugify(f"{question.hypervisor}-{question.work}")


_ratio: Final = partial(evidence.pooled_ratio, none="")
_ends: Final = partial(evidence.pooled_interval, none="")


def _share(value: float | None) -> str:
    return "" if value is None else figures.number(100 * value, ".1f")


def _number(value: float | None, spec: str = ".3f") -> str:
    return "" if value is None else figures.number(value, spec)


def _table(
    caption: str,
    heads: Sequence[str],
    weights: tuple[int, ...],
    numbers: Container[int],
    groups: Iterable[tuple[str, Iterable[Sequence[str]]]],
) -> Table:
    """Return a table; ``weights`` are percent, ``numbers`` the columns of numbers."""

    def line(texts: Sequence[str]) -> Line:
        cells = enumerate(texts)
        return Line(tuple(Entry(text, is_number=at in numbers) for at, text in cells))

    lines: list[Line] = []
    for title, rows in groups:
        lines += [heading(title, len(heads))] if title else []
        lines += map(line, rows)
    return Table(caption, (line(heads),), tuple(lines), len(heads), weights=weights)


def _tables(
    questions: Sequence[Record], studies: Sequence[Record], source: EvidenceSource
) -> Iterator[tuple[str, Table]]:
    yield "answers", _answers(questions, source)
    rows_of: dict[str, Callable[[Sequence[Record]], Iterable[Sequence[str]]]] = {
        "units": partial(map, _machine),
        "subgroups": _groups,
        "left_out": partial(map, _left_out),
    }
    groups = {
        name: [
            (question_name(question), write(question[name]))
            for question in questions
            if question.get(name)
        ]
        for name, write in rows_of.items()
    }
    heads: tuple[str, ...]
    interval = _("95\N{NO-BREAK SPACE}% interval")
    if rows := groups["units"]:
        caption = _("Machines, their weights, and the pooled mean without each")
        weight = _("Weight (%)"), _("Without it")
        heads = _("Lab, machine"), _("Studies"), _("Ratio"), interval, *weight
        yield (
            "machines",
            _table(caption, heads, (26, 25, 10, 16, 11, 12), {2, 4, 5}, rows),
        )
    if rows := groups["subgroups"]:
        pool = _("Mean (REML)"), interval, _("Expected in another lab"), _("Machines")
        caption, heads = _("Parts of the results alone"), (_("By"), _("Which"), *pool)
        yield "subgroups", _table(caption, heads, (17, 28, 11, 16, 16, 12), {2}, rows)
    if rows := groups["left_out"]:
        heads = _("Study"), _("Benchmark"), _("Why"), _("Results")
        yield (
            "left-out",
            _table(_("Left out, and why"), heads, (30, 25, 33, 12), {3}, rows),
        )
    if studies:
        heads = _("Study"), _("Title"), _("By"), _("Published"), _("Version")
        rows = [("", map(_study, studies))]
        yield "studies", _table(_("Studies"), heads, (22, 32, 24, 11, 11), (), rows)


def _answers(questions: Sequence[Record], source: EvidenceSource) -> Table:
    rows: list[tuple[str, ...]] = []
    for record in questions:
        shown = [
            name for name in ("pool", "single_runs") if record[name]["machines"]
        ] or ["pool"]
        for name in shown:
            pool, spread = record[name], record["spread"] if name == "pool" else None
            tau2 = pool["tau2"]
            label = question_name(record)
            if name == "single_runs":
                label = _("%(question)s: single runs") % {"question": label}
            rows.append(
                (
                    label,
                    _ratio(pool["mean"], pool["interval"]),
                    _ends(pool["interval"]),
                    _ends(pool["predicted"]),
                    _ratio(spread["mean_dl"] if spread else None, pool["interval"]),
                    _number(None if tau2 is None else tau2**0.5),
                    _share(pool["i2"]),
                    str(pool["machines"]),
                    str(pool["labs"]),
                    record["strength"] if name == shown[0] else "",
                )
            )
    return _table(
        f"{source.title}. {_basis(source)}",
        (
            *(_("Hypervisor, work"), _("Mean (REML)")),
            *(_("95\N{NO-BREAK SPACE}% interval"), _("Expected in another lab")),
            *(_("Mean (DL)"), _("τ of ln"), _("I² (%)")),
            *(_("Machines"), _("Labs"), _("Evidence")),
        ),
        (15, 11, 12, 12, 9, 8, 7, 9, 7, 10),
        {1, 4, 5, 6},
        [("", rows)],
    )


def _machine(unit: Record) -> tuple[str, ...]:
    return (
        ", ".join(filter(None, (unit["lab"], unit["host"], unit["year"]))),
        "; ".join(unit["studies"]),
        _ratio(unit["ratio"], unit["interval"]),
        _("single runs") if unit["is_single_run"] else _ends(unit["interval"]),
        _share(unit["weight"]) if unit["is_pooled"] else "",
        _ratio(unit["without"]),
    )


def _groups(groups: Iterable[Record]) -> Iterator[tuple[str, ...]]:
    for group in groups:
        for part in ("pool", "single_runs"):
            pool = group[part]
            if pool["machines"]:
                machines = str(pool["machines"])
                if part == "single_runs":
                    machines = _("%(n)s, single runs") % {"n": machines}
                yield (
                    str(evidence.SUBGROUPS[group["by"]]),
                    group["name"] or _("not stated"),
                    _ratio(pool["mean"], pool["interval"]),
                    _ends(pool["interval"]),
                    _ends(pool["predicted"]),
                    machines,
                )


def _left_out(left: Record) -> tuple[str, ...]:
    return (
        left["study"],
        f"{left['tool']} {left['metric']}",
        str(evidence.OBSTACLES[left["reason"]]),
        str(left["count"]),
    )


def _study(study: Record) -> tuple[str, ...]:
    by = ", ".join(filter(None, (study["author"], study["institution"])))
    version = str(study["version"]["number"]) if study["version"] else ""
    return study["study"], study["title"], by, study["published"], version


def _parts(table: Table) -> Iterator[list[Line]]:
    """Yield the rows of each page; a heading is repeated on the next page."""
    part: list[Line] = []
    used, title, is_new = 0, None, False
    for line in table.lines:
        if line.is_heading:
            title, is_new = line, True
            continue
        # Long texts wrap to several lines.
        height = max(
            -(-len(entry.text) // max(weight, 4))
            for entry, weight in zip(line.entries, table.weights, strict=True)
        )
        if part and used + height > LINES:
            yield part
            part, used = [], 0
        if title and (is_new or not part):
            part.append(title)
            used += 1
        is_new = False
        part.append(line)
        used += height
    if part:
        yield part


def _latex_table(
    table: Table, rows: Sequence[Line], name: str, place: tuple[int, int] | None
) -> Iterator[str]:
    caption = table.caption
    if place:
        words = {"part": place[0], "all": place[1]}
        caption += " " + _("Part %(part)s of %(all)s.") % words
        name += f"-{place[0]}"
    head = " & ".join(
        f"{{{{{{{broken(cell.text)}}}}}}}" for cell in table.head[0].entries
    )
    body = [
        TABULARRAY.title(broken(row.entries[0].text), table.width)
        if row.is_heading
        else " & ".join(map(_cell, row.entries)) + r" \\"
        for row in rows
    ]
    lines = [row.entries for row in rows if not row.is_heading]
    colspec = ""
    for weight, *cells in zip(table.weights, *lines, strict=True):
        width = rf"wd={weight / 100:.4f}\linewidth-{GAP_PT}pt"
        if cells[0].is_number:
            numbers = number_format([(_aligned(cell.text), "") for cell in cells])
            colspec += f"Q[c,{width},si={{{numbers}}}]"
        else:
            colspec += f"Q[l,{width}]"
    spec = tblr_spec(colspec, "1", (rf"{head} \\", r"\midrule", *body))
    yield from floating_tblr("table*", broken(caption), f"tab:{name}", spec)


def _cell(entry: Entry) -> str:
    return _aligned(entry.text) if entry.is_number else f"{{{broken(entry.text)}}}"


def _aligned(text: str) -> str:
    """Return a number as siunitx reads it, or what is none as it stands."""
    if (number := NUMBER.fullmatch(text)) and not number[3]:
        return f"{'-' if number[1] else ''}{number[2].replace(',', '')}"
    return f"{{{{{{{tex(text)}}}}}}}"
