"""What the sweep page shows for one choice: families, systems, chart and its table."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from benchmarks.comparing.sweeps import (
    Family,
    Parting,
    SweepLine,
    SweepPoint,
    scale_of,
    study_families,
    with_lines,
)
from benchmarks.comparing.table import Fact
from benchmarks.models import Study
from benchmarks.own_tools.lookup import known_tool
from benchmarks.units import Quantity
from benchmarks.viewer import Viewer
from dashboard import wording
from dashboard.charts.bars import curve, sweep_plot
from dashboard.charts.chart import Chart
from dashboard.kit import figures
from dashboard.kit.addresses import STUDY, Chip, ChipRow, unmet
from dashboard.kit.kept import kept_study_page, study_view
from dashboard.kit.routes import UOC, Tab, page
from dashboard.kit.table_cells import row_figure
from dashboard.wording import states, verdicts

PARAMETERS = ("family", "response", "systems")
MOST_LINES = 7
STEEP = 4
"""From this factor between the lowest and the highest on, the axis is logarithmic."""


def sweep_page(
    viewer: Viewer, study: Study, query: Mapping[str, str]
) -> dict[str, Any] | None:
    """Return the page for one choice; None for a study without sweeps."""
    families = study_families(viewer, study)
    # Without a choice, the family that shows most: many systems, then many levels.
    richest = max(
        families, key=lambda it: (it.line_count, len(it.levels)), default=None
    )
    named = (family for family in families if family.key == query.get("family"))
    chosen = next(named, richest)
    if chosen is None:
        return None
    # Only the chosen one is read: a study has dozens of families, with verdicts each.
    (family,) = with_lines(viewer, study, [chosen])
    ids = query.get("systems", "").split(",")
    wanted = [line for line in family.lines if str(line.column.system_id) in ids]
    lines = wanted or family.lines[:MOST_LINES]
    is_ratio = query.get("response") == "efficiency"
    names = _family_names(families)
    name = names[[member.key for member in families].index(family.key)]
    keys = dict(zip(names, (member.key for member in families), strict=True))
    points = [point for line in lines for point in line.points]
    return {
        "title": ", ".join(filter(None, name)),
        "family": family,
        "rows": _choices(keys, name, family, lines, query),
        "sentences": _sentences(family, lines),
        "figure": _figure(family, lines, is_ratio=is_ratio),
        "axis": _axis_name(family),
        "heads": [level_text(level) for level in family.levels],
        "table": [
            (line_name(line, family), _cells(line, family, is_ratio=is_ratio))
            for line in lines
        ],
        "has_intervals": any(
            _interval(point, is_ratio=is_ratio)[0] is not None for point in points
        ),
        "hidden": len(family.lines) - len(lines),
        "unmet": unmet(query, {"family": family.key}),
    }


def _family_names(families: Sequence[Family]) -> list[tuple[str, str]]:
    """Return the title of each family, and what tells it from others of that title."""
    titles = []
    for family in families:
        tool = known_tool(family.tool)
        names = ("access", "operation")
        work = " ".join(
            filter(None, (family.parameters.get(parameter) for parameter in names))
        )
        title = f"{tool.title}: {tool.metric(family.metric).title}"
        words = {
            "family": f"{title}, {work}" if work else title,
            "axis": _axis_name(family),
        }
        titles.append(_("%(family)s over %(axis)s") % words)
    stated = [{**member.parameters, **member.circumstances} for member in families]
    alike: dict[str, list[dict[str, str]]] = defaultdict(list)
    for title, facts in zip(titles, stated, strict=True):
        alike[title].append(facts)
    varying = {
        title: {
            name
            for name in set().union(*same)
            if len({facts.get(name) for facts in same}) > 1
        }
        for title, same in alike.items()
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
    family: Family,
    lines: Sequence[SweepLine],
    query: Mapping[str, str],
) -> list[ChipRow]:
    """Return the choices of the page; ``keys`` are those of all families by name."""
    is_ratio = query.get("response") == "efficiency"
    kept = {name: query[name] for name in PARAMETERS if query.get(name)}
    of_all = {name: text for name, text in kept.items() if name != "systems"}
    own_title, own_facts = name
    # Another benchmark with what is stated now, if it ran so; else the first of it.
    titles = {title: keys[title, more] for title, more in reversed(keys)}
    titles |= {title: keys[title, more] for title, more in keys if more == own_facts}
    others = {more: key for (title, more), key in keys.items() if title == own_title}
    choices = [(_("Benchmark"), titles, own_title)]
    if len(others) > 1:
        choices.append((_("With"), others, own_facts))
    in_order = dict.fromkeys(part for pair in keys for part in pair)
    rows = []
    for label, found, now in choices:
        chips = [
            Chip(part, urlencode({**of_all, "family": found[part]}), part == now)
            for part in in_order
            if part in found
        ]
        rows.append(ChipRow(label, chips))
    kept["family"] = family.key

    responses = {"value": _("Measured value")}
    shown = [point.row.shown for line in family.lines for point in line.points]
    # Once chosen it stays a choice, or no chip would lead back to the values.
    if is_ratio or any(point.ratio is not None for point in shown):
        is_relative = any(point.kind == "relative" for point in shown)
        responses["efficiency"] = (
            _("Relative to the reference") if is_relative else _("Relative performance")
        )
    chips = [
        Chip(
            label,
            urlencode({**kept, "response": response}),
            (response == "efficiency") == is_ratio,
        )
        for response, label in responses.items()
    ]
    if len(chips) > 1:
        rows.append(ChipRow(_("Shown"), chips))

    chosen = {line.column.system_id for line in lines}
    chips = []
    for line in family.lines:
        own = line.column.system_id
        # A chip takes its system in, or out again, in the order of the family.
        ids = (other.column.system_id for other in family.lines)
        wanted = ",".join(str(pk) for pk in ids if (pk in chosen) != (pk == own))
        address = urlencode({**kept, "systems": wanted})
        chips.append(Chip(line_name(line, family), address, own in chosen))
    if len(chips) > 1:
        rows.append(ChipRow(_("Systems"), chips))
    return rows


def _sentences(family: Family, lines: Sequence[SweepLine]) -> tuple[str, ...]:
    """Say where systems part from what they are compared with; most loss first.

    Nothing is said where the verdicts do not carry it.
    """
    parted = [
        (min(_ratios(line)), parting_sentence(family, line, parting))
        for line in lines
        if (parting := line.parting) is not None
    ]
    if parted:
        return tuple(
            text for _least, text in sorted(parted, key=lambda entry: entry[0])
        )
    shown = [point.row.shown for line in lines for point in line.points]
    if all(figure.n == 1 for figure in shown):
        why = _(
            "Single runs: differences between the lines may be noise. Five runs "
            "per level allow a verdict."
        )
    elif all(figure.ratio is None for figure in shown):
        why = _("Nothing was measured that these systems could be compared with.")
    else:
        why = _(
            "Not every level has a verdict, so where the systems diverge cannot "
            "be said."
        )
    return (why,)


def _figure(
    family: Family, lines: Sequence[SweepLine], *, is_ratio: bool
) -> Chart | None:
    curves = []
    for line in lines:
        name, marks = line_name(line, family), []
        for point in line.points:
            shown = point.row.shown
            height = shown.ratio if is_ratio else shown.value
            if height is None:
                continue
            written = (
                figures.ratio(height)
                if is_ratio
                else wording.quantity(height, shown.unit)
            )
            text = f"{name}, {level_text(point.level)}: {written}"
            low, high = _interval(point, is_ratio=is_ratio)
            marks.append((point.level.amount, height, low, high, text))
        if marks:
            # A system keeps its colour, whichever others are drawn.
            colour = family.lines.index(line)
            is_native = line.column.is_native
            curves.append(curve(name, colour, marks, is_native=is_native))
    if not curves:
        return None
    heights = [y for curve in curves for y in curve.y if y is not None]
    # A log axis has no place for 0 and below.
    is_steep = min(heights) > 0 and max(heights) / min(heights) >= STEEP
    title = f"{family.unit} ({wording.BETTER.get(family.better, '')})"
    if is_ratio:
        is_relative = any(map(_is_relative, lines))
        title = _("times the reference") if is_relative else _("times native")
    scale = scale_of([level.amount for level in family.levels])
    return sweep_plot(
        curves,
        [(level.amount, level_text(level)) for level in family.levels],
        titles=(_axis_name(family), title),
        is_log=(scale != "linear", is_steep),
        line_at=1.0 if is_ratio else None,
    )


def _cells(
    line: SweepLine, family: Family, *, is_ratio: bool
) -> list[dict[str, str] | None]:
    points = {point.level: point for point in line.points}
    return [
        _cell(points[level], is_ratio=is_ratio) if level in points else None
        for level in family.levels
    ]


def _cell(point: SweepPoint, *, is_ratio: bool) -> dict[str, str] | None:
    shown = point.row.shown
    if shown.value is None:
        name, reason = states.state_name(shown.full_state), shown.reason
        number = row_figure(shown, shown.unit)
        return {"main": number, "sub": name, "sentence": wording.said(reason)}
    value, ratio = shown.value, shown.ratio
    if is_ratio and ratio is None:
        return None
    low, high = _interval(point, is_ratio=is_ratio)
    within = None
    under = wording.runs_text(shown.n)
    if low is not None and high is not None:
        within = low, high
        write = figures.ratio if is_ratio else figures.brief
        under = wording.span_text(write(low, within), write(high, within))
    return {
        "main": figures.ratio(ratio, within)
        if is_ratio and ratio is not None
        else wording.quantity(value, shown.unit, within=within),
        "sub": under,
        "shade": figures.heat(ratio) if ratio is not None else "",
        "sentence": verdicts.judgement_sentence(shown.judgement),
    }


def _interval(
    point: SweepPoint, *, is_ratio: bool
) -> tuple[float | None, float | None]:
    if not is_ratio:
        return point.low, point.high
    judged = point.row.shown.judgement
    return (judged.low, judged.high) if judged else (None, None)


def level_text(level: Quantity) -> str:
    """Return a level as people write it: ``4 KiB``, ``2,000``, ``0.5 s``."""
    if level.unit == "B" and level.amount.is_integer() and level.amount >= 0:
        return figures.amount_of_memory(int(level.amount))
    return wording.quantity(level.amount, level.unit, whole=True)


def line_name(line: SweepLine, family: Family) -> str:
    """Return what tells a system from the others of its family."""
    column = line.column
    platform = _("Native") if column.is_native else column.platform
    is_shared = len({other.column.platform for other in family.lines}) == 1
    facts = [
        wording.fact_in_brief(Fact(fact.name, fact.value))
        for fact in column.facts
        if fact.value
    ]
    return ", ".join(facts if is_shared and facts else [platform, *facts])


def parting_sentence(family: Family, line: SweepLine, parting: Parting) -> str:
    """Say how far a system keeps up with what it is compared with."""
    points, at, ratios = line.points, parting.at, _ratios(line)
    is_relative = _is_relative(line)
    words = {
        "system": line_name(line, family),
        "other": _("the reference system") if is_relative else _("native"),
        "axis": _axis_name(family),
        # A line that keeps up or is slower throughout has its parting at 0.
        "before": level_text(points[max(at - 1, 0)].level),
        "from": level_text(points[at].level),
        "worst": figures.ratio(min(ratios)),
        "best": figures.ratio(max(ratios)),
        "where": level_text(points[ratios.index(min(ratios))].level),
    }
    templates = {
        "keeps": _("%(system)s is nowhere slower than %(other)s (%(worst)s or more)."),
        "parts": _(
            "%(system)s keeps up with %(other)s up to %(before)s and falls to "
            "%(worst)s at %(where)s."
        ),
        "joins": _(
            "%(system)s falls to %(worst)s of %(other)s at %(where)s and keeps up "
            "from %(from)s on."
        ),
        "slower": _(
            "%(system)s is slower than %(other)s at every %(axis)s: %(worst)s to "
            "%(best)s."
        ),
    }
    return templates[parting.course] % words


def _ratios(line: SweepLine) -> list[float]:
    # Asked only where every level has a deciding verdict, and so a ratio.
    return [point.row.shown.ratio or 0.0 for point in line.points]


def _is_relative(line: SweepLine) -> bool:
    return any(point.row.shown.kind == "relative" for point in line.points)


def _axis_name(family: Family) -> str:
    return family.axis.replace("_", " ")


urlpatterns = [
    page(
        f"{STUDY}sweep/",
        kept_study_page(study_view("sweep/sweep.html", sweep_page)),
        "sweep",
        walked=(f"{UOC}sweep/",),
        ids=("systems={system}",),
        tab=Tab(gettext_lazy("Scaling curves"), 50, needs="has_sweep"),
    ),
]
