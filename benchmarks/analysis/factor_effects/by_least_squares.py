"""Any design: least squares, with the scatter that the design offers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import numpy as np
from scipy.special import stdtr, stdtrit

from benchmarks.analysis.factor_effects.effects import (
    Effect,
    FactorEffects,
    Kind,
    Strength,
    adjusted,
    ranked,
)
from benchmarks.analysis.factor_effects.factors import Term
from benchmarks.analysis.factor_effects.lenth import CONFIDENCE, ROUNDING
from benchmarks.analysis.factor_effects.model import (
    Estimate,
    Model,
    aliased_mains,
    estimates,
    interactions,
    inverse,
)
from benchmarks.analysis.factor_effects.noise import (
    FEWEST_ERROR_DF,
    Observation,
    Scatter,
    baseline_shares,
    covariance,
    pooled,
    relative_variances,
    responses,
)

LEVEL: Final = 1 - CONFIDENCE


def by_least_squares(
    observations: Sequence[Observation], nothing: FactorEffects
) -> FactorEffects:
    """Return ``nothing`` with the effects of its factors, from logarithms of responses.

    Judged by the scatter of repeated runs; without it by what the model leaves over,
    first with all interactions that the design tells, then without; else not at all.
    """
    systems = [each.levels for each in observations]
    mains = Model.of([(factor,) for factor in nothing.factors], systems)
    told, aliased = interactions(mains)
    full = Model.of([*mains.terms, *told], systems)
    scatter, model = pooled(observations), full
    if scatter is None:
        for model in (full, mains):
            if scatter := _left_over(model, observations):
                break
    effects = _effects(list(estimates(model)), observations, scatter)
    return replace(
        nothing,
        kind=_kind(observations, scatter),
        effects=ranked(effects),
        aliases=(*aliased_mains(mains), *aliased),
        pooled_interactions=_not_in(model, told),
        scatter=scatter,
    )


def _kind(observations: Sequence[Observation], scatter: Scatter | None) -> Kind:
    if scatter is None:
        return "unjudged"
    return "replicated" if pooled(observations) else "residual"


def _not_in(model: Model, terms: Sequence[Term]) -> tuple[Term, ...]:
    return tuple(term for term in terms if term not in model.terms)


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
    if np.abs(left).max() < ROUNDING:
        return None
    df = np.trace(spread) ** 2 / np.trace(spread @ spread)
    return Scatter(float(left @ left / np.trace(spread)), float(df))


def _effects(
    found: Sequence[Estimate],
    observations: Sequence[Observation],
    scatter: Scatter | None,
) -> list[Effect]:
    """Judge estimates; those beyond Bonferroni's margin are clear in any company."""
    if not found:
        return []
    weights = np.array([each.weights for each in found])
    logs = weights @ responses(observations)
    shares = baseline_shares(weights, observations)
    effects = [
        Effect(each.term, each.levels, log, baseline_share=share)
        for each, log, share in zip(found, logs.tolist(), shares.tolist(), strict=True)
    ]
    if scatter is None:
        return effects
    variances = relative_variances(weights, observations)
    errors = np.sqrt(scatter.variance * variances)
    margins = stdtrit(scatter.df, (1 + CONFIDENCE) / 2) * errors
    together = 1 - LEVEL / (2 * len(found))
    wide_margins = stdtrit(scatter.df, together) * errors
    p_values = 2 * stdtr(scatter.df, -np.abs(logs) / errors)
    return [
        replace(
            effect,
            margin=margin,
            wide_margin=wide,
            p_value=corrected,
            strength=_strength(p_value, corrected),
        )
        for effect, margin, wide, p_value, corrected in zip(
            effects,
            margins.tolist(),
            wide_margins.tolist(),
            p_values.tolist(),
            adjusted(p_values.tolist()),
            strict=True,
        )
    ]


def _strength(p_value: float, corrected: float) -> Strength:
    if corrected <= LEVEL:
        return "clear"
    return "possible" if p_value <= LEVEL else "none"
