"""Distribution shapes of many small cells at once.

They equal the results of `distribution_shape.find_shape` to the last bit.
"""

import math
from collections import defaultdict
from collections.abc import Hashable, Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr

from benchmarks.analysis.bimodality import (
    MIN_MODE_RUNS,
    MIN_RUNS,
    OUTLIER_Z,
    TAIL_SHARE,
    Mode,
    bimodal_cutoff,
)
from benchmarks.analysis.distribution_shape import (
    FIRST_RUN_FALSE_ALARM,
    MAX_STEP,
    Shape,
    find_shape,
)
from benchmarks.analysis.intervals import Floats
from benchmarks.analysis.run_order import MIN_ORDER_RUNS

MAX_FLOAT: Final = float(np.finfo(float).max)


class CellReadings(NamedTuple):
    values: Sequence[float]
    sessions: Sequence[Hashable]
    resolution: float | None
    is_ordered: bool


def find_shapes(cells: Sequence[CellReadings], *, band: float) -> list[Shape]:
    indices_by_count: dict[int, list[int]] = defaultdict(list)
    for index, (values, sessions, resolution, is_ordered) in enumerate(cells):
        n = len(values)
        has_order = is_ordered and n >= MIN_ORDER_RUNS
        is_one_session = sessions and sessions.count(sessions[0]) == n
        if n >= MIN_RUNS and not has_order and is_one_session and resolution:
            indices_by_count[n].append(index)
    plain: dict[int, Shape] = {}
    for indices in indices_by_count.values():
        shapes = _plain_shapes([cells[index] for index in indices], band)
        plain |= {indices[row]: shape for row, shape in shapes}
    return [
        plain.get(index)
        or find_shape(
            values,
            sessions=sessions,
            band=band,
            resolution=resolution,
            is_ordered=is_ordered,
        )
        for index, (values, sessions, resolution, is_ordered) in enumerate(cells)
    ]


def _plain_shapes(
    cells: Sequence[CellReadings], band: float
) -> list[tuple[int, Shape]]:
    values = np.array([cell.values for cell in cells], dtype=float)
    resolution = np.array([cell.resolution for cell in cells], dtype=float)
    is_ordered = [cell.is_ordered for cell in cells]
    n = values.shape[1]
    cutoff = bimodal_cutoff(n) or 0.0
    # `find_shape` raises the error for values that are not finite.
    is_plain = np.isfinite(values).all(axis=1)
    values[~is_plain] = 0.0
    unit = np.abs(values).max(axis=1)
    unit[unit == 0] = 1.0
    step = np.clip(resolution / unit, 8 * np.spacing(unit) / unit, MAX_STEP)
    parts = values / unit[:, None]

    eta_squared, is_far = _best_cuts(parts, step)
    is_plain &= eta_squared <= cutoff
    is_plain &= ~is_far | (n <= 2 * MIN_MODE_RUNS)
    first_p = _first_run_p_values(parts, step)
    is_plain &= ~(np.array(is_ordered) & (first_p <= FIRST_RUN_FALSE_ALARM))

    median = _row_medians(np.sort(parts, axis=1))
    distances = np.abs(parts - median[:, None])
    mad = np.maximum(_row_medians(np.sort(distances, axis=1)), step / 2)
    is_outlier = 0.6745 * distances / mad[:, None] > OUTLIER_Z
    outliers: dict[int, list[int]] = defaultdict(list)
    for row, run in np.argwhere(is_outlier).tolist():
        outliers[row].append(run)
    medians = np.clip(median * unit, -MAX_FLOAT, MAX_FLOAT).tolist()
    etas, p_values = eta_squared.tolist(), first_p.tolist()
    return [
        (
            row,
            Shape(
                n=n,
                modes=(Mode(medians[row], 1.0, n),),
                eta_squared=etas[row],
                cutoff=cutoff,
                order=None,
                first_run_p=p_values[row] if is_ordered[row] else None,
                outliers=tuple(outliers.get(row, ())),
                mean_shifts={},
                band=band,
                is_ordered=is_ordered[row],
            ),
        )
        for row in np.flatnonzero(is_plain).tolist()
    ]


def _best_cuts(parts: Floats, step: Floats) -> tuple[Floats, NDArray[np.bool_]]:
    n = parts.shape[1]
    centered = parts - parts.mean(axis=1)[:, None]
    # Sum in the order in which `@` sums a single cell, to get the same bits.
    squares = np.matmul(centered[:, None, :], centered[:, :, None])[:, 0, 0]
    total = squares + n * step * step / 12
    order = np.argsort(parts, axis=1, kind="stable")
    sums = np.cumsum(np.take_along_axis(centered, order, axis=1), axis=1)
    rank = np.arange(n)
    spread = np.cumsum((n - 2 * rank - 1) / n)
    cuts = rank[1 : n - 2]
    explained = sums[:, cuts] ** 2 / spread[cuts]
    ordered, last = np.sort(centered, axis=1), n - 1
    low = ordered[:, math.ceil(TAIL_SHARE * last)]
    high = ordered[:, math.floor((1 - TAIL_SHARE) * last)]
    width = high - low
    is_far = (ordered[:, 0] < low - width) | (ordered[:, -1] > high + width)
    return explained.max(axis=1) / total, is_far


def _first_run_p_values(parts: Floats, step: Floats) -> Floats:
    n = parts.shape[1]
    rest, freedom = parts[:, 1:], n - 2
    means = rest.mean(axis=1)
    within = ((rest - means[:, None]) ** 2).sum(axis=1)
    variance = within / freedom + step * step / 12
    t = (parts[:, 0] - means) / np.sqrt(variance * (1 + 1 / (n - 1)))
    p_values: Floats = 2 * stdtr(freedom, -np.abs(t))
    return p_values


def _row_medians(ordered: Floats) -> Floats:
    half, is_odd = divmod(ordered.shape[1], 2)
    if is_odd:
        return ordered[:, half]
    medians: Floats = (ordered[:, half - 1] + ordered[:, half]) / 2
    return medians
