from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from datetime import datetime
from itertools import pairwise
from math import isfinite
from typing import Any
from urllib.parse import urlencode

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from benchmarks.analysis.change_points import MIN_POINTS, ChangePoint, SeriesChanges
from benchmarks.analysis.sessions import REPEATED_SESSIONS
from benchmarks.comparison.comparison_row import CIRCUMSTANCES
from benchmarks.comparison.comparison_table import Fact
from benchmarks.comparison.trend import (
    Trend,
    TrendPoint,
    TrendSeries,
    TrendSubject,
    read_trend,
    trend_subjects,
)
from benchmarks.custom_tools.lookup import require_tool
from benchmarks.hypervisor_names import NATIVE
from benchmarks.models import Study
from benchmarks.natural_sort import natural_sort_key
from benchmarks.viewer import Viewer
from dashboard import wording
from dashboard.charts.bars_and_lines import curve_points, sweep_plot, trend_plot
from dashboard.charts.chart import Chart, LineStyle, Points
from dashboard.kit import formatting
from dashboard.kit.chips import Chip, ChipRow
from dashboard.kit.page_cache import cached_page, study_view
from dashboard.kit.routes import DISK_STUDY, Tab, page
from dashboard.kit.table_cells import value_text
from dashboard.kit.url_parts import STUDY_PATH, ignored_parameters

MAX_SUBJECTS = 60
MAX_OPEN_ROWS = 40
MULTIPLICATION_SIGN = "\N{MULTIPLICATION SIGN}"


def trend_page(
    viewer: Viewer, study: Study, query: Mapping[str, str]
) -> dict[str, Any] | None:
    shown = [subject for subject in trend_subjects(viewer, study) if subject.has_trend]
    if not shown:
        return None
    key = query.get("subject", "")
    matching = (subject for subject in shown if subject_key(subject) == key)
    subject = next(matching, shown[0])
    by_version = query.get("axis") == "version" and subject.version_count > 1
    is_over_time = subject.is_dated and not by_version
    trend = read_trend(viewer, subject)
    case = f"{require_tool(trend.case.tool).title}: {trend.case.label}"
    table = _table(trend, is_over_time=is_over_time)
    return {
        "title": _("%(case)s on %(host)s") % {"case": case, "host": subject.host},
        "trend": trend,
        "is_over_time": is_over_time,
        "rows": _choices(shown, subject, is_over_time=is_over_time),
        "sentences": list(
            (time_sentences if is_over_time else version_sentences)(trend)
        ),
        "chart": _figure(trend, is_over_time=is_over_time),
        "table": table,
        "is_long": len(table) > MAX_OPEN_ROWS,
        "undated": sum(
            len(series.runs) - len(series.dated_runs) for series in trend.series
        ),
        # Only points without a mean, which are not drawn, have a reason.
        "undrawn": sum(bool(row["reason"]) for row in table),
        "ignored_parameters": ignored_parameters(
            query, {"subject": subject_key(subject)}
        ),
    }


def _choices(
    subjects: Sequence[TrendSubject], subject: TrendSubject, *, is_over_time: bool
) -> list[ChipRow]:
    shown = list(dict.fromkeys([*subjects[:MAX_SUBJECTS], subject]))
    axis = "time" if is_over_time else "version"
    has_several_hosts = len({option.host_id for option in subjects}) > 1
    chips = []
    for option in shown:
        label = [f"{require_tool(option.tool).title}: {option.label}"]
        if has_several_hosts:
            label.append(option.host)
        # Circumstances are shown only for cases with other VMs or load.
        if option.circumstances[0] != "single":
            label += [
                wording.fact_text(Fact(name, str(value)))
                for name, value in zip(CIRCUMSTANCES, option.circumstances, strict=True)
                if value not in (None, "", "single")
            ]
        query = urlencode({"subject": subject_key(option), "axis": axis})
        chips.append(Chip(", ".join(label), query, option is subject))
    rows = []
    if len(chips) > 1:
        rows.append(ChipRow(_("Benchmarks"), chips))
    if subject.is_dated and subject.version_count > 1:
        key = subject_key(subject)
        axes = tuple(
            Chip(text, urlencode({"subject": key, "axis": name}), name == axis)
            for name, text in (("time", _("Dates")), ("version", _("Versions")))
        )
        rows.append(ChipRow(_("X axis"), axes))
    return rows


def _figure(trend: Trend, *, is_over_time: bool) -> Chart | None:
    positions = _version_positions(trend)
    curves = []
    for color, series in enumerate(trend.series):
        points_with_text = []
        for point in _points(series, is_over_time=is_over_time):
            if point.value is None:
                continue
            x = float(positions.get((series.system.hypervisor, point.version), 0))
            if is_over_time and point.at:
                x = _chart_time(point.at)
            value = value_text(point.figure, trend.case.unit)
            runs = wording.runs_text(point.n)
            facts = (point.version, _day_text(point.at), value, runs)
            text = ", ".join(filter(None, facts))
            points_with_text.append((x, point.value, point.low, point.high, text))
        if points_with_text:
            name = trend_line_name(series, trend)
            is_native = series.system.is_native
            curves.append(
                curve_points(name, color, points_with_text, is_native=is_native)
            )
            if is_over_time and not trend.no_figure_reason:
                curves += _levels(series, curves[-1], trend.case.unit)
    if not curves:
        return None
    unit = wording.unit_name(trend.case.metric, trend.case.unit)
    unit = f"{unit} ({wording.DIRECTION_NAMES.get(trend.case.better, '')})"
    if is_over_time:
        return trend_plot(curves, list(_changes(trend)), unit)
    ticks = [
        (float(position), " ".join(filter(None, version)))
        for version, position in positions.items()
    ]
    titles = (_("version"), unit)
    return sweep_plot(curves, ticks, titles=titles, is_log=(False, False))


def _levels(series: TrendSeries, curve: Points, unit: str) -> Iterator[Points]:
    changes = series.changes.changes if series.changes else ()
    if not changes:
        return
    starts = [0, *(change.index for change in changes)]
    ends = [*starts[1:], len(series.runs_of_days)]
    levels = [changes[0].before, *(change.after for change in changes)]
    for start, end, level in zip(starts, ends, levels, strict=True):
        first, last = (series.runs_of_days[at][0].started_at for at in (start, end - 1))
        if level is None or first is None or last is None:
            continue
        text = _("median %(value)s") % {"value": wording.quantity(level, unit)}
        yield Points(
            name=text,
            x=[_chart_time(first), _chart_time(last)],
            y=[level, level],
            color=curve.color,
            line=LineStyle(width=3),
            opacity=0.6,
            hover_texts=[text, text],
            is_in_legend=False,
        )


def _version_positions(trend: Trend) -> dict[tuple[str, str], int]:
    versions = {
        (series.system.hypervisor, point.version)
        for series in trend.series
        for point in series.version_points
    }
    native = [version_key for version_key in versions if version_key[0] == NATIVE]
    non_native = versions.difference(native)
    # Native systems come first. In natural order, 3.10 comes after 3.9.
    ordered = sorted(
        non_native, key=lambda version_key: natural_sort_key(" ".join(version_key))
    )
    return {
        version_key: position
        for position, version_key in enumerate([*sorted(native), *ordered])
    }


def _points(series: TrendSeries, *, is_over_time: bool) -> tuple[TrendPoint, ...]:
    return series.day_points if is_over_time else series.version_points


def _table(trend: Trend, *, is_over_time: bool) -> list[dict[str, Any]]:
    rows = []
    for series in trend.series:
        for point in _points(series, is_over_time=is_over_time):
            interval = ""
            if point.low is not None and point.high is not None:
                ends = (float(f"{end:.4g}") for end in (point.low, point.high))
                interval = wording.range_text(*map(formatting.exact, ends))
            row = {
                "line": trend_line_name(series, trend),
                "version": point.version,
                "day": point.at,
                "value": value_text(point.figure, trend.case.unit),
                "reason": wording.translate_text(point.figure.reason),
                "interval": interval,
                "n": point.n,
            }
            rows.append(row)
    return rows


def subject_key(subject: TrendSubject) -> str:
    stated = (subject.case_id, subject.host_id, *subject.circumstances)
    return "|".join("" if value is None else str(value) for value in stated)


def time_sentences(trend: Trend) -> Iterator[str]:
    if trend.no_figure_reason:
        yield wording.translate_text(trend.no_figure_reason)
        return
    unchanged: dict[str, list[TrendSeries]] = {}
    for series in trend.series:
        found = series.changes or SeriesChanges()
        name = trend_line_name(series, trend)
        if found.drift is not None:
            yield _drift_sentence(series, name, found.drift)
        for change in found.changes:
            yield change_sentence(series, name, change, trend.case.better)
        if found == SeriesChanges():
            unchanged.setdefault(_reason_without_change(series), []).append(series)

    for reason, same_reason in unchanged.items():
        if len(same_reason) == len(trend.series) > 1:
            counts = sorted({len(series.runs_of_days) for series in same_reason})
            text = _dated_points(counts[-1])
            if counts[1:]:
                text = _("%(least)s to %(runs)s") % {"least": counts[0], "runs": text}
            systems = _("all %(n)s systems (%(runs)s each)") % {
                "n": len(same_reason),
                "runs": text,
            }
        else:
            systems = "; ".join(
                f"{trend_line_name(series, trend)} "
                f"({_dated_points(len(series.runs_of_days))})"
                for series in same_reason
            )
        yield reason % {"systems": systems, "least": MIN_POINTS}


def _reason_without_change(series: TrendSeries) -> str:
    if series.changes is not None:
        return _("No significant change: %(systems)s.")
    if len(series.runs_of_days) < MIN_POINTS:
        return _(
            "No change can be detected yet, because this needs %(least)s points: "
            "%(systems)s."
        )
    return _("No change can be detected, because some values are 0: %(systems)s.")


def change_sentence(
    series: TrendSeries, name: str, change: ChangePoint, better: str
) -> str:
    before, after = (runs[0] for runs in series.runs_of_days[change.index - 1 :][:2])
    is_new_version = before.version != after.version
    values = {
        "system": name,
        "since": _day_text(after.started_at),
        "p": formatting.number(change.p_value, ".3f"),
    }
    if is_new_version:
        values["since"] = _("%(version)s, first measured on %(day)s") % {
            "version": f"{after.cell.system.hypervisor} {after.version}".strip(),
            "day": values["since"],
        }
    if change.factor is None or change.low is None or change.high is None:
        text = _(
            "%(system)s: changed since %(since)s (permutation test, p = %(p)s). The "
            "runs before, after or both have no single value, so the size of the "
            "change is not given."
        )
        return text % values
    ratios = [change.factor, change.low, change.high]
    if better == "lower":
        ratios = [1 / change.factor, 1 / change.high, 1 / change.low]
    if better == "neither" or change.low <= 1 <= change.high:
        text = _(
            "%(system)s: changed by %(change)s (%(low)s to %(high)s) since "
            "%(since)s (permutation test, p = %(p)s)."
        )
        texts = [formatting.percent_change(ratio) for ratio in ratios]
    else:
        text = (
            _(
                "%(system)s: faster by %(change)s (%(low)s to %(high)s) since "
                "%(since)s (permutation test, p = %(p)s)."
            )
            if ratios[0] > 1
            else _(
                "%(system)s: slower by %(change)s (%(low)s to %(high)s) since "
                "%(since)s (permutation test, p = %(p)s)."
            )
        )
        differences = [abs(ratio - 1) for ratio in ratios]
        within = (min(differences[1:]), max(differences[1:]))
        texts = [
            formatting.ratio_percent(difference, within)
            for difference in (differences[0], *within)
        ]
    return text % {**values, **dict(zip(("change", "low", "high"), texts, strict=True))}


def _drift_sentence(series: TrendSeries, name: str, drift: float) -> str:
    days = (series.runs_of_days[0][0], series.runs_of_days[-1][0])
    return _(
        "%(system)s: changed gradually by %(change)s from %(first)s to %(last)s. A "
        "line describes the values better than changes at single points."
    ) % {
        "system": name,
        "change": formatting.percent_change(drift),
        "first": _day_text(days[0].started_at),
        "last": _day_text(days[1].started_at),
    }


def _dated_points(n: int) -> str:
    return ngettext("%(n)s point", "%(n)s points", n) % {"n": n}


def version_sentences(trend: Trend) -> Iterator[str]:
    if trend.no_figure_reason:
        yield wording.translate_text(trend.no_figure_reason)
        return
    for series in trend.series:
        pairs = list(pairwise(series.version_points))
        for old, new in pairs:
            values: dict[str, object] = {
                "system": trend_line_name(series, trend),
                "old": old.version or "?",
                "new": new.version or "?",
                "least": REPEATED_SESSIONS,
            }
            without_value = [point for point in (old, new) if point.value is None]
            if without_value:
                values["version"] = without_value[0].version or "?"
                text = _(
                    "%(system)s, %(old)s to %(new)s: the change is not assessed "
                    "because the runs of %(version)s have no single value."
                )
                if len(without_value) > 1:
                    text = _(
                        "%(system)s, %(old)s to %(new)s: the change is not assessed "
                        "because the runs of both versions have no single value."
                    )
                yield text % values
                continue
            ratio, low, high = series.version_ratio(
                new.version,
                reference_version=old.version,
                # Bonferroni: all pairs of the series are tested together.
                confidence=1 - 0.05 / len(pairs),
            )
            if not isfinite(low):
                text = _(
                    "%(system)s, %(old)s to %(new)s: the change (%(ratio)s) is not "
                    "assessed. An assessment needs runs of each version on at least "
                    "%(least)s days and a confidence interval."
                )
            elif low <= 1 <= high:
                text = _(
                    "%(system)s, %(old)s to %(new)s: no clear change (confidence "
                    "interval %(low)s to %(high)s)."
                )
            else:
                text = _(
                    "%(system)s, %(old)s to %(new)s: changed by %(ratio)s (confidence "
                    "interval %(low)s to %(high)s)."
                )
            for name, number in (("ratio", ratio), ("low", low), ("high", high)):
                values[name] = formatting.percent_change(number)
            yield text % values


def trend_line_name(series: TrendSeries, trend: Trend) -> str:
    """Return a system's name without its version and without a common guest."""
    # The fields are cleared in copies, because other lines need them.
    systems = [copy(series.system) for series in trend.series]
    has_one_guest = (
        len({(system.guest_os, system.guest_bits) for system in systems}) == 1
    )
    for system in systems:
        system.hypervisor_version = ""
        if has_one_guest and len(systems) > 1:
            system.guest_os, system.guest_bits = "", None
    return wording.system_names(systems)[series.system.pk]


def _day_text(moment: datetime | None) -> str:
    return formatting.day_text(moment) if moment else ""


def _changes(trend: Trend) -> Iterator[tuple[float, str]]:
    for series in () if trend.no_figure_reason else trend.series:
        for change in series.changes.changes if series.changes else ():
            if not (started := series.runs_of_days[change.index][0].started_at):
                continue
            factor = ""
            if change.factor:
                ratio = formatting.ratio(change.factor)
                factor = f"{MULTIPLICATION_SIGN}\N{NO-BREAK SPACE}{ratio}"
            yield _chart_time(started), factor


def _chart_time(moment: datetime) -> float:
    return moment.timestamp() * 1000


urlpatterns = [
    page(
        f"{STUDY_PATH}trend/",
        cached_page(study_view("trend/trend.html", trend_page)),
        "trend",
        example_urls=(f"{DISK_STUDY}trend/",),
        tab=Tab(gettext_lazy("Trend"), 70, required_attribute="has_trend"),
    ),
]
