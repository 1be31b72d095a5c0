"""Effects of parameters on the response of a set of systems.

See docs/factor-effects.md, Chance.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

import numpy as np
from scipy.special import stdtr, stdtrit

from benchmarks.analysis.complete_separation import MAX_DAY_FACTOR
from benchmarks.analysis.factor_effects.factors_and_responses import (
    MIN_ERROR_DF,
    ROUNDING,
    Combination,
    Factor,
    Observation,
    PooledScatter,
    Term,
    baseline_variance_shares,
    combinations,
    find_factors,
    joint_factor,
    log_responses,
    pool_scatter,
    relative_variances,
    response_covariance,
)
from benchmarks.analysis.factor_effects.linear_model import (
    CONFIDENCE,
    Alias,
    Contrast,
    Estimate,
    Lenth,
    LevelChanges,
    LinearModel,
    aliased_main_effects,
    estimable_effects,
    find_interactions,
    half_normal_quantiles,
    lenth,
    pseudo_inverse,
    regular_contrasts,
    size_order,
)
from benchmarks.analysis.verdicts import benjamini_hochberg

SIGNIFICANCE_LEVEL: Final = 1 - CONFIDENCE

EffectStrength = Literal["clear", "possible", "none", "not_assessed"]
ChanceSource = Literal[
    "replicated", "contrasts", "residual", "not_assessed", "constant"
]


@dataclass(frozen=True, slots=True)
class FactorEffect:
    """The effect of a factor or interaction on the logarithm of the response.

    ``margin`` is the half-width of the 95 % interval, or Lenth's ME; ``wide_margin`` is
    the same with Bonferroni's correction, or Lenth's SME. ``p_value`` is adjusted
    (Benjamini and Hochberg). ``baseline_share`` is the share of the effect's variance
    that comes from the native cells.
    """

    term: Term
    levels: LevelChanges
    log_effect: float
    margin: float | None = None
    wide_margin: float | None = None
    p_value: float | None = None
    strength: EffectStrength = "not_assessed"
    baseline_share: float = 0.0

    @property
    def ratio(self) -> float:
        return math.exp(self.log_effect)

    @property
    def interval(self) -> tuple[float, float] | None:
        if self.margin is None:
            return None
        return (
            math.exp(self.log_effect - self.margin),
            math.exp(self.log_effect + self.margin),
        )


@dataclass(frozen=True, slots=True)
class ContrastPoint:
    terms: tuple[Term, ...]
    log_effect: float
    size: float
    quantile: float


@dataclass(frozen=True, slots=True)
class FactorAnalysis:
    """The effects of the factors of a set of systems.

    ``pooled_interactions`` were left out of the model to estimate the error.
    ``are_sessions_different`` means that possible effects of days are not called clear.
    """

    error_source: ChanceSource
    factors: tuple[Factor, ...]
    combinations: tuple[Combination, ...]
    cell_count: int
    effects: tuple[FactorEffect, ...] = ()
    aliases: tuple[Alias, ...] = ()
    pooled_interactions: tuple[Term, ...] = ()
    points: tuple[ContrastPoint, ...] = ()
    lenth: Lenth | None = None
    scatter: PooledScatter | None = None
    are_sessions_different: bool = False

    @property
    def clear_terms(self) -> tuple[Term, ...]:
        shown = [effect.term for effect in self.effects if effect.strength == "clear"]
        return (*shown, *self.higher_order_terms)

    @property
    def higher_order_terms(self) -> tuple[Term, ...]:
        if self.lenth is None:
            return ()
        sme = self.lenth.sme
        terms = [point.terms for point in self.points if point.size > sme]
        return tuple(first for first, *rest in terms if len(first) > 2 and not rest)

    def interacting_factors(self, factor: Factor) -> tuple[Factor, ...]:
        terms = [term for term in self.clear_terms if factor in term]
        return tuple(
            other
            for other in self.factors
            if other != factor and any(other in term for term in terms)
        )


@dataclass(frozen=True, slots=True)
class InteractionMeans:
    """Geometric means of the response for each pair of levels of two factors."""

    row_factor: Factor
    column_factor: Factor
    rows: tuple[tuple[float | None, ...], ...]

    @property
    def ratios(self) -> tuple[float | None, ...]:
        first, last = self.rows[0], self.rows[-1]
        return tuple(
            high / low if low and high else None
            for low, high in zip(first, last, strict=True)
        )


def estimate_factor_effects(
    observations: Sequence[Observation], *, are_sessions_different: bool = False
) -> FactorAnalysis:
    """Estimate the effects of all factors on one response.

    If no session contains all compared results (``are_sessions_different``) and chance
    is estimated from repeated runs, an effect is clear only if it exceeds what days can
    change.
    """
    systems = [observation.levels for observation in observations]
    factors = find_factors(systems)
    design = FactorAnalysis(
        error_source="constant",
        factors=factors,
        combinations=combinations(factors, systems),
        cell_count=len(observations),
    )
    if not factors:
        return design
    if pool_scatter(observations) is None:
        contrast_analysis = _analyze_contrasts(design, observations)
        if contrast_analysis is not None:
            return contrast_analysis
    analysis = _analyze_least_squares(design, observations)
    if not are_sessions_different or analysis.error_source != "replicated":
        return analysis
    effects = rank_effects(
        [_limit_by_day_effects(effect) for effect in analysis.effects]
    )
    return replace(analysis, effects=effects, are_sessions_different=True)


def _limit_by_day_effects(effect: FactorEffect) -> FactorEffect:
    exceeds_days = abs(effect.log_effect) - (effect.margin or 0.0) > math.log(
        MAX_DAY_FACTOR
    )
    if effect.strength != "clear" or exceeds_days:
        return effect
    return replace(effect, strength="possible")


def _analyze_contrasts(
    design: FactorAnalysis, observations: Sequence[Observation]
) -> FactorAnalysis | None:
    systems = [observation.levels for observation in observations]
    contrasts = regular_contrasts(design.factors, systems)
    if not contrasts:
        return None
    columns = np.array([contrast.column for contrast in contrasts])
    weights = columns * 2 / len(observations)
    logs = weights @ log_responses(observations)
    variances = relative_variances(weights, observations)
    relative_errors = np.sqrt(variances / variances.min())
    margins = lenth(logs / relative_errors)
    if margins is None:
        return None

    effects: list[FactorEffect] = []
    aliases: list[Alias] = []
    points: list[ContrastPoint] = []
    for contrast, log, scale, share, quantile in zip(
        contrasts,
        logs.tolist(),
        relative_errors.tolist(),
        baseline_variance_shares(weights, observations).tolist(),
        half_normal_quantiles(logs / relative_errors).tolist(),
        strict=True,
    ):
        term, size = contrast.terms[0], abs(log) / scale
        points.append(ContrastPoint(contrast.simplest, log, size, quantile))
        has_one_meaning = len(contrast.simplest) == 1
        if has_one_meaning and len(term) <= 2:
            strength: EffectStrength = "possible" if size > margins.me else "none"
            effects.append(
                FactorEffect(
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
        error_source="contrasts",
        effects=rank_effects(effects),
        aliases=tuple(aliases),
        points=tuple(sorted(points, key=lambda point: -point.quantile)),
        lenth=margins,
    )


def _hidden_pairs(contrast: Contrast) -> Iterator[Alias]:
    simplest = contrast.simplest
    if len(simplest) == 1 and len(simplest[0]) == 2:
        return
    for term in contrast.terms:
        if len(term) == 2:
            yield Alias(term, tuple(other for other in simplest if other != term))


def _analyze_least_squares(
    design: FactorAnalysis, observations: Sequence[Observation]
) -> FactorAnalysis:
    systems = [observation.levels for observation in observations]
    mains = LinearModel.build([(factor,) for factor in design.factors], systems)
    estimable, aliased = find_interactions(mains)
    model = LinearModel.build([*mains.terms, *estimable], systems)
    scatter = pool_scatter(observations)
    source: ChanceSource = "replicated"
    if scatter is None:
        source, scatter = "residual", _residual_scatter(model, observations)
    if scatter is None:
        model, scatter = mains, _residual_scatter(mains, observations)
    if scatter is None:
        source = "not_assessed"
    return replace(
        design,
        error_source=source,
        effects=rank_effects(
            _assess_effects(list(estimable_effects(model)), observations, scatter)
        ),
        aliases=(*aliased_main_effects(mains), *aliased),
        pooled_interactions=tuple(
            term for term in estimable if term not in model.terms
        ),
        scatter=scatter,
    )


def _residual_scatter(
    model: LinearModel, observations: Sequence[Observation]
) -> PooledScatter | None:
    """Return the residual variance with Satterthwaite's degrees of freedom.

    With Q = I - XX+ and covariance s^2 V: E(y'Qy) = s^2 tr(QV).
    """
    if model.error_df < MIN_ERROR_DF:
        return None
    logs = log_responses(observations)
    projection = np.eye(len(logs)) - model.matrix @ pseudo_inverse(model.matrix)
    spread = projection @ response_covariance(observations)
    residuals = projection @ logs
    if np.abs(residuals).max() < ROUNDING:
        return None
    df = np.trace(spread) ** 2 / np.trace(spread @ spread)
    return PooledScatter(float(residuals @ residuals / np.trace(spread)), float(df))


def _assess_effects(
    estimated: Sequence[Estimate],
    observations: Sequence[Observation],
    scatter: PooledScatter | None,
) -> list[FactorEffect]:
    """Return the effects with margins, p values and strengths.

    Effects that pass Benjamini and Hochberg's correction are clear, which includes all
    beyond ``wide_margin``.
    """
    if not estimated:
        return []
    weights = np.array([estimate.weights for estimate in estimated])
    logs = weights @ log_responses(observations)
    shares = baseline_variance_shares(weights, observations)
    effects = [
        FactorEffect(estimate.term, estimate.levels, log, baseline_share=share)
        for estimate, log, share in zip(
            estimated, logs.tolist(), shares.tolist(), strict=True
        )
    ]
    if scatter is None:
        return effects

    errors = np.sqrt(scatter.variance * relative_variances(weights, observations))
    margins = stdtrit(scatter.df, (1 + CONFIDENCE) / 2) * errors
    wide_margins = (
        stdtrit(scatter.df, 1 - SIGNIFICANCE_LEVEL / (2 * len(effects))) * errors
    )
    p_values = 2 * stdtr(scatter.df, -np.abs(logs) / errors)
    corrected = benjamini_hochberg(p_values).adjusted
    strengths: list[EffectStrength] = [
        "clear"
        if adjusted_p <= SIGNIFICANCE_LEVEL
        else "possible"
        if p <= SIGNIFICANCE_LEVEL
        else "none"
        for p, adjusted_p in zip(p_values, corrected, strict=True)
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


def rank_effects(effects: Sequence[FactorEffect]) -> tuple[FactorEffect, ...]:
    strengths = ("clear", "possible", "not_assessed", "none")
    sizes = np.abs([effect.log_effect for effect in effects])
    by_size = [effects[index] for index in size_order(-sizes)]
    return tuple(sorted(by_size, key=lambda effect: strengths.index(effect.strength)))


def interaction_means(
    effects: FactorAnalysis, observations: Sequence[Observation]
) -> tuple[InteractionMeans, ...]:
    systems = [observation.levels for observation in observations]
    return tuple(
        level_means(factor, joint_factor(others, systems), observations)
        for factor in effects.factors
        if (others := effects.interacting_factors(factor))
    )


def level_means(
    one: Factor, other: Factor, observations: Sequence[Observation]
) -> InteractionMeans:
    logs: dict[tuple[str, str], list[float]] = {}
    for observation in observations:
        level_pair = (one.level(observation.levels), other.level(observation.levels))
        logs.setdefault(level_pair, []).append(observation.log_response)
    geometric = {
        level_pair: math.exp(math.fsum(values) / len(values))
        for level_pair, values in logs.items()
    }
    rows = [
        tuple(geometric.get((row, level)) for level in other.levels)
        for row in one.levels
    ]
    return InteractionMeans(one, other, tuple(rows))
