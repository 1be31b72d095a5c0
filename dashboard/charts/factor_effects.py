"""The parts of an analysis as the factor effects page shows them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from math import exp, isclose, log10
from textwrap import wrap
from typing import Any, Final

from django.utils.translation import gettext as _

from benchmarks.analysis.factor_effects.design import Factor
from benchmarks.analysis.factor_effects.effects import (
    Effect,
    FactorEffects,
    Means,
    Point,
)
from benchmarks.comparing.factor_effects import Analysis, Response
from dashboard.charts.effect_bars import Bar, scale_of
from dashboard.charts.figures import SERIES, SYMBOLS, WHOLE, plain
from dashboard.wording.factor_effects import (
    STRENGTHS,
    change,
    factor_name,
    how_chance_was_measured,
    level_name,
    notes,
    setting,
    term_name,
    times,
)

MOST_CELLS = 128


@dataclass(frozen=True)
class EffectRow:
    """A line of the effects' table."""

    name: str
    change: str
    factor: str
    bounds: str
    strength: str
    strength_name: str
    bar: Bar


@dataclass(frozen=True)
class Picture:
    """What a factor does at the levels of those that change it: table and chart.

    A row of the table is where the others stand, the mean at each level of the factor
    and what the change from the first level to the last does.
    """

    title: str
    heads: tuple[str, ...]
    change: str
    rows: tuple[tuple[str, tuple[float | None, ...], str], ...]
    figure: dict[str, Any]


@dataclass(frozen=True)
class HalfNormal:
    """The half-normal plot and its table: name, factor, whether beyond the margins.

    ``note`` says what is drawn elsewhere than at its factor.
    """

    figure: dict[str, Any]
    rows: tuple[tuple[str, str, str], ...]
    note: str


@dataclass(frozen=True)
class Design:
    """Which combinations of levels exist, and how many systems have each.

    Without rows where they are too many to be looked at.
    """

    row_names: tuple[str, ...]
    column_names: tuple[str, ...]
    heads: tuple[tuple[str, ...], ...]
    rows: tuple[tuple[tuple[str, ...], tuple[int, ...]], ...]
    cells: int
    possible: int


@dataclass(frozen=True)
class Detail:
    """All about one response."""

    effects: tuple[EffectRow, ...]
    ends: tuple[str, str]
    chance: str
    notes: tuple[str, ...]
    pictures: tuple[Picture, ...]
    half_normal: HalfNormal | None
    design: Design | None
    has_margins: bool
    has_interactions: bool


def detail(analysis: Analysis, response: Response) -> Detail:
    """Return the parts of an analysis."""
    found = analysis.found
    scale = scale_of(found.effects)
    return Detail(
        effects=tuple(_row(each, scale.bar(each)) for each in found.effects),
        ends=(times(1 / scale.limit), times(scale.limit)),
        chance=how_chance_was_measured(found) if found.effects else "",
        notes=tuple(notes(analysis)),
        pictures=tuple(_picture(each, response) for each in analysis.pictures),
        half_normal=_half_normal(found),
        design=_design(found),
        has_margins=any(each.margin is not None for each in found.effects),
        has_interactions=any(len(each.term) > 1 for each in found.effects),
    )


def _row(effect: Effect, bar: Bar) -> EffectRow:
    return EffectRow(
        name=term_name(effect.term),
        change=change(effect),
        factor=times(effect.factor),
        bounds=_bounds(effect),
        strength=effect.strength,
        strength_name=str(STRENGTHS[effect.strength]),
        bar=bar,
    )


def _bounds(effect: Effect) -> str:
    if effect.interval is None:
        return ""
    low, high = map(times, effect.interval)
    return _("%(low)s to %(high)s") % {"low": low, "high": high}


def _picture(means: Means, response: Response) -> Picture:
    places = [setting(means.other, level) for level in means.other.levels]
    names = [level_name(means.one, level) for level in means.one.levels]
    title = _("%(factor)s depends on %(others)s") % {
        "factor": factor_name(means.one),
        "others": factor_name(means.other).replace(" + ", ", "),
    }
    changes = [times(each) if each else "" for each in means.factors]
    lines = [Line(*pair) for pair in zip(names, means.rows, strict=True)]
    axis = {"efficiency": _("Efficiency"), "value": _("Measured value")}[response]
    return Picture(
        title=title,
        heads=tuple(names),
        change=_("Factor") if len(names) == 2 else f"{names[0]} → {names[-1]}",
        rows=tuple(zip(places, zip(*means.rows, strict=True), changes, strict=True)),
        figure=line_plot(
            places,
            lines,
            axis_title=axis,
            line_at=1.0 if response == "efficiency" else None,
        ),
    )


def _half_normal(found: FactorEffects) -> HalfNormal | None:
    if found.lenth is None:
        return None
    me, sme = found.lenth.me, found.lenth.sme
    contrasts = [
        Contrast(
            _point_name(point),
            exp(point.size),
            point.quantile,
            point.size > me,
            _point_text(point),
        )
        for point in found.points
    ]
    rows = (
        (name.name, times(exp(point.log_effect)), _beyond(point, me, sme))
        for name, point in zip(contrasts, found.points, strict=True)
    )
    figure = half_normal_plot(
        contrasts,
        chance=exp(found.lenth.pse),
        margins=(exp(me), exp(sme)),
        axis_title=_("Size of the effect as a factor (log scale)"),
        other_title=_("Where chance would put it"),
    )
    is_shrunk = any(map(_is_shrunk, found.points))
    return HalfNormal(figure, tuple(rows), _shrunk_note() if is_shrunk else "")


def _is_shrunk(point: Point) -> bool:
    return not isclose(abs(point.log_effect), point.size, rel_tol=1e-6)


def _point_text(point: Point) -> str:
    said = f"{_point_name(point)}: {times(exp(point.log_effect))}"
    if not _is_shrunk(point):
        return said
    return _("%(contrast)s, drawn at %(size)s") % {
        "contrast": said,
        "size": times(exp(point.size)),
    }


def _shrunk_note() -> str:
    return _(
        "Contrasts between levels that are set against different native runs are drawn "
        "smaller than they are, in the scale of the others: an error of one native run "
        "would look like them. The table has their factors."
    )


def _beyond(point: Point, me: float, sme: float) -> str:
    strength = "clear" if point.size > sme else "possible" if point.size > me else ""
    return str(STRENGTHS[strength or "none"])


def _point_name(point: Point) -> str:
    return " = ".join(term_name(term) for term in point.terms)


def _design(found: FactorEffects) -> Design | None:
    """Fold the factors into a table: the first half down, the second half across."""
    if not found.factors:
        return None
    half = len(found.factors) // 2
    across, down = found.factors[half:], found.factors[:half]
    counts = {each.levels: each.count for each in found.combinations}
    rows = list(_existing(down, {levels[:half] for levels in counts}))
    heads = list(_existing(across, {levels[half:] for levels in counts}))
    possible = 1
    for factor in found.factors:
        possible *= len(factor.levels)
    if len(rows) * len(heads) > MOST_CELLS:
        rows = []
    return Design(
        row_names=tuple(map(factor_name, down)),
        column_names=tuple(map(factor_name, across)),
        heads=tuple(_named(across, levels) for levels in heads),
        rows=tuple(
            (_named(down, row), tuple(counts.get((*row, *head), 0) for head in heads))
            for row in rows
        ),
        cells=found.cells,
        possible=possible,
    )


def _existing(
    factors: Sequence[Factor], seen: set[tuple[str, ...]]
) -> Iterator[tuple[str, ...]]:
    every = product(*((*factor.levels, "") for factor in factors))
    return (levels for levels in every if levels in seen)


def _named(factors: Sequence[Factor], levels: Sequence[str]) -> tuple[str, ...]:
    return tuple(map(level_name, factors, levels))


HEIGHT_PX: Final = 360
ROOM: Final = 0.06
LEAST_ROOM: Final = 0.005  # as a power of ten
TICK_LETTERS: Final = {1: 24, 2: 18, 3: 12}
FEWEST_TICK_LETTERS: Final = 8


@dataclass(frozen=True)
class Line:
    """The means of one level, one for each place of the axis (None: no system)."""

    name: str
    means: Sequence[float | None]


@dataclass(frozen=True)
class Contrast:
    """A contrast: its size as a factor (1 = none), where chance would put it.

    ``told`` is what hovering says of it.
    """

    name: str
    factor: float
    quantile: float
    is_named: bool
    told: str


def line_plot(
    places: Sequence[str],
    lines: Sequence[Line],
    *,
    axis_title: str,
    line_at: float | None = None,
) -> dict[str, Any]:
    """Return means on a log axis; lines that are not parallel interact.

    ``line_at`` is drawn across and always in sight (1: native speed).
    """
    means = [mean for line in lines for mean in line.means if mean is not None]
    return {
        "data": [_line(at, line) for at, line in enumerate(lines)],
        "layout": {
            "height": HEIGHT_PX,
            "hovermode": "closest",
            "xaxis": {
                "title": {"text": ""},
                "tickvals": list(range(len(places))),
                "ticktext": [_on_lines(place, len(places)) for place in places],
                "tickangle": 0,
                "automargin": True,
                "range": [-0.4, len(places) - 0.6],
                "fixedrange": True,
            },
            "yaxis": {
                "type": "log",
                "title": {"text": plain(axis_title)},
                "tickformat": WHOLE,
                "automargin": True,
                "showgrid": True,
                "fixedrange": True,
                **({} if line_at is None else {"range": _range([*means, line_at])}),
            },
            "legend": {"orientation": "h", "x": 0, "y": 1, "yanchor": "bottom"},
            "shapes": [] if line_at is None else [_across(line_at, len(places))],
        },
    }


def half_normal_plot(
    contrasts: Sequence[Contrast],
    *,
    chance: float,
    margins: Sequence[float],
    axis_title: str,
    other_title: str,
) -> dict[str, Any]:
    """Return contrasts against the sizes that chance alone would give them.

    ``chance`` is the factor of one standard error: chance alone lies on the line
    through 1 and it. ``margins`` are factors, drawn as vertical lines.
    """
    named = [
        _points([each for each in contrasts if each.is_named == is_named], is_named)
        for is_named in (False, True)
    ]
    return {
        "data": [
            _chance_line(chance, max(it.quantile for it in contrasts)),
            *(trace for trace in named if trace["x"]),
        ],
        "layout": {
            "height": HEIGHT_PX,
            "hovermode": "closest",
            "showlegend": False,
            "xaxis": {
                "type": "log",
                "title": {"text": plain(axis_title)},
                "fixedrange": True,
            },
            "yaxis": {
                "title": {"text": plain(other_title)},
                "automargin": True,
                "showgrid": True,
                "fixedrange": True,
            },
            "shapes": [_margin(factor) for factor in margins],
        },
    }


def _on_lines(place: str, count: int) -> str:
    """Break a place's name into lines that fit between its neighbours on a phone."""
    letters = TICK_LETTERS.get(count, FEWEST_TICK_LETTERS)
    lines = (
        line
        for part in place.split(", ")
        for line in wrap(part, letters, break_long_words=False)
    )
    return "<br>".join(map(plain, lines))


def _line(at: int, line: Line) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "lines+markers",
        "name": plain(line.name),
        "x": list(range(len(line.means))),
        "y": list(line.means),
        "text": [plain(line.name)] * len(line.means),
        "hovertemplate": "%{text}: %{y:.3g}<extra></extra>",
        "marker": {"symbol": SYMBOLS[at % len(SYMBOLS)], "size": 9},
        "line": {"width": 2},
        "meta": {"series": at % SERIES + 1},
    }


def _points(contrasts: Sequence[Contrast], is_named: bool) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "markers+text" if is_named else "markers",
        "name": "",
        "x": [each.factor for each in contrasts],
        "y": [each.quantile for each in contrasts],
        "text": [plain(each.name) for each in contrasts],
        "textposition": "middle left",
        "customdata": [plain(each.told) for each in contrasts],
        "hovertemplate": "%{customdata}<extra></extra>",
        "marker": {"symbol": "circle" if is_named else "circle-open", "size": 9},
        "meta": {"series": 1 if is_named else 7},
    }


def _chance_line(factor: float, highest: float) -> dict[str, Any]:
    """Return where points lie that chance alone made; straight on the log axis."""
    return {
        "type": "scatter",
        "mode": "lines",
        "name": "",
        "x": [1.0, factor**highest],
        "y": [0.0, highest],
        "hoverinfo": "skip",
        "line": {"width": 1.5, "dash": "dash"},
        "marker": {"size": 1},
        "meta": {"series": SERIES},
    }


def _across(height: float, places: int) -> dict[str, Any]:
    ends = {"x0": -0.4, "x1": places - 0.6, "y0": height, "y1": height}
    return {"type": "line", "name": "native", "layer": "between", **ends}


def _range(values: Sequence[float]) -> list[float]:
    """Return the ends of a log axis that holds values, with room for their marks."""
    low, high = log10(min(values)), log10(max(values))
    room = max((high - low) * ROOM, LEAST_ROOM)
    return [low - room, high + room]


def _margin(factor: float) -> dict[str, Any]:
    ends = {"x0": factor, "x1": factor, "y0": 0, "y1": 1, "yref": "paper"}
    return {"type": "line", "name": "margin", "layer": "below", **ends}
