"""Find plain shapes of many small cells at once, bit-equal to `shape.shape_of`.

Cells that are not plain are passed to `shape_of` itself.
"""

import math
from collections import defaultdict
from collections.abc import Hashable, Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr

from benchmarks.analysis.intervals import Floats
from benchmarks.analysis.order import FALSE_ALARM, ORDER_RUNS
from benchmarks.analysis.shape import COARSEST, Shape, shape_of
from benchmarks.analysis.speeds import (
    LEAST_RUNS,
    MIN_RUNS,
    OUTLIER_Z,
    TAIL,
    Mode,
    bimodal_cutoff,
)

LARGEST: Final = float(np.finfo(float).max)


class CellReadings(NamedTuple):
    """What `shape_of` is told of a cell."""

    values: Sequence[float]
    sessions: Sequence[Hashable]
    resolution: float | None
    is_ordered: bool


def shapes_of(cells: Sequence[CellReadings], *, band: float) -> list[Shape]:
    """Return the shape of each cell: what `shape_of` says of it."""
    alike: dict[int, list[int]] = defaultdict(list)
    for place, (values, sessions, resolution, is_ordered) in enumerate(cells):
        n = len(values)
        has_order = is_ordered and n >= ORDER_RUNS
        is_one_session = sessions and sessions.count(sessions[0]) == n
        if n >= MIN_RUNS and not has_order and is_one_session and resolution:
            alike[n].append(place)
    plain: dict[int, Shape] = {}
    for places in alike.values():
        found = _plain_ones([cells[place] for place in places], band)
        plain |= {places[row]: shape for row, shape in found}
    return [
        plain.get(place)
        or shape_of(
            values,
            sessions=sessions,
            band=band,
            resolution=resolution,
            is_ordered=is_ordered,
        )
        for place, (values, sessions, resolution, is_ordered) in enumerate(cells)
    ]


def _plain_ones(cells: Sequence[CellReadings], band: float) -> list[tuple[int, Shape]]:
    """The places and shapes of those that are plain; all have as many runs."""
    values = np.array([cell.values for cell in cells], dtype=float)
    resolution = np.array([cell.resolution for cell in cells], dtype=float)
    is_ordered = [cell.is_ordered for cell in cells]
    n = values.shape[1]
    # Known from five runs on.
    cutoff = bimodal_cutoff(n) or 0.0
    # One that is not finite is an error, which `shape_of` knows.
    is_plain = np.isfinite(values).all(axis=1)
    values[~is_plain] = 0.0
    unit = np.abs(values).max(axis=1)
    unit[unit == 0] = 1.0
    step = np.clip(resolution / unit, 8 * np.spacing(unit) / unit, COARSEST)
    parts = values / unit[:, None]

    eta_squared, is_far = _cuts(parts, step)
    is_plain &= eta_squared <= cutoff
    # What lies far from all others may hide two speeds, where enough others are left.
    is_plain &= ~is_far | (n <= 2 * LEAST_RUNS)
    first_p = _first_run_chances(parts, step)
    is_plain &= ~(np.array(is_ordered) & (first_p <= FALSE_ALARM))

    middle = _middles(np.sort(parts, axis=1))
    distances = np.abs(parts - middle[:, None])
    mad = np.maximum(_middles(np.sort(distances, axis=1)), step / 2)
    is_outlier = 0.6745 * distances / mad[:, None] > OUTLIER_Z
    outliers: dict[int, list[int]] = defaultdict(list)
    for row, place in np.argwhere(is_outlier).tolist():
        outliers[row].append(place)
    centres = np.clip(middle * unit, -LARGEST, LARGEST).tolist()
    etas, chances = eta_squared.tolist(), first_p.tolist()
    return [
        (
            row,
            Shape(
                n=n,
                modes=(Mode(centres[row], 1.0, n),),
                eta_squared=etas[row],
                cutoff=cutoff,
                order=None,
                first_run_p=chances[row] if is_ordered[row] else None,
                outliers=tuple(outliers.get(row, ())),
                moves={},
                band=band,
                is_ordered=is_ordered[row],
            ),
        )
        for row in np.flatnonzero(is_plain).tolist()
    ]


def _cuts(parts: Floats, step: Floats) -> tuple[Floats, NDArray[np.bool_]]:
    """Return what each row's best cut explains, and whether values lie far off.

    As in `speeds`.
    """
    n = parts.shape[1]
    centred = parts - parts.mean(axis=1)[:, None]
    # As `@` adds up a single row.
    squares = np.matmul(centred[:, None, :], centred[:, :, None])[:, 0, 0]
    total = squares + n * step * step / 12
    order = np.argsort(parts, axis=1, kind="stable")
    sums = np.cumsum(np.take_along_axis(centred, order, axis=1), axis=1)
    place = np.arange(n)
    spread = np.cumsum((n - 2 * place - 1) / n)
    # Two runs or more on either side.
    cuts = place[1 : n - 2]
    explained = sums[:, cuts] ** 2 / spread[cuts]
    ordered, last = np.sort(centred, axis=1), n - 1
    low = ordered[:, math.ceil(TAIL * last)]
    high = ordered[:, math.floor((1 - TAIL) * last)]
    width = high - low
    is_far = (ordered[:, 0] < low - width) | (ordered[:, -1] > high + width)
    return explained.max(axis=1) / total, is_far


def _first_run_chances(parts: Floats, step: Floats) -> Floats:
    """The chance of each row's first run, as in `shape`, of one session."""
    n = parts.shape[1]
    rest, freedom = parts[:, 1:], n - 2
    means = rest.mean(axis=1)
    within = ((rest - means[:, None]) ** 2).sum(axis=1)
    variance = within / freedom + step * step / 12
    t = (parts[:, 0] - means) / np.sqrt(variance * (1 + 1 / (n - 1)))
    chances: Floats = 2 * stdtr(freedom, -np.abs(t))
    return chances


def _middles(ordered: Floats) -> Floats:
    """The median of each row, whose values are in order."""
    half, is_odd = divmod(ordered.shape[1], 2)
    if is_odd:
        return ordered[:, half]
    middles: Floats = (ordered[:, half - 1] + ordered[:, half]) / 2
    return middles
