"""Which runs belong to one sitting, from when they started and what the host then ran.

Runs of one sitting share a day's noise; only sittings tell how much days differ. All
runs of a study on one host, native and guests together, are one row in time. A new
session begins (``docs/method.md``, sessions)

- where more than six hours lie between two starts,
- on another calendar day (UTC) if the host was booted in between,
- where the host runs another kernel, firmware or microcode.

What the host ran is known only of runs that state it; a run that does not counts under
what was known before. Nothing here depends on the order in which runs were uploaded.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any, Final

from benchmarks.sentences import Sentence, joined

LONGEST_PAUSE: Final = timedelta(hours=6)
# Facts of a run under which its host is another machine than it was, as people say it.
MACHINE: Final = {
    "host_kernel": Sentence("kernel"),
    "host_firmware": Sentence("firmware"),
    "host_microcode": Sentence("microcode"),
}
BOOT: Final = "host_boot"
# What an agent calls one start of it, where nobody named a session: native machine and
# guests of one afternoon would be as many sessions.
OWN_NAME: Final = re.compile(r"agent-[0-9a-f]{12}")

LEAST_LAGGED: Final = 5
LEAST_UNBIASING: Final = 4
MOST_RHO: Final = 0.99


@dataclass(frozen=True, slots=True)
class RunStart:
    """When a run started, and what is known of its host at that time.

    ``states`` has the names of `MACHINE` and `BOOT` that it states.
    """

    id: int
    started_at: datetime
    states: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class DerivedSession:
    """Runs of one sitting in the order of their starts, and why it begins."""

    runs: tuple[int, ...]
    starts: tuple[datetime, ...]
    reason: Sentence

    def name_of(self, run: int) -> str:
        """The name of the session that begins with this run: 2021-05-03 14:10 (UTC)."""
        return f"{self.starts[self.runs.index(run)]:%Y-%m-%d %H:%M}"


def is_named(name: str) -> bool:
    """Whether somebody named this session, or a plan did; not an agent by itself."""
    return bool(name) and not OWN_NAME.fullmatch(name)


def host_states(facts: Mapping[str, Any]) -> dict[str, str]:
    """Return what a run's facts say of its host's kernel, firmware, microcode, boot."""
    stated = {name: facts.get(name) for name in (*MACHINE, BOOT)}
    return {name: one for name, one in stated.items() if one and isinstance(one, str)}


def derive_sessions(runs: Iterable[RunStart]) -> list[DerivedSession]:
    """Cut the runs of one host into sessions, in the order of their starts.

    Starts are aware and in UTC. Whatever the order of ``runs``, the answer is the same.
    """
    # Of runs that start at once, those alike stand together, whoever came first.
    ordered = sorted(
        runs, key=lambda run: (run.started_at, sorted(run.states.items()), run.id)
    )
    groups: list[list[RunStart]] = []
    reasons: list[Sentence] = []
    known: dict[str, tuple[str, RunStart]] = {}
    for run in ordered:
        reason = _beginning(groups[-1][-1], run, known) if groups else FIRST
        if reason is not None:
            groups.append([])
            reasons.append(reason)
            known = {}
        groups[-1].append(run)
        known |= {name: (stated, run) for name, stated in run.states.items()}
    return [
        DerivedSession(
            tuple(run.id for run in group),
            tuple(run.started_at for run in group),
            reason,
        )
        for group, reason in zip(groups, reasons, strict=True)
    ]


FIRST: Final = Sentence("the first runs on this host")


def _beginning(
    before: RunStart, run: RunStart, known: Mapping[str, tuple[str, RunStart]]
) -> Sentence | None:
    """Return why a run begins a session, or None if it belongs to that before."""
    parts: list[Sentence] = []
    pause = run.started_at - before.started_at
    if pause > LONGEST_PAUSE:
        hours = pause / timedelta(hours=1)
        parts.append(
            Sentence("{hours:.1f} hours after the run before", hours=hours)
            if hours < 48
            else Sentence("{days:.1f} days after the run before", days=hours / 24)
        )
    for name, stated in run.states.items():
        was, then = known.get(name, (stated, run))
        if was == stated:
            continue
        if name in MACHINE:
            parts.append(
                Sentence(
                    "{what} {before} to {now}",
                    what=MACHINE[name],
                    before=was,
                    now=stated,
                )
            )
        elif run.started_at.date() != then.started_at.date():
            parts.append(Sentence("another day and a reboot"))
    return joined(parts, ", ") if parts else None


def followed(session: DerivedSession, placed: Mapping[int, int]) -> dict[int, int]:
    """Return where runs go that nobody placed, in a session where some were placed.

    ``placed`` are runs that a person put into a session. A run that came later follows
    the one nearest in time, the earlier of two. Empty where none was placed.
    """
    pairs = zip(session.starts, session.runs, strict=True)
    marks = [(at, placed[run]) for at, run in pairs if run in placed]
    if not marks:
        return {}
    times = [at for at, _ in marks]
    places = {}
    for at, run in zip(session.starts, session.runs, strict=True):
        if run in placed:
            continue
        after = bisect_left(times, at)
        near = marks[max(after - 1, 0) : after + 1]
        places[run] = min(near, key=lambda mark: abs(mark[0] - at))[1]
    return places


def kept_sessions(
    groups: Sequence[Sequence[int]], stored: Mapping[int, int | None]
) -> list[int | None]:
    """Return for each group of runs the stored session that it goes on, or None.

    ``stored`` says in which one a run was so far. Who shares most runs with a group is
    it, and each is one group's only: a session that another run joins or that is cut in
    two stays the same for those who know it.
    """
    shared = Counter(
        (place, session)
        for place, runs in enumerate(groups)
        for run in runs
        if (session := stored.get(run)) is not None
    )
    kept: list[int | None] = [None] * len(groups)
    taken: set[int] = set()
    for (place, session), _ in sorted(
        shared.items(), key=lambda item: (-item[1], item[0])
    ):
        if kept[place] is None and session not in taken:
            kept[place] = session
            taken.add(session)
    return kept


def lag_one(values: Sequence[float], slope: float = 0.0) -> float | None:
    """Return how much each run is like the one before it: 0 without any order.

    The lag-1 autocorrelation without its bias of -(1 + 4 rho) / n (F. H. C. Marriott
    and J. A. Pope, Biometrika 41, 1954); of fewer than eight runs, which that would
    stretch too far, as of eight. As few runs give it: below 0 as well, and at most
    0.99. What to make of it both sides of a ratio say together
    (``session_rollups.dependent``). None below 5 runs and where all are equal.

    ``slope`` is the change from run to run of a drift that is counted by itself: what
    it leaves is looked at.
    """
    n = len(values)
    if n < LEAST_LAGGED:
        return None
    largest = max(map(abs, values)) or 1.0
    # In parts of the largest no square overflows.
    parts = [value / largest - slope / largest * k for k, value in enumerate(values)]
    mean = math.fsum(parts) / n
    off = [part - mean for part in parts]
    total = math.fsum(one * one for one in off)
    # Equal readings have no order; their mean may differ from them in the last bit.
    if min(values) == max(values) or not total:
        return None
    r = math.fsum(one * other for one, other in pairwise(off)) / total
    # A line that is fitted takes as much again.
    bias = 2 if slope else 1
    return min((n * r + bias) / unbiasing(n), MOST_RHO)


def unbiasing(n: float) -> float:
    """Return by what n times an autocorrelation of ``n`` runs is divided."""
    return max(n - 4, LEAST_UNBIASING)
