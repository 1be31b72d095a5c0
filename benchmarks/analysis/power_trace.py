"""Power over time as a meter told it, in steps between its samples.

A wattmeter tells power at moments, which is taken as linear between them; a counter
(RAPL) tells joules, whose step is the mean power of its own time. A step that is much
longer than the usual one is a gap: nothing was measured there.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from benchmarks.analysis.intervals import Floats
from benchmarks.analysis.summary import last_place
from benchmarks.sentences import Sentence

# A step this many times longer than the usual one is a gap: nothing was measured there.
GAP_STEPS: Final = 3.0
BLOCK_SAMPLES: Final = 10
# Beyond any power, energy or time; products of such numbers are still numbers.
MOST: Final = 1e75
SHORTEST_S: Final = 1e-9


@dataclass(frozen=True, slots=True)
class Trace:
    """Steps in order: when each begins and ends, and the power at both of its ends.

    ``is_counted``: it is the mean power of the step, of a counter.
    """

    starts_s: Floats
    ends_s: Floats
    first_w: Floats
    last_w: Floats
    resolution_w: float
    is_counted: bool = False

    @property
    def usual_s(self) -> float:
        """The median length of a step."""
        # Not the mean, which the gaps to be found would lengthen.
        return float(np.median(self.ends_s - self.starts_s))

    @property
    def is_gap(self) -> NDArray[np.bool_]:
        return np.asarray(self.ends_s - self.starts_s > GAP_STEPS * self.usual_s)

    @property
    def moments_s(self) -> Floats:
        """When a sample was taken."""
        return np.union1d(self.starts_s, self.ends_s)

    @property
    def holes_s(self) -> list[tuple[float, float]]:
        """From when to when nothing was measured between the first and last sample."""
        gaps = zip(self.starts_s[self.is_gap], self.ends_s[self.is_gap], strict=True)
        between = zip(self.ends_s[:-1], self.starts_s[1:], strict=True)
        holes = [*gaps, *((end, start) for end, start in between if start > end)]
        return sorted((float(a), float(b)) for a, b in holes)

    def at(self, moments_s: Floats) -> Floats:
        """Return the power at moments that lie each in the step of the same place."""
        length_s = self.ends_s - self.starts_s
        share = np.clip((moments_s - self.starts_s) / length_s, 0, 1)
        return np.asarray(self.first_w + (self.last_w - self.first_w) * share)

    def take(self, kept: NDArray[np.bool_]) -> Trace:
        """Return some of its steps."""
        return Trace(
            self.starts_s[kept],
            self.ends_s[kept],
            self.first_w[kept],
            self.last_w[kept],
            self.resolution_w,
            self.is_counted,
        )

    def within(self, start_s: float, end_s: float) -> Trace:
        """Return the steps that touch a span."""
        return self.take((self.ends_s > start_s) & (self.starts_s < end_s))


def trace_of_power(times_s: Sequence[float], watts: Sequence[float]) -> Trace:
    """Return samples of power as steps between them; ValueError if they are none."""
    times, power = _readings(times_s, watts)
    return Trace(
        times[:-1], times[1:], power[:-1], power[1:], min(map(last_place, power))
    )


def trace_of_counter(times_s: Sequence[float], joules: Sequence[float]) -> Trace:
    """Return readings of a counter as steps of mean power.

    Where it fell it was begun anew: nobody knows what that step took. ValueError where
    it never rose, or the times and joules are no readings.
    """
    times, counts = _readings(times_s, joules)
    rose = np.diff(counts) >= 0
    power = np.diff(counts) / np.diff(times)
    trace = Trace(times[:-1], times[1:], power, power, 0.0, is_counted=True)
    if not rose.any():
        raise ValueError(Sentence("a counter of joules must not fall"))
    return trace.take(rose)


def joined_traces(traces: Iterable[Trace]) -> Trace | None:
    """Return the traces of one meter in order of time; None if there is none.

    Where two overlap (a meter was read twice), the earlier one goes on to its end.
    """
    kept: list[Trace] = []
    for trace in sorted(traces, key=lambda trace: float(trace.starts_s[0])):
        end_s = float(kept[-1].ends_s[-1]) if kept else -np.inf
        later = trace.take(trace.starts_s >= end_s)
        kept += [later] if later.starts_s.size else []
    if not kept:
        return None
    return Trace(
        np.concatenate([trace.starts_s for trace in kept]),
        np.concatenate([trace.ends_s for trace in kept]),
        np.concatenate([trace.first_w for trace in kept]),
        np.concatenate([trace.last_w for trace in kept]),
        min(trace.resolution_w for trace in kept),
        all(trace.is_counted for trace in kept),
    )


def quietest_w(trace: Trace, busy_s: Sequence[tuple[float, float]]) -> float | None:
    """Return the mean power of the quietest ten steps in a row outside all known work.

    Not the mean outside: what ran there is not known, and warm-ups are not recorded.
    None if there are no ten such steps.
    """
    free = ~trace.is_gap
    for start_s, end_s in busy_s:
        free &= (trace.ends_s <= start_s) | (trace.starts_s >= end_s)
    # NaN spoils every sum it is in: what is left has ten free steps in a row.
    length_s = np.where(free, trace.ends_s - trace.starts_s, np.nan)
    if length_s.size < BLOCK_SAMPLES:
        return None
    joules = (trace.first_w + trace.last_w) / 2 * length_s
    window = np.lib.stride_tricks.sliding_window_view
    means = window(joules, BLOCK_SAMPLES).sum(axis=1)
    means = means / window(length_s, BLOCK_SAMPLES).sum(axis=1)
    return None if np.isnan(means).all() else float(np.nanmin(means))


def _readings(
    times_s: Sequence[float], readings: Sequence[float]
) -> tuple[Floats, Floats]:
    times, values = np.asarray(times_s, dtype=float), np.asarray(readings, dtype=float)
    if times.shape != values.shape or times.ndim != 1 or times.size < 2:
        raise ValueError(
            Sentence("energy needs two or more samples, each a time and its power")
        )
    is_time = (np.abs(times) < MOST).all()
    if not is_time or not (np.diff(times) > SHORTEST_S).all():
        raise ValueError(Sentence("the times of the samples must rise"))
    if not ((values < MOST) & (values >= 0)).all():
        raise ValueError(Sentence("power must be a finite number of watts, 0 or more"))
    return times, values
