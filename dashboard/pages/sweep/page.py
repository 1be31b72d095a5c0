"""What the sweep page shows for one choice: families, systems, chart and its table."""

from collections import defaultdict
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.utils.translation import gettext as _

from benchmarks import tools
from benchmarks.analysis.sweeps import scale_of
from benchmarks.comparing.columns import Fact
from benchmarks.comparing.sweeps import (
    Family,
    Line,
    Point,
    study_families,
    with_lines,
)
from benchmarks.models import Study
from benchmarks.viewer import Viewer
from dashboard import wording
from dashboard.charts.curves import Curve, Mark, sweep_plot
from dashboard.kit import figures
from dashboard.kit.addresses import MOST_CHIPS, Chip, ChipRow, unmet
from dashboard.kit.table_cells import row_figure
from dashboard.pages.sweep.words import level_text, line_name, parting_sentences
from dashboard.wording import states, verdicts

PARAMETERS = ("family", "response", "systems")
MOST_LINES = 7
STEEP = 4
"""From this factor between the lowest and the highest on, the axis is logarithmic."""


@dataclass(frozen=True)
class TableCell:
    """A point in the table: its number, what stands under it, its shade."""

    main: str
    sub: str
    shade: str
    sentence: str


@dataclass(frozen=True)
class SweepPage:
    """Everything of the page that depends on what was chosen."""

    family: Family | None
    title: str
    sentences: tuple[str, ...]
    rows: tuple[ChipRow, ...]
    figure: dict[str, Any] | None
    heads: tuple[str, ...]
    table: tuple[tuple[str, tuple[TableCell | None, ...]], ...]
    has_intervals: bool
    hidden: int
    unmet: tuple[str, ...] = ()
    """What the address asks for and is not here."""


def sweep_page(viewer: Viewer, study: Study, query: Mapping[str, str]) -> SweepPage:
    """Return the page for the choice that a URL's query names."""
    families = study_families(viewer, study)
    asked = query.get("family", "")
    named = (each for each in families if each.key == asked)
    chosen = next(named, max(families, key=_richness, default=None))
    if chosen is None:
        return SweepPage(None, "", (), (), None, (), (), False, 0)
    (family,) = with_lines(viewer, study, [chosen])
    lines = _lines(family, query)
    is_ratio = query.get("response") == "efficiency"
    labels = _labels(families)
    return SweepPage(
        family=family,
        title=labels[families.index(chosen)],
        sentences=tuple(parting_sentences(family, lines)),
        rows=_rows(zip(families, labels, strict=True), family, lines, query),
        figure=_figure(family, lines, is_ratio),
        heads=tuple(level_text(level) for level in family.levels),
        table=tuple(_table_row(family, line, is_ratio) for line in lines),
        has_intervals=any(_interval(it, is_ratio)[0] for x in lines for it in x.points),
        hidden=len(family.lines) - len(lines),
        unmet=unmet(query, {"family": family.key}),
    )


def _richness(family: Family) -> tuple[int, int]:
    return family.line_count, len(family.levels)


def _lines(family: Family, query: Mapping[str, str]) -> list[Line]:
    asked = {text for text in query.get("systems", "").split(",") if text}
    chosen = [it for it in family.lines if str(it.column.system_id) in asked]
    return chosen or list(family.lines[:MOST_LINES])


def _title(family: Family) -> str:
    return _("%(family)s over %(axis)s") % {
        "family": _family_name(family),
        "axis": family.axis.replace("_", " "),
    }


def _family_name(family: Family) -> str:
    tool = tools.get(family.tool)
    doing = [family.parameters.get(name, "") for name in ("access", "operation")]
    metric = tool.metric(family.metric).title
    name = f"{tool.title}: {metric}"
    said = " ".join(filter(None, doing))
    return f"{name}, {said}" if said else name


def _labels(families: Sequence[Family]) -> list[str]:
    """Return what tells each family from the others, beside its title."""
    titles = [_title(each) for each in families]
    alike: dict[str, list[dict[str, str]]] = defaultdict(list)
    for title, each in zip(titles, families, strict=True):
        alike[title].append(_stated(each))
    varying = {title: _varying(same) for title, same in alike.items()}
    return [
        ", ".join([title, *_facts(each, varying[title])])
        for title, each in zip(titles, families, strict=True)
    ]


def _varying(same: Sequence[Mapping[str, str]]) -> set[str]:
    """Return what is not stated alike by families of one title."""
    names = {name for stated in same for name in stated}
    return {name for name in names if len({it.get(name) for it in same}) > 1}


def _facts(family: Family, names: Container[str]) -> list[str]:
    stated = _stated(family).items()
    return [wording.fact_text(Fact(*item)) for item in stated if item[0] in names]


def _stated(family: Family) -> dict[str, str]:
    return {**family.parameters, **family.circumstances}


def _rows(
    labelled: Iterable[tuple[Family, str]],
    family: Family,
    lines: Sequence[Line],
    query: Mapping[str, str],
) -> tuple[ChipRow, ...]:
    kept = {name: query[name] for name in PARAMETERS if query.get(name)}
    chips = [_family_chip(*each, family, kept) for each in labelled]
    rows = [ChipRow(_("Family"), tuple(chips), is_long=len(chips) > MOST_CHIPS)]
    if len(responses := _responses(family, kept)) > 1:
        rows.append(ChipRow(_("Shown"), responses))
    if len(family.lines) > 1:
        chips = [_system_chip(it, family, lines, kept) for it in family.lines]
        rows.append(ChipRow(_("Systems"), tuple(chips), len(chips) > MOST_CHIPS))
    return tuple(rows)


def _family_chip(
    each: Family, label: str, chosen: Family, kept: Mapping[str, str]
) -> Chip:
    query = {**kept, "family": each.key}
    query.pop("systems", None)
    return Chip(label, urlencode(query), each.key == chosen.key)


def _responses(family: Family, kept: Mapping[str, str]) -> tuple[Chip, ...]:
    is_ratio = kept.get("response") == "efficiency"
    names = {"value": _("Measured value")}
    points = [point for line in family.lines for point in line.points]
    if is_ratio or any(point.row.shown.ratio is not None for point in points):
        is_relative = any(point.row.shown.relative is not None for point in points)
        names["efficiency"] = _("Relative") if is_relative else _("Efficiency")
    return tuple(
        Chip(
            name,
            urlencode({**kept, "family": family.key, "response": response}),
            (response == "efficiency") == is_ratio,
        )
        for response, name in names.items()
    )


def _system_chip(
    line: Line, family: Family, lines: Sequence[Line], kept: Mapping[str, str]
) -> Chip:
    """A chip that takes the system in, or out again."""
    ids = {str(each.column.system_id) for each in lines}
    own = str(line.column.system_id)
    wanted = [
        it
        for it in (str(each.column.system_id) for each in family.lines)
        if (it in ids) != (it == own)
    ]
    query = {**kept, "family": family.key, "systems": ",".join(wanted)}
    return Chip(line_name(line, family), urlencode(query), own in ids)


def _figure(
    family: Family, lines: Sequence[Line], is_ratio: bool
) -> dict[str, Any] | None:
    curves = [_curve(family, line, is_ratio) for line in lines]
    shown = [mark for curve in curves for mark in curve.marks]
    if not shown:
        return None
    heights = [mark.y for mark in shown]
    is_steep = min(heights) > 0 and max(heights) / min(heights) >= STEEP
    better = str(wording.BETTER.get(family.better, ""))
    is_relative = any(
        it.row.shown.relative is not None for x in lines for it in x.points
    )
    against = _("times the reference") if is_relative else _("times native")
    title = against if is_ratio else f"{family.unit} ({better})"
    return sweep_plot(
        [curve for curve in curves if curve.marks],
        [(level.amount, level_text(level)) for level in family.levels],
        titles=(family.axis.replace("_", " "), title),
        is_log=(scale_of([it.amount for it in family.levels]) != "linear", is_steep),
        line_at=1.0 if is_ratio else None,
    )


def _curve(family: Family, line: Line, is_ratio: bool) -> Curve:
    name = line_name(line, family)
    marks = []
    for point in line.points:
        height = point.row.shown.ratio if is_ratio else point.row.shown.value
        if height is None:
            continue
        low, high = _interval(point, is_ratio)
        text = f"{name}, {level_text(point.level)}: {_text(point, height, is_ratio)}"
        marks.append(Mark(point.level.amount, height, low, high, text))
    at = family.lines.index(line)
    return Curve(name, at, line.column.is_native, marks)


def _interval(point: Point, is_ratio: bool) -> tuple[float | None, float | None]:
    if not is_ratio:
        return point.low, point.high
    judged = point.row.shown.judgement
    return (judged.low, judged.high) if judged else (None, None)


def _text(point: Point, height: float, is_ratio: bool) -> str:
    if is_ratio:
        return figures.ratio(height)
    return wording.quantity(height, point.row.shown.unit)


def _table_row(
    family: Family, line: Line, is_ratio: bool
) -> tuple[str, tuple[TableCell | None, ...]]:
    by_level = {point.level: point for point in line.points}
    found = (_table_cell(by_level.get(level), is_ratio) for level in family.levels)
    return line_name(line, family), tuple(found)


def _table_cell(point: Point | None, is_ratio: bool) -> TableCell | None:
    if point is None:
        return None
    row, ratio = point.row, point.row.shown.ratio
    if row.shown.value is None:
        state, reason = (
            states.state_name(row.shown.full_state),
            wording.said(row.shown.reason),
        )
        return TableCell(row_figure(row.shown, row.shown.unit), state, "", reason)
    if is_ratio and ratio is None:
        return None
    low, high = _interval(point, is_ratio)
    # As many digits as its interval has.
    shown = row.shown.value if low is None else float(f"{row.shown.value:.4g}")
    value = wording.quantity(shown, row.shown.unit)
    return TableCell(
        main=figures.ratio(ratio) if is_ratio and ratio is not None else value,
        sub=_range(low, high, is_ratio) or wording.runs_text(row.shown.n),
        shade=figures.heat(ratio) if ratio is not None else "",
        sentence=verdicts.judgement_sentence(row.shown.judgement),
    )


def _range(low: float | None, high: float | None, is_ratio: bool) -> str:
    if low is None or high is None:
        return ""
    write = figures.ratio if is_ratio else figures.brief
    if not is_ratio:
        low, high = float(f"{low:.4g}"), float(f"{high:.4g}")
    return _("%(low)s to %(high)s") % {"low": write(low), "high": write(high)}
