"""What the history page shows of one case: its runs over dates or over versions."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.utils.translation import gettext as _

from benchmarks import tools
from benchmarks.comparing.columns import Fact
from benchmarks.comparing.ordering import natural
from benchmarks.comparing.trend import (
    CIRCUMSTANCES,
    Point,
    Series,
    Subject,
    Trend,
    subjects,
    trend_of,
)
from benchmarks.models import Study
from benchmarks.models.study import NATIVE
from benchmarks.viewer import Viewer
from dashboard import wording
from dashboard.charts.curves import Curve, Mark, sweep_plot
from dashboard.kit import figures
from dashboard.kit.addresses import MOST_CHIPS, Chip, ChipRow, unmet
from dashboard.kit.table_cells import row_figure
from dashboard.pages.trend.words import day_text, line_name, sentences

MOST_SUBJECTS = 60
MOST_ROWS = 40
TIMES = "\N{MULTIPLICATION SIGN}"


@dataclass(frozen=True)
class Row:
    """A point in the table."""

    line: str
    version: str
    day: str
    value: str
    reason: str
    """Why there is no mean; empty where there is."""
    interval: str
    n: int


@dataclass(frozen=True)
class TrendPage:
    """Everything of the page that depends on what was chosen."""

    title: str
    better: str
    sentences: tuple[str, ...]
    rows: tuple[ChipRow, ...]
    figure: dict[str, Any] | None
    table: tuple[Row, ...]
    is_over_time: bool
    undated: int
    undrawn: int
    """How many points have no mean to draw."""
    older: int
    """How many runs are left out because there are later ones."""
    unmet: tuple[str, ...] = ()
    """What the address asks for and is not here."""

    @property
    def is_long(self) -> bool:
        """Whether the table is too long to stand open."""
        return len(self.table) > MOST_ROWS


def trend_page(
    viewer: Viewer, study: Study, query: Mapping[str, str]
) -> TrendPage | None:
    """Return the page for the choice that a URL's query names.

    None where nothing has dates or two versions: there is no history to show.
    """
    found = [each for each in subjects(viewer, study) if each.has_trend]
    if not found:
        return None
    asked = query.get("subject", "")
    subject = next((each for each in found if _key(each) == asked), found[0])
    told = trend_of(viewer, subject)
    is_over_time = subject.is_dated and (
        query.get("axis") != "version" or subject.versions < 2
    )
    table = tuple(_table(told, is_over_time))
    return TrendPage(
        title=_title(told),
        better=told.case.better,
        sentences=tuple(sentences(told, is_over_time)),
        rows=_rows(found, subject, is_over_time),
        figure=_figure(told, is_over_time),
        table=table,
        is_over_time=is_over_time,
        undated=sum(len(it.runs) - len(it.dated) for it in told.series),
        undrawn=sum(bool(row.reason) for row in table),
        unmet=unmet(query, {"subject": _key(subject)}),
        older=told.older,
    )


def _key(subject: Subject) -> str:
    stated = (subject.case_id, subject.host_id, *subject.circumstances)
    return "|".join("" if each is None else str(each) for each in stated)


def _title(told: Trend) -> str:
    tool = tools.get(told.case.tool).title
    words = {"case": f"{tool}: {told.case.label}", "host": told.subject.host}
    return _("%(case)s on %(host)s") % words


def _rows(
    found: Sequence[Subject], chosen: Subject, is_over_time: bool
) -> tuple[ChipRow, ...]:
    shown = list(dict.fromkeys([*found[:MOST_SUBJECTS], chosen]))
    axis = "time" if is_over_time else "version"
    chips = [
        Chip(
            _label(each, found),
            urlencode({"subject": _key(each), "axis": axis}),
            each is chosen,
        )
        for each in shown
    ]
    rows = [ChipRow(_("Cases"), tuple(chips), is_long=len(chips) > MOST_CHIPS)]
    if chosen.is_dated and chosen.versions > 1:
        names = {"time": _("Dates"), "version": _("Versions")}
        axes = tuple(
            Chip(text, urlencode({"subject": _key(chosen), "axis": name}), name == axis)
            for name, text in names.items()
        )
        rows.append(ChipRow(_("Over"), axes))
    return tuple(rows) if len(chips) > 1 else tuple(rows[1:])


def _label(subject: Subject, found: Sequence[Subject]) -> str:
    several_hosts = len({each.host_id for each in found}) > 1
    stated = zip(CIRCUMSTANCES, subject.circumstances, strict=True)
    facts = [
        wording.fact_text(Fact(name, str(value)))
        for name, value in stated
        if value not in (None, "", "single") and subject.circumstances[0] != "single"
    ]
    host = [subject.host] if several_hosts else []
    return ", ".join(
        [f"{tools.get(subject.tool).title}: {subject.label}", *host, *facts]
    )


def _points(series: Series, is_over_time: bool) -> tuple[Point, ...]:
    return series.days if is_over_time else series.versions


def _drawn(series: Series, is_over_time: bool) -> list[Point]:
    """Return the points that have a mean; the table has what stands for the others."""
    points = _points(series, is_over_time)
    return [point for point in points if point.value is not None]


def _figure(told: Trend, is_over_time: bool) -> dict[str, Any] | None:
    places = _places(told)
    curves = [
        Curve(
            line_name(each, told),
            at,
            each.system.is_native,
            [
                _mark(told, each, point, None if is_over_time else places)
                for point in points
            ],
        )
        for at, each in enumerate(told.series)
        if (points := _drawn(each, is_over_time))
    ]
    if not curves:
        return None
    ticks = [(float(at), " ".join(filter(None, it))) for it, at in places.items()]
    better = str(wording.BETTER.get(told.case.better, ""))
    figure = sweep_plot(
        curves,
        ticks,
        titles=("" if is_over_time else _("version"), f"{told.case.unit} ({better})"),
        is_log=(False, False),
    )
    if is_over_time:
        axis = figure["layout"]["xaxis"]
        axis.update(type="date", tickvals=None, ticktext=None)
        figure["layout"]["shapes"] = list(_change_lines(told))
    return figure


def _places(told: Trend) -> dict[tuple[str, str], int]:
    """Return where each version of each hypervisor stands on the axis."""
    found = {
        (each.system.hypervisor, point.version)
        for each in told.series
        for point in each.versions
    }
    native = [it for it in found if it[0] == NATIVE]
    others = sorted(found.difference(native), key=lambda it: natural(" ".join(it)))
    return {it: at for at, it in enumerate([*sorted(native), *others])}


def _mark(
    told: Trend,
    series: Series,
    point: Point,
    places: Mapping[tuple[str, str], int] | None,
) -> Mark:
    value = row_figure(point.figure, told.case.unit)
    said = (point.version, day_text(point.at), value, wording.runs_text(point.n))
    text = ", ".join(filter(None, said))
    if places is None and point.at:
        x = point.at.timestamp() * 1000  # as Plotly counts dates
    else:
        x = float((places or {}).get((series.system.hypervisor, point.version), 0))
    return Mark(x, point.value or 0.0, point.low, point.high, text)


def _change_lines(told: Trend) -> Iterator[dict[str, Any]]:
    """Yield an upright line where a change was found, with its factor."""
    for each in told.series:
        for change in each.changes or ():
            if not (started := each.dated[change.at].started_at):
                continue
            at = started.timestamp() * 1000
            ends = {"x0": at, "x1": at, "y0": 0, "y1": 1, "yref": "paper"}
            factor = (
                f"{TIMES}\N{NO-BREAK SPACE}{figures.ratio(change.factor)}"
                if change.factor
                else ""
            )
            label = {
                "text": factor,
                "textposition": "start",
                "textangle": 0,
                "xanchor": "left",
            }
            yield {
                "type": "line",
                "name": "change",
                "layer": "below",
                "label": label,
                **ends,
            }


def _table(told: Trend, is_over_time: bool) -> list[Row]:
    return [
        Row(
            line=line_name(each, told),
            version=point.version,
            day=day_text(point.at),
            value=row_figure(point.figure, told.case.unit),
            reason=wording.said(point.figure.reason),
            interval=_interval(point),
            n=point.n,
        )
        for each in told.series
        for point in _points(each, is_over_time)
    ]


def _interval(point: Point) -> str:
    if point.low is None or point.high is None:
        return ""
    low, high = (figures.exact(float(f"{it:.4g}")) for it in (point.low, point.high))
    return _("%(low)s to %(high)s") % {"low": low, "high": high}
