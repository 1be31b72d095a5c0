"""Pooled evidence as files: CSV, JSON, LaTeX and Markdown of the same records."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import log
from typing import Any, Final

from django.utils.text import slugify
from django.utils.translation import gettext as _

from benchmarks.evidence.reading import Question
from benchmarks.evidence.records import Record
from dashboard.exports.escaping import OTHER_CHARACTER, tex
from dashboard.exports.latex import FONTS, GAP_PT, NUMBER, TABULARRAY, broken
from dashboard.exports.latex import number_format as format_of
from dashboard.exports.records import csv_text
from dashboard.kit import figures
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


@dataclass(frozen=True)
class Column:
    """A column: its head, its share of the line, whether its numbers are aligned."""

    head: str
    share: float
    is_number: bool = False


@dataclass(frozen=True)
class PlainTable:
    name: str
    caption: str
    columns: tuple[Column, ...]
    groups: tuple[tuple[str, tuple[tuple[str, ...], ...]], ...]


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
    for table in _tables(questions, studies, source):
        parts = list(_parts(table))
        for number, groups in enumerate(parts, start=1):
            place = (number, len(parts)) if len(parts) > 1 else None
            lines.append(_latex_table(table, groups, source, place))
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
    for table in _tables(questions, studies, source):
        lines += [f"## {_plain(table.caption)}", ""]
        for title, rows in table.groups:
            if title:
                lines += [f"### {_plain(title)}", ""]
            lines.append(_row(column.head for column in table.columns))
            marks = ("--:" if column.is_number else "---" for column in table.columns)
            lines.append(f"| {' | '.join(marks)} |")
            lines += [_row(row) for row in rows]
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


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(_plain(cell) for cell in cells)} |"


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


def _ratio(value: float | None, within: figures.Interval | None = None) -> str:
    return "" if value is None else figures.ratio(value, within)


def _ends(ends: Sequence[float] | None) -> str:
    return "" if ends is None else evidence.ends_text((log(ends[0]), log(ends[1])))


def _share(value: float | None) -> str:
    return "" if value is None else figures.number(100 * value, ".1f")


def _number(value: float | None, spec: str = ".3f") -> str:
    return "" if value is None else figures.number(value, spec)


def _tables(
    questions: Sequence[Record], studies: Sequence[Record], source: EvidenceSource
) -> Iterator[PlainTable]:
    yield _answers(questions, source)
    machines = [
        (question_name(record), tuple(map(_machine, record["units"])))
        for record in questions
        if record["units"]
    ]
    if machines:
        yield PlainTable(
            "machines",
            _("Machines, their weights, and the pooled mean without each"),
            (
                Column(_("Lab, machine"), 0.26),
                Column(_("Studies"), 0.25),
                Column(_("Ratio"), 0.1, is_number=True),
                Column(_("95\N{NO-BREAK SPACE}% interval"), 0.16),
                Column(_("Weight (%)"), 0.11, is_number=True),
                Column(_("Without it"), 0.12, is_number=True),
            ),
            tuple(machines),
        )
    groups = [
        (question_name(record), tuple(_groups(record["subgroups"])))
        for record in questions
        if record.get("subgroups")
    ]
    if groups:
        yield PlainTable(
            "subgroups",
            _("Parts of the results alone"),
            (
                Column(_("By"), 0.17),
                Column(_("Which"), 0.28),
                Column(_("Mean (REML)"), 0.11, is_number=True),
                Column(_("95\N{NO-BREAK SPACE}% interval"), 0.16),
                Column(_("Expected in another lab"), 0.16),
                Column(_("Machines"), 0.12),
            ),
            tuple(groups),
        )
    left_out = [
        (question_name(record), tuple(map(_left_out, record["left_out"])))
        for record in questions
        if record["left_out"]
    ]
    if left_out:
        yield PlainTable(
            "left-out",
            _("Left out, and why"),
            (
                Column(_("Study"), 0.3),
                Column(_("Benchmark"), 0.25),
                Column(_("Why"), 0.33),
                Column(_("Results"), 0.12, is_number=True),
            ),
            tuple(left_out),
        )
    if studies:
        yield PlainTable(
            "studies",
            _("Studies"),
            (
                Column(_("Study"), 0.22),
                Column(_("Title"), 0.32),
                Column(_("By"), 0.24),
                Column(_("Published"), 0.11),
                Column(_("Version"), 0.11),
            ),
            (("", tuple(map(_study, studies))),),
        )


def _answers(questions: Sequence[Record], source: EvidenceSource) -> PlainTable:
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
    return PlainTable(
        "answers",
        f"{source.title}. {_basis(source)}",
        (
            Column(_("Hypervisor, work"), 0.15),
            Column(_("Mean (REML)"), 0.11, is_number=True),
            Column(_("95\N{NO-BREAK SPACE}% interval"), 0.12),
            Column(_("Expected in another lab"), 0.12),
            Column(_("Mean (DL)"), 0.09, is_number=True),
            Column(_("τ of ln"), 0.08, is_number=True),
            Column(_("I² (%)"), 0.07, is_number=True),
            Column(_("Machines"), 0.09),
            Column(_("Labs"), 0.07),
            Column(_("Evidence"), 0.1),
        ),
        (("", tuple(rows)),),
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


def _parts(table: PlainTable) -> Iterator[list[tuple[str, list[tuple[str, ...]]]]]:
    part: list[tuple[str, list[tuple[str, ...]]]] = []
    used = 0
    for title, rows in table.groups:
        for at, row in enumerate(rows):
            # What is wrapped takes more than one line.
            lines = max(
                -(-len(text) // max(int(column.share * 100), 4))
                for text, column in zip(row, table.columns, strict=True)
            )
            if part and used + lines > LINES:
                yield part
                part, used = [], 0
            if not part or at == 0:
                part.append((title, []))
                used += 1 if title else 0
            part[-1][1].append(row)
            used += lines
    if part:
        yield part


def _latex_table(
    table: PlainTable,
    groups: Sequence[tuple[str, Sequence[tuple[str, ...]]]],
    source: EvidenceSource,
    place: tuple[int, int] | None,
) -> str:
    caption = table.caption
    if place:
        words = {"part": place[0], "all": place[1]}
        caption += " " + _("Part %(part)s of %(all)s.") % words
    label = "-".join(
        filter(None, (source.name, table.name, str(place[0]) if place else ""))
    )
    rows = [row for _title, rows in groups for row in rows]
    body = []
    for title, members in groups:
        if title:
            rest = " &" * (len(table.columns) - 1)
            span = rf"\SetCell[c={len(table.columns)}]{{l}}"
            body.append(rf"{span} {{\bfseries {broken(title)}}}{rest} \\*")
        body += [
            " & ".join(
                _aligned(text) if column.is_number else f"{{{broken(text)}}}"
                for text, column in zip(row, table.columns, strict=True)
            )
            + r" \\"
            for row in members
        ]
    head = " & ".join(f"{{{{{{{broken(it.head)}}}}}}}" for it in table.columns)
    return "\n".join(
        [
            r"\begin{table*}[htbp]\virtlabfonts",
            rf"\caption{{{broken(caption)}}}\label{{tab:{label}}}",
            r"\begin{tblr}{",
            f" colspec={{{_colspec(table.columns, rows)}}},",
            " row{1}={guard,c}, cell{1}{1}={l},",
            f" colsep={GAP_PT / 2:g}pt, rowsep=0pt, hspan=minimal}}",
            r"\toprule",
            head + r" \\",
            r"\midrule",
            *body,
            r"\bottomrule",
            r"\end{tblr}",
            r"\end{table*}",
        ]
    )


def _colspec(columns: Sequence[Column], rows: Sequence[tuple[str, ...]]) -> str:
    specs = []
    for at, column in enumerate(columns):
        width = rf"wd={column.share:.4f}\linewidth-{GAP_PT}pt"
        if column.is_number:
            cells = [(_aligned(row[at]), "") for row in rows]
            specs.append(f"Q[c,{width},si={{{format_of(cells)}}}]")
        else:
            specs.append(f"Q[l,{width}]")
    return "".join(specs)


def _aligned(text: str) -> str:
    """Return a number as siunitx reads it, or what is none as it stands."""
    if (number := NUMBER.fullmatch(text)) and not number[3]:
        return f"{'-' if number[1] else ''}{number[2].replace(',', '')}"
    return f"{{{{{{{tex(text)}}}}}}}"
