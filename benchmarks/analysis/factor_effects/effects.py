"""Which parameters move the response of a set of systems, and how sure that is.

Three ways to measure chance, the first that the design allows:

- runs were repeated: their pooled scatter, t intervals, Benjamini-Hochberg;
- one value a system in a regular two-level design: Lenth's margins;
- one value a system otherwise: what main effects and two-factor interactions leave
  over (without the interactions if too little is left), t intervals.

Where none is possible effects are shown without margins, and none is called real.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

import numpy as np
from scipy.special import stdtr, stdtrit

from benchmarks.analysis.factor_effects.design import (
    FEWEST_ERROR_DF,
    ROUNDING,
    Combination,
    Factor,
    Observation,
    Scatter,
    Term,
    baseline_shares,
    combinations,
    covariance,
    factors_of,
    joint,
    pooled,
    relative_variances,
    responses,
)
from benchmarks.analysis.factor_effects.model import (
    CONFIDENCE,
    Alias,
    Contrast,
    Estimate,
    Lenth,
    LevelPairs,
    Model,
    aliased_mains,
    ascending,
    estimates,
    half_normal,
    interactions,
    inverse,
    lenth,
    regular_contrasts,
)
from benchmarks.analysis.separation import BEYOND_DAYS
from benchmarks.analysis.verdicts import benjamini_hochberg

LEVEL: Final = 1 - CONFIDENCE

Strength = Literal["clear", "possible", "none", "unjudged"]
ChanceSource = Literal["replicated", "contrasts", "residual", "unjudged", "constant"]


@dataclass(frozen=True, slots=True)
class Effect:
    """A parameter's effect on the logarithm of the response.

    ``margin`` is half its 95 % interval, or Lenth's ME; ``wide_margin`` Bonferroni's,
    or Lenth's SME; ``p_value`` is adjusted (Benjamini and Hochberg). ``baseline_share``
    is the part of its variance from native runs.
    """

    term: Term
    levels: LevelPairs
    log_effect: float
    margin: float | None = None
    wide_margin: float | None = None
    p_value: float | None = None
    strength: Strength = "unjudged"
    baseline_share: float = 0.0

    @property
    def factor(self) -> float:
        return math.exp(self.log_effect)

    @property
    def interval(self) -> tuple[float, float] | None:
        """The factor's bounds at ``margin``."""
        if self.margin is None:
            return None
        return (
            math.exp(self.log_effect - self.margin),
            math.exp(self.log_effect + self.margin),
        )


@dataclass(frozen=True, slots=True)
class ContrastPoint:
    """A contrast on the half-normal plot: its size, and where chance would put it."""

    terms: tuple[Term, ...]
    log_effect: float
    size: float
    quantile: float


@dataclass(frozen=True, slots=True)
class FactorEffects:
    """Effects of one design; ``kind`` is the source of the error estimate.

    ``pooled_interactions`` were used as error. ``are_days_apart``: days may differ.
    """

    kind: ChanceSource
    factors: tuple[Factor, ...]
    combinations: tuple[Combination, ...]
    cells: int
    effects: tuple[Effect, ...] = ()
    aliases: tuple[Alias, ...] = ()
    pooled_interactions: tuple[Term, ...] = ()
    points: tuple[ContrastPoint, ...] = ()
    lenth: Lenth | None = None
    scatter: Scatter | None = None
    are_days_apart: bool = False

    @property
    def clear_terms(self) -> tuple[Term, ...]:
        """Clear terms, including interactions of three or more factors."""
        shown = [effect.term for effect in self.effects if effect.strength == "clear"]
        return (*shown, *self.higher_terms)

    @property
    def higher_terms(self) -> tuple[Term, ...]:
        """Clear interactions of three or more factors."""
        if self.lenth is None:
            return ()
        sme = self.lenth.sme
        terms = [point.terms for point in self.points if point.size > sme]
        return tuple(one for one, *others in terms if len(one) > 2 and not others)

    def depends_on(self, factor: Factor) -> tuple[Factor, ...]:
        """The factors that change what a factor does, in the order of the factors."""
        terms = [term for term in self.clear_terms if factor in term]
        return tuple(
            other
            for other in self.factors
            if other != factor and any(other in term for term in terms)
        )


@dataclass(frozen=True, slots=True)
class Means:
    """Geometric means over levels of two factors; one row per level of ``one``."""

    one: Factor
    other: Factor
    rows: tuple[tuple[float | None, ...], ...]

    @property
    def factors(self) -> tuple[float | None, ...]:
        """What the last level of ``one`` does to its reference, per level of other."""
        first, last = self.rows[0], self.rows[-1]
        return tuple(
            high / low if low and high else None
            for low, high in zip(first, last, strict=True)
        )


def factor_effects(
    observations: Sequence[Observation], *, are_days_apart: bool = False
) -> FactorEffects:
    """Analyse one response (natural logarithms) of a set of systems, in any order."""
    systems = [observation.levels for observation in observations]
    factors = factors_of(systems)
    design = FactorEffects(
        kind="constant",
        factors=factors,
        combinations=combinations(factors, systems),
        cells=len(observations),
    )
    if not factors:
        return design
    if pooled(observations) is None:
        by_contrasts = _by_contrasts(design, observations)
        if by_contrasts is not None:
            return by_contrasts
    found = _by_least_squares(design, observations)
    if not are_days_apart or found.kind != "replicated":
        return found
    effects = ranked([_beside_days(effect) for effect in found.effects])
    return replace(found, effects=effects, are_days_apart=True)


def _beside_days(effect: Effect) -> Effect:
    """Return a clear effect as a possible one if another day may have caused it."""
    is_beyond = abs(effect.log_effect) - (effect.margin or 0.0) > math.log(BEYOND_DAYS)
    if effect.strength != "clear" or is_beyond:
        return effect
    return replace(effect, strength="possible")


def _by_contrasts(
    design: FactorEffects, observations: Sequence[Observation]
) -> FactorEffects | None:
    """Judge by Lenth's margins, each contrast in units of its own standard error."""
    systems = [observation.levels for observation in observations]
    contrasts = regular_contrasts(design.factors, systems)
    if not contrasts:
        return None
    # A contrast is the mean of one half of the systems less that of the other.
    columns = np.array([contrast.column for contrast in contrasts])
    weights = columns * 2 / len(observations)
    logs = weights @ responses(observations)
    variances = relative_variances(weights, observations)
    stretch = np.sqrt(variances / variances.min())
    margins = lenth(logs / stretch)
    if margins is None:
        return None

    effects: list[Effect] = []
    aliases: list[Alias] = []
    points: list[ContrastPoint] = []
    for contrast, log, scale, share, quantile in zip(
        contrasts,
        logs.tolist(),
        stretch.tolist(),
        baseline_shares(weights, observations).tolist(),
        half_normal(logs / stretch).tolist(),
        strict=True,
    ):
        term, size = contrast.terms[0], abs(log) / scale
        points.append(ContrastPoint(contrast.simplest, log, size, quantile))
        has_one_meaning = len(contrast.simplest) == 1
        if has_one_meaning and len(term) <= 2:
            strength: Strength = "possible" if size > margins.me else "none"
            effects.append(
                Effect(
                    term=term,
                    levels=tuple(
                        (factor.levels[1], factor.levels[0]) for factor in term
                    ),
                    log_effect=log,
                    margin=margins.me * scale,
                    wide_margin=margins.sme * scale,
                    strength="clear" if size > margins.sme else strength,
                    baseline_share=share,
                )
            )
        aliases += _hidden_pairs(contrast)
    return replace(
        design,
        kind="contrasts",
        effects=ranked(effects),
        aliases=tuple(aliases),
        points=tuple(sorted(points, key=lambda point: -point.quantile)),
        lenth=margins,
    )


def _hidden_pairs(contrast: Contrast) -> Iterator[Alias]:
    """Yield the two-factor interactions that a contrast does not show as themselves."""
    simplest = contrast.simplest
    if len(simplest) == 1 and len(simplest[0]) == 2:
        return
    for term in contrast.terms:
        if len(term) == 2:
            yield Alias(term, tuple(other for other in simplest if other != term))


def _by_least_squares(
    design: FactorEffects, observations: Sequence[Observation]
) -> FactorEffects:
    """Judge by the scatter of repeated runs, else by the residuals, else not at all."""
    systems = [observation.levels for observation in observations]
    mains = Model.of([(factor,) for factor in design.factors], systems)
    estimable, aliased = interactions(mains)
    model = Model.of([*mains.terms, *estimable], systems)
    scatter = pooled(observations)
    kind: ChanceSource = "replicated"
    if scatter is None:
        kind, scatter = "residual", _left_over(model, observations)
    if scatter is None:
        model, scatter = mains, _left_over(mains, observations)
    if scatter is None:
        kind = "unjudged"
    return replace(
        design,
        kind=kind,
        effects=ranked(_judged(list(estimates(model)), observations, scatter)),
        aliases=(*aliased_mains(mains), *aliased),
        pooled_interactions=tuple(
            term for term in estimable if term not in model.terms
        ),
        scatter=scatter,
    )


def _left_over(model: Model, observations: Sequence[Observation]) -> Scatter | None:
    """The variance behind the residuals, with Satterthwaite's degrees of freedom.

    With Q = I - XX+ and covariance s^2 V: E(y'Qy) = s^2 tr(QV).
    """
    if model.error_df < FEWEST_ERROR_DF:
        return None
    logs = responses(observations)
    residual = np.eye(len(logs)) - model.matrix @ inverse(model.matrix)
    spread = residual @ covariance(observations)
    left = residual @ logs
    # What rounding alone left over measures no chance.
    if np.abs(left).max() < ROUNDING:
        return None
    df = np.trace(spread) ** 2 / np.trace(spread @ spread)
    return Scatter(float(left @ left / np.trace(spread)), float(df))


def _judged(
    estimated: Sequence[Estimate],
    observations: Sequence[Observation],
    scatter: Scatter | None,
) -> list[Effect]:
    """Judge estimates; those beyond Bonferroni's margin are clear in any company."""
    if not estimated:
        return []
    weights = np.array([estimate.weights for estimate in estimated])
    logs = weights @ responses(observations)
    shares = baseline_shares(weights, observations)
    effects = [
        Effect(estimate.term, estimate.levels, log, baseline_share=share)
        for estimate, log, share in zip(
            estimated, logs.tolist(), shares.tolist(), strict=True
        )
    ]
    if scatter is None:
        return effects

    errors = np.sqrt(scatter.variance * relative_variances(weights, observations))
    margins = stdtrit(scatter.df, (1 + CONFIDENCE) / 2) * errors
    wide_margins = stdtrit(scatter.df, 1 - LEVEL / (2 * len(effects))) * errors
    p_values = 2 * stdtr(scatter.df, -np.abs(logs) / errors)
    corrected = benjamini_hochberg(p_values).adjusted
    strengths: list[Strength] = [
        "clear" if together <= LEVEL else "possible" if alone <= LEVEL else "none"
        for alone, together in zip(p_values, corrected, strict=True)
    ]
    return [
        replace(effect, margin=margin, wide_margin=wide, p_value=p, strength=strength)
        for effect, margin, wide, p, strength in zip(
            effects,
            margins.tolist(),
            wide_margins.tolist(),
            corrected.tolist(),
            strengths,
            strict=True,
        )
    ]


def ranked(effects: Sequence[Effect]) -> tuple[Effect, ...]:
    """Sort effects: clear ones first, then by size; ties keep the order of factors."""
    strengths = ("clear", "possible", "unjudged", "none")
    sizes = np.abs([effect.log_effect for effect in effects])
    by_size = [effects[place] for place in ascending(-sizes)]
    # `sorted` is stable: within a strength the order by size stays.
    return tuple(sorted(by_size, key=lambda effect: strengths.index(effect.strength)))


def pictures(
    effects: FactorEffects, observations: Sequence[Observation]
) -> tuple[Means, ...]:
    """Return each factor's means at the levels of the factors it interacts with."""
    systems = [observation.levels for observation in observations]
    return tuple(
        means(factor, joint(others, systems), observations)
        for factor in effects.factors
        if (others := effects.depends_on(factor))
    )


def means(one: Factor, other: Factor, observations: Sequence[Observation]) -> Means:
    """Average the logarithms of the systems that share both levels."""
    logs: dict[tuple[str, str], list[float]] = {}
    for observation in observations:
        place = (one.level_of(observation.levels), other.level_of(observation.levels))
        logs.setdefault(place, []).append(observation.log_response)
    geometric = {
        place: math.exp(math.fsum(shared) / len(shared))
        for place, shared in logs.items()
    }
    rows = [
        tuple(geometric.get((row, level)) for level in other.levels)
        for row in one.levels
    ]
    return Means(one, other, tuple(rows))
