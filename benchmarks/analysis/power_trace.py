"""Power over time from a meter's log, and its integral over a time window.

See docs/method.md, Energy.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from benchmarks.analysis.energy_ratio import MAX_ENERGY_RATIO, MIN_COVERAGE
from benchmarks.analysis.intervals import Floats
from benchmarks.sentences import Sentence

# Steps longer than this number of median steps are gaps without measurements.
GAP_STEPS: Final = 3.0
BLOCK_SAMPLES: Final = 10
MIN_STEP_S: Final = 1e-9


@dataclass(frozen=True, slots=True)
class PowerTrace:
    """The power of one meter in steps, ordered by time (s).

    Power changes linearly from ``first_w`` to ``last_w`` during a step.
    """

    starts_s: Floats
    ends_s: Floats
    first_w: Floats
    last_w: Floats
    is_from_counter: bool = False

    @property
    def median_step_s(self) -> float:
        return float(np.median(self.ends_s - self.starts_s))

    @property
    def is_gap(self) -> NDArray[np.bool_]:
        return np.asarray(self.ends_s - self.starts_s > GAP_STEPS * self.median_step_s)

    @property
    def step_times_s(self) -> Floats:
        return np.union1d(self.starts_s, self.ends_s)

    def power_at(self, moments_s: Floats) -> Floats:
        length_s = self.ends_s - self.starts_s
        fraction = np.clip((moments_s - self.starts_s) / length_s, 0, 1)
        return np.asarray(self.first_w + (self.last_w - self.first_w) * fraction)

    def take(self, mask: NDArray[np.bool_]) -> PowerTrace:
        return PowerTrace(
            self.starts_s[mask],
            self.ends_s[mask],
            self.first_w[mask],
            self.last_w[mask],
            self.is_from_counter,
        )

    def within(self, start_s: float, end_s: float) -> PowerTrace:
        return self.take((self.ends_s > start_s) & (self.starts_s < end_s))


def trace_of_power(times_s: Sequence[float], watts: Sequence[float]) -> PowerTrace:
    times, power = _readings(times_s, watts)
    return PowerTrace(times[:-1], times[1:], power[:-1], power[1:])


def trace_of_counter(times_s: Sequence[float], joules: Sequence[float]) -> PowerTrace:
    """Omit steps in which the counter decreased; raise ValueError if none remains."""
    times, counts = _readings(times_s, joules)
    rose = np.diff(counts) >= 0
    power = np.diff(counts) / np.diff(times)
    trace = PowerTrace(times[:-1], times[1:], power, power, is_from_counter=True)
    if not rose.any():
        raise ValueError(Sentence("an energy counter (joules) must not decrease"))
    return trace.take(rose)


def corrected_traces(traces: Sequence[PowerTrace]) -> list[PowerTrace]:
    """Return the traces, each without the time that later ones in the list cover."""
    result: list[PowerTrace] = []
    for trace in traces:
        first_s, last_s = float(trace.starts_s[0]), float(trace.ends_s[-1])
        parts = [
            part
            for old in result
            for part in (
                old.take(old.ends_s <= first_s),
                old.take(old.starts_s >= last_s),
            )
            if part.starts_s.size
        ]
        result = [*parts, trace]
    return result


def joined_traces(traces: Iterable[PowerTrace]) -> PowerTrace | None:
    """Join one meter's traces, if any; where two overlap, the one that starts earlier
    counts.
    """
    parts: list[PowerTrace] = []
    for trace in sorted(traces, key=lambda trace: float(trace.starts_s[0])):
        end_s = float(parts[-1].ends_s[-1]) if parts else -np.inf
        later = trace.take(trace.starts_s >= end_s)
        parts += [later] if later.starts_s.size else []
    if not parts:
        return None
    return PowerTrace(
        np.concatenate([trace.starts_s for trace in parts]),
        np.concatenate([trace.ends_s for trace in parts]),
        np.concatenate([trace.first_w for trace in parts]),
        np.concatenate([trace.last_w for trace in parts]),
        all(trace.is_from_counter for trace in parts),
    )


def idle_power_w(
    trace: PowerTrace, busy_s: Sequence[tuple[float, float]]
) -> float | None:
    """Return the lowest mean power over ten consecutive steps without work, or None."""
    free = ~trace.is_gap
    for start_s, end_s in busy_s:
        free &= (trace.ends_s <= start_s) | (trace.starts_s >= end_s)
    # A sum over ten consecutive steps is NaN if one of them is not free.
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
            Sentence(
                "energy needs at least two samples, each with a time and a power value"
            )
        )
    is_time = (np.abs(times) < MAX_ENERGY_RATIO).all()
    if not is_time or not (np.diff(times) > MIN_STEP_S).all():
        raise ValueError(Sentence("the times of the samples must increase"))
    if not ((values < MAX_ENERGY_RATIO) & (values >= 0)).all():
        raise ValueError(Sentence("power must be a finite number of watts, 0 or more"))
    return times, values


@dataclass(frozen=True, slots=True)
class WorkEnergy:
    """The energy of one window of work.

    Gaps count with the mean power. ``edge_error_j`` bounds the error from steps that
    the ends of the window cut.
    """

    duration_s: float
    covered_s: float
    mean_w: float
    samples: int
    interval_s: float
    edge_error_j: float

    @property
    def energy_j(self) -> float:
        return self.mean_w * self.duration_s

    @property
    def coverage(self) -> float:
        return self.covered_s / self.duration_s

    @property
    def is_covered(self) -> bool:
        return self.coverage >= MIN_COVERAGE

    def above_idle_j(self, idle_w: float) -> float:
        return (self.mean_w - idle_w) * self.duration_s


def work_energy(
    times_s: Sequence[float], watts: Sequence[float], window_s: tuple[float, float]
) -> WorkEnergy:
    return energy_within(trace_of_power(times_s, watts), window_s)


def energy_within(trace: PowerTrace, window_s: tuple[float, float]) -> WorkEnergy:
    """Raise ValueError without measurements in the window (s)."""
    start, end = window_s
    if not -MAX_ENERGY_RATIO < start < end < MAX_ENERGY_RATIO:
        raise ValueError(
            Sentence("the time window of the work needs a start and a later end")
        )
    low = np.clip(trace.starts_s, start, end)
    high = np.clip(trace.ends_s, start, end)
    is_measured = (high > low) & ~trace.is_gap
    covered = float((high - low)[is_measured].sum())
    if not covered:
        raise ValueError(
            Sentence("the meter measured nothing in the time window of the work")
        )
    means = (trace.power_at(low) + trace.power_at(high)) / 2
    moments = trace.step_times_s
    return WorkEnergy(
        duration_s=end - start,
        covered_s=covered,
        mean_w=float((means * (high - low))[is_measured].sum()) / covered,
        samples=int(((moments >= start) & (moments <= end)).sum()),
        interval_s=trace.median_step_s,
        edge_error_j=sum(_edge_error_j(trace, edge) for edge in window_s),
    )


def _edge_error_j(trace: PowerTrace, edge: float) -> float:
    cut = np.flatnonzero((trace.starts_s < edge) & (trace.ends_s > edge))
    if not cut.size:
        return 0.0
    step = int(cut[0])
    near = slice(max(step - 1, 0), step + 2)
    neighbors = trace.first_w[near] if trace.is_from_counter else trace.last_w[step]
    step_w = float(np.abs(neighbors - trace.first_w[step]).max())
    return step_w * float(trace.ends_s[step] - trace.starts_s[step]) / 2
