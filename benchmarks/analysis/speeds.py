"""Two speeds: whether runs fall into two groups.

The sorted runs are cut where the cut explains most of the variance within sessions.
They are two speeds if that is more than unimodal runs ever show.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cache
from statistics import median
from typing import Final

import numpy as np
from numpy.typing import NDArray

from benchmarks.analysis.intervals import Floats
from benchmarks.analysis.order import Places, session_means

MIN_RUNS: Final = 5
# The 99 % quantiles of eta squared in runs from a uniform distribution: of all
# distributions with one hump it is the hardest to tell from two speeds.
CUTOFFS: Final = {
    **{5: 0.990, 6: 0.981, 7: 0.972, 8: 0.961, 9: 0.952, 10: 0.943},
    **{11: 0.935, 12: 0.928, 15: 0.911, 20: 0.890, 30: 0.866, 50: 0.840},
}
# Cut in two halves, a uniform distribution has 3/4 of its variance between them.
CUTOFF_LIMIT: Final = 0.75
OUTLIER_Z: Final = 3.5
# A speed that fewer have is no speed: these are outliers.
LEAST_SHARE: Final = 0.15
LEAST_RUNS: Final = 3
# The middle that outliers cannot reach while a second speed has its share of the runs.
TAIL: Final = 0.1
# How much nearer to 1 the cut-off lies for sessions of m runs: this / m^2 (simulated).
NEARER: Final = 1.45


@dataclass(frozen=True, slots=True)
class Mode:
    """One speed: its median, its share of the runs (0 to 1) and their number."""

    centre: float
    share: float
    count: int

    def times(self, unit: float) -> Mode:
        # Without its session's offset a reading can be larger than any number.
        largest = float(np.finfo(float).max)
        centre = min(max(self.centre * unit, -largest), largest)
        return Mode(centre, self.share, self.count)


@dataclass(frozen=True, slots=True, eq=False)
class Speeds:
    """Two speeds found in values ordered by session.

    ``levelled`` are the values without session offsets, ``groups`` the indices of each
    speed. ``eta_squared`` and ``cutoff`` are None below 5 runs.
    """

    levelled: Floats
    groups: tuple[Places, ...]
    eta_squared: float | None
    cutoff: float | None

    @property
    def modes(self) -> tuple[Mode, ...]:
        n = self.levelled.size
        return tuple(
            Mode(_middle(self.levelled[group]), group.size / n, group.size)
            for group in self.groups
        )

    @property
    def centre(self) -> float:
        return _middle(self.levelled)


def _middle(values: Floats) -> float:
    """Return the median (ten times faster than numpy for a few values)."""
    return float(median(values.tolist()))


@cache
def bimodal_cutoff(n: int) -> float | None:
    """Return the share of variance that two speeds must explain; None below 5 runs.

    Interpolated linearly in 1/sqrt(n), beyond 50 towards its limit 3/4.
    """
    if n < MIN_RUNS:
        return None
    sizes = sorted(CUTOFFS, reverse=True)
    places = [0.0, *(1 / math.sqrt(size) for size in sizes)]
    cutoffs = [CUTOFF_LIMIT, *(CUTOFFS[size] for size in sizes)]
    return float(np.interp(1 / math.sqrt(n), places, cutoffs))


def two_speeds(values: Floats, sizes: tuple[int, ...], step: float) -> Speeds:
    """Find two speeds, each with 15 % of the runs and at least 3 of them.

    ``sizes`` are the runs of each session. Repeated without far outliers, if any.
    """
    everything = np.arange(values.size)
    labels = np.repeat(np.arange(len(sizes)), sizes)
    split = _best_split(values, labels, step)
    apart = (
        split.fewer if split.is_clear else _far(values - session_means(values, sizes))
    )
    # Two speeds take as many runs.
    is_left = 0 < apart.size <= values.size - 2 * LEAST_RUNS
    if split.cutoff is not None and is_left and not split.has_speeds:
        kept = np.delete(everything, apart)
        again = _best_split(values[kept], labels[kept], step)
        if again.has_speeds:
            low, high = values[kept[~again.is_upper]], values[kept[again.is_upper]]
            # What lies apart is of the speed it is nearest to.
            is_upper = values > low.max() / 2 + high.min() / 2
            is_upper[kept] = again.is_upper
            split = replace(again, is_upper=is_upper)
    groups: tuple[Places, ...] = (everything,)
    levelled = values - _offsets(values, sizes, None)
    if split.has_speeds:
        lower, upper = np.flatnonzero(~split.is_upper), np.flatnonzero(split.is_upper)
        alike = values - _offsets(values, sizes, split.is_upper)
        # Sessions of a few runs each can leave nothing between the two.
        if _middle(alike[lower]) < _middle(alike[upper]):
            groups, levelled = (lower, upper), alike
    return Speeds(
        levelled=levelled,
        groups=groups,
        eta_squared=None if split.cutoff is None else split.eta_squared,
        cutoff=split.cutoff,
    )


def outliers_in(speeds: Speeds, groups: tuple[Places, ...], step: float) -> set[int]:
    """Return values with a modified z above 3.5 within their speed (Iglewicz and
    Hoaglin, 1993).

    z = 0.6745 (x - median) / MAD; the MAD is at least half the resolution.
    """
    places: set[int] = set()
    for group in groups:
        distances = np.abs(speeds.levelled[group] - _middle(speeds.levelled[group]))
        mad = max(_middle(distances), step / 2)
        places.update(group[0.6745 * distances / mad > OUTLIER_Z].tolist())
    return places


@dataclass(frozen=True, slots=True, eq=False)
class _Split:
    """The best cut; ``fewer``: the smaller group, in sessions with both groups."""

    eta_squared: float
    cutoff: float | None
    is_upper: NDArray[np.bool_]
    fewer: Places
    is_enough: bool = False

    @property
    def is_clear(self) -> bool:
        return self.cutoff is not None and self.eta_squared > self.cutoff

    @property
    def has_speeds(self) -> bool:
        return self.is_clear and self.is_enough


def _best_split(values: Floats, labels: Places, step: float) -> _Split:
    """Return the two groups, of two or more, with the largest eta^2 within sessions."""
    n = values.size
    counts = np.bincount(labels)
    sizes = tuple(int(size) for size in counts[counts > 0])
    freedom = n - len(sizes) + 1
    cutoff = bimodal_cutoff(freedom)
    if cutoff is not None and len(sizes) > 1:
        # A mean for each few runs is one more way to fit a cut.
        weights = [size for size in sizes if size > 1]
        nearer = NEARER * sum(1 / size for size in weights) / sum(weights)
        cutoff = 1 - (1 - cutoff) * (1 - nearer)
    nobody = _Split(0.0, cutoff, np.zeros(n, dtype=bool), np.arange(0))
    if cutoff is None:
        return nobody
    centred = values - session_means(values, sizes)
    total = float(centred @ centred) + freedom * step * step / 12
    best, is_upper = 0.0, None
    for key in (values,) if len(sizes) == 1 else (values, centred):
        order = np.argsort(key, kind="stable")
        # Of each value, how many of its session are below it, and how many there are.
        place, size = _places_in_sessions(labels[order])
        # Only sessions with runs of both groups tell them apart.
        lower = np.cumsum(np.where(place + 1 < size, 1, -place))
        upper = np.cumsum(np.where(place > 0, -1, size - 1))
        is_cut = np.minimum(lower, upper) >= 2
        if not is_cut.any():
            continue
        spread = np.cumsum((size - 2 * place - 1) / size)
        explained = np.zeros(n)
        explained[is_cut] = np.cumsum(centred[order])[is_cut] ** 2 / spread[is_cut]
        cut = int(explained.argmax())
        if explained[cut] / total > best:
            best = float(explained[cut]) / total
            is_upper = np.zeros(n, dtype=bool)
            is_upper[order[cut + 1 :]] = True
    if is_upper is None:
        return nobody
    share = session_means(is_upper.astype(float), sizes)
    is_mixed = (share > 0) & (share < 1)
    below, above = (
        np.flatnonzero(is_mixed & ~is_upper),
        np.flatnonzero(is_mixed & is_upper),
    )
    fewer = above if above.size < below.size else below
    # The only run of a session is of no known speed.
    company = sum(size for size in sizes if size > 1)
    is_enough = fewer.size >= max(LEAST_RUNS, LEAST_SHARE * company)
    return _Split(best, cutoff, is_upper, fewer, is_enough)


def _places_in_sessions(labels: Places) -> tuple[Places, Places]:
    """Each entry's place among those of its label, and how many there are of it."""
    if labels[0] == labels[-1] and not np.ptp(labels):
        return np.arange(labels.size), np.full(labels.size, labels.size)
    by_label = np.argsort(labels, kind="stable")
    _, begins, counts = np.unique(
        labels[by_label], return_index=True, return_counts=True
    )
    places = np.empty(labels.size, dtype=np.intp)
    places[by_label] = np.arange(labels.size) - np.repeat(begins, counts)
    sizes = np.empty(labels.size, dtype=np.intp)
    sizes[by_label] = np.repeat(counts, counts)
    return places, sizes


def _far(centred: Floats) -> Places:
    """Return values farther from the middle 80 % than these are wide."""
    ordered, last = np.sort(centred), centred.size - 1
    low, high = ordered[math.ceil(TAIL * last)], ordered[math.floor((1 - TAIL) * last)]
    width = high - low
    return np.flatnonzero((centred < low - width) | (centred > high + width))


def _offsets(
    values: Floats, sizes: tuple[int, ...], is_upper: NDArray[np.bool_] | None
) -> Floats:
    """Return session offsets: by medians; of two speeds by means within each speed."""
    if len(sizes) == 1:
        return np.zeros(values.size)
    if is_upper is None:
        ends = np.cumsum(sizes)
        parts = np.split(values, ends[:-1])
        levels = np.repeat([_middle(part) for part in parts], sizes)
    else:
        centred = values - session_means(values, sizes)
        upper = is_upper - session_means(is_upper.astype(float), sizes)
        difference = float(centred @ upper) / float(upper @ upper)
        levels = session_means(values - difference * is_upper, sizes)
    return np.asarray(levels - levels.mean(), dtype=float)
