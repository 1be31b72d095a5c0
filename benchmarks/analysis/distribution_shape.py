"""Distribution shape of a cell's runs (docs/method.md, Shape before mean)."""

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from scipy.special import stdtr

from benchmarks.analysis.bimodality import (
    MIN_RUNS,
    Mode,
    ModeSplit,
    find_modes,
    outliers_in,
)
from benchmarks.analysis.cell_statistics import last_digit_step
from benchmarks.analysis.intervals import Floats
from benchmarks.analysis.run_order import (
    Indices,
    RunOrder,
    find_run_order,
    remove_trend,
    session_means,
    sessions_agree,
    unbiased_autocorrelation,
)
from benchmarks.analysis.sessions import REPEATED_SESSIONS, lag_one_autocorrelation
from benchmarks.sentences import Sentence, join_sentences, pluralized

DEFAULT_BAND: Final = 0.02
MIN_SHIFT_PART: Final = 0.25
# Smaller than `FALSE_ALARM`, because the runs may be skewed.
FIRST_RUN_FALSE_ALARM: Final = 0.001
# Larger relative shifts are stored as this number, because infinity cannot be stored.
MAX_SHIFT: Final = 1e6
# The coarsest resolution, relative to the largest value.
MAX_STEP: Final = 1e3


@dataclass(frozen=True, slots=True)
class Shape:
    """The shape of a cell's runs.

    Bimodal runs have two ``modes``, lower first. ``close_modes`` differ by less than
    the band and count as one mode. ``mean_shifts`` has the relative shift of the mean
    by each finding: ``periodic``, ``drift``, ``first_run``. ``drift`` is the relative
    change over a session, negative if it falls; ``first_run`` is the relative distance
    of the first runs from the others.
    """

    n: int
    modes: tuple[Mode, ...]
    eta_squared: float | None
    cutoff: float | None
    order: RunOrder | None
    first_run_p: float | None
    outliers: tuple[int, ...]
    mean_shifts: Mapping[str, float]
    drift: float = 0.0
    first_run: float = 0.0
    close_modes: tuple[Mode, ...] = ()
    sessions: int = 1
    band: float = DEFAULT_BAND
    is_ordered: bool = True

    @property
    def is_tested(self) -> bool:
        return self.cutoff is not None

    @property
    def is_unimodal(self) -> bool:
        return len(self.modes) == 1

    @property
    def period(self) -> int | None:
        return self.order.period if self.order else None

    @property
    def lag(self) -> int | None:
        return self.order.lag if self.order else None

    @property
    def has_single_figure(self) -> bool:
        return not self.shape_codes

    @property
    def shape_codes(self) -> tuple[str, ...]:
        """The findings that rule out a single figure."""
        counting = [code for code in self.mean_shifts if self.is_relevant(code)]
        return (*(() if self.is_unimodal else ("bimodal",)), *counting)

    @property
    def is_dependent(self) -> bool:
        """Whether each run demonstrably depends on the previous one."""
        return self.lag == 1

    def is_relevant(self, code: str) -> bool:
        return self.mean_shifts.get(code, 0.0) > MIN_SHIFT_PART * self.band

    @property
    def order_shift(self) -> float:
        return self.mean_shifts["drift"] if self.is_relevant("drift") else 0.0

    def first_run_and_rho(
        self, run_means: Sequence[float]
    ) -> tuple[float | None, float | None]:
        """Return the session's first run if it is outlying, and the others'
        autocorrelation.
        """
        first = run_means[0] if self.is_relevant("first_run") else None
        slope = self.order.slope if self.order and self.is_relevant("drift") else None
        later = run_means if first is None else run_means[1:]
        return first, lag_one_autocorrelation(later, slope or 0.0)

    @property
    def sentence(self) -> Sentence:
        found = [
            _describe_finding(self, code)
            for code in self.mean_shifts
            # Alternating modes are reported even if they hardly move the mean.
            if self.is_relevant(code) or (code == "periodic" and not self.is_unimodal)
        ]
        is_one_speed = self.is_tested and self.is_unimodal and self.shape_codes
        findings = [*([] if is_one_speed else [_describe_modes(self)]), *found]
        is_first_named = self.sessions == 1 and self.is_relevant("first_run")
        outliers = self.outliers[is_first_named and 0 in self.outliers :]
        runs = ", ".join(str(index + 1) for index in outliers[:5])
        n = len(outliers)
        if n > 5:
            findings.append(
                Sentence("outliers: runs {runs} and {more} more", runs=runs, more=n - 5)
            )
        elif n:
            findings.append(
                pluralized(
                    "outlier: run {runs}", "outliers: runs {runs}", n=n, runs=runs
                )
            )
        summary = join_sentences(findings, ", ")
        harmless = [] if self.shape_codes else _describe_harmless(self)
        if not harmless and (self.shape_codes or not self.close_modes):
            return summary
        return join_sentences(
            [summary, *harmless, Sentence("the mean remains valid")], "; "
        )


def find_shape(
    run_means: Sequence[float] | Floats,
    *,
    sessions: Sequence[Hashable] | None = None,
    band: float = DEFAULT_BAND,
    resolution: float | None = None,
    is_ordered: bool = True,
) -> Shape:
    """Return the shape of a cell from the mean of each run, in order.

    ``sessions`` has the session of each run (None: time unknown). Rounding to
    ``resolution`` (default: the last decimal place used, at most 1) counts as spread
    within a mode, resolution^2 / 12. Without ``is_ordered``, only modes and outliers
    are tested. Raise ValueError without runs, or for values that are not finite.
    """
    values = np.asarray(run_means, dtype=float)
    if not values.size or not np.isfinite(values).all():
        raise ValueError("a shape needs at least one run, and finite numbers only")
    grouped, sizes = _group_by_session(values.size, sessions)
    unit = float(np.abs(values).max()) or 1.0
    if resolution is None:
        resolution = min(last_digit_step(float(value)) for value in values)
    finest = 8 * math.ulp(unit) / unit
    step = min(max(resolution / unit, finest), MAX_STEP)
    parts = values[grouped] / unit

    split = find_modes(parts, sizes, step)
    modes, close_modes = _modes(split, unit, band)
    is_split = len(modes) > 1
    first_p, first_distance = None, 0.0
    if is_ordered and not is_split:
        first_p, first_distance = _first_run(parts, sizes, step)
    is_first_outlying = first_p is not None and first_p <= FIRST_RUN_FALSE_ALARM
    # Exclude outlying first runs from this test, because they look like a drift.
    later, lengths = (
        _without_first(parts, sizes) if is_first_outlying else (parts, sizes)
    )
    order = find_run_order(later, lengths) if is_ordered and lengths else None
    mean_shifts, drift = _mean_shifts(later, lengths, order)
    if is_first_outlying:
        first_shift = abs(first_distance) / parts.size
        mean_shifts["first_run"] = _relative_shift(first_shift, parts)
    groups = split.groups if is_split else (np.arange(values.size),)
    return Shape(
        n=values.size,
        modes=modes,
        eta_squared=split.eta_squared,
        cutoff=split.cutoff,
        order=order,
        first_run_p=first_p,
        outliers=tuple(
            sorted(int(grouped[index]) for index in outliers_in(split, groups, step))
        ),
        mean_shifts=mean_shifts,
        drift=drift,
        first_run=math.copysign(
            _relative_shift(abs(first_distance) / len(sizes), later), first_distance
        )
        if is_first_outlying
        else 0.0,
        close_modes=close_modes,
        sessions=len(sizes),
        band=band,
        is_ordered=is_ordered,
    )


def _group_by_session(
    n: int, sessions: Sequence[Hashable] | None
) -> tuple[Indices, tuple[int, ...]]:
    if sessions is None:
        return np.arange(n), (n,)
    if len(sessions) != n:
        raise ValueError(f"{n} runs, but sessions of {len(sessions)} are named")
    indices: dict[Hashable, list[int]] = {}
    for index, session in enumerate(sessions):
        indices.setdefault(session, []).append(index)
    grouped = np.concatenate([np.array(group) for group in indices.values()])
    return grouped, tuple(len(group) for group in indices.values())


def _modes(
    split: ModeSplit, unit: float, band: float
) -> tuple[tuple[Mode, ...], tuple[Mode, ...]]:
    modes = tuple(mode.scaled_by(unit) for mode in split.modes)
    if len(modes) == 1:
        return modes, ()
    first, second = sorted(split.modes, key=lambda mode: -mode.count)
    if abs(second.median - first.median) > band * abs(first.median):
        return modes, ()
    count = sum(mode.count for mode in modes)
    return (Mode(split.center, 1.0, count).scaled_by(unit),), modes


def _relative_shift(shift: float, parts: Floats) -> float:
    mean = abs(float(parts.mean()))
    return shift / mean if shift < MAX_SHIFT * mean else MAX_SHIFT


def _mean_shifts(
    parts: Floats, sizes: tuple[int, ...], order: RunOrder | None
) -> tuple[dict[str, float], float]:
    mean_shifts: dict[str, float] = {}
    n, drift = parts.size, 0.0
    if order is None:
        return mean_shifts, drift
    if order.period is not None:
        mean_shifts["periodic"] = _relative_shift(
            order.period_bias * len(sizes) / n, parts
        )
    shifts = []
    if order.slope is not None:
        change = math.fsum(size * (size - 1) for size in sizes) / n
        shift = abs(order.slope) * change
        drift = math.copysign(_relative_shift(shift, parts), order.slope)
        shifts.append(shift / 2)
    # A period causes autocorrelation at its multiples.
    is_periodic = order.lag and order.period and order.lag % order.period == 0
    # The confidence interval includes dependence at lag 1 and, with three or more
    # sessions, all dependence within them.
    is_counted = order.lag == 1 or len(sizes) >= REPEATED_SESSIONS
    if order.lag is not None and not is_periodic and not is_counted:
        freedom = n - len(sizes) + 1
        rho = unbiased_autocorrelation(order.autocorrelation or 0.0, freedom)
        detrended = remove_trend(parts, sizes, order.slope or 0.0)
        centered = detrended - session_means(parts, sizes)
        error = math.sqrt(float(centered @ centered) / max(freedom - 1, 1) / n)
        shifts.append(error * (math.sqrt((1 + rho) / (1 - rho)) - 1))
    if shifts:
        mean_shifts["drift"] = _relative_shift(max(shifts), parts)
    return mean_shifts, drift


def _without_first(
    parts: Floats, sizes: tuple[int, ...]
) -> tuple[Floats, tuple[int, ...]]:
    lengths = tuple(size - 1 for size in sizes if size > 1)
    begins = np.cumsum((0, *sizes[:-1]))
    return np.delete(parts, begins), lengths


def _first_run(
    parts: Floats, sizes: tuple[int, ...], step: float
) -> tuple[float | None, float]:
    begins = np.cumsum((0, *sizes[:-1]))
    sessions = [
        (parts[begin], parts[begin + 1 : begin + size])
        for begin, size in zip(begins, sizes, strict=True)
        if size > 1
    ]
    freedom = sum(rest.size - 1 for _, rest in sessions)
    if freedom < MIN_RUNS - 2:
        return None, 0.0
    distances = [float(first - rest.mean()) for first, rest in sessions]
    within = math.fsum(float(((rest - rest.mean()) ** 2).sum()) for _, rest in sessions)
    variance = within / freedom + step * step / 12
    scale = math.fsum(1 + 1 / rest.size for _, rest in sessions)
    t = math.fsum(distances) / math.sqrt(variance * scale)
    p = float(2 * stdtr(freedom, -abs(t)))
    if not sessions_agree(np.array(distances), np.ones(len(distances))):
        p = 1.0
    return p, math.fsum(distances)


def _describe_modes(shape: Shape) -> Sentence:
    if not shape.is_tested and shape.n >= MIN_RUNS:
        return Sentence(
            "{n} runs in {sessions} sessions: too few per session to test the "
            "distribution",
            n=shape.n,
            sessions=shape.sessions,
        )
    if not shape.is_tested:
        return Sentence(
            "{n} of the {least} runs needed to test the distribution",
            n=shape.n,
            least=MIN_RUNS,
        )
    if shape.close_modes and not shape.shape_codes:
        lower, upper = _format_modes(shape.close_modes)
        return Sentence(
            "two speeds that differ by at most {percent:g}%, {lower} and {upper}",
            percent=100 * shape.band,
            lower=lower,
            upper=upper,
        )
    if shape.is_unimodal:
        return Sentence("one speed")
    lower, upper = _format_modes(shape.modes)
    return Sentence("two speeds, {lower} and {upper}", lower=lower, upper=upper)


def _format_modes(modes: Sequence[Mode]) -> list[Sentence]:
    low, high = (mode.median for mode in modes)
    # Twice the largest float overflows.
    between = (high / 2 - low / 2) or math.ulp(0.0)
    digits = 1 - math.floor(math.log10(between) + math.log10(2))
    largest = math.floor(math.log10(max(abs(low), abs(high))))
    if -6 < largest < 15:
        form = f".{max(digits, 0)}f"
    else:
        form, digits = f".{min(max(largest + digits + 1, 1), 17)}g", 400
    return [
        Sentence(
            f"{{centre:{form}}} ({{percent:.0f}}%)",
            centre=round(mode.median, digits),
            percent=100 * mode.share,
        )
        for mode in modes
    ]


def _describe_finding(shape: Shape, code: str) -> Sentence:
    order = shape.order
    if code == "first_run" or order is None:
        return _describe_first_run(shape)
    if code == "periodic" and not shape.is_unimodal:
        return Sentence(
            "in a pattern that repeats every {period} runs", period=order.period or 0
        )
    if code == "periodic":
        return Sentence(
            "a pattern that repeats every {period} runs", period=order.period or 0
        )
    if shape.drift:
        amount = _format_percent(abs(shape.drift))
        if shape.sessions > 1 and shape.drift > 0:
            return Sentence("a rise of {percent} over each session", percent=amount)
        if shape.sessions > 1:
            return Sentence("a fall of {percent} over each session", percent=amount)
        if shape.drift > 0:
            return Sentence("a rise of {percent} over the session", percent=amount)
        return Sentence("a fall of {percent} over the session", percent=amount)
    return _describe_dependence(order)


def _describe_first_run(shape: Shape) -> Sentence:
    amount = _format_percent(abs(shape.first_run))
    if shape.sessions > 1 and shape.first_run > 0:
        return Sentence(
            "the first runs of the sessions are {percent} above the others",
            percent=amount,
        )
    if shape.sessions > 1:
        return Sentence(
            "the first runs of the sessions are {percent} below the others",
            percent=amount,
        )
    if shape.first_run > 0:
        return Sentence("the first run is {percent} above the others", percent=amount)
    return Sentence("the first run is {percent} below the others", percent=amount)


def _describe_dependence(order: RunOrder) -> Sentence:
    r = order.autocorrelation or 0.0
    if order.lag == 1:
        return Sentence(
            "each run depends on the previous one (autocorrelation {r:.2f})", r=r
        )
    return Sentence(
        "each run depends on the run {lag} before it (autocorrelation {r:.2f})",
        lag=order.lag or 0,
        r=r,
    )


def _describe_harmless(shape: Shape) -> list[Sentence]:
    findings = [
        Sentence(
            "{found}, changing the mean by {percent} (less than a quarter of the "
            "equivalence margin)",
            found=_describe_finding(shape, code),
            percent=_format_percent(shift),
        )
        for code, shift in shape.mean_shifts.items()
    ]
    order = shape.order
    if order is not None and order.lag == 1 and "drift" not in shape.mean_shifts:
        findings.append(
            Sentence(
                "{found}, so the confidence interval is based on fewer independent "
                "runs",
                found=_describe_dependence(order),
            )
        )
    return findings


def _format_percent(part: float) -> Sentence:
    percent = 100 * part
    if percent < 0.01:
        return Sentence("less than {percent:g}%", percent=0.01)
    digits = max(0, 1 - math.floor(math.log10(percent)))
    return Sentence(f"{{percent:.{digits}f}}%", percent=percent)
