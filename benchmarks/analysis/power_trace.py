"""Power over time as a meter told it, and its integral over the window of the work.

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

from benchmarks.analysis.energy import MIN_COVERAGE, MOST
from benchmarks.analysis.intervals import Floats
from benchmarks.analysis.summary import last_place
from benchmarks.sentences import Sentence

# A step this many times longer than the usual one is a gap: nothing was measured there.
GAP_STEPS: Final = 3.0
BLOCK_SAMPLES: Final = 10
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


def corrected_traces(traces: Sequence[Trace]) -> list[Trace]:
    """Return what is left of traces, of which a later one takes the place of others.

    Of an earlier one stays what lies before and behind the later.
    """
    kept: list[Trace] = []
    for trace in traces:
        first_s, last_s = float(trace.starts_s[0]), float(trace.ends_s[-1])
        parts = [
            part
            for old in kept
            for part in (
                old.take(old.ends_s <= first_s),
                old.take(old.starts_s >= last_s),
            )
            if part.starts_s.size
        ]
        kept = [*parts, trace]
    return kept


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


@dataclass(frozen=True, slots=True)
class WorkEnergy:
    """What a meter's samples say about one window of work.

    ``covered_s`` of the window were measured; the rest lies in ``gaps_s`` or outside
    the meter's time and counts with the mean power. ``edge_error_j`` bounds what is
    unknown because the window begins and ends between two samples, ``rounding_j`` what
    the last digit of the readings hides.
    """

    duration_s: float
    covered_s: float
    mean_w: float
    samples: int
    interval_s: float
    gaps_s: tuple[tuple[float, float], ...]
    edge_error_j: float
    rounding_j: float

    @property
    def energy_j(self) -> float:
        return self.mean_w * self.duration_s

    @property
    def coverage(self) -> float:
        return self.covered_s / self.duration_s

    @property
    def is_covered(self) -> bool:
        """At least 90 % of the window were measured."""
        return self.coverage >= MIN_COVERAGE

    def above_idle_j(self, idle_w: float) -> float:
        """What the work took on top of the machine's idle power."""
        return (self.mean_w - idle_w) * self.duration_s

    @property
    def sentence(self) -> Sentence:
        known = {
            "energy": self.energy_j,
            "power": self.mean_w,
            "took": self.duration_s,
            "samples": self.samples,
            "every": self.interval_s,
        }
        missing_s = self.duration_s - self.covered_s
        # Steps that are added up miss the whole by their last digits.
        if missing_s <= 1e-9 * self.duration_s:
            return Sentence(
                "{energy:.6g} J: {power:.4g} W over {took:.6g} s, from {samples} "
                "samples every {every:.3g} s.",
                **known,
            )
        return Sentence(
            "{energy:.6g} J: {power:.4g} W over {took:.6g} s, from {samples} samples "
            "every {every:.3g} s; {missing:.3g} s ({share:.2g} %) were not measured.",
            missing=missing_s,
            share=100 * missing_s / self.duration_s,
            **known,
        )


def work_energy(
    times_s: Sequence[float], watts: Sequence[float], window_s: tuple[float, float]
) -> WorkEnergy:
    """Integrate power samples over a window by the trapezoid rule.

    Power is taken as linear between neighbouring samples, at the window's ends too.
    Times and window are on one clock. Raises ValueError if the meter saw nothing of the
    window.
    """
    return energy_within(trace_of_power(times_s, watts), window_s)


def energy_within(trace: Trace, window_s: tuple[float, float]) -> WorkEnergy:
    """Integrate a trace over a window; ValueError if nothing of it was measured."""
    start, end = window_s
    if not -MOST < start < end < MOST:
        raise ValueError(
            Sentence("the window of the work needs a start and a later end")
        )
    # Cut to the window: a step that lies outside becomes one without a length.
    low = np.clip(trace.starts_s, start, end)
    high = np.clip(trace.ends_s, start, end)
    kept = (high > low) & ~trace.is_gap
    covered = float((high - low)[kept].sum())
    if not covered:
        raise ValueError(
            Sentence("the meter measured nothing within the window of the work")
        )
    means = (trace.at(low) + trace.at(high)) / 2
    moments = trace.moments_s
    holes = ((max(a, start), min(b, end)) for a, b in trace.holes_s)
    return WorkEnergy(
        duration_s=end - start,
        covered_s=covered,
        mean_w=float((means * (high - low))[kept].sum()) / covered,
        samples=int(((moments >= start) & (moments <= end)).sum()),
        interval_s=trace.usual_s,
        gaps_s=tuple((a, b) for a, b in holes if a < b),
        edge_error_j=sum(_edge_error_j(trace, edge) for edge in window_s),
        rounding_j=trace.resolution_w / 2 * (end - start),
    )


def _edge_error_j(trace: Trace, edge: float) -> float:
    """Bound what is not known of the step in which the window begins or ends.

    Between two samples the power is one of the two at the worst; in a step of a counter
    it is taken to be that of the step before or after it at the worst.
    """
    cut = np.flatnonzero((trace.starts_s < edge) & (trace.ends_s > edge))
    if not cut.size:
        return 0.0
    step = int(cut[0])
    near = slice(max(step - 1, 0), step + 2)
    known = trace.first_w[near] if trace.is_counted else trace.last_w[step]
    step_w = float(np.abs(known - trace.first_w[step]).max())
    return step_w * float(trace.ends_s[step] - trace.starts_s[step]) / 2
