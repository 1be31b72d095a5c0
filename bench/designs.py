"""How right the intervals by design are where every day has an effect of 3 %.

python -m bench.designs    prints the table of docs/method.md
"""

from typing import Final

import numpy as np

from bench.simulation import Measured, days_apart
from benchmarks.analysis.designs import Design, designed_intervals
from benchmarks.analysis.intervals import Rollups
from benchmarks.analysis.session_rollups import SessionRollups
from benchmarks.analysis.verdicts import Verdict, judge

WORLDS: Final = 20_000
# Sessions of either side, whether they are the same ones, runs in each.
ROWS: Final = (
    ((3, 3), True, 5),
    ((5, 5), True, 5),
    ((10, 10), True, 5),
    ((2, 2), True, 5),
    ((2, 2), True, 10),
    ((1, 1), True, 5),
    ((1, 1), True, 10),
    ((3, 3), False, 5),
    ((5, 5), False, 5),
    ((10, 10), False, 5),
    ((3, 30), False, 5),
    ((1, 3), False, 5),
    ((1, 5), False, 5),
    ((1, 10), False, 5),
    ((1, 1), False, 5),
    ((1, 1), False, 30),
)


def row(
    sessions: tuple[int, int], is_shared: bool, n: int, worlds: int = WORLDS
) -> tuple[str, ...]:
    """Return a row: the design, its coverage, wrong and right verdicts in percent."""
    generator = np.random.default_rng([*sessions, is_shared, n])
    equal, slower = (
        days_apart(generator, worlds, sessions, n, truth=truth, is_shared=is_shared)
        for truth in (1.0, 0.95)
    )
    designed = designed_intervals(*_whole(equal), _sessions(equal), True)
    intervals = designed.intervals
    is_held = (intervals.low < 1) & (intervals.high > 1)
    given, found = (
        judge(*_whole(pair), True, sessions=_sessions(pair)).verdict
        for pair in (equal, slower)
    )
    where = "shared" if is_shared else "apart"
    return (
        f"{sessions[0]} against {sessions[1]}, {where}, {n} runs each",
        Design(designed.design[0]).slug,
        *(
            f"{100 * share:.1f}"
            for share in (
                is_held.mean(),
                np.isin(given, (Verdict.SLOWER, Verdict.FASTER)).mean(),
                (found == Verdict.SLOWER).mean(),
                (found == Verdict.NOT_ASSESSED).mean(),
            )
        ),
    )


def _whole(pair: tuple[Measured, Measured]) -> tuple[Rollups, Rollups]:
    return pair[0].cells, pair[1].cells


def _sessions(
    pair: tuple[Measured, Measured],
) -> tuple[SessionRollups, SessionRollups]:
    return pair[0].sessions, pair[1].sessions


if __name__ == "__main__":
    for each in ROWS:
        print("| " + " | ".join(row(*each)) + " |")
