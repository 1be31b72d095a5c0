"""A history in words: what changed when, or why nobody can say."""

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
from benchmarks.comparing.trend import DatedRun, Point, Series, Trend
from dashboard import wording
from dashboard.kit import figures


def day_text(at: datetime | None) -> str:
    """Return the day of a run."""
    return figures.day_text(at) if at else ""


def line_name(series: Series, told: Trend) -> str:
    """Return a system without its version, and without what all others are too."""
    system = copy(series.system)
    system.hypervisor_version = ""
    name = wording.system_name(system)
    others = [each.system for each in told.series]
    same_guest = {(each.guest_os, each.guest_bits) for each in others}
    if len(same_guest) == 1 and len(others) > 1:
        system.guest_os, system.guest_bits = "", None
        name = wording.system_name(system)
    return name


def sentences(told: Trend, is_over_time: bool) -> Iterator[str]:
    """Say what changed, line by line, and then once what holds for all the others."""
    if is_over_time:
        yield from _over_time(told)
        return
    for each in told.series:
        yield from _over_versions(each, line_name(each, told))


def _over_time(told: Trend) -> Iterator[str]:
    for each in told.series:
        for change in each.changes or ():
            yield _change(each, line_name(each, told), change)
    for reason, others in _unchanged(told).items():
        yield reason % {"systems": _systems(others, told), "least": LEAST_RUNS}


def _unchanged(told: Trend) -> dict[str, list[Series]]:
    """Return the series without a change by what is to be said of them."""
    found: dict[str, list[Series]] = {}
    for each in told.series:
        if not each.changes:
            found.setdefault(_why_unchanged(each), []).append(each)
    return found


def _why_unchanged(series: Series) -> str:
    if series.changes is not None:
        return _("%(systems)s: no change beyond chance.")
    if len(series.dated) < 2 * LEAST_RUNS:
        return _(
            "%(systems)s: too few for change-point detection; %(least)s before and "
            "%(least)s after are needed."
        )
    return _(
        "%(systems)s: readings of 0 have no factor of change, so change points are not "
        "looked for."
    )


def _systems(which: list[Series], told: Trend) -> str:
    if len(which) == len(told.series) > 1:
        runs = sorted({len(each.dated) for each in which})
        most = _dated_runs(runs[-1])
        if runs[1:]:
            most = _("%(least)s to %(runs)s") % {"least": runs[0], "runs": most}
        return _("All %(n)s systems (%(runs)s)") % {"n": len(which), "runs": most}
    return "; ".join(
        f"{line_name(each, told)} ({_dated_runs(len(each.dated))})" for each in which
    )


def _dated_runs(n: int) -> str:
    return ngettext("%(n)s dated run", "%(n)s dated runs", n) % {"n": n}


def _change(series: Series, name: str, change: ChangePoint) -> str:
    before, after = series.dated[change.at - 1], series.dated[change.at]
    words = {
        "system": name,
        "day": day_text(after.started_at),
        "p": figures.number(change.p_value, ".3f"),
        "versions": _versions(before, after),
    }
    if change.factor is None:
        return (
            _(
                "%(system)s: from %(day)s on not what it was before%(versions)s "
                "(permutation test, p = %(p)s). No single figure describes the runs on "
                "both sides, so no factor is given."
            )
            % words
        )
    words["factor"] = figures.ratio(change.factor)
    return (
        _(
            "%(system)s: from %(day)s on %(factor)s times what it was before"
            "%(versions)s (permutation test, p = %(p)s)."
        )
        % words
    )


def _versions(before: DatedRun, after: DatedRun) -> str:
    if before.version == after.version:
        return ""
    return _(", with the version going from %(old)s to %(new)s") % {
        "old": before.version or "?",
        "new": after.version or "?",
    }


def _over_versions(series: Series, name: str) -> Iterator[str]:
    for old, new in pairwise(series.versions):
        words: dict[str, object] = {
            "system": name,
            "old": old.version or "?",
            "new": new.version or "?",
            "least": LEAST_RUNS,
        }
        if told := _no_figure(old, new):
            yield told % words
            continue
        ratio, low, high = _ratio(series, old.version, new.version)
        if min(old.n, new.n) < LEAST_RUNS or not isfinite(low):
            said = _(
                "%(system)s, %(old)s to %(new)s: no change is claimed. It needs "
                "%(least)s runs of each version, and an interval."
            )
        elif low <= 1 <= high:
            said = _(
                "%(system)s, %(old)s to %(new)s: no clear change (%(low)s to %(high)s "
                "times)."
            )
        else:
            said = _(
                "%(system)s, %(old)s to %(new)s: %(ratio)s times what it was (95 %% "
                "interval %(low)s to %(high)s)."
            )
        written = zip(("ratio", "low", "high"), (ratio, low, high), strict=True)
        yield said % {**words, **{key: figures.ratio(it) for key, it in written}}


def _no_figure(old: Point, new: Point) -> str:
    """Say of which versions no single figure describes the runs; empty if of none."""
    if old.value is None and new.value is None:
        return _(
            "%(system)s, %(old)s to %(new)s: no change is claimed. No single figure "
            "describes the runs of either."
        )
    if old.value is None:
        return _(
            "%(system)s, %(old)s to %(new)s: no change is claimed. No single figure "
            "describes the runs of %(old)s."
        )
    if new.value is None:
        return _(
            "%(system)s, %(old)s to %(new)s: no change is claimed. No single figure "
            "describes the runs of %(new)s."
        )
    return ""


def _ratio(series: Series, old: str, new: str) -> tuple[float, float, float]:
    sides = [
        np.array([run.mean for run in series.runs if run.version == version])
        for version in (new, old)
    ]
    after, before = (
        Rollups.of([len(it)], [it.mean()], [it.var() * len(it)], [np.nan])
        for it in sides
    )
    found = log_ratio_intervals(after, before, [True])
    return float(found.ratio[0]), float(found.low[0]), float(found.high[0])
