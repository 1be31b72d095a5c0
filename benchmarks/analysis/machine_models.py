"""Statistics of guests and native runs on different machines of one model
(docs/method.md, Machines of one model).

Specimens of a model hardly differ, while models do; so the model is the unit of
replication, and a specimen one reading.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum, StrEnum
from math import expm1, fsum, log1p, sqrt
from statistics import fmean, median, stdev, variance
from typing import Final

import numpy as np

from benchmarks.analysis.intervals import t_quantiles
from benchmarks.analysis.machine_comparability import NEVER_FASTER, Load
from benchmarks.analysis.meta_analysis import (
    MIN_POOLED,
    UNDECIDED,
    interval_direction,
    pool_single_runs,
)
from benchmarks.analysis.verdicts import CONFIDENCE, DEFAULT_MARGIN
from benchmarks.sentences import Sentence

MIN_INDICATIVE: Final = 3
MIN_VERDICT: Final = 5
"""Machines of one model, or models, that suffice for an indication and a verdict."""
WIDE_SCATTER: Final = 5
"""Native machines scatter too much at this multiple of the median of the models."""


@dataclass(frozen=True, slots=True)
class Reading:
    """The mean of one specimen's sessions, as a logarithm; higher is better."""

    specimen: str
    log_value: float
    product_family: str = ""


class Basis(StrEnum):
    """How an interval of a machine model was computed."""

    NONE = ""
    PAIRS = "pairs of one product family"
    WELCH = "machines of both sides"
    BORROWED = "guests only"


class Weight(IntEnum):
    """Claims that results of machines of one model support."""

    SHOWN = 0
    INDICATIVE = 1
    VERDICT = 2


@dataclass(frozen=True, slots=True)
class ModelEffect:
    """The relative performance (ln) on machines of one model.

    ``log_ratios`` has one entry per pair or, without pairs, their single mean.
    """

    model: str
    native_count: int
    guest_count: int
    log_ratios: tuple[float, ...]
    log_ratio: float
    interval: tuple[float, float] | None
    basis: Basis
    weight: Weight

    @property
    def assumption(self) -> Sentence | None:
        if self.basis != Basis.BORROWED:
            return None
        return Sentence("Assuming native machines vary as the guests do.")


def model_effect(
    model: str, natives: Iterable[Reading], guests: Iterable[Reading]
) -> ModelEffect | None:
    """Return the effect on machines of one model; None without both sides."""
    sides = [_by_specimen(natives), _by_specimen(guests)]
    native, guest = ([reading.log_value for reading in side] for side in sides)
    if not (native and guest):
        return None
    fewest = min(len(native), len(guest))
    pairs = _pairs(*sides)
    if 2 * len(pairs) >= fewest and pairs:
        log_ratio, interval, basis = *_mean_interval(pairs), Basis.PAIRS
        fewest = len(pairs)
    elif len(native) == 1 and len(guest) >= MIN_INDICATIVE:
        log_ratio = fmean(guest) - native[0]
        error = stdev(guest) * sqrt(1 + 1 / len(guest))
        interval, basis = _around(log_ratio, error, len(guest) - 1), Basis.BORROWED
    else:
        log_ratio, interval, basis = *_welch(native, guest), Basis.WELCH
    is_borrowed = basis == Basis.BORROWED
    weight = Weight.INDICATIVE if is_borrowed else _weight(fewest)
    return ModelEffect(
        model,
        len(native),
        len(guest),
        tuple(pairs) if basis == Basis.PAIRS else (log_ratio,),
        log_ratio,
        interval,
        basis if interval else Basis.NONE,
        weight,
    )


def _by_specimen(readings: Iterable[Reading]) -> list[Reading]:
    values: dict[tuple[str, str], list[float]] = defaultdict(list)
    for reading in readings:
        values[reading.specimen, reading.product_family].append(reading.log_value)
    return [
        Reading(specimen, fmean(logs), family)
        for (specimen, family), logs in sorted(values.items())
    ]


def _pairs(natives: Sequence[Reading], guests: Sequence[Reading]) -> list[float]:
    families: dict[str, tuple[list[float], list[float]]] = defaultdict(lambda: ([], []))
    for side, readings in enumerate((natives, guests)):
        for reading in readings:
            if reading.product_family:
                families[reading.product_family][side].append(reading.log_value)
    return [
        fmean(guest) - fmean(native)
        for _, (native, guest) in sorted(families.items())
        if native and guest
    ]


def _weight(count: int) -> Weight:
    if count >= MIN_VERDICT:
        return Weight.VERDICT
    return Weight.INDICATIVE if count >= MIN_INDICATIVE else Weight.SHOWN


def _mean_interval(values: Sequence[float]) -> tuple[float, tuple[float, float] | None]:
    mean, n = fmean(values), len(values)
    if n < MIN_INDICATIVE:
        return mean, None
    return mean, _around(mean, stdev(values) / sqrt(n), n - 1)


def _welch(
    native: Sequence[float], guest: Sequence[float]
) -> tuple[float, tuple[float, float] | None]:
    mean = fmean(guest) - fmean(native)
    if min(len(native), len(guest)) < MIN_INDICATIVE:
        return mean, None
    parts = [(variance(side) / len(side), len(side) - 1) for side in (native, guest)]
    total = fsum(part for part, _ in parts)
    if not total:
        return mean, (mean, mean)
    freedom = total**2 / fsum(part**2 / df for part, df in parts)
    return mean, _around(mean, sqrt(total), freedom)


def _around(center: float, error: float, freedom: float) -> tuple[float, float]:
    quantile = float(t_quantiles(np.array([float(freedom)]), (1 + CONFIDENCE) / 2)[0])
    return center - quantile * error, center + quantile * error


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelPool:
    """The effects (ln) of machine models pooled with equal weights.

    ``predicted`` is the prediction interval for a machine of another model. Both
    intervals, the mean and the deviations need three models. ``changing_models`` are
    those without which the direction of the mean or of the prediction changes.
    """

    model_count: int
    pair_count: int
    provider_count: int
    log_ratio: float | None = None
    interval: tuple[float, float] | None = None
    predicted: tuple[float, float] | None = None
    deviation_between: float | None = None
    deviation_within: float | None = None
    direction: int = UNDECIDED
    predicted_direction: int = UNDECIDED
    weight: Weight = Weight.SHOWN
    changing_models: tuple[str, ...] = ()

    @property
    def standard_error(self) -> float | None:
        if self.deviation_between is None:
            return None
        return self.deviation_between / sqrt(self.model_count)


def pool_models(
    models: Mapping[str, Sequence[float]],
    *,
    providers: Mapping[str, str] | None = None,
    margin: float = DEFAULT_MARGIN,
) -> ModelPool:
    """Pool ln ratios; each model has equal weight."""
    names = sorted(name for name in models if models[name])
    owners = {(providers or {}).get(name, "") for name in names}
    # Pool 0 has all models; pool i + 1 leaves out model i.
    rows = [
        (pool, row, value)
        for pool in range(len(names) + 1)
        for row, name in enumerate(names)
        if row != pool - 1
        for value in models[name]
    ]
    pair_count = sum(len(models[name]) for name in names)
    if len(names) < MIN_POOLED:
        return ModelPool(
            model_count=len(names),
            pair_count=pair_count,
            provider_count=len(owners),
        )
    pool, row, value = (np.array(column) for column in zip(*rows, strict=True))
    found = pool_single_runs(value, pool, len(names) + 1, lab_index=row)
    means = list(zip(found.low.tolist(), found.high.tolist(), strict=True))
    predictions = list(
        zip(found.predicted_low.tolist(), found.predicted_high.tolist(), strict=True)
    )
    words = [
        (interval_direction(*mean, margin), interval_direction(*prediction, margin))
        for mean, prediction in zip(means, predictions, strict=True)
    ]
    direction, predicted_direction = words[0]
    return ModelPool(
        model_count=len(names),
        pair_count=pair_count,
        provider_count=len(owners),
        log_ratio=float(found.mean[0]),
        interval=means[0],
        predicted=predictions[0],
        deviation_between=stdev(fmean(models[name]) for name in names),
        deviation_within=deviation_within([models[name] for name in names]),
        direction=direction,
        predicted_direction=predicted_direction,
        weight=_weight(len(names)),
        changing_models=tuple(
            name
            for name, without in zip(names, words[1:], strict=True)
            if without != words[0] and len(names) > MIN_POOLED
        ),
    )


def deviation_within(groups: Iterable[Sequence[float]]) -> float:
    """Return the pooled standard deviation within models; 0 for one pair per model."""
    sizes = [group for group in groups if len(group) > 1]
    freedom = sum(len(group) - 1 for group in sizes)
    squares = fsum((len(group) - 1) * variance(group) for group in sizes)
    return sqrt(squares / freedom) if freedom else 0.0


@dataclass(frozen=True, slots=True)
class FlaggedModel:
    """A model whose native machines were probably slowed down."""

    model: str
    reason: Sentence


def flagged_models(
    natives: Mapping[str, Sequence[float]],
    guests: Mapping[str, Sequence[float]],
    log_ratios: Mapping[str, Sequence[float]],
    load: Load,
    *,
    margin: float = DEFAULT_MARGIN,
) -> tuple[FlaggedModel, ...]:
    """Return the models of one benchmark that pools leave out.

    ``natives`` and ``guests`` are the ln values of the machines of each model. Scatter
    below the margin is never flagged, because machines of most models agree to 0.02 %.
    Other memory modules make guests scatter, too.
    """
    if load not in NEVER_FASTER:
        return ()
    scatter = _scatter(natives)
    of_guests = _scatter(guests)
    usual = median(scatter.values()) if scatter else 0.0
    flagged = []
    for model, values in sorted(log_ratios.items()):
        mean = fmean(values)
        if mean > log1p(margin):
            reason = Sentence(
                "Guests are {percent:.1f}% faster than native machines, which a "
                "hypervisor cannot cause.",
                percent=100 * expm1(mean),
            )
            flagged.append(FlaggedModel(model, reason))
        elif scatter.get(model, 0.0) > max(
            log1p(margin), WIDE_SCATTER * max(usual, of_guests.get(model, 0.0))
        ):
            reason = Sentence(
                "Native machines differ by {percent:.1f}% (standard deviation), more "
                "than {times} times as much as those of other models.",
                percent=100 * scatter[model],
                times=WIDE_SCATTER,
            )
            flagged.append(FlaggedModel(model, reason))
    return tuple(flagged)


def _scatter(values: Mapping[str, Sequence[float]]) -> dict[str, float]:
    return {model: stdev(logs) for model, logs in values.items() if len(logs) > 1}
