"""What a page makes of two sides of known truth: everything it runs, gates included.

Runs -> shape and lag of each session (as a study's check stores them) -> gates ->
interval by design -> verdict, or the reasons why there is none.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from bench.worlds import Layout, Runs, World, days
from benchmarks.analysis.gates import gates_of_doubts
from benchmarks.analysis.intervals import Floats, Rollups
from benchmarks.analysis.session_rollups import UNKNOWN_TIME, SessionRollups
from benchmarks.analysis.shape import shape_of
from benchmarks.analysis.verdicts import Judgements, judge

EXACT = 1e-9
"""The last digit of readings that are exact, in parts of the value."""


@dataclass(frozen=True)
class Looks:
    """What a check finds in the runs of many cells, and in each session of them.

    ``moves``: by which part the order of the runs moves each mean. ``rho`` and
    ``first`` are what sessions keep.
    """

    gates: NDArray[np.int64]
    moves: Floats
    rho: Floats
    first: Floats


def looked_at(runs: Runs, sessions: NDArray[np.int64], step: float) -> Looks:
    """Look at each cell's runs as the check of a study does."""
    cells, count, n = runs.shape
    names = np.repeat(sessions, n).tolist()
    doubts, moves = [], []
    rho, first = np.full((2, cells, count), np.nan)
    for cell, values in enumerate(runs.reshape(cells, -1)):
        shape = shape_of(values, sessions=names, resolution=step or None)
        doubts.append(",".join(shape.doubts))
        moves.append(shape.order_moves)
        for session, own in enumerate(runs[cell].tolist()):
            first[cell, session], rho[cell, session] = (
                np.nan if each is None else each for each in shape.apart(own)
            )
    return Looks(gates_of_doubts(doubts), np.array(moves), rho, first)


def rolled_up(
    runs: Runs, sessions: NDArray[np.int64], looks: Looks, scale: Floats, step: float
) -> tuple[Rollups, SessionRollups]:
    """Return what is stored of cells and of each of their sessions."""
    cells, count, n = runs.shape
    whole, each = runs.reshape(cells, -1), runs.reshape(-1, n)
    resolution = step or EXACT
    return (
        Rollups.of(np.full(cells, count * n), *_moments(whole), resolution),
        SessionRollups.of(
            np.repeat(np.arange(cells), count),
            np.tile(sessions, cells),
            np.full(cells * count, n),
            *_moments(each),
            each.min(axis=1),
            each.max(axis=1),
            looks.rho.ravel(),
            np.full(cells * count, resolution),
            (scale * looks.first).ravel(),
        ),
    )


def _moments(runs: Floats) -> tuple[Floats, Floats]:
    mean = runs.mean(axis=1)
    return mean, ((runs - mean[:, None]) ** 2).sum(axis=1)


@dataclass(frozen=True)
class Pair:
    """Both sides of many cells, drawn once, to be judged at any truth."""

    world: World
    own: Runs
    other: Runs
    own_sessions: NDArray[np.int64]
    other_sessions: NDArray[np.int64]
    own_looks: Looks | None
    other_looks: Looks

    def judged(self, truth: float | Floats) -> Judgements:
        """Judge the cells where the first side is ``truth`` times the second."""
        factor = np.reshape(truth, (-1, 1, 1))
        own = _read(factor * self.own, self.world.step)
        step = self.world.step
        # A coarse display hides more of a smaller number; else scale changes no look.
        looks = self.own_looks or looked_at(own, self.own_sessions, step)
        # A first run was seen as it was read, or before it was made slower.
        scale = np.ones((1, 1)) if self.own_looks is None else factor[..., 0]
        mine = rolled_up(own, self.own_sessions, looks, scale, step)
        theirs = rolled_up(
            _read(self.other, step),
            self.other_sessions,
            self.other_looks,
            np.ones((1, 1)),
            step,
        )
        return judge(
            mine[0],
            theirs[0],
            True,
            gates=looks.gates | self.other_looks.gates,
            sessions=(mine[1], theirs[1]),
            moves=(looks.moves, self.other_looks.moves),
        )


def drawn(
    generator: Generator,
    world: World,
    layout: Layout,
    cells: int,
    n: int,
    day: float = 0.0,
) -> Pair:
    """Draw cells of a world, ``n`` runs in each session of a layout."""
    own_day, other_day = days(generator, cells, layout, day)
    own = own_day * world.draw(generator, (cells, layout.own, n))
    other = other_day * world.draw(generator, (cells, layout.other, n))
    names = np.arange(layout.own)
    # Sessions of the other side that are not shared have names of their own.
    others = np.arange(layout.other)
    others = np.where(others < layout.shared, others, 1000 + others)
    if not layout.is_dated:
        names, others = (
            np.full_like(names, UNKNOWN_TIME),
            np.full_like(others, UNKNOWN_TIME),
        )
    return Pair(
        world,
        own,
        other,
        names,
        others,
        None if world.step else looked_at(own, names, 0.0),
        looked_at(_read(other, world.step), others, world.step),
    )


def _read(runs: Runs, step: float) -> Runs:
    """Return what a display of this last digit shows."""
    return np.round(runs / step) * step if step else runs
