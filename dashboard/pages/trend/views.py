"""What the trend page shows of one case: its runs over dates or over versions."""

from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from datetime import datetime
from itertools import pairwise
from math import isfinite
from typing import Any
from urllib.parse import urlencode

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from benchmarks.analysis.trend import LEAST_RUNS, ChangePoint
from benchmarks.comparing.row import CIRCUMSTANCES
from benchmarks.comparing.table import Fact
from benchmarks.comparing.trend import (
    Trend,
    TrendPoint,
    TrendSeries,
    TrendSubject,
    trend_of,
    trend_subjects,
)
from benchmarks.models import Study
from benchmarks.own_tools.lookup import known_tool
from benchmarks.platforms import NATIVE
from benchmarks.text import natural
from benchmarks.viewer import Viewer
from dashboard import wording
from dashboard.charts.bars import curve, sweep_plot, trend_plot
from dashboard.charts.chart import Chart
from dashboard.kit import figures
from dashboard.kit.addresses import STUDY, Chip, ChipRow, unmet
from dashboard.kit.kept import kept_page, study_view
from dashboard.kit.routes import DISKS, Tab, page
from dashboard.kit.table_cells import row_figure

MOST_SUBJECTS = 60
MOST_ROWS = 40
TIMES = "\N{MULTIPLICATION SIGN}"


def trend_page(
    viewer: Viewer, study: Study, query: Mapping[str, str]
) -> dict[str, Any] | None:
    """Return the page for the choice that a URL's query names.

    None where nothing has dates or two versions: there is no trend to show.
    """
    shown = [subject for subject in trend_subjects(viewer, study) if subject.has_trend]
    if not shown:
        return None
    key = query.get("subject", "")
    named = (subject for subject in shown if subject_key(subject) == key)
    subject = next(named, shown[0])
    by_version = query.get("axis") == "version" and subject.versions > 1
    is_over_time = subject.is_dated and not by_version
    trend = trend_of(viewer, subject)
    case = f"{known_tool(trend.case.tool).title}: {trend.case.label}"
    table = _table(trend, is_over_time=is_over_time)
    return {
        "title": _("%(case)s on %(host)s") % {"case": case, "host": subject.host},
        "trend": trend,
        "is_over_time": is_over_time,
        "rows": _choices(shown, subject, is_over_time=is_over_time),
        "sentences": list((over_time if is_over_time else over_versions)(trend)),
        "figure": _figure(trend, is_over_time=is_over_time),
        "table": table,
        "is_long": len(table) > MOST_ROWS,
        "undated": sum(len(series.runs) - len(series.dated) for series in trend.series),
        # Only a point without a mean has a reason.
        "undrawn": sum(bool(row["reason"]) for row in table),
        "unmet": unmet(query, {"subject": subject_key(subject)}),
    }


def _choices(
    subjects: Sequence[TrendSubject], subject: TrendSubject, *, is_over_time: bool
) -> list[ChipRow]:
    # The chosen one stays in the choice, however far down the list it is.
    shown = list(dict.fromkeys([*subjects[:MOST_SUBJECTS], subject]))
    axis = "time" if is_over_time else "version"
    has_several_hosts = len({other.host_id for other in subjects}) > 1
    chips = []
    for other in shown:
        label = [f"{known_tool(other.tool).title}: {other.label}"]
        if has_several_hosts:
            label.append(other.host)
        # A case that ran alone needs no circumstances to be told from others.
        if other.circumstances[0] != "single":
            label += [
                wording.fact_text(Fact(name, str(value)))
                for name, value in zip(CIRCUMSTANCES, other.circumstances, strict=True)
                if value not in (None, "", "single")
            ]
        query = urlencode({"subject": subject_key(other), "axis": axis})
        chips.append(Chip(", ".join(label), query, other is subject))
    rows = []
    if len(chips) > 1:
        rows.append(ChipRow(_("Benchmarks"), chips))
    if subject.is_dated and subject.versions > 1:
        key = subject_key(subject)
        axes = tuple(
            Chip(text, urlencode({"subject": key, "axis": name}), name == axis)
            for name, text in (("time", _("Dates")), ("version", _("Versions")))
        )
        rows.append(ChipRow(_("Over"), axes))
    return rows


def _figure(trend: Trend, *, is_over_time: bool) -> Chart | None:
    places = _places(trend)
    curves = []
    for colour, series in enumerate(trend.series):
        marks = []
        # The table has what stands for the points without a mean.
        for point in _points(series, is_over_time=is_over_time):
            if point.value is None:
                continue
            x = float(places.get((series.system.hypervisor, point.version), 0))
            if is_over_time and point.at:
                x = _in_chart(point.at)
            value = row_figure(point.figure, trend.case.unit)
            runs = wording.runs_text(point.n)
            facts = (point.version, _day_text(point.at), value, runs)
            text = ", ".join(filter(None, facts))
            marks.append((x, point.value, point.low, point.high, text))
        if marks:
            name = line_name(series, trend)
            is_native = series.system.is_native
            curves.append(curve(name, colour, marks, is_native=is_native))
    if not curves:
        return None
    unit = f"{trend.case.unit} ({wording.BETTER.get(trend.case.better, '')})"
    if is_over_time:
        return trend_plot(curves, list(_changes(trend)), unit)
    ticks = [
        (float(place), " ".join(filter(None, version)))
        for version, place in places.items()
    ]
    titles = (_("version"), unit)
    return sweep_plot(curves, ticks, titles=titles, is_log=(False, False))


def _places(trend: Trend) -> dict[tuple[str, str], int]:
    """Return the place of each version on the axis."""
    versions = {
        (series.system.hypervisor, point.version)
        for series in trend.series
        for point in series.versions
    }
    native = [version for version in versions if version[0] == NATIVE]
    others = versions.difference(native)
    # By number, so that 3.10 comes after 3.9; native machines stand first.
    ordered = sorted(others, key=lambda version: natural(" ".join(version)))
    return {version: place for place, version in enumerate([*sorted(native), *ordered])}


def _points(series: TrendSeries, *, is_over_time: bool) -> tuple[TrendPoint, ...]:
    return series.days if is_over_time else series.versions


def _table(trend: Trend, *, is_over_time: bool) -> list[dict[str, Any]]:
    rows = []
    for series in trend.series:
        for point in _points(series, is_over_time=is_over_time):
            interval = ""
            if point.low is not None and point.high is not None:
                ends = (float(f"{end:.4g}") for end in (point.low, point.high))
                interval = wording.span_text(*map(figures.exact, ends))
            row = {
                "line": line_name(series, trend),
                "version": point.version,
                "day": _day_text(point.at),
                "value": row_figure(point.figure, trend.case.unit),
                "reason": wording.said(point.figure.reason),
                "interval": interval,
                "n": point.n,
            }
            rows.append(row)
    return rows


def subject_key(subject: TrendSubject) -> str:
    """Return what names a case on a host in its circumstances in a URL."""
    stated = (subject.case_id, subject.host_id, *subject.circumstances)
    return "|".join("" if value is None else str(value) for value in stated)


def over_time(trend: Trend) -> Iterator[str]:
    """Say what changed, line by line, and then once what holds for all the others."""
    if trend.no_speed:
        yield wording.said(trend.no_speed)
        return
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
        "day": _day_text(after.started_at),
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


def _dated_runs(n: int) -> str:
    return ngettext("%(n)s dated run", "%(n)s dated runs", n) % {"n": n}


def over_versions(trend: Trend) -> Iterator[str]:
    """Say of each system how it went from one version to the next."""
    if trend.no_speed:
        yield wording.said(trend.no_speed)
        return
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
            ratio, low, high = series.ratio_of(new.version, to=old.version)
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
                    "(95\N{NO-BREAK SPACE}%% interval %(low)s to %(high)s)."
                )
            for name, number in (("ratio", ratio), ("low", low), ("high", high)):
                words[name] = figures.ratio(number)
            yield text % words


def line_name(series: TrendSeries, trend: Trend) -> str:
    """Return a system without its version, and without what all others are too."""
    # Copies: cleared in place, the guest would be missing for the next line.
    systems = [copy(other.system) for other in trend.series]
    has_one_guest = len({(it.guest_os, it.guest_bits) for it in systems}) == 1
    for system in systems:
        system.hypervisor_version = ""
        if has_one_guest and len(systems) > 1:
            system.guest_os, system.guest_bits = "", None
    return wording.system_names(systems)[series.system.pk]


def _day_text(moment: datetime | None) -> str:
    return figures.day_text(moment) if moment else ""


def _changes(trend: Trend) -> Iterator[tuple[float, str]]:
    """Yield when a change was found, and its factor."""
    for series in () if trend.no_speed else trend.series:
        for change in series.changes or ():
            if not (started := series.dated[change.at].started_at):
                continue
            factor = ""
            if change.factor:
                factor = f"{TIMES}\N{NO-BREAK SPACE}{figures.ratio(change.factor)}"
            yield _in_chart(started), factor


def _in_chart(moment: datetime) -> float:
    """Return a moment as charts count time: milliseconds since 1970."""
    return moment.timestamp() * 1000


urlpatterns = [
    page(
        f"{STUDY}trend/",
        kept_page(study_view("trend/trend.html", trend_page)),
        "trend",
        walked=(f"{DISKS}trend/",),
        tab=Tab(gettext_lazy("Trend"), 70, needs="has_trend"),
    ),
]
