"""The charts of a report, from what the pages draw: each stands with its tables."""

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

from django.utils.translation import gettext as _

from benchmarks.comparing.profile import NO_SPEED, Profile, Share
from benchmarks.comparing.row import ComparisonRow
from benchmarks.comparing.table import COMPONENTS, rank
from dashboard import wording
from dashboard.charts.chart import Chart as ChartOnScreen
from dashboard.charts.drawings import Drawing
from dashboard.charts.plotly import figure
from dashboard.charts.vector.panels import Mean, Row, panels
from dashboard.charts.vector.plot import plot
from dashboard.charts.vector.ratios import Band, Ratio, ratios
from dashboard.kit.document import Chart, Table, plain_table
from dashboard.kit.profile import SYSTEMS

MOST_ROWS = 40
"""More systems than a page takes are in the table alone."""


def profile_chart(found: Profile) -> tuple[Chart, ...]:
    """Draw what each system costs, component by component."""
    if not 0 < len(found.rows[:SYSTEMS]) <= MOST_ROWS:
        return ()
    shares = [share for row in found.rows for share in row.stated]
    names = [wording.component_name(name) for name in found.components]
    alt = _("The mean ratio of each system in %(components)s.") % {
        "components": ", ".join(names)
    }
    rows = [
        Row(wording.column_name(row.column), tuple(map(_mean, row.shares)))
        for row in found.rows
    ]
    return (Chart(_profile_caption(shares), alt, panels(names, rows, alt)),)


def _profile_caption(shares: Sequence[Share]) -> str:
    said = [
        _(
            "Overhead profile: the geometric mean of each system's ratios (log scale; "
            "the dashed line is 1), and the range from its worst to its best case."
        )
    ]
    sure = [share.low is not None for share in shares]
    if any(sure):
        said.append(_("Thick bars are 95 % intervals of means."))
    if not all(sure):
        said.append(_("An open dot has no interval: it is a value, not an estimate."))
    return " ".join(said)


def _mean(share: Share | None) -> Mean | None:
    if share is None:
        return None
    return Mean(share.mean, share.low, share.high, share.minimum, share.maximum)


def ratio_chart(rows: Sequence[ComparisonRow]) -> tuple[Chart, ...]:
    """Draw every ratio of a scenario, a band for each component and platform."""
    bands = list(
        _bands(
            [row for row in rows if row.shown.ratio and row.shown.unit not in NO_SPEED]
        )
    )
    if not bands:
        return ()
    every = [each for band in bands for each in band.ratios]
    alt = _("%(n)s ratios in %(bands)s bands, by component and platform.") % {
        "n": len(every),
        "bands": len(bands),
    }
    title = _("Ratio to the baseline, 1 = as fast (log scale)")
    return (Chart(_ratio_caption(every), alt, ratios(bands, title, alt)),)


def _ratio_caption(every: Sequence[Ratio]) -> str:
    said = [_("Efficiency by component: every ratio at its place.")]
    often = sum(each.is_measured_often for each in every)
    if often:
        said.append(_("A dot on a bar is a ratio with its 95 % interval."))
    if often < len(every):
        said.append(_("A stroke is a plain value, without an interval."))
    if any(not 1 / 20 <= each.ratio <= 20 for each in every):
        said.append(_("« and » lie beyond the ends of the axis."))
    return " ".join(said)


def _bands(rows: Sequence[ComparisonRow]) -> Iterator[Band]:
    def place(row: ComparisonRow) -> tuple[Any, ...]:
        return rank(COMPONENTS, row.case.component), row.case.component, _platform(row)

    for (_rank, component, platform), members in groupby(
        sorted(rows, key=place), place
    ):
        name = f"{wording.component_name(component)}: {platform}"
        yield Band(name, tuple(map(_ratio, members)))


def _platform(row: ComparisonRow) -> str:
    return f"{row.system.hypervisor} {row.system.hypervisor_version}".strip()


def _ratio(row: ComparisonRow) -> Ratio:
    judged = row.shown.judgement
    has_interval = judged is not None and judged.low is not None
    return Ratio(
        row.shown.ratio or 0.0,
        judged.low if judged and has_interval else None,
        judged.high if judged and has_interval else None,
    )


def drawn(drawing: Drawing, name: str, at: int) -> tuple[tuple[Chart, ...], Table]:
    """Return a drawing of the pages as a figure, and its table twin.

    A single value is no picture: it stands in the table alone.
    """
    title = f"{name}: {drawing.title}"
    table = plain_table(title, drawing.head, drawing.rows, numbers_from=1)
    if not isinstance(drawing.figure, ChartOnScreen):
        return (), table
    figured = figure(drawing.figure)
    values = [x for trace in figured["data"] for x in trace["x"]]
    if len(values) - values.count(None) < 2:
        return (), table
    alt = _("%(title)s: %(rows)s") % {
        "title": title,
        "rows": "; ".join(row[0] for row in drawing.rows[:MOST_ROWS]),
    }
    svg = plot(figured, alt)
    return (Chart(f"{title}. {drawing.note}", alt, svg, of=(at,)),), table
