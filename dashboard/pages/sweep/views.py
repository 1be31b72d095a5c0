from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from benchmarks.comparison.comparison_table import Fact
from benchmarks.comparison.sweeps import (
    SweepFamily,
    SweepLine,
    SweepPoint,
    VerdictChange,
    load_lines,
    sweep_families,
    sweep_scale,
)
from benchmarks.custom_tools.lookup import require_tool
from benchmarks.models import Study
from benchmarks.units import Quantity
from benchmarks.viewer import Viewer
from dashboard import wording
from dashboard.charts.bars_and_lines import curve_points, sweep_plot
from dashboard.charts.chart import Chart
from dashboard.kit import formatting
from dashboard.kit.chips import Chip, ChipRow
from dashboard.kit.page_cache import cached_study_page, study_view
from dashboard.kit.routes import KVM_STUDY, Tab, page
from dashboard.kit.table_cells import value_text
from dashboard.kit.url_parts import STUDY_PATH, ignored_parameters
from dashboard.wording import state_names, verdicts

QUERY_PARAMETERS = ("family", "response", "systems")
MAX_SWEEP_LINES = 7
LOG_AXIS_FROM = 4
"""Minimum ratio of highest to lowest value for a logarithmic axis."""


def sweep_page(
    viewer: Viewer, study: Study, query: Mapping[str, str]
) -> dict[str, Any] | None:
    families = sweep_families(viewer, study)
    default_family = max(
        families,
        key=lambda family: (family.line_count, len(family.levels)),
        default=None,
    )
    matching = (family for family in families if family.key == query.get("family"))
    chosen = next(matching, default_family)
    if chosen is None:
        return None
    # Load only the chosen family, because a study may have dozens.
    (family,) = load_lines(viewer, study, [chosen])
    ids = query.get("systems", "").split(",")
    chosen_lines = [line for line in family.lines if str(line.column.system_id) in ids]
    lines = chosen_lines or family.lines[:MAX_SWEEP_LINES]
    is_ratio = query.get("response") == "relative_performance"
    names = _family_names(families)
    name = names[[member.key for member in families].index(family.key)]
    keys = dict(zip(names, (member.key for member in families), strict=True))
    points = [point for line in lines for point in line.points]
    return {
        "title": ", ".join(filter(None, name)),
        "family": family,
        "rows": _choices(keys, name, family, lines, query),
        "sentences": _sentences(family, lines),
        "chart": _figure(family, lines, is_ratio=is_ratio),
        "axis": _axis_name(family),
        "heads": [sweep_level_text(level) for level in family.levels],
        "table": [
            (sweep_line_name(line, family), _cells(line, family, is_ratio=is_ratio))
            for line in lines
        ],
        "has_intervals": any(
            _interval(point, is_ratio=is_ratio)[0] is not None for point in points
        ),
        "hidden": len(family.lines) - len(lines),
        "ignored_parameters": ignored_parameters(query, {"family": family.key}),
    }


def _family_names(families: Sequence[SweepFamily]) -> list[tuple[str, str]]:
    """Return (title, facts) of each family; facts distinguish equal titles."""
    titles = []
    for family in families:
        tool = require_tool(family.tool)
        names = ("access", "operation")
        work = " ".join(
            filter(None, (family.parameters.get(parameter) for parameter in names))
        )
        title = f"{tool.title}: {tool.metric(family.metric).title}"
        values = {
            "family": f"{title}, {work}" if work else title,
            "axis": _axis_name(family),
        }
        titles.append(_("%(family)s over %(axis)s") % values)
    stated = [{**member.parameters, **member.circumstances} for member in families]
    facts_by_title: dict[str, list[dict[str, str]]] = defaultdict(list)
    for title, facts in zip(titles, stated, strict=True):
        facts_by_title[title].append(facts)
    varying = {
        title: {
            name
            for name in set().union(*same)
            if len({facts.get(name) for facts in same}) > 1
        }
        for title, same in facts_by_title.items()
    }
    return [
        (
            title,
            ", ".join(
                wording.fact_text(Fact(*fact))
                for fact in facts.items()
                if fact[0] in varying[title]
            ),
        )
        for title, facts in zip(titles, stated, strict=True)
    ]


def _choices(
    keys: dict[tuple[str, str], str],
    name: tuple[str, str],
    family: SweepFamily,
    lines: Sequence[SweepLine],
    query: Mapping[str, str],
) -> list[ChipRow]:
    """Return links to other benchmarks, conditions, quantities and systems."""
    is_ratio = query.get("response") == "relative_performance"
    parameters = {name: query[name] for name in QUERY_PARAMETERS if query.get(name)}
    without_systems = {
        name: text for name, text in parameters.items() if name != "systems"
    }
    own_title, own_facts = name
    # Link to another benchmark's family with the current facts, else to its first one.
    titles = {title: keys[title, more] for title, more in reversed(keys)}
    titles |= {title: keys[title, more] for title, more in keys if more == own_facts}
    other_facts = {
        more: key for (title, more), key in keys.items() if title == own_title
    }
    choices = [(_("Benchmark"), titles, own_title)]
    if len(other_facts) > 1:
        choices.append((_("Conditions"), other_facts, own_facts))
    in_order = dict.fromkeys(part for pair in keys for part in pair)
    rows = []
    for label, family_keys, current in choices:
        chips = [
            Chip(
                part,
                urlencode({**without_systems, "family": family_keys[part]}),
                part == current,
            )
            for part in in_order
            if part in family_keys
        ]
        rows.append(ChipRow(label, chips))
    parameters["family"] = family.key

    responses = {"value": _("Measured value")}
    results = [point.row.result for line in family.lines for point in line.points]
    # The active choice is always shown, so that users can revert it.
    if is_ratio or any(point.ratio is not None for point in results):
        is_relative = any(point.ratio_kind == "relative" for point in results)
        responses["relative_performance"] = (
            _("Relative to the reference system")
            if is_relative
            else _("Relative performance")
        )
    chips = [
        Chip(
            label,
            urlencode({**parameters, "response": response}),
            (response == "relative_performance") == is_ratio,
        )
        for response, label in responses.items()
    ]
    if len(chips) > 1:
        rows.append(ChipRow(_("Quantity"), chips))

    chosen = {line.column.system_id for line in lines}
    chips = []
    for line in family.lines:
        system_id = line.column.system_id
        ids = (member.column.system_id for member in family.lines)
        system_ids = ",".join(
            str(pk) for pk in ids if (pk in chosen) != (pk == system_id)
        )
        address = urlencode({**parameters, "systems": system_ids})
        chips.append(Chip(sweep_line_name(line, family), address, system_id in chosen))
    if len(chips) > 1:
        rows.append(ChipRow(_("Systems"), chips))
    return rows


def _sentences(family: SweepFamily, lines: Sequence[SweepLine]) -> tuple[str, ...]:
    """Return where systems become slower, the largest loss first, or why unknown."""
    ranked = [
        (min(_ratios(line)), divergence_sentence(family, line, change))
        for line in lines
        if (change := line.verdict_change) is not None
    ]
    if ranked:
        return tuple(
            text for _least, text in sorted(ranked, key=lambda entry: entry[0])
        )
    results = [point.row.result for line in lines for point in line.points]
    if all(figure.n == 1 for figure in results):
        why = _(
            "All results are single runs: differences between the lines may be "
            "noise. A verdict needs 5 runs per level."
        )
    elif all(figure.ratio is None for figure in results):
        why = _("No results to compare these systems with.")
    else:
        why = _(
            "Not every level has a verdict, so the point at which the systems "
            "diverge is unknown."
        )
    return (why,)


def _figure(
    family: SweepFamily, lines: Sequence[SweepLine], *, is_ratio: bool
) -> Chart | None:
    curves = []
    for line in lines:
        name, points_with_text = sweep_line_name(line, family), []
        for point in line.points:
            result = point.row.result
            height = result.ratio if is_ratio else result.value
            if height is None:
                continue
            height_text = (
                formatting.ratio(height)
                if is_ratio
                else wording.quantity(height, result.unit)
            )
            text = f"{name}, {sweep_level_text(point.level)}: {height_text}"
            low, high = _interval(point, is_ratio=is_ratio)
            points_with_text.append((point.level.amount, height, low, high, text))
        if points_with_text:
            # A system has the same color, whichever systems are shown.
            color = family.lines.index(line)
            is_native = line.column.is_native
            curves.append(
                curve_points(name, color, points_with_text, is_native=is_native)
            )
    if not curves:
        return None
    heights = [y for curve in curves for y in curve.y if y is not None]
    # A log axis cannot show 0 or negative values.
    is_steep = min(heights) > 0 and max(heights) / min(heights) >= LOG_AXIS_FROM
    unit = formatting.UNIT_NAMES.get(family.unit, family.unit)
    title = f"{unit} ({wording.DIRECTION_NAMES.get(family.better, '')})"
    if is_ratio:
        is_relative = any(map(_is_relative, lines))
        title = (
            _("relative to the reference system")
            if is_relative
            else _("relative to native")
        )
    scale = sweep_scale([level.amount for level in family.levels])
    return sweep_plot(
        curves,
        [(level.amount, sweep_level_text(level)) for level in family.levels],
        titles=(_axis_name(family), title),
        is_log=(scale != "linear", is_steep),
        line_at=1.0 if is_ratio else None,
    )


def _cells(
    line: SweepLine, family: SweepFamily, *, is_ratio: bool
) -> list[dict[str, str] | None]:
    points = {point.level: point for point in line.points}
    return [
        _cell(points[level], is_ratio=is_ratio) if level in points else None
        for level in family.levels
    ]


def _cell(point: SweepPoint, *, is_ratio: bool) -> dict[str, str] | None:
    result = point.row.result
    if result.value is None:
        name, reason = state_names.state_name(result.display_state), result.reason
        number = value_text(result, result.unit)
        return {"main": number, "sub": name, "sentence": wording.translate_text(reason)}
    value, ratio = result.value, result.ratio
    if is_ratio and ratio is None:
        return None
    low, high = _interval(point, is_ratio=is_ratio)
    within = None
    subtext = wording.runs_text(result.n)
    if low is not None and high is not None:
        within = low, high
        write = formatting.ratio if is_ratio else formatting.measurement
        subtext = wording.range_text(write(low, within), write(high, within))
    return {
        "main": formatting.ratio(ratio, within)
        if is_ratio and ratio is not None
        else wording.quantity(value, result.unit, interval=within),
        "sub": subtext,
        "shade": formatting.ratio_shade(ratio) if ratio is not None else "",
        "sentence": verdicts.assessment_sentence(result.assessment),
    }


def _interval(
    point: SweepPoint, *, is_ratio: bool
) -> tuple[float | None, float | None]:
    if not is_ratio:
        return point.low, point.high
    assessment = point.row.result.assessment
    return (assessment.low, assessment.high) if assessment else (None, None)


def sweep_level_text(level: Quantity) -> str:
    """Return a level as text: ``4 KiB``, ``2,000``, ``0.5 s``."""
    if level.unit == "B" and level.amount.is_integer() and level.amount >= 0:
        return formatting.memory_size(int(level.amount))
    return wording.quantity(level.amount, level.unit, exact=True)


def sweep_line_name(line: SweepLine, family: SweepFamily) -> str:
    column = line.column
    platform = _("Native") if column.is_native else column.platform
    is_shared = len({member.column.platform for member in family.lines}) == 1
    facts = [
        wording.short_fact_text(Fact(fact.name, fact.value))
        for fact in column.facts
        if fact.value
    ]
    return ", ".join(facts if is_shared and facts else [platform, *facts])


def divergence_sentence(
    family: SweepFamily, line: SweepLine, change: VerdictChange
) -> str:
    points, index, ratios = line.points, change.level_index, _ratios(line)
    is_relative = _is_relative(line)
    values = {
        "system": sweep_line_name(line, family),
        "reference": _("the reference system") if is_relative else _("native"),
        "speed": _("the reference system's speed")
        if is_relative
        else _("native speed"),
        "axis": _axis_name(family),
        # Lines that are never slower, or always slower, have level index 0.
        "before": sweep_level_text(points[max(index - 1, 0)].level),
        "from": sweep_level_text(points[index].level),
        "worst": formatting.ratio_percent(min(ratios)),
        "best": formatting.ratio_percent(max(ratios)),
        "where": sweep_level_text(points[ratios.index(min(ratios))].level),
    }
    templates = {
        "never_slower": _(
            "%(system)s is not slower than %(reference)s at any %(axis)s (at least "
            "%(worst)s of %(speed)s)."
        ),
        "slower_from": _(
            "%(system)s keeps up with %(reference)s up to %(before)s and drops to "
            "%(worst)s of %(speed)s at %(where)s."
        ),
        "slower_until": _(
            "%(system)s drops to %(worst)s of %(speed)s at %(where)s and keeps up "
            "with %(reference)s from %(from)s on."
        ),
        "always_slower": _(
            "%(system)s is slower than %(reference)s at every %(axis)s (%(worst)s to "
            "%(best)s of %(speed)s)."
        ),
    }
    return templates[change.pattern] % values


def _ratios(line: SweepLine) -> list[float]:
    # Lines with a verdict change have a verdict, and so a ratio, at every level.
    return [point.row.result.ratio or 0.0 for point in line.points]


def _is_relative(line: SweepLine) -> bool:
    return any(point.row.result.ratio_kind == "relative" for point in line.points)


def _axis_name(family: SweepFamily) -> str:
    name = family.axis.replace("_", " ")
    is_count = name.endswith("s") and not any(level.unit for level in family.levels)
    return _("number of %(things)s") % {"things": name} if is_count else name


urlpatterns = [
    page(
        f"{STUDY_PATH}sweep/",
        cached_study_page(study_view("sweep/sweep.html", sweep_page)),
        "sweep",
        example_urls=(f"{KVM_STUDY}sweep/",),
        id_queries=("systems={system}",),
        tab=Tab(gettext_lazy("Scaling curves"), 50, required_attribute="has_sweep"),
    ),
]
