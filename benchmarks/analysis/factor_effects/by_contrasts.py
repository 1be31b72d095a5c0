"""One value a system in a regular two-level design: Lenth's margins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from benchmarks.analysis.factor_effects.contrasts import Contrast
from benchmarks.analysis.factor_effects.effects import (
    Effect,
    FactorEffects,
    Point,
    Strength,
    ranked,
)
from benchmarks.analysis.factor_effects.lenth import Lenth, half_normal, lenth
from benchmarks.analysis.factor_effects.model import Alias
from benchmarks.analysis.factor_effects.noise import (
    Observation,
    baseline_shares,
    relative_variances,
    responses,
)


def by_contrasts(
    contrasts: Sequence[Contrast],
    observations: Sequence[Observation],
    nothing: FactorEffects,
) -> FactorEffects | None:
    """Judge by Lenth's margins, each contrast in units of its own standard error.

    Contrasts that a shared baseline makes noisier are shrunk to the common scale, and
    their margins stretched back.
    """
    if not contrasts:
        return None
    weights = np.array([each.column for each in contrasts]) * 2 / len(observations)
    logs = weights @ responses(observations)
    variances = relative_variances(weights, observations)
    stretch = np.sqrt(variances / variances.min())
    judged = lenth(logs / stretch)
    if judged is None:
        return None
    quantiles = half_normal(logs / stretch)
    shares = baseline_shares(weights, observations)
    effects = [
        _judged(contrast, log, scale, judged, share)
        for contrast, log, scale, share in zip(
            contrasts, logs.tolist(), stretch.tolist(), shares.tolist(), strict=True
        )
        if len(contrast.terms[0]) <= 2 and len(contrast.simplest) == 1
    ]
    points = [
        Point(contrast.simplest, log, abs(log) / scale, quantile)
        for contrast, log, scale, quantile in zip(
            contrasts, logs.tolist(), stretch.tolist(), quantiles.tolist(), strict=True
        )
    ]
    return replace(
        nothing,
        kind="contrasts",
        effects=ranked(effects),
        aliases=tuple(each for contrast in contrasts for each in _aliases(contrast)),
        points=tuple(sorted(points, key=lambda point: -point.quantile)),
        lenth=judged,
    )


def _judged(
    contrast: Contrast, log: float, scale: float, judged: Lenth, share: float
) -> Effect:
    term = contrast.terms[0]
    size = abs(log) / scale
    strength: Strength = "possible" if size > judged.me else "none"
    return Effect(
        term=term,
        levels=tuple((factor.levels[1], factor.levels[0]) for factor in term),
        log_effect=log,
        margin=judged.me * scale,
        wide_margin=judged.sme * scale,
        strength="clear" if size > judged.sme else strength,
        baseline_share=share,
    )


def _aliases(contrast: Contrast) -> list[Alias]:
    """The two-factor interactions that a contrast does not show as themselves."""
    if contrast.simplest == contrast.terms[:1] and len(contrast.terms[0]) == 2:
        return []
    return [
        Alias(term, tuple(each for each in contrast.simplest if each != term))
        for term in contrast.terms
        if len(term) == 2
    ]
