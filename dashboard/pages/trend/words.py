"""A trend in words: what changed when, or why nobody can say."""

from collections.abc import Iterator
from copy import copy
from datetime import datetime
from itertools import pairwise
from math import isfinite

import numpy as np
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from benchmarks.analysis.intervals import Rollups, log_ratio_intervals
from benchmarks.analysis.trend import LEAST_RUNS, ChangePoint
from benchmarks.comparing.trend import Trend, TrendSeries
from dashboard import wording
from dashboard.kit import figures


def day_text(moment: datetime | None) -> str:
    """Return the day of a run; empty where none is stated."""
    return figures.day_text(moment) if moment else ""


def line_name(series: TrendSeries, trend: Trend) -> str:
    """Return a system without its version, and without what all others are too."""
    # A copy: cleared in place, the guest would be missing for the next line.
    system = copy(series.system)
    system.hypervisor_version = ""
    name = wording.system_name(system)
    others = [other.system for other in trend.series]
    same_guest = {(other.guest_os, other.guest_bits) for other in others}
    if len(same_guest) == 1 and len(others) > 1:
        system.guest_os, system.guest_bits = "", None
        name = wording.system_name(system)
    return name


def over_time(trend: Trend) -> Iterator[str]:
    """Say what changed, line by line, and then once what holds for all the others."""
    unchanged: dict[str, list[TrendSeries]] = {}
    for series in trend.series:
        for change in series.changes or ():
            yield change_sentence(series, line_name(series, trend), change)
        if series.changes:
            continue
        if series.changes is not None:
            reason = _("%(systems)s: no change beyond chance.")
        elif len(series.dated) < 2 * LEAST_RUNS:
            reason = _(
                "%(systems)s: too few for change-point detection; %(least)s before and "
                "%(least)s after are needed."
            )
        else:
            reason = _(
                "%(systems)s: readings of 0 have no factor of change, so change points "
                "are not looked for."
            )
        unchanged.setdefault(reason, []).append(series)

    for reason, alike in unchanged.items():
        if len(alike) == len(trend.series) > 1:
            runs = sorted({len(series.dated) for series in alike})
            text = _dated_runs(runs[-1])
            if runs[1:]:
                text = _("%(least)s to %(runs)s") % {"least": runs[0], "runs": text}
            systems = _("All %(n)s systems (%(runs)s)") % {
                "n": len(alike),
                "runs": text,
            }
        else:
            systems = "; ".join(
                f"{line_name(series, trend)} ({_dated_runs(len(series.dated))})"
                for series in alike
            )
        yield reason % {"systems": systems, "least": LEAST_RUNS}


def _dated_runs(n: int) -> str:
    return ngettext("%(n)s dated run", "%(n)s dated runs", n) % {"n": n}


def change_sentence(series: TrendSeries, name: str, change: ChangePoint) -> str:
    """Say from which day on a system is how many times as fast."""
    before, after = series.dated[change.at - 1], series.dated[change.at]
    versions = ""
    if before.version != after.version:
        versions = _(", with the version going from %(old)s to %(new)s") % {
            "old": before.version or "?",
            "new": after.version or "?",
        }
    words = {
        "system": name,
        "day": day_text(after.started_at),
        "p": figures.number(change.p_value, ".3f"),
        "versions": versions,
    }
    if change.factor is None:
        text = _(
            "%(system)s: from %(day)s on not what it was before%(versions)s "
            "(permutation test, p = %(p)s). No single figure describes the runs on "
            "both sides, so no factor is given."
        )
    else:
        words["factor"] = figures.ratio(change.factor)
        text = _(
            "%(system)s: from %(day)s on %(factor)s times what it was before"
            "%(versions)s (permutation test, p = %(p)s)."
        )
    return text % words


def over_versions(trend: Trend) -> Iterator[str]:
    """Say of each system how it went from one version to the next."""
    for series in trend.series:
        for old, new in pairwise(series.versions):
            words: dict[str, object] = {
                "system": line_name(series, trend),
                "old": old.version or "?",
                "new": new.version or "?",
                "least": LEAST_RUNS,
            }
            doubted = [point for point in (old, new) if point.value is None]
            if doubted:
                words["version"] = doubted[0].version or "?"
                text = _(
                    "%(system)s, %(old)s to %(new)s: no change is claimed. No single "
                    "figure describes the runs of %(version)s."
                )
                if len(doubted) > 1:
                    text = _(
                        "%(system)s, %(old)s to %(new)s: no change is claimed. No "
                        "single figure describes the runs of either."
                    )
                yield text % words
                continue
            ratio, low, high = _ratio(series, old.version, new.version)
            if min(old.n, new.n) < LEAST_RUNS or not isfinite(low):
                text = _(
                    "%(system)s, %(old)s to %(new)s: no change is claimed. It needs "
                    "%(least)s runs of each version, and an interval."
                )
            elif low <= 1 <= high:
                text = _(
                    "%(system)s, %(old)s to %(new)s: no clear change (%(low)s to "
                    "%(high)s times)."
                )
            else:
                text = _(
                    "%(system)s, %(old)s to %(new)s: %(ratio)s times what it was "
                    "(95 %% interval %(low)s to %(high)s)."
                )
            for name, number in (("ratio", ratio), ("low", low), ("high", high)):
                words[name] = figures.ratio(number)
            yield text % words


def _ratio(series: TrendSeries, old: str, new: str) -> tuple[float, float, float]:
    sides = [
        np.array([run.mean for run in series.runs if run.version == version])
        for version in (new, old)
    ]
    after, before = (
        Rollups.of([len(side)], [side.mean()], [side.var() * len(side)], [np.nan])
        for side in sides
    )
    # As if higher were better: the sentence says how many times the old value the new
    # one is, whichever is better.
    interval = log_ratio_intervals(after, before, [True])
    return float(interval.ratio[0]), float(interval.low[0]), float(interval.high[0])
