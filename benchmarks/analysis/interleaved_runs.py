"""Interleaved runs: both sides alternate within a session, so shared drifts cancel.

See docs/method.md, Interleaved runs. The order of starts alone forms the blocks.
Bulej et al., "Duet benchmarking", ICPE 2020.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from benchmarks.analysis.batch_distribution_shapes import CellReadings, find_shapes
from benchmarks.analysis.distribution_shape import Shape
from benchmarks.analysis.intervals import NO_WARNINGS, Floats
from benchmarks.analysis.run_vectors import RunVectors
from benchmarks.analysis.sessions import (
    MAX_RHO,
    MIN_BIAS_DIVISOR,
    MIN_LAG_RUNS,
    UNKNOWN_TIME,
    Indices,
)

MIN_BLOCKS: Final = 5
# A pause this many times longer than the median pause between the sides ends a block.
LONG_PAUSE: Final = 10.0
# The resolution of differences, relative to the mean.
FINE_STEP: Final = 1e-9


@dataclass(frozen=True, slots=True)
class Blocks:
    """Blocks of successive runs of both sides, in order of their starts.

    ``place`` is the index of their session in `InterleavedSessions`. ``difference`` is
    the log ratio of both sides in the block minus that in the whole session (to first
    order), ``weight`` the harmonic number of runs, ``offset`` how many runs later the
    cell ran.
    """

    place: Indices
    difference: Floats
    weight: Floats
    offset: Floats
    is_pair: NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class InterleavedSessions:
    """Sessions that both sides share with known starts, ordered by row and session.

    ``later_share`` is the share of pairs of a run of the cell and one of its baseline
    in which the cell's run started later. ``n`` counts blocks. ``log_ratio`` is that of
    the cell's mean to its baseline's, ``variance`` the variance of the differences per
    unit of weight, scaled so that it is divided by ``n``; ``rho`` is the lag-1
    autocorrelation of the differences.
    """

    row: Indices
    session: Indices
    later_share: Floats
    n: Indices
    log_ratio: Floats
    variance: Floats
    rho: Floats
    is_paired: NDArray[np.bool_]
    fewest_runs: Indices
    blocks: Blocks

    @property
    def is_alternating(self) -> NDArray[np.bool_]:
        """Whether enough runs alternate for the drifts of both sides to cancel."""
        is_frequent = (self.n >= 2) & (2 * self.n >= self.fewest_runs)
        return np.asarray((self.n >= MIN_BLOCKS) | is_frequent, dtype=bool)

    def without_first_blocks(
        self, is_excluded: NDArray[np.bool_]
    ) -> InterleavedSessions:
        """Return statistics without the first block of the selected sessions."""
        blocks = self.blocks
        is_first = np.diff(blocks.place, prepend=-1) > 0
        kept = ~(is_first & is_excluded[blocks.place])
        rest = Blocks(
            *(
                getattr(blocks, name)[kept]
                for name in ("place", "difference", "weight", "offset", "is_pair")
            )
        )
        changed = _with_blocks(self, rest, np.zeros(self.row.shape))
        return replace(changed, blocks=blocks)


@NO_WARNINGS
def find_interleaved(own: RunVectors, other: RunVectors) -> InterleavedSessions:
    """Return the blocks of the sessions that both sides share with known starts."""
    row, session, value, start = (
        np.concatenate([getattr(side, name) for side in (own, other)])
        for name in ("row", "session", "value", "start")
    )
    is_own = np.repeat([True, False], [own.row.size, other.row.size])
    code = row * (session.max(initial=0) + 2) + session + 1
    order = np.lexsort((~is_own, start, code))
    row, session, value, start, is_own, code = (
        column[order] for column in (row, session, value, start, is_own, code)
    )
    place = _numbered(code)
    is_known = (session != UNKNOWN_TIME) & np.isfinite(start) & (value > 0)
    is_used = (
        (np.bincount(place, is_own) > 0)
        & (np.bincount(place, ~is_own) > 0)
        & (np.bincount(place, ~is_known) == 0)
    )[place]
    row, session, value, start, is_own, code = (
        column[is_used] for column in (row, session, value, start, is_own, code)
    )
    place = _numbered(code)
    first = np.flatnonzero(np.diff(place, prepend=-1))
    count = first.size
    rank = _ranks(place, start, first)
    runs = [np.bincount(place[which], minlength=count) for which in (is_own, ~is_own)]
    own_ranks = np.bincount(place, np.where(is_own, rank, 0.0), count)
    later = own_ranks - runs[0] * (runs[0] - 1) / 2
    empty = np.zeros(0)
    sessions = InterleavedSessions(
        row=row[first],
        session=session[first],
        later_share=later / (runs[0] * runs[1]),
        n=np.zeros(count, dtype=np.int64),
        log_ratio=np.zeros(count),
        variance=np.full(count, np.nan),
        rho=np.full(count, np.nan),
        is_paired=np.zeros(count, dtype=bool),
        fewest_runs=np.minimum(*runs),
        blocks=Blocks(empty.astype(np.int64), empty, empty, empty, empty.astype(bool)),
    )
    block = _block_numbers(place, start, is_own, first)
    return _with_run_blocks(sessions, place, value, rank, is_own, block)


def difference_shapes(
    interleaved: InterleavedSessions, is_tested: NDArray[np.bool_], *, band: float
) -> dict[int, Shape]:
    """Return the shapes of the differences of blocks of the tested cells, by cell."""
    place = interleaved.blocks.place
    entries = np.flatnonzero(is_tested[interleaved.row[place]])
    rows, first = np.unique(interleaved.row[place[entries]], return_index=True)
    if not rows.size:
        return {}
    values = np.split(1 + interleaved.blocks.difference[entries], first[1:])
    sessions = np.split(place[entries], first[1:])
    readings = [
        CellReadings(of_cell.tolist(), of_session.tolist(), FINE_STEP, is_ordered=True)
        for of_cell, of_session in zip(values, sessions, strict=True)
    ]
    return dict(zip(rows.tolist(), find_shapes(readings, band=band), strict=True))


def _numbered(code: Indices) -> Indices:
    """Return the number of each code among the different ones; codes are in order."""
    return np.cumsum(np.diff(code, prepend=code[:1]) != 0)


def _ranks(place: Indices, start: Floats, first: Indices) -> Floats:
    """Rank within sessions from 0; runs with equal starts share their mean rank."""
    position = np.arange(place.size) - first[place]
    is_new = np.ones(place.size, dtype=bool)
    is_new[1:] = (np.diff(place) != 0) | (np.diff(start) != 0)
    group = np.cumsum(is_new) - 1
    sums = np.bincount(group, position) / np.bincount(group)
    return np.asarray(sums[group], dtype=float)


def _block_numbers(
    place: Indices, start: Floats, is_own: NDArray[np.bool_], first: Indices
) -> Indices:
    """Return the number of each run's block, -1 outside of blocks.

    A block ends as soon as both sides have equally many runs in it, or before the side
    changes. A long pause, or the end of the session, drops a block with one side only.
    """
    total, count = place.size, first.size
    last = np.append(first[1:], total) - 1
    number = np.full(total, -1, dtype=np.int64)
    if not total:
        return number
    is_last = np.zeros(total, dtype=bool)
    is_last[last] = True
    step = np.append(np.diff(start), 0.0)
    is_change = ~is_last & np.append(is_own[1:] != is_own[:-1], False)
    is_break = is_last | (
        step > LONG_PAUSE * _median_pauses(place, step, is_change, count)[place]
    )
    ends_streak = is_break | is_change

    lengths = last - first + 1
    by_length = np.argsort(-lengths, kind="stable")
    own_count, other_count, begin = (np.zeros(count, dtype=np.int64) for _ in range(3))
    begin[:] = first
    block_end = np.full(total, -1, dtype=np.int64)
    for position in range(int(lengths.max())):
        active = by_length[: np.searchsorted(-lengths[by_length], -position, "left")]
        index = first[active] + position
        own_count[active] += is_own[index]
        other_count[active] += ~is_own[index]
        has_both = (own_count[active] > 0) & (other_count[active] > 0)
        is_equal = own_count[active] == other_count[active]
        closes = has_both & (is_equal | ends_streak[index])
        block_end[begin[active[closes]]] = index[closes]
        resets = active[closes | is_break[index]]
        begin[resets] = first[resets] + position + 1
        own_count[resets] = other_count[resets] = 0
    begins = np.flatnonzero(block_end >= 0)
    sizes = block_end[begins] - begins + 1
    inside = np.repeat(begins - np.cumsum(sizes) + sizes, sizes) + np.arange(
        sizes.sum()
    )
    number[inside] = np.repeat(np.arange(begins.size), sizes)
    return number


def _median_pauses(
    place: Indices, step: Floats, is_change: NDArray[np.bool_], count: int
) -> Floats:
    """Return the median pause above 0 between the sides, infinity without one."""
    counted = np.flatnonzero(is_change & (step > 0))
    counted = counted[np.lexsort((step[counted], place[counted]))]
    sizes = np.bincount(place[counted], minlength=count)
    begins = np.cumsum(sizes) - sizes
    pauses = np.append(step[counted], np.inf)
    return np.where(
        sizes > 0, pauses[np.minimum(begins + sizes // 2, pauses.size - 1)], np.inf
    )


def _with_run_blocks(
    sessions: InterleavedSessions,
    place: Indices,
    mean: Floats,
    rank: Floats,
    is_own: NDArray[np.bool_],
    block: Indices,
) -> InterleavedSessions:
    inside = block >= 0
    block_count = int(block.max(initial=-1)) + 1
    sides = [np.flatnonzero(inside & which) for which in (is_own, ~is_own)]
    runs = [np.bincount(block[side], minlength=block_count) for side in sides]
    block_place = np.zeros(block_count, dtype=np.int64)
    block_place[block[inside]] = place[inside]
    count = sessions.row.size
    weight = runs[0] * runs[1] / (runs[0] + runs[1])
    weight_sum = np.bincount(block_place, weight, count)
    relative, log_means = [], []
    # The slope of both sides around their means: what a shared drift adds per run.
    products, squares = np.zeros(count), np.zeros(count)
    for side, n in zip(sides, runs, strict=True):
        block_means = np.bincount(block[side], mean[side], block_count) / n
        weighted = np.bincount(block_place, weight * block_means, count) / weight_sum
        relative.append(block_means / weighted[block_place])
        log_means.append(np.log(weighted))
        parts = mean[side] / weighted[place[side]]
        n_runs = np.bincount(place[side], minlength=count)
        centered = (
            rank[side]
            - (np.bincount(place[side], rank[side], count) / n_runs)[place[side]]
        )
        products += np.bincount(place[side], centered * parts, count)
        squares += np.bincount(place[side], centered**2, count)
    ranks = [
        np.bincount(block[side], rank[side], block_count) / n
        for side, n in zip(sides, runs, strict=True)
    ]
    blocks = Blocks(
        block_place,
        relative[0] - relative[1],
        weight,
        ranks[0] - ranks[1],
        (runs[0] == 1) & (runs[1] == 1),
    )
    with_ratio = replace(sessions, log_ratio=log_means[0] - log_means[1])
    return _with_blocks(with_ratio, blocks, np.nan_to_num(products / squares), squares)


def _with_blocks(
    sessions: InterleavedSessions,
    blocks: Blocks,
    slope: Floats,
    slope_squares: Floats | None = None,
) -> InterleavedSessions:
    """Return the statistics of these blocks.

    ``slope`` is removed from the ratio for the runs by which one side ran later.
    """
    place, count = blocks.place, sessions.row.size
    n = np.bincount(place, minlength=count)
    weight_sum = np.bincount(place, blocks.weight, count)
    mean = np.nan_to_num(
        np.bincount(place, blocks.weight * blocks.difference, count) / weight_sum
    )
    offset = np.nan_to_num(
        np.bincount(place, blocks.weight * blocks.offset, count) / weight_sum
    )
    residual = blocks.difference - mean[place]
    scaled = np.sqrt(blocks.weight) * residual
    variance = np.bincount(place, scaled**2, count) / (n - 1) * n / weight_sum
    if slope_squares is not None:
        # The variance of the slope, if runs are independent.
        variance = variance * (
            1 + np.nan_to_num(offset**2 * weight_sum / slope_squares)
        )
    total = np.bincount(place, scaled**2, count)
    is_same = np.diff(place) == 0
    products = np.bincount(
        place[1:][is_same], (scaled[1:] * scaled[:-1])[is_same], count
    )
    rho = (n * products / total + 1) / np.maximum(n - 4, MIN_BIAS_DIVISOR)
    rho = np.where((n >= MIN_LAG_RUNS) & (total > 0), np.minimum(rho, MAX_RHO), np.nan)
    return replace(
        sessions,
        n=n,
        log_ratio=sessions.log_ratio + mean - slope * offset,
        variance=variance,
        rho=rho,
        is_paired=np.bincount(place[~blocks.is_pair], minlength=count) == 0,
        blocks=blocks,
    )
