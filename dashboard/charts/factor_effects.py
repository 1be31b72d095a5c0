"""The parts of an analysis as the factor effects page and the report show them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from math import exp, isclose, prod

from django.utils.translation import gettext as _

from benchmarks.analysis.factor_effects.design import Factor
from benchmarks.analysis.factor_effects.effects import Effect, FactorEffects, Means
from benchmarks.comparing.factor_effects import Analysis, Response
from dashboard.charts.chart import Chart
from dashboard.charts.effects import (
    Bar,
    Contrast,
    LevelMeans,
    effect_scale,
    half_normal_plot,
    line_plot,
)
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
    figure: Chart


@dataclass(frozen=True)
class HalfNormal:
    """The half-normal plot and its table: name, factor, whether beyond the margins.

    ``note`` says what is drawn elsewhere than at its factor.
    """

    figure: Chart
    rows: tuple[tuple[str, str, str], ...]
    note: str


@dataclass(frozen=True)
class Design:
    """Which combinations of levels exist, and how many systems have each.

    Without rows where they are too many to be looked at.
    """

    row_names: tuple[str, ...]
    heads: tuple[tuple[str, tuple[str, ...]], ...]
    """Of each factor across: its name, and its level in every column."""
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
    effects = analysis.found.effects
    scale = effect_scale(effects)
    return Detail(
        effects=tuple(_row(effect, scale.bar(effect)) for effect in effects),
        ends=(times(1 / scale.limit), times(scale.limit)),
        chance=how_chance_was_measured(analysis.found) if effects else "",
        notes=tuple(notes(analysis)),
        pictures=tuple(_picture(means, response) for means in analysis.pictures),
        half_normal=_half_normal(analysis.found),
        design=_design(analysis.found),
        has_margins=any(effect.margin is not None for effect in effects),
        has_interactions=any(len(effect.term) > 1 for effect in effects),
    )


def _row(effect: Effect, bar: Bar) -> EffectRow:
    bounds = ""
    if effect.interval is not None:
        low, high = map(times, effect.interval)
        bounds = _("%(low)s to %(high)s") % {"low": low, "high": high}
    return EffectRow(
        name=term_name(effect.term),
        change=change(effect),
        factor=times(effect.factor),
        bounds=bounds,
        strength=effect.strength,
        strength_name=str(STRENGTHS[effect.strength]),
        bar=bar,
    )


def _picture(means: Means, response: Response) -> Picture:
    places = [setting(means.other, level) for level in means.other.levels]
    names = [level_name(means.one, level) for level in means.one.levels]
    title = _("%(factor)s depends on %(others)s") % {
        "factor": factor_name(means.one),
        "others": factor_name(means.other).replace(" + ", ", "),
    }
    changes = [times(factor) if factor else "" for factor in means.factors]
    lines = [LevelMeans(*pair) for pair in zip(names, means.rows, strict=True)]
    titles = {"efficiency": _("Relative performance"), "value": _("Measured value")}
    return Picture(
        title=title,
        heads=tuple(names),
        change=_("Factor") if len(names) == 2 else f"{names[0]} → {names[-1]}",
        rows=tuple(zip(places, zip(*means.rows, strict=True), changes, strict=True)),
        figure=line_plot(
            places,
            lines,
            axis_title=titles[response],
            line_at=1.0 if response == "efficiency" else None,
        ),
    )


def _half_normal(effects: FactorEffects) -> HalfNormal | None:
    if effects.lenth is None:
        return None
    me, sme = effects.lenth.me, effects.lenth.sme
    contrasts, rows, is_any_shrunk = [], [], False
    for point in effects.points:
        name = " = ".join(term_name(term) for term in point.terms)
        factor = times(exp(point.log_effect))
        text = f"{name}: {factor}"
        if not isclose(abs(point.log_effect), point.size, rel_tol=1e-6):
            is_any_shrunk = True
            words = {"contrast": text, "size": times(exp(point.size))}
            text = _("%(contrast)s, drawn at %(size)s") % words
        is_named = point.size > me
        contrasts.append(
            Contrast(name, exp(point.size), point.quantile, is_named, text)
        )
        strength = "clear" if point.size > sme else "possible" if is_named else "none"
        rows.append((name, factor, str(STRENGTHS[strength])))
    figure = half_normal_plot(
        contrasts,
        chance=exp(effects.lenth.pse),
        margins=(exp(me), exp(sme)),
        axis_title=_("Size of the effect as a factor (log scale)"),
        other_title=_("Where chance would put it"),
    )
    note = _(
        "Contrasts between levels that are compared with different native runs are "
        "drawn smaller, on the scale of the others: an error of one native run "
        "would look like them. The table has their factors."
    )
    return HalfNormal(figure, tuple(rows), note if is_any_shrunk else "")


def _design(effects: FactorEffects) -> Design | None:
    """Fold the factors into a table: the first half down, the second half across."""
    if not effects.factors:
        return None
    half = len(effects.factors) // 2
    across, down = effects.factors[half:], effects.factors[:half]
    counts = {one.levels: one.count for one in effects.combinations}
    rows = list(_existing(down, {levels[:half] for levels in counts}))
    columns = list(_existing(across, {levels[half:] for levels in counts}))
    if len(rows) * len(columns) > MOST_CELLS:
        rows = []
    named = [_named(across, levels) for levels in columns]
    return Design(
        row_names=tuple(map(factor_name, down)),
        heads=tuple(
            (factor_name(factor), tuple(levels[place] for levels in named))
            for place, factor in enumerate(across)
        ),
        rows=tuple(
            (
                _named(down, row),
                tuple(counts.get((*row, *column), 0) for column in columns),
            )
            for row in rows
        ),
        cells=effects.cells,
        possible=prod(len(factor.levels) for factor in effects.factors),
    )


def _existing(
    factors: Sequence[Factor], seen: set[tuple[str, ...]]
) -> Iterator[tuple[str, ...]]:
    # A system may not state a factor: its level is then empty, and comes last.
    every = product(*((*factor.levels, "") for factor in factors))
    return (levels for levels in every if levels in seen)


def _named(factors: Sequence[Factor], levels: Sequence[str]) -> tuple[str, ...]:
    return tuple(map(level_name, factors, levels))
