from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from math import exp, isclose, log, prod
from textwrap import wrap
from typing import Any, Final

from django.utils.translation import gettext as _

from benchmarks.analysis.factor_effects.effects import (
    FactorAnalysis,
    FactorEffect,
    InteractionMeans,
)
from benchmarks.analysis.factor_effects.factors_and_responses import Factor
from benchmarks.comparison.study_factor_effects import Response, ResponseAnalysis
from dashboard.charts.chart import (
    AXES_HEIGHT_PX,
    PANEL_HEIGHT_PX,
    SERIES_COLORS,
    VERTICAL_STROKE,
    Bars,
    Chart,
    ChartAxis,
    HoverValue,
    LineStyle,
    Panel,
    Points,
    ReferenceLine,
    row_axis,
    row_height_px,
    series_color,
    series_symbol,
)
from dashboard.wording import range_text
from dashboard.wording.factor_effects import (
    EFFECT_STRENGTHS,
    analysis_notes,
    chance_method,
    factor_name,
    level_change,
    level_name,
    multiplier_text,
    named_level,
    term_name,
)

AXIS_LIMITS: Final = (1.02, 1.05, 1.1, 1.25, 1.5, 2, 3, 5, 10, 20, 50, 100)
MAX_DESIGN_CELLS: Final = 128
AXIS_MARGIN: Final = 0.06
MIN_AXIS_MARGIN: Final = 0.005  # exponent of 10
TICK_CHARACTERS: Final = {1: 24, 2: 18, 3: 12}
MIN_TICK_CHARACTERS: Final = 8
MUTED_COLOR: Final = series_color(SERIES_COLORS - 1)
ROW_PX: Final = 33
LABEL_ROOM_FACTOR: Final = 1.3
"""Length of the log axis relative to its limit."""

ResponseDetail = dict[str, Any]
HalfNormalPoint = tuple[str, float, float, bool, str]
"""Name, size as a factor, quantile, whether it is labeled, and hover text."""


def response_detail(analysis: ResponseAnalysis, response: Response) -> ResponseDetail:
    effects = analysis.effects.effects
    limit = effect_limit(effects)
    return {
        "effects": [_effect_row(effect, limit) for effect in effects],
        "ends": (multiplier_text(1 / limit), multiplier_text(limit)),
        "chance": chance_method(analysis.effects) if effects else "",
        "notes": tuple(analysis_notes(analysis)),
        "pictures": [
            _interaction_table(means, response) for means in analysis.interaction_means
        ],
        "half_normal": _half_normal(analysis.effects),
        "design": _design(analysis.effects),
        "has_margins": any(effect.margin is not None for effect in effects),
        "has_interactions": any(len(effect.term) > 1 for effect in effects),
    }


def effect_limit(effects: Sequence[FactorEffect]) -> float:
    """Return the end of the shortest axis with all effects and their whiskers."""
    farthest = exp(
        max(
            (
                abs(effect.log_effect) + (effect.wide_margin or effect.margin or 0.0)
                for effect in effects
            ),
            default=0.0,
        )
    )
    return next((limit for limit in AXIS_LIMITS if limit >= farthest), AXIS_LIMITS[-1])


def effect_bar(effect: FactorEffect, limit: float) -> dict[str, Any]:
    """Return the CSS positions of an effect's bar and whiskers on a log axis."""

    def position(log_effect: float) -> float:
        return 50 + 50 * min(max(log_effect / log(limit), -1.0), 1.0)

    def whisker(margin: float | None) -> tuple[str, str] | None:
        if margin is None:
            return None
        low, high = effect.log_effect - margin, effect.log_effect + margin
        return f"{position(low):.2f}%", f"{position(high):.2f}%"

    low, high = sorted((position(0.0), position(effect.log_effect)))
    return {
        "side": "above" if effect.log_effect > 0 else "below",
        "bar": (f"{low:.2f}%", f"{high - low:.2f}%"),
        "whisker": whisker(effect.margin),
        "wide_whisker": whisker(effect.wide_margin),
    }


def _effect_row(effect: FactorEffect, limit: float) -> dict[str, Any]:
    bounds = ""
    if effect.interval is not None:
        bounds = range_text(*map(multiplier_text, effect.interval))
    return {
        "effect": effect,
        "name": term_name(effect.term),
        "change": level_change(effect),
        "factor": multiplier_text(effect.ratio),
        "bounds": bounds,
        "strength": effect.strength,
        "strength_name": str(EFFECT_STRENGTHS[effect.strength]),
        "bar": effect_bar(effect, limit),
    }


def _interaction_table(means: InteractionMeans, response: Response) -> dict[str, Any]:
    # Transposed: the columns are the levels of the row factor.
    row_labels = [
        named_level(means.column_factor, level) for level in means.column_factor.levels
    ]
    level_names = [
        level_name(means.row_factor, level) for level in means.row_factor.levels
    ]
    changes = [multiplier_text(factor) if factor else "" for factor in means.ratios]
    titles = {
        "relative_performance": _("Relative performance"),
        "value": _("Measured value"),
    }
    return {
        "title": _("%(factor)s depends on %(others)s")
        % {
            "factor": factor_name(means.row_factor),
            "others": factor_name(means.column_factor).replace(" + ", ", "),
        },
        "heads": level_names,
        "change": _("Factor")
        if len(level_names) == 2
        else f"{level_names[0]} → {level_names[-1]}",
        "rows": list(
            zip(row_labels, zip(*means.rows, strict=True), changes, strict=True)
        ),
        "chart": interaction_plot(
            row_labels,
            list(zip(level_names, means.rows, strict=True)),
            axis_title=titles[response],
            line_at=1.0 if response == "relative_performance" else None,
        ),
    }


def _half_normal(effects: FactorAnalysis) -> dict[str, Any] | None:
    if effects.lenth is None:
        return None
    me, sme = effects.lenth.me, effects.lenth.sme
    contrasts: list[HalfNormalPoint] = []
    rows, is_any_shrunk = [], False
    for point in effects.points:
        name = " = ".join(term_name(term) for term in point.terms)
        factor = multiplier_text(exp(point.log_effect))
        text = f"{name}: {factor}"
        if not isclose(abs(point.log_effect), point.size, rel_tol=1e-6):
            is_any_shrunk = True
            values = {"contrast": text, "size": multiplier_text(exp(point.size))}
            text = _("%(contrast)s, plotted at %(size)s") % values
        is_named = point.size > me
        contrasts.append((name, exp(point.size), point.quantile, is_named, text))
        strength = "clear" if point.size > sme else "possible" if is_named else "none"
        rows.append((name, factor, str(EFFECT_STRENGTHS[strength])))
    note = _(
        "Contrasts between levels that have different native runs are plotted "
        "smaller than they are, on the scale of the other contrasts, because an "
        "error in one native run would look like such a contrast. The table lists "
        "their actual factors."
    )
    chart = half_normal_plot(
        contrasts,
        chance=exp(effects.lenth.pse),
        margins=(exp(me), exp(sme)),
        axis_title=_("Effect size as a factor (log scale)"),
        other_title=_("Expected by chance"),
    )
    return {"chart": chart, "rows": rows, "note": note if is_any_shrunk else ""}


def _design(effects: FactorAnalysis) -> dict[str, Any] | None:
    """Return the table of the design: half of the factors in rows, half in columns.

    ``rows`` is empty if the table would have more than `MAX_DESIGN_CELLS` cells.
    """
    if not effects.factors:
        return None
    half = len(effects.factors) // 2
    column_factors, row_factors = effects.factors[half:], effects.factors[:half]
    counts = {
        combination.levels: combination.count for combination in effects.combinations
    }
    rows = list(_occurring_levels(row_factors, {levels[:half] for levels in counts}))
    columns = list(
        _occurring_levels(column_factors, {levels[half:] for levels in counts})
    )
    if len(rows) * len(columns) > MAX_DESIGN_CELLS:
        rows = []
    level_names = [tuple(map(level_name, column_factors, levels)) for levels in columns]
    return {
        "row_names": tuple(map(factor_name, row_factors)),
        "heads": [
            (factor_name(factor), [levels[index] for levels in level_names])
            for index, factor in enumerate(column_factors)
        ],
        "rows": [
            (
                tuple(map(level_name, row_factors, row)),
                [counts.get((*row, *column), 0) for column in columns],
            )
            for row in rows
        ],
        "cells": effects.cell_count,
        "possible": prod(len(factor.levels) for factor in effects.factors),
    }


def _occurring_levels(
    factors: Sequence[Factor], occurring: set[tuple[str, ...]]
) -> Iterator[tuple[str, ...]]:
    combinations = product(*((*factor.levels, "") for factor in factors))
    return (levels for levels in combinations if levels in occurring)


def effect_ranking_chart(
    rows: Sequence[Mapping[str, Any]], limit: float, ends: tuple[str, str]
) -> Chart:
    """Return the effects as bars from 1; outlined bars are not clear.

    ``ends`` are the labels of the axis at 1 / ``limit`` and ``limit``.
    """
    effects: list[FactorEffect] = [row["effect"] for row in rows]

    def on_axis(log_effect: float) -> float:
        return min(max(exp(log_effect), 1 / limit), limit)

    bar_ends = [on_axis(effect.log_effect) for effect in effects]
    bars, labels, whiskers = [], [], []
    for is_clear in (True, False):
        positions = [
            position
            for position, effect in enumerate(effects)
            if (effect.strength == "clear") == is_clear
        ]
        if positions:
            bars.append(
                Bars(
                    name="",
                    positions=positions,
                    values=[bar_ends[position] for position in positions],
                    color=series_color(0),
                    is_hollow=not is_clear,
                    base=1,
                )
            )
    for is_right in (False, True):
        positions = [
            position for position, x in enumerate(bar_ends) if (x > 1) == is_right
        ]
        if positions:
            labels.append(
                Points(
                    x=[bar_ends[position] for position in positions],
                    y=positions,
                    names=[rows[position]["factor"] for position in positions],
                    label_side="right" if is_right else "left",
                )
            )
    for margins, width in (
        ([effect.wide_margin for effect in effects], 1.0),
        ([effect.margin for effect in effects], 2.5),
    ):
        intervals = {
            position: (effect.log_effect - margin, effect.log_effect + margin)
            for position, (effect, margin) in enumerate(
                zip(effects, margins, strict=True)
            )
            if margin is not None
        }
        if intervals:
            whiskers.append(
                Points(
                    x=[bar_ends[position] for position in intervals],
                    y=list(intervals),
                    low=[on_axis(low) for low, _high in intervals.values()],
                    high=[on_axis(high) for _low, high in intervals.values()],
                    interval_axis="x",
                    interval_width=width,
                    symbol=VERTICAL_STROKE,
                    size=1,
                )
            )
    end = limit**LABEL_ROOM_FACTOR
    panel = Panel(
        x=ChartAxis(
            scale="log",
            limits=(1 / end, end),
            ticks=((1 / limit, ends[0]), (1, "1"), (limit, ends[1])),
        ),
        y=row_axis([f"{row['name']}\n{row['change']}" for row in rows]),
        series=(*bars, *whiskers, *labels),
        reference_lines=(
            ReferenceLine(
                value=1, axis="x", stroke=LineStyle(width=1.5), is_above=True
            ),
        ),
    )
    height = AXES_HEIGHT_PX + row_height_px(panel.y, ROW_PX) * len(rows)
    return Chart(panels=(panel,), height=height, bars="stack")


def interaction_plot(
    positions: Sequence[str],
    lines: Sequence[tuple[str, Sequence[float | None]]],
    *,
    axis_title: str,
    line_at: float | None = None,
) -> Chart:
    count = len(positions)
    ends = (-0.4, count - 0.6)
    upwards_ends = None
    reference_lines = []
    if line_at is not None:
        means = [mean for _name, line in lines for mean in line if mean is not None]
        low, high = min([*means, line_at]), max([*means, line_at])
        margin = max((high / low) ** AXIS_MARGIN, 10**MIN_AXIS_MARGIN)
        upwards_ends = (low / margin, high * margin)
        reference_lines.append(
            ReferenceLine(value=line_at, axis="y", ends=ends, is_above=True)
        )
    max_characters = TICK_CHARACTERS.get(count, MIN_TICK_CHARACTERS)
    names = [
        "\n".join(
            line
            for part in position.split(", ")
            for line in wrap(part, max_characters, break_long_words=False)
        )
        for position in positions
    ]
    panel = Panel(
        x=ChartAxis(scale="category", limits=ends, ticks=tuple(enumerate(names))),
        y=ChartAxis(
            title=axis_title,
            scale="log",
            limits=upwards_ends,
            has_full_tick_labels=True,
        ),
        series=tuple(
            Points(
                name=name,
                x=range(len(line)),
                y=line,
                color=series_color(index),
                symbol=series_symbol(index),
                line=LineStyle(),
                hover_texts=[name] * len(line),
                hover_value=HoverValue("y", ".3g"),
            )
            for index, (name, line) in enumerate(lines)
        ),
        reference_lines=tuple(reference_lines),
    )
    return Chart(panels=(panel,), height=PANEL_HEIGHT_PX, legend="above")


def half_normal_plot(
    contrasts: Sequence[HalfNormalPoint],
    *,
    chance: float,
    margins: Sequence[float],
    axis_title: str,
    other_title: str,
) -> Chart:
    """Return a half-normal plot of contrasts.

    ``chance`` (the standard error) and ``margins`` (of error) are factors. Noise is
    near the line from 1 through ``chance`` at quantile 1.
    """
    highest = max(quantile for _name, _factor, quantile, _is, _text in contrasts)
    chance_line = Points(
        x=[1.0, chance**highest],
        y=[0.0, highest],
        color=MUTED_COLOR,
        line=LineStyle(width=1.5, dash="dash"),
    )
    points = []
    for is_named in (False, True):
        selected = [contrast for contrast in contrasts if contrast[3] == is_named]
        if selected:
            names, factors, quantiles, _are_named, texts = zip(*selected, strict=True)
            points.append(
                Points(
                    x=factors,
                    y=quantiles,
                    names=names,
                    label_side="left" if is_named else "",
                    hover_texts=texts,
                    color=series_color(0) if is_named else MUTED_COLOR,
                    symbol="circle" if is_named else "circle-open",
                )
            )
    panel = Panel(
        x=ChartAxis(title=axis_title, scale="log"),
        y=ChartAxis(title=other_title),
        series=(chance_line, *points),
        reference_lines=tuple(
            ReferenceLine(value=factor, axis="x") for factor in margins
        ),
    )
    return Chart(panels=(panel,), height=PANEL_HEIGHT_PX, has_legend=False)
