"""Factor effects as tables and charts, for their page and for reports."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from math import exp, isclose, log, prod
from textwrap import wrap
from typing import Any, Final

from django.utils.translation import gettext as _

from benchmarks.analysis.factor_effects.design import Factor
from benchmarks.analysis.factor_effects.effects import Effect, FactorEffects, Means
from benchmarks.comparing.factor_effects import Analysis, Response
from dashboard.charts.chart import (
    FLAT_PX,
    FRAME_PX,
    SERIES,
    Axis,
    Band,
    Bars,
    Chart,
    Panel,
    Points,
    Reading,
    Rule,
    Stroke,
    row_axis,
    row_px,
    series_colour,
    symbol_at,
)
from dashboard.wording import span_text
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

LIMITS: Final = (1.02, 1.05, 1.1, 1.25, 1.5, 2, 3, 5, 10, 20, 50, 100)
MOST_CELLS: Final = 128
ROOM: Final = 0.06
LEAST_ROOM: Final = 0.005  # as a power of ten
TICK_LETTERS: Final = {1: 24, 2: 18, 3: 12}
FEWEST_TICK_LETTERS: Final = 8
QUIET: Final = series_colour(SERIES - 1)
ROW_PX: Final = 33
LABELLED: Final = 1.3
"""Length of the axis relative to its limit, for the factor beside the end of a bar."""

Detail = dict[str, Any]
Contrast = tuple[str, float, float, bool, str]
"""Name, size as a factor, quantile, whether it is named, and hover text."""


def detail(analysis: Analysis, response: Response) -> Detail:
    """Return everything shown about one response.

    A row of a picture is a setting of the other factors, the mean at each level and
    the factor from the first level to the last.
    """
    effects = analysis.found.effects
    limit = effect_limit(effects)
    return {
        "effects": [_row(effect, limit) for effect in effects],
        "ends": (times(1 / limit), times(limit)),
        "chance": how_chance_was_measured(analysis.found) if effects else "",
        "notes": tuple(notes(analysis)),
        "pictures": [_picture(means, response) for means in analysis.pictures],
        "half_normal": _half_normal(analysis.found),
        "design": _design(analysis.found),
        "has_margins": any(effect.margin is not None for effect in effects),
        "has_interactions": any(len(effect.term) > 1 for effect in effects),
    }


def effect_limit(effects: Sequence[Effect]) -> float:
    """Return the end of the shortest logarithmic axis that holds every effect."""
    farthest = exp(max((abs(effect.log_effect) for effect in effects), default=0.0))
    return next((limit for limit in LIMITS if limit >= farthest), LIMITS[-1])


def effect_bar(effect: Effect, limit: float) -> dict[str, Any]:
    """Return the bar of an effect and its bands of chance: left end, width."""

    def span(one: float, other: float) -> tuple[str, str]:
        low, high = (
            50 + 50 * min(max(end / log(limit), -1.0), 1.0)
            for end in sorted((one, other))
        )
        return f"{low:.2f}%", f"{high - low:.2f}%"

    def band(margin: float | None) -> tuple[str, str] | None:
        return None if margin is None else span(-margin, margin)

    return {
        "side": "above" if effect.log_effect > 0 else "below",
        "bar": span(0.0, effect.log_effect),
        "margin": band(effect.margin),
        "wide": band(effect.wide_margin),
    }


def _row(effect: Effect, limit: float) -> dict[str, Any]:
    bounds = ""
    if effect.interval is not None:
        bounds = span_text(*map(times, effect.interval))
    return {
        "effect": effect,
        "name": term_name(effect.term),
        "change": change(effect),
        "factor": times(effect.factor),
        "bounds": bounds,
        "strength": effect.strength,
        "strength_name": str(STRENGTHS[effect.strength]),
        "bar": effect_bar(effect, limit),
    }


def _picture(means: Means, response: Response) -> dict[str, Any]:
    places = [setting(means.other, level) for level in means.other.levels]
    names = [level_name(means.one, level) for level in means.one.levels]
    changes = [times(factor) if factor else "" for factor in means.factors]
    titles = {"efficiency": _("Relative performance"), "value": _("Measured value")}
    return {
        "title": _("%(factor)s depends on %(others)s")
        % {
            "factor": factor_name(means.one),
            "others": factor_name(means.other).replace(" + ", ", "),
        },
        "heads": names,
        "change": _("Factor") if len(names) == 2 else f"{names[0]} → {names[-1]}",
        "rows": list(zip(places, zip(*means.rows, strict=True), changes, strict=True)),
        "figure": line_plot(
            places,
            list(zip(names, means.rows, strict=True)),
            axis_title=titles[response],
            line_at=1.0 if response == "efficiency" else None,
        ),
    }


def _half_normal(effects: FactorEffects) -> dict[str, Any] | None:
    if effects.lenth is None:
        return None
    me, sme = effects.lenth.me, effects.lenth.sme
    contrasts: list[Contrast] = []
    rows, is_any_shrunk = [], False
    for point in effects.points:
        name = " = ".join(term_name(term) for term in point.terms)
        factor = times(exp(point.log_effect))
        text = f"{name}: {factor}"
        if not isclose(abs(point.log_effect), point.size, rel_tol=1e-6):
            is_any_shrunk = True
            words = {"contrast": text, "size": times(exp(point.size))}
            text = _("%(contrast)s, drawn at %(size)s") % words
        is_named = point.size > me
        contrasts.append((name, exp(point.size), point.quantile, is_named, text))
        strength = "clear" if point.size > sme else "possible" if is_named else "none"
        rows.append((name, factor, str(STRENGTHS[strength])))
    note = _(
        "Contrasts between levels that are compared with different native runs are "
        "drawn smaller, on the scale of the others: an error of one native run "
        "would look like them. The table has their factors."
    )
    figure = half_normal_plot(
        contrasts,
        chance=exp(effects.lenth.pse),
        margins=(exp(me), exp(sme)),
        axis_title=_("Size of the effect as a factor (log scale)"),
        other_title=_("Where chance would put it"),
    )
    return {"figure": figure, "rows": rows, "note": note if is_any_shrunk else ""}


def _design(effects: FactorEffects) -> dict[str, Any] | None:
    """Fold the factors into a table: the first half down, the second half across.

    ``rows`` is empty if there are too many combinations to look at.
    """
    if not effects.factors:
        return None
    half = len(effects.factors) // 2
    across, down = effects.factors[half:], effects.factors[:half]
    counts = {one.levels: one.count for one in effects.combinations}
    rows = list(_existing(down, {levels[:half] for levels in counts}))
    columns = list(_existing(across, {levels[half:] for levels in counts}))
    if len(rows) * len(columns) > MOST_CELLS:
        rows = []
    named = [tuple(map(level_name, across, levels)) for levels in columns]
    return {
        "row_names": tuple(map(factor_name, down)),
        "heads": [
            (factor_name(factor), [levels[place] for levels in named])
            for place, factor in enumerate(across)
        ],
        "rows": [
            (
                tuple(map(level_name, down, row)),
                [counts.get((*row, *column), 0) for column in columns],
            )
            for row in rows
        ],
        "cells": effects.cells,
        "possible": prod(len(factor.levels) for factor in effects.factors),
    }


def _existing(
    factors: Sequence[Factor], seen: set[tuple[str, ...]]
) -> Iterator[tuple[str, ...]]:
    # A system may not state a factor: its level is then empty, and comes last.
    every = product(*((*factor.levels, "") for factor in factors))
    return (levels for levels in every if levels in seen)


def ranking(
    rows: Sequence[Mapping[str, Any]], limit: float, ends: tuple[str, str]
) -> Chart:
    """Return effects as bars from 1, strongest first, with the bands of chance.

    Clear effects are filled, others open; ``ends`` name the ends of the scale.
    """
    effects: list[Effect] = [row["effect"] for row in rows]
    reach = [min(max(exp(it.log_effect), 1 / limit), limit) for it in effects]
    bars, factors, bands = [], [], []
    for is_clear in (True, False):
        places = [
            place
            for place, effect in enumerate(effects)
            if (effect.strength == "clear") == is_clear
        ]
        if places:
            bars.append(
                Bars(
                    name="",
                    places=places,
                    values=[reach[place] for place in places],
                    colour=series_colour(0),
                    is_open=not is_clear,
                    base=1,
                )
            )
    for is_right in (False, True):
        places = [place for place, x in enumerate(reach) if (x > 1) == is_right]
        if places:
            factors.append(
                Points(
                    x=[reach[place] for place in places],
                    y=places,
                    names=[rows[place]["factor"] for place in places],
                    side="right" if is_right else "left",
                )
            )
    for place, effect in enumerate(effects):
        for margin in (effect.wide_margin, effect.margin):
            if margin is not None:
                low, high = exp(-margin), exp(margin)
                ends_of_row = (place - 0.42, place + 0.42)
                bands.append(Band(axis="x", low=low, high=high, ends=ends_of_row))
    end = limit**LABELLED
    panel = Panel(
        x=Axis(
            scale="log",
            ends=(1 / end, end),
            ticks=((1 / limit, ends[0]), (1, "1"), (limit, ends[1])),
        ),
        y=row_axis([f"{row['name']}\n{row['change']}" for row in rows]),
        series=(*bars, *factors),
        bands=tuple(bands),
        rules=(Rule(at=1, axis="x", stroke=Stroke(width=1.5), is_above=True),),
    )
    height = FRAME_PX + row_px(panel.y, ROW_PX) * len(rows)
    return Chart(panels=(panel,), height=height, bars="stack")


def line_plot(
    places: Sequence[str],
    lines: Sequence[tuple[str, Sequence[float | None]]],
    *,
    axis_title: str,
    line_at: float | None = None,
) -> Chart:
    """Return named means at each place on a log axis, as lines.

    ``line_at`` (1: native speed) is drawn across and always in sight.
    """
    count = len(places)
    ends = (-0.4, count - 0.6)
    upwards_ends = None
    rules = []
    if line_at is not None:
        means = [mean for _name, line in lines for mean in line if mean is not None]
        low, high = min([*means, line_at]), max([*means, line_at])
        room = max((high / low) ** ROOM, 10**LEAST_ROOM)
        upwards_ends = (low / room, high * room)
        rules.append(Rule(at=line_at, axis="y", ends=ends, is_above=True))
    # Names are broken into lines that fit between their neighbours on a phone.
    letters = TICK_LETTERS.get(count, FEWEST_TICK_LETTERS)
    names = [
        "\n".join(
            line
            for part in place.split(", ")
            for line in wrap(part, letters, break_long_words=False)
        )
        for place in places
    ]
    panel = Panel(
        x=Axis(scale="category", ends=ends, ticks=tuple(enumerate(names))),
        y=Axis(title=axis_title, scale="log", ends=upwards_ends, has_full_ticks=True),
        series=tuple(
            Points(
                name=name,
                x=range(len(line)),
                y=line,
                colour=series_colour(at),
                symbol=symbol_at(at),
                line=Stroke(),
                texts=[name] * len(line),
                reading=Reading("y", ".3g"),
            )
            for at, (name, line) in enumerate(lines)
        ),
        rules=tuple(rules),
    )
    return Chart(panels=(panel,), height=FLAT_PX, legend="above")


def half_normal_plot(
    contrasts: Sequence[Contrast],
    *,
    chance: float,
    margins: Sequence[float],
    axis_title: str,
    other_title: str,
) -> Chart:
    """Return contrasts against the sizes that chance alone would give them.

    ``chance`` is the factor of one standard error: chance alone lies on the straight
    line through 1 and it. ``margins`` are factors, drawn as vertical lines.
    """
    highest = max(quantile for _name, _factor, quantile, _is, _text in contrasts)
    by_chance = Points(
        x=[1.0, chance**highest],
        y=[0.0, highest],
        colour=QUIET,
        line=Stroke(width=1.5, dash="dash"),
    )
    halves = []
    for is_named in (False, True):
        some = [contrast for contrast in contrasts if contrast[3] == is_named]
        if some:
            names, factors, quantiles, _are_named, texts = zip(*some, strict=True)
            halves.append(
                Points(
                    x=factors,
                    y=quantiles,
                    names=names,
                    side="left" if is_named else "",
                    texts=texts,
                    colour=series_colour(0) if is_named else QUIET,
                    symbol="circle" if is_named else "circle-open",
                )
            )
    panel = Panel(
        x=Axis(title=axis_title, scale="log"),
        y=Axis(title=other_title),
        series=(by_chance, *halves),
        rules=tuple(Rule(at=factor, axis="x") for factor in margins),
    )
    return Chart(panels=(panel,), height=FLAT_PX, has_legend=False)
