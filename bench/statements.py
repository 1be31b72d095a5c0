"""Tables of the calibration report: the words that a page says, wrong and right.

In each world a guest is 1, 0.98, 0.95 or 0.5 times as fast as its native machine. At 1
"slower" and "faster" are wrong, at 0.98, the edge of the margin, every word is, below
it "faster" and "equivalent" are. Everything runs that a page runs.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.random import Generator

from bench.sides import drawn
from bench.tables import Table, percent
from bench.worlds import LAYOUTS, WORLDS, Layout, World
from benchmarks.analysis.gates import SHAPELESS, Gate
from benchmarks.analysis.verdicts import Judgements, Verdict, correct

# A cell whose shape is looked at takes as long as so many that are only judged.
SHAPE_WEIGHT: Final = 20
TRUTHS: Final = (1.0, 0.98, 0.95, 0.5)
RUNS: Final = (5, 10, 30, 100, 300)
RUNS_IN_SESSION: Final = 5
DAYS: Final = (0.0, 0.01, 0.03)
ONE_SHARED: Final = next(layout for layout in LAYOUTS if layout.shared == 1)
WORDS: Final = (Verdict.SLOWER, Verdict.FASTER, Verdict.EQUIVALENT)
RIGHT: Final = {1.0: Verdict.EQUIVALENT, 0.95: Verdict.SLOWER, 0.5: Verdict.SLOWER}
REASONS: Final = {
    "two speeds": int(Gate.BIMODAL),
    "order": int(SHAPELESS & ~Gate.BIMODAL),
    "few independent": int(Gate.FEW_INDEPENDENT),
    "other days": int(Gate.UNREPEATED),
}
COLUMNS: Final = (
    *(f"wrong at {truth:g}" for truth in TRUTHS),
    *(f"right at {truth:g}" for truth in RIGHT),
    "undetermined at 0.95",
    *(f"refused at 0.95: {reason}" for reason in REASONS),
    "else",
)


def wrong(judged: Judgements, truth: float) -> float:
    """Return the share of cells of which something is said that is not true."""
    given = np.isin(judged.verdict, WORDS)
    return float(np.mean(given & (judged.verdict != RIGHT.get(truth, -1))))


def said(
    world: World,
    layout: Layout,
    generator: Generator,
    cells: int,
    n: int,
    day: float = 0.0,
) -> tuple[str, ...]:
    """Return the shares of wrong and right words, and of refusals: a table's row."""
    pair = drawn(generator, world, layout, cells, n, day)
    judged = {truth: pair.judged(truth) for truth in TRUTHS}
    near = judged[0.95]
    is_refused = near.verdict == Verdict.NOT_ASSESSED
    left, refused = is_refused.copy(), []
    for bits in REASONS.values():
        # The first reason that is named counts, so that the columns add up.
        by_this = left & ((near.gates & bits) != 0)
        refused.append(by_this)
        left &= ~by_this
    shares = [
        *(wrong(judged[truth], truth) for truth in TRUTHS),
        *(np.mean(judged[truth].verdict == word) for truth, word in RIGHT.items()),
        np.mean(near.verdict == Verdict.UNDETERMINED),
        *map(np.mean, [*refused, left]),
    ]
    return tuple(percent(float(share)) for share in shares)


def words_by_world(
    generator: Generator, repetitions: int, counts: Sequence[int] = RUNS
) -> Table:
    """Both sides in one session, by how runs vary and how many there are."""
    cells = max(repetitions // SHAPE_WEIGHT, 2)
    return Table(
        "Words within one session",
        _text(cells) + " Both sides ran in one shared session; the number of runs is "
        "that of each side.",
        ("runs", *COLUMNS),
        tuple(
            (f"{world.name}, {n}", *said(world, ONE_SHARED, generator, cells, n))
            for world in WORLDS
            for n in counts
        ),
    )


def words_by_layout(generator: Generator, repetitions: int) -> Table:
    """Independent runs of 2 %, by what was repeated and how much days differ."""
    cells = max(repetitions // SHAPE_WEIGHT, 2)
    return Table(
        "Words across days",
        _text(cells) + f" Runs vary by 2 %, {RUNS_IN_SESSION} in a session; a day "
        "moves all that was measured on it by the standard deviation that is named.",
        ("sessions, day effect", *COLUMNS),
        tuple(
            (
                f"{layout.name}, {percent(day, 0)} %",
                *said(WORLDS[0], layout, generator, cells, RUNS_IN_SESSION, day),
            )
            for layout in LAYOUTS
            for day in DAYS
        ),
    )


def words_by_world_across_days(generator: Generator, repetitions: int) -> Table:
    """The worlds again where both sides ran in several sessions."""
    cells = max(repetitions // SHAPE_WEIGHT, 2)
    shared = [layout for layout in LAYOUTS if layout.shared in {3, 5}]
    return Table(
        "Words across shared sessions, by how runs vary",
        _text(cells) + " Days differ by 3 %.",
        ("sessions, runs in each", *COLUMNS),
        tuple(
            (
                f"{world.name}, {layout.own} shared, {n}",
                *said(world, layout, generator, cells, n, 0.03),
            )
            for world in WORLDS
            for layout in shared
            for n in (5, 10)
        ),
    )


def many_statements(generator: Generator, repetitions: int) -> Table:
    """Matrices of 100 cells, half of them equal, the others at the edge or slower."""
    matrices = max(repetitions // SHAPE_WEIGHT // 20, 1)
    truths = np.repeat([1.0, 0.98, 0.95, 0.9], [50, 20, 15, 15])

    def row(world: World, layout: Layout, n: int, day: float) -> tuple[str, ...]:
        shares = []
        for _ in range(matrices):
            judged = drawn(generator, world, layout, truths.size, n, day).judged(truths)
            shares.append(
                [*_of_given(judged, truths), *_of_given(correct(judged), truths)]
            )
        return tuple(percent(float(share)) for share in np.mean(shares, axis=0))

    three = next(layout for layout in LAYOUTS if layout.shared == 3)
    apart = next(each for each in LAYOUTS if each.own == 5 and not each.shared)
    chosen: tuple[tuple[str, tuple[World, Layout, int, float]], ...] = (
        ("independent, one session, 5", (WORLDS[0], ONE_SHARED, 5, 0.0)),
        ("independent, one session, 30", (WORLDS[0], ONE_SHARED, 30, 0.0)),
        ("AR(1) 0.5, one session, 30", (WORLDS[2], ONE_SHARED, 30, 0.0)),
        ("4 % outliers, one session, 30", (WORLDS[6], ONE_SHARED, 30, 0.0)),
        ("independent, 3 shared sessions, 3 %", (WORLDS[0], three, 5, 0.03)),
        ("independent, 5 and 5 sessions, 3 %", (WORLDS[0], apart, 5, 0.03)),
    )
    return Table(
        "Words in a matrix of 100 cells",
        f"Of {matrices} matrices: how many % of the words given are wrong, and how "
        "many % of the cells have a right one, before and after the correction. 50 "
        "cells are equal, 20 lie at the edge of 0.98, 15 at 0.95 and 15 at 0.9. "
        "Wanted: at most 5 % wrong after it.",
        ("world", "wrong before", "right before", "wrong after", "right after"),
        tuple((name, *row(*how)) for name, how in chosen),
    )


def _of_given(judged: Judgements, truths: np.ndarray) -> tuple[float, float]:
    wanted = np.select(
        [truths == 1.0, truths < 0.98], [Verdict.EQUIVALENT, Verdict.SLOWER], -1
    )
    given = np.isin(judged.verdict, WORDS)
    right = given & (judged.verdict == wanted)
    return float((given & ~right).sum() / max(given.sum(), 1)), float(right.mean())


def _text(cells: int) -> str:
    return (
        f"How many % of {cells:,} cells get a wrong word, or a right one, by the true "
        "ratio; shape, order, design and gates included. Wanted: at most 4 wrong at 1, "
        "0.95 and 0.5, at most 5 at 0.98, the edge of the margin."
    )


if __name__ == "__main__":
    cells, *counts = map(int, sys.argv[1:] or (3000, *RUNS))
    table = words_by_world(np.random.default_rng(0), cells * SHAPE_WEIGHT, counts)
    print(table.markdown())
