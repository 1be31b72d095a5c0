"""The signature of a slow guest clock: everything looks faster by the same factor.

A virtual machine does not speed up caches and RAM, reads and writes alike. A guest
clock that runs slow does: by its own clock, all work in the guest takes less time.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

Logs = NDArray[np.float64]

MIN_CASES: Final = 4
MIN_FAMILIES: Final = 2
# Nearly the same factor: the logs spread by at most a third of their mean.
MAX_SPREAD: Final = 1 / 3
# Without an outside clock a bad day of the baseline looks the same: days differ by a
# standard deviation of 3 %, and 1 % of them by more than this.
ALONE_BAND: Final = 0.07
CONFIDENCE: Final = 0.995


@dataclass(frozen=True, slots=True)
class CommonFactor:
    """The factor by which guest-timed cases beat native, and whether it is one factor.

    ``factor`` is the median efficiency, ``spread`` the standard deviation of the
    efficiencies' logs, ``outside`` the median efficiency of the CPU-bound cases that an
    outside clock timed (None without any). ``reason`` says what decided.
    """

    factor: float
    spread: float
    outside: float | None
    n: int
    is_found: bool
    reason: str


def common_factor(
    log_ratios: Sequence[float],
    families: Sequence[Hashable],
    *,
    outside_log_ratios: Sequence[float] = (),
    band: float = 0.02,
) -> CommonFactor:
    """Look for the signature among a system's guest-timed cases.

    ``log_ratios`` are ln(efficiency), above 0 where the VM beats native; ``families``
    say what is unrelated: ("L1", "read"), ("RAM", "write"). It is found if all of four
    or more cases of two or more families beat native, the mean log lies above the band
    (99.5 % bound of Student's t), the spread is at most a third of the mean, and the
    CPU-bound cases that an outside clock timed do not share at least half of the factor
    (else the machine, or its baseline, differs, and not the clock). Without any such
    case the mean log must lie above 7 %.
    """
    logs = np.asarray(log_ratios, dtype=float)
    if logs.size != len(families) or not np.isfinite(logs).all():
        raise ValueError("every case needs a finite log ratio and its family")
    spread = float(logs.std(ddof=1)) if logs.size > 1 else math.inf
    outside = float(np.median(outside_log_ratios)) if len(outside_log_ratios) else None
    against = _objection(logs, len(set(families)), spread, outside, band)
    return CommonFactor(
        factor=math.exp(float(np.median(logs))) if logs.size else 1.0,
        spread=spread,
        outside=None if outside is None else math.exp(outside),
        n=logs.size,
        is_found=not against,
        reason=against or _finding(logs, spread, outside),
    )


def _objection(
    logs: Logs,
    families: int,
    spread: float,
    outside: float | None,
    band: float,
) -> str:
    """Why this is not the signature; empty if nothing speaks against it."""
    if logs.size < MIN_CASES or families < MIN_FAMILIES:
        return f"Too little to tell: {logs.size} cases of {families} families."
    if logs.min() <= 0:
        return "Not every case beats native."
    mean = float(logs.mean())
    error = spread / math.sqrt(logs.size)
    low = mean - stdtrit(logs.size - 1, CONFIDENCE) * error
    if low <= math.log1p(band):
        return "The cases do not beat native by more than the band."
    if outside is None and low <= math.log1p(ALONE_BAND):
        return (
            "Without CPU-bound work timed from outside, a gain below "
            f"{100 * ALONE_BAND:g} % may be a bad day of the baseline."
        )
    if spread > MAX_SPREAD * mean:
        return "The cases beat native by different factors."
    if outside is not None and outside > mean / 2:
        return "Outside clocks see the same gain."
    return ""


def _finding(
    logs: Logs,
    spread: float,
    outside: float | None,
) -> str:
    factor = math.exp(float(np.median(logs)))
    text = (
        f"All {logs.size} cases timed by the guest beat native by nearly the same "
        f"factor, {factor:.3f} (spread {100 * spread:.1f} %)"
    )
    if outside is None:
        return f"{text}: the guest's clock seems to run slow."
    return (
        f"{text}, but CPU-bound work timed from outside reaches "
        f"{math.exp(outside):.3f}: the guest's clock runs slow."
    )
