"""Simulated designs with known true ratios: the worlds in which verdicts are judged.

A world draws the printed readings of many cells with their start times and session
names. `devtools.judge` uploads them to a running product, and `devtools.calibration`
assesses them with the product's code. The worlds follow the method, not the code.

Truths are relative performances: 0.9 means that the guest is 10 % slower, whether the
metric is a rate or a time.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from scipy.stats import t as student_t

from benchmarks.analysis.verdicts import DEFAULT_MARGIN, Verdict

Floats = NDArray[np.float64]

DAY_MIN: Final = 1440
STEP_MIN: Final = 2
NOISE: Final = 0.01
NO_DIGITS: Final = 7


@dataclass(frozen=True)
class Side:
    """The readings of one side: cells x runs, in the order of their starts.

    ``minutes`` are the starts of the runs, None if unknown; ``sessions`` their declared
    sessions, empty if undeclared.
    """

    values: Floats
    minutes: Floats | None
    sessions: tuple[str, ...] = ()


@dataclass(frozen=True)
class Drawn:
    """The cells of one study, and what an ideal analysis knows about them.

    ``estimate`` is the log ratio of the ideal analysis, ``error`` its true standard
    error and ``df`` its degrees of freedom.
    """

    guest: Side
    native: Side
    truth: Floats
    estimate: Floats
    error: float
    df: float

    def decided(self, margin: float = DEFAULT_MARGIN) -> NDArray[np.bool_]:
        """Return the cells on which the ideal analysis has the correct verdict."""
        half = student_t.ppf(0.975, self.df) * self.error
        found = directions(self.estimate - half, self.estimate + half, margin)
        return np.asarray((found == correct(self.truth, margin)) & (found > 0))


def directions(low: Floats, high: Floats, margin: float) -> NDArray[np.int8]:
    below, above = np.log1p(-margin), np.log1p(margin)
    return np.select(
        [high < below, low > above, (low > below) & (high < above)],
        [Verdict.SLOWER, Verdict.FASTER, Verdict.EQUIVALENT],
        Verdict.UNDETERMINED,
    ).astype(np.int8)


def correct(truth: Floats, margin: float = DEFAULT_MARGIN) -> NDArray[np.int8]:
    """Return the correct verdicts; undetermined at the edge, where each is wrong."""
    log_truth = np.log(truth)
    found = directions(log_truth - 1e-9, log_truth + 1e-9, margin)
    at_edge = np.isclose(np.abs(truth - 1), margin)
    return np.where(at_edge, Verdict.UNDETERMINED, found).astype(np.int8)


@dataclass(frozen=True)
class World:
    """A design; ``draw`` receives the true ratios of the cells.

    ``is_clean``: runs are independent, so a refusal or a flag is a false alarm.
    ``sees_noise``: the design shows its noise, so cells can be decided.
    """

    name: str
    draw: Callable[[Generator, Floats], Drawn]
    is_clean: bool = False
    sees_noise: bool = True
    better: str = "higher"


WORLDS: Final[list[World]] = []


def world(name: str, **options: object) -> Callable[[Callable[..., Drawn]], None]:
    def register(draw: Callable[..., Drawn]) -> None:
        WORLDS.append(World(name, draw, **options))  # type: ignore[arg-type]

    return register


# --- noise --------------------------------------------------------------------------


def normal(generator: Generator, shape: Sequence[int], noise: float) -> Floats:
    return generator.normal(0, noise, shape)


def lognormal(generator: Generator, shape: Sequence[int], noise: float) -> Floats:
    return np.expm1(generator.normal(-(noise**2) / 2, noise, shape))


def gamma(generator: Generator, shape: Sequence[int], noise: float) -> Floats:
    return noise * (generator.gamma(4, size=shape) - 4) / 2


def t3(generator: Generator, shape: Sequence[int], noise: float) -> Floats:
    return noise * generator.standard_t(3, size=shape) / np.sqrt(3)


def uniform(generator: Generator, shape: Sequence[int], noise: float) -> Floats:
    return noise * np.sqrt(12) * (generator.random(shape) - 0.5)


def autoregressive(rho: float) -> Callable[..., Floats]:
    def draw(generator: Generator, shape: Sequence[int], noise: float) -> Floats:
        drawn = generator.normal(size=shape)
        for run in range(1, shape[-1]):
            drawn[..., run] = (
                rho * drawn[..., run - 1] + np.sqrt(1 - rho**2) * drawn[..., run]
            )
        return noise * drawn

    return draw


# --- orders and displays --------------------------------------------------------------


def alternating(n: int, *, first: float = 0.0) -> tuple[Floats, Floats]:
    """Return starts of native and guest runs: native, guest, native, guest, ..."""
    starts = first + STEP_MIN * np.arange(2 * n, dtype=float)
    return starts[::2], starts[1::2]


def abba(n: int) -> tuple[Floats, Floats]:
    starts = STEP_MIN * np.arange(2 * n, dtype=float)
    is_native = np.resize([True, False, False, True], 2 * n)
    return starts[is_native], starts[~is_native]


def shuffled(generator: Generator, n: int) -> tuple[Floats, Floats]:
    starts = STEP_MIN * np.arange(2 * n, dtype=float)
    order = generator.permutation(2 * n)
    return np.sort(starts[order[:n]]), np.sort(starts[order[n:]])


def one_after_the_other(n: int, *, first: float = 0.0) -> tuple[Floats, Floats]:
    starts = first + STEP_MIN * np.arange(2 * n, dtype=float)
    return starts[:n], starts[n:]


@dataclass(frozen=True)
class Display:
    """How readings are printed: significant digits of the level, or a relative step."""

    digits: int = NO_DIGITS
    step: float = 0.0
    guest_digits: int = 0

    def printed(self, values: Floats, level: Floats, *, is_guest: bool) -> Floats:
        digits = self.guest_digits if is_guest and self.guest_digits else self.digits
        exponent = np.floor(np.log10(level)) - digits + 1
        step = level * self.step if self.step else 10.0**exponent
        return np.round(np.round(values / step[:, None]) * step[:, None], 9)


EXACT: Final = Display()


@dataclass(frozen=True)
class Drawing:
    """The readings of a world before they are printed.

    ``guest`` and ``native`` are relative deviations from the true speed, cells x runs.
    """

    guest: Floats
    native: Floats
    guest_minutes: Floats | None
    native_minutes: Floats | None
    estimate: Floats
    error: float
    df: float
    guest_sessions: tuple[str, ...] = ()
    native_sessions: tuple[str, ...] = ()
    display: Display = field(default=EXACT)
    is_time: bool = False


def finish(generator: Generator, truth: Floats, drawing: Drawing) -> Drawn:
    unit = 1.0 if drawing.is_time else 1000.0
    level = unit * generator.uniform(1.5, 6, truth.shape)
    speeds = truth[:, None] * (1 + drawing.guest), 1 + drawing.native
    if drawing.is_time:
        speeds = 1 / speeds[0], 1 / speeds[1]
    guest, native = (
        drawing.display.printed(speed * level[:, None], level, is_guest=is_guest)
        for speed, is_guest in zip(speeds, (True, False), strict=True)
    )
    return Drawn(
        Side(guest, drawing.guest_minutes, drawing.guest_sessions),
        Side(native, drawing.native_minutes, drawing.native_sessions),
        truth,
        np.log(truth) + drawing.estimate,
        drawing.error,
        drawing.df,
    )


def _means_apart(guest: Floats, native: Floats) -> Floats:
    return np.log((1 + guest).mean(axis=1)) - np.log((1 + native).mean(axis=1))


# --- independent runs -----------------------------------------------------------------


def independent(
    n: int,
    noise: float = NOISE,
    kind: Callable[..., Floats] = normal,
    guest_noise: float | None = None,
    native_only: int = 0,
    is_shuffled: bool = False,
    **options: object,
) -> Callable[[Generator, Floats], Drawn]:
    """Independent runs in one session, alternating; the last are ``native_only``."""
    second = noise if guest_noise is None else guest_noise

    def draw(generator: Generator, truth: Floats) -> Drawn:
        shape = (len(truth), n)
        guest, native = kind(generator, shape, second), kind(generator, shape, noise)
        native_minutes, guest_minutes = (
            shuffled(generator, n) if is_shuffled else alternating(n)
        )
        guest_n = n - native_only
        guest, guest_minutes = guest[:, :guest_n], guest_minutes[:guest_n]
        drawing = Drawing(
            guest,
            native,
            guest_minutes,
            native_minutes,
            _means_apart(guest, native),
            float(np.hypot(noise / np.sqrt(n), second / np.sqrt(guest_n))),
            n + guest_n - 2,
            **options,  # type: ignore[arg-type]
        )
        return finish(generator, truth, drawing)

    return draw


for _n, _noise in (
    (5, 0.005),
    (5, 0.01),
    (8, 0.01),
    (10, 0.01),
    (20, 0.01),
    (30, 0.02),
):
    world(f"{_n} independent normal runs of {100 * _noise:g} %", is_clean=True)(
        independent(_n, _noise)
    )
for _kind in (lognormal, gamma, uniform):
    world(f"10 independent {_kind.__name__} runs of 1 %", is_clean=True)(
        independent(10, kind=_kind)
    )
world("20 independent lognormal runs of 5 %", is_clean=True)(
    independent(20, 0.05, lognormal)
)
world("10 independent runs, times", is_clean=True, better="lower")(
    independent(10, is_time=True)
)
world("10 independent runs, the guest three times as noisy", is_clean=True)(
    independent(10, 0.005, guest_noise=0.015)
)
world("20 native runs against 8 of the guest", is_clean=True)(
    independent(20, native_only=12)
)
world("10 independent runs of 1 %, in random order", is_clean=True)(
    independent(10, is_shuffled=True)
)
world("20 heavy-tailed runs (t3)")(independent(20, kind=t3))


# --- displays -------------------------------------------------------------------------

for _digits in (1, 2, 3, 4, 6):
    for _is_time in (False, True):
        _what = "time" if _is_time else "rate"
        world(
            f"a {_what} of {_digits} digits, 15 runs of 0.7 %",
            is_clean=_digits > 1,
            sees_noise=_digits > 2,
            better="lower" if _is_time else "higher",
        )(independent(15, 0.007, display=Display(_digits), is_time=_is_time))
world("a rate in steps of 1 %, 10 runs of 0.7 %", is_clean=True)(
    independent(10, 0.007, display=Display(step=0.01))
)
world("a rate in steps of 0.3 %, 30 runs of 1 %", is_clean=True)(
    independent(30, 0.01, display=Display(step=0.003))
)
world(
    "a time of 3 digits on the native side only, 30 runs of 1 %",
    is_clean=True,
    better="lower",
)(independent(30, 0.01, display=Display(3, guest_digits=5), is_time=True))
world("a quiet rate of 3 digits, 10 runs of 0.1 %", is_clean=True)(
    independent(10, 0.001, display=Display(3))
)


# --- days -----------------------------------------------------------------------------


def days(
    sessions: tuple[int, int],
    n: int,
    *,
    day: float = 0.03,
    noise: float = NOISE,
    is_shared: bool = False,
    timed: tuple[bool, bool] = (True, True),
    to_the_day: bool = False,
    names: str = "",
    order: Callable[..., tuple[Floats, Floats]] = alternating,
    second: Callable[[int], float] = lambda session: 0.0,
) -> Callable[[Generator, Floats], Drawn]:
    """Sessions on different days, whose speeds differ by ``day``.

    ``second`` is the relative loss of the guest in a session, by its number.
    """

    def draw(generator: Generator, truth: Floats) -> Drawn:
        cells = len(truth)
        effect = [
            generator.normal(0, day, (cells, count, 1))
            if day
            else np.zeros((cells, count, 1))
            for count in sessions
        ]
        if is_shared:
            effect[1] = effect[0]
        raw = [
            (1 + generator.normal(0, noise, (cells, count, n))) * np.exp(shift)
            for count, shift in zip(sessions, effect, strict=True)
        ]
        means = [np.log(side.mean(axis=2)).mean(axis=1) for side in raw]
        losses = np.array([second(session) for session in range(sessions[0])])
        raw[0] = raw[0] * (1 - losses)[:, None]
        starts: list[list[Floats]] = [[], []]
        for session in range(max(sessions)):
            native, guest = order(n, first=session * 2 * DAY_MIN)
            if not is_shared:
                guest = guest + DAY_MIN
            for side, minutes in enumerate((guest, native)):
                if session < sessions[side]:
                    starts[side].append(minutes)
        precision = DAY_MIN if to_the_day else 1
        guest_minutes, native_minutes = [
            np.concatenate(side) // precision * precision if is_timed else None
            for side, is_timed in zip(starts, timed, strict=True)
        ]
        estimate = means[0] - means[1]
        between = 0.0 if is_shared else day
        variance = sum((between**2 + noise**2 / n) / count for count in sessions)
        df = sessions[0] - 1 if is_shared else sum(sessions) - 2
        guest, native = (side.reshape(cells, -1) - 1 for side in raw)
        guest_sessions, native_sessions = [
            tuple(
                names.format(side=side, session=session)
                for session in range(count)
                for _ in range(n)
            )
            if names
            else ()
            for side, count in zip(("guest", "native"), sessions, strict=True)
        ]
        drawing = Drawing(
            guest,
            native,
            guest_minutes,
            native_minutes,
            estimate,
            float(np.sqrt(variance)),
            max(df, 1),
            guest_sessions,
            native_sessions,
        )
        return finish(generator, truth, drawing)

    return draw


world("3 shared days of 3 %, 5 runs a side in each")(days((3, 3), 5, is_shared=True))
world("5 shared days of 3 %, 5 runs a side in each")(days((5, 5), 5, is_shared=True))
world("10 shared days of 3 %, 3 runs a side in each")(days((10, 10), 3, is_shared=True))
world("2 shared days of 3 %, 5 runs a side in each", sees_noise=False)(
    days((2, 2), 5, is_shared=True)
)
world("5 and 5 separate days of 3 %")(days((5, 5), 5))
world("3 and 3 separate days of 1 %")(days((3, 3), 5, day=0.01))
world("10 and 10 separate days of 1 %")(days((10, 10), 5, day=0.01))
world("one day a side, days of 3 %", sees_noise=False)(days((1, 1), 10))
world("5 native days, one of the guest, days of 3 %", sees_noise=False)(days((1, 5), 5))
world("untimed runs, one day of 3 % a side", sees_noise=False)(
    days((1, 1), 10, timed=(False, False))
)
world("starts known on the native side only, one day of 3 % a side", sees_noise=False)(
    days((1, 1), 10, timed=(False, True))
)
world("one declared session on two days of 3 %, one a side", sees_noise=False)(
    days((1, 1), 10, names="all")
)
world("5 shared days of 3 %, starts known to the day only")(
    days((5, 5), 5, is_shared=True, to_the_day=True)
)
world("untimed runs of 3 declared sessions a side, days of 3 %", sees_noise=False)(
    days((3, 3), 5, timed=(False, False), names="{side} {session}")
)


# --- order ----------------------------------------------------------------------------

for _sessions in (1, 3, 5):
    world(
        f"the guest second and 3 % slower in all of {_sessions} sessions",
        sees_noise=False,
    )(
        days(
            (_sessions, _sessions),
            10 if _sessions == 1 else 5,
            is_shared=True,
            order=one_after_the_other,
            second=lambda session: 0.03,
        )
    )


def _alternating_order(n: int, *, first: float = 0.0) -> tuple[Floats, Floats]:
    native, guest = one_after_the_other(n, first=first)
    return (native, guest) if first // (2 * DAY_MIN) % 2 == 0 else (guest, native)


world(
    "the second side 3 % slower, the order changes between 6 sessions", sees_noise=False
)(
    days(
        (6, 6),
        5,
        is_shared=True,
        order=_alternating_order,
        second=lambda session: 0.03 if session % 2 == 0 else -0.03,
    )
)


def trending(
    order: str, change: Callable[[Floats], Floats], noise: float = 0.005
) -> Callable[[Generator, Floats], Drawn]:
    """Runs of one session whose speed changes with time, equally on both sides.

    ``order`` has a letter per run (G: guest), ``change`` receives the part of the
    session before each run.
    """
    is_guest = np.array([letter == "G" for letter in order])

    def draw(generator: Generator, truth: Floats) -> Drawn:
        runs = len(order)
        own = normal(generator, (len(truth), runs), noise)
        speeds = (1 + own) * (1 + change(np.arange(runs) / (runs - 1))) - 1
        starts = STEP_MIN * np.arange(runs, dtype=float)
        drawing = Drawing(
            speeds[:, is_guest],
            speeds[:, ~is_guest],
            starts[is_guest],
            starts[~is_guest],
            _means_apart(own[:, is_guest], own[:, ~is_guest]),
            float(noise * np.sqrt(1 / is_guest.sum() + 1 / (~is_guest).sum())),
            runs - 2,
        )
        return finish(generator, truth, drawing)

    return draw


world("12 native, 12 guest, 1 native run; later runs 3 % slower", sees_noise=False)(
    trending("N" * 12 + "G" * 12 + "N", lambda part: np.where(part < 0.49, 0, -0.03))
)
world("blocks of 5 runs (NGNG) in a shared drift of 12 %", sees_noise=False)(
    trending("NNNNNGGGGG" * 2, lambda part: -0.12 * part)
)
world("pairs of runs (NG) in a shared drift of 6 %")(
    trending("NG" * 15, lambda part: -0.06 * part)
)


# --- named sessions -------------------------------------------------------------------


def named(
    *, day: float, is_overlapping: bool, is_shared: bool
) -> Callable[[Generator, Floats], Drawn]:
    """Three named sessions a side in one sitting; the sides share it or not."""

    def draw(generator: Generator, truth: Floats) -> Drawn:
        cells, n = len(truth), 15
        guest, native = (
            (1 + normal(generator, (cells, n), NOISE))
            * np.exp(generator.normal(0, day, (cells, 1)) if day else 0.0)
            - 1
            for _ in range(2)
        )
        native_minutes, guest_minutes = alternating(n)
        if not is_shared:
            guest_minutes = guest_minutes + DAY_MIN
        numbers = np.arange(n) % 3 if is_overlapping else np.arange(n) // 5
        guest_sessions, native_sessions = (
            tuple(f"{'all' if is_shared else side} {number}" for number in numbers)
            for side in ("guest", "native")
        )
        drawing = Drawing(
            guest,
            native,
            guest_minutes,
            native_minutes,
            _means_apart(guest, native),
            float(np.sqrt(2 * (NOISE**2 / n + day**2))),
            2 * n - 2,
            guest_sessions,
            native_sessions,
        )
        return finish(generator, truth, drawing)

    return draw


world("3 overlapping named sessions of one afternoon")(
    named(day=0, is_overlapping=True, is_shared=True)
)
world("3 named sessions of one afternoon, one after the other")(
    named(day=0, is_overlapping=False, is_shared=True)
)
world("3 named sessions a side, each side on one day of 3 %", sees_noise=False)(
    named(day=0.03, is_overlapping=False, is_shared=False)
)
world(
    "3 overlapping named sessions a side, each side on one day of 3 %", sees_noise=False
)(named(day=0.03, is_overlapping=True, is_shared=False))


# --- duet runs ------------------------------------------------------------------------


def duet(
    n: int, order: str, *, step: float, noise: float = 0.002
) -> Callable[[Generator, Floats], Drawn]:
    """Runs under a random walk that both sides share; it moves before each run."""

    def draw(generator: Generator, truth: Floats) -> Drawn:
        cells = len(truth)
        native_minutes, guest_minutes = {
            "ABAB": lambda: alternating(n),
            "ABBA": lambda: abba(n),
            "random order": lambda: shuffled(generator, n),
            "starts together": lambda: (2 * alternating(n)[0],) * 2,
        }[order]()
        walk = np.cumsum(generator.normal(0, step, (cells, 4 * n)), axis=1)
        places = np.concatenate([guest_minutes, native_minutes]) / STEP_MIN
        own = generator.normal(0, noise, (cells, 2 * n))
        logs = walk[:, places.astype(int)] + own
        weights, error = _least_squares(places, n, step, noise)
        drawing = Drawing(
            np.expm1(logs[:, :n]),
            np.expm1(logs[:, n:]),
            guest_minutes,
            native_minutes,
            logs @ weights,
            error,
            n - 1,
        )
        return finish(generator, truth, drawing)

    return draw


def _least_squares(
    places: Floats, n: int, step: float, noise: float
) -> tuple[Floats, float]:
    """Return the best weights of guest and native runs, and their standard error.

    Generalized least squares with the true covariance of the walk and the noise.
    """
    covariance = step**2 * np.minimum.outer(places + 1, places + 1)
    covariance += noise**2 * np.eye(2 * n)
    design = np.stack([np.ones(2 * n), np.repeat([1.0, 0.0], n)], axis=1)
    precision = np.linalg.solve(covariance, design)
    information = design.T @ precision
    weights = np.linalg.solve(information, precision.T)[1]
    return weights, float(np.sqrt(np.linalg.inv(information)[1, 1]))


for _order in ("ABAB", "ABBA", "starts together"):
    world(f"20 duet runs in a shared walk of 0.5 %, {_order}")(
        duet(20, _order, step=0.005)
    )
world("20 runs in random order in a shared walk of 0.5 %")(
    duet(20, "random order", step=0.005)
)
world("10 duet runs in a shared walk of 1 %, ABBA")(duet(10, "ABBA", step=0.01))
world("30 duet runs in a shared walk of 1 %, ABAB")(duet(30, "ABAB", step=0.01))


# --- dependent and disturbed runs -----------------------------------------------------

for _rho, _n in ((0.5, 10), (0.5, 30), (0.8, 10), (0.8, 30)):
    _factor = float(np.sqrt((1 + _rho) / (1 - _rho)))

    def _ar(
        generator: Generator,
        truth: Floats,
        n: int = _n,
        rho: float = _rho,
        factor: float = _factor,
    ) -> Drawn:
        drawn = independent(n, kind=autoregressive(rho))(generator, truth)
        return Drawn(
            drawn.guest,
            drawn.native,
            truth,
            drawn.estimate,
            drawn.error * factor,
            max(n / factor**2, 2),
        )

    world(f"{_n} runs a side, AR(1) {_rho}")(_ar)


def disturbed(
    n: int,
    disturb: Callable[[Generator, Floats, Floats], None],
    noise: float = 0.005,
) -> Callable[[Generator, Floats], Drawn]:
    """Independent runs; ``disturb`` changes them. The truth is that of the others."""

    def draw(generator: Generator, truth: Floats) -> Drawn:
        shape = (len(truth), n)
        guest, native = normal(generator, shape, noise), normal(generator, shape, noise)
        estimate = _means_apart(guest, native)
        disturb(generator, guest, native)
        native_minutes, guest_minutes = alternating(n)
        error = float(noise * np.sqrt(2 / n))
        drawing = Drawing(
            guest, native, guest_minutes, native_minutes, estimate, error, 2 * n - 2
        )
        return finish(generator, truth, drawing)

    return draw


def stall(runs: int, factor: float, *, where: str) -> Callable[..., None]:
    def disturb(generator: Generator, guest: Floats, native: Floats) -> None:
        cells, n = guest.shape
        both = np.concatenate([guest, native], axis=1)
        for cell in range(cells):
            places = {
                "either": range(2 * n),
                "guest": range(n),
                "native": range(n, 2 * n),
            }
            for place in generator.choice(list(places[where]), runs, replace=False):
                both[cell, place] = (1 + both[cell, place]) / factor - 1
        guest[:], native[:] = both[:, :n], both[:, n:]

    return disturb


world("one of 24 runs stalled to a third, either side")(
    disturbed(12, stall(1, 3, where="either"))
)
world("one of 24 runs 20 % slower, either side")(
    disturbed(12, stall(1, 1.25, where="either"))
)
world("2 of 30 guest runs stalled to a sixth")(
    disturbed(30, stall(2, 6, where="guest"))
)
world("2 of 30 native runs stalled to a half")(
    disturbed(30, stall(2, 2, where="native"))
)
world("one of 10 native runs stalled to a third")(
    disturbed(10, stall(1, 3, where="native"))
)


def _first_run(generator: Generator, guest: Floats, native: Floats) -> None:
    for side in (guest, native):
        side[:, 0] -= 0.05


def _guest_drift(generator: Generator, guest: Floats, native: Floats) -> None:
    guest += np.linspace(0.02, -0.02, guest.shape[1])


def _two_speeds(generator: Generator, guest: Floats, native: Floats) -> None:
    is_slow = generator.random(guest.shape) < 0.36
    guest += np.where(is_slow, -0.0384, 0.0216)


world("the first run of each side 5 % slower, 10 runs")(disturbed(10, _first_run))
world("the guest drifts by 4 %, 20 runs", sees_noise=False)(disturbed(20, _guest_drift))
world("the guest has two speeds 6 % apart, 20 runs", sees_noise=False)(
    disturbed(20, _two_speeds)
)


# --- pools of labs --------------------------------------------------------------------


@dataclass(frozen=True)
class PoolWorld:
    """Labs with machines that measure one hypervisor.

    ``labs`` are numbers of machines. The true log ratio of a machine deviates from
    `POOL_TRUTH` by a part of its lab (standard deviation ``tau``) and one of its own
    (``machine_tau``). The standard error of a machine is ``error``, times or divided
    by up to ``unequal``. ``runs`` is the number of runs of each side, which estimate
    the error.
    """

    name: str
    labs: tuple[int, ...]
    tau: float
    machine_tau: float
    error: float
    unequal: float = 1.0
    runs: int = 6

    @property
    def spread(self) -> float:
        """The standard deviation of a machine in another lab."""
        return float(np.hypot(self.tau, self.machine_tau))


@dataclass(frozen=True)
class DrawnMachine:
    lab: int
    number: int
    log_ratio: float
    error: float


POOL_TRUTH: Final = float(np.log(0.93))
LABS: Final = {
    "3 labs of one machine": (1,) * 3,
    "5 labs of one machine": (1,) * 5,
    "8 labs of one machine": (1,) * 8,
    "3 labs of 1, 2 and 6 machines": (1, 2, 6),
    "5 labs of 1 to 6 machines": (1, 1, 2, 4, 6),
    "8 labs of 1 to 6 machines": (1, 1, 1, 2, 2, 3, 5, 6),
}
POOL_WORLDS: Final = tuple(
    PoolWorld(f"{name}, tau {design[0]:g} and {design[1]:g}{words}", labs, *design)
    for name, labs in LABS.items()
    for words, design in (
        ("", (0.0, 0.0, 0.005, 1.0)),
        ("", (0.02, 0.005, 0.005, 1.0)),
        ("", (0.05, 0.02, 0.005, 1.0)),
        (", errors 0.5 to 8 %", (0.05, 0.0, 0.02, 4.0)),
        (", errors 0.25 to 4 %", (0.2, 0.05, 0.01, 4.0)),
    )
)


def draw_machines(generator: Generator, world: PoolWorld) -> list[DrawnMachine]:
    machines = []
    for lab, count in enumerate(world.labs):
        of_lab = POOL_TRUTH + world.tau * generator.normal()
        for number in range(count):
            log_ratio = of_lab + world.machine_tau * generator.normal()
            error = world.error * world.unequal ** generator.uniform(-1, 1)
            machines.append(DrawnMachine(lab, number, log_ratio, error))
    return machines
