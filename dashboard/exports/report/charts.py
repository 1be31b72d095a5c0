"""The charts of a report, from what the pages draw: each stands with its tables."""

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

from django.utils.translation import gettext as _

from benchmarks.comparing.profile import Profile
from benchmarks.comparing.row import ComparisonRow
from benchmarks.comparing.table import COMPONENTS, rank
from dashboard import wording
from dashboard.charts.chart import Bars, Points
from dashboard.charts.drawings import Drawing
from dashboard.charts.profiles import Ratio, profile_plot, ratio_plot
from dashboard.kit.document import Figure, Table, plain_table
from dashboard.wording import verdicts

MOST_ROWS = 40
"""More systems than a page takes are in the table alone."""


def profile_chart(profile: Profile) -> tuple[Figure, ...]:
    """Draw what each system costs, component by component."""
    if not 0 < len(profile.rows) <= MOST_ROWS:
        return ()
    names = [wording.component_name(name) for name in profile.components]
    alt = _("The mean ratio of each system in %(components)s.") % {
        "components": ", ".join(names)
    }
    systems = [(wording.column_name(row.column), row.shares) for row in profile.rows]
    caption = [
        _(
            "Overhead profile: the geometric mean of each system's ratios (log scale; "
            "the dashed line is 1), and the range from its worst to its best case."
        )
    ]
    sure = [share.low is not None for row in profile.rows for share in row.stated]
    if any(sure):
        caption.append(_("Thick bars are 95\N{NO-BREAK SPACE}% intervals of means."))
    if not all(sure):
        caption.append(
            _("An open dot has no interval: it is a value, not an estimate.")
        )
    return (Figure(" ".join(caption), alt, profile_plot(names, systems)),)


def ratio_chart(rows: Sequence[ComparisonRow]) -> tuple[Figure, ...]:
    """Draw every ratio of a scenario, a band for each component and platform."""
    shown = [row for row in rows if row.shown.ratio and row.shown.kind != "slowdown"]
    groups = list(_groups(shown))
    if not groups:
        return ()
    ratios = [ratio for _name, group in groups for ratio in group]
    alt = _("%(n)s ratios in %(bands)s bands, by component and platform.") % {
        "n": len(ratios),
        "bands": len(groups),
    }
    caption = [_("Relative performance by component: every ratio at its place.")]
    with_interval = sum(ratio.has_interval for ratio in ratios)
    if with_interval:
        caption.append(
            _("A dot on a bar is a ratio with its 95\N{NO-BREAK SPACE}% interval.")
        )
    if notes := verdicts.strength_notes({ratio.strength for ratio in ratios}):
        caption.append(notes)
    if with_interval < len(ratios):
        caption.append(_("A stroke is a plain value, without an interval."))
    if any(ratio.is_beyond for ratio in ratios):
        caption.append(_("Arrows lie beyond the ends of the axis."))
    title = _("Ratio to the baseline, 1 = as fast (log scale)")
    return (Figure(" ".join(caption), alt, ratio_plot(groups, title)),)


def _groups(rows: Sequence[ComparisonRow]) -> Iterator[tuple[str, list[Ratio]]]:
    def place(row: ComparisonRow) -> tuple[Any, ...]:
        system = row.system
        platform = f"{system.hypervisor} {system.hypervisor_version}".strip()
        return rank(COMPONENTS, row.case.component), row.case.component, platform

    for (_rank, component, platform), members in groupby(
        sorted(rows, key=place), place
    ):
        name = f"{wording.component_name(component)}: {platform}"
        yield name, list(map(_ratio, members))


def _ratio(row: ComparisonRow) -> Ratio:
    judged = row.shown.judgement
    if judged is None or judged.low is None:
        return Ratio(row.shown.ratio or 0.0)
    ratio = row.shown.ratio or 0.0
    return Ratio(ratio, judged.low, judged.high, judged.strength)


def drawn(drawing: Drawing, name: str, at: int) -> tuple[tuple[Figure, ...], Table]:
    """Return a drawing of the pages as figure and table; one value has no figure."""
    title = f"{name}: {drawing.title}"
    table = plain_table(title, drawing.head, drawing.rows, numbers_from=1)
    values = [
        value
        for series in drawing.figure.series
        if isinstance(series, (Bars, Points))
        for value in (series.values if isinstance(series, Bars) else series.x)
        if value is not None
    ]
    if len(values) < 2:
        return (), table
    alt = _("%(title)s: %(rows)s") % {
        "title": title,
        "rows": "; ".join(row[0] for row in drawing.rows[:MOST_ROWS]),
    }
    return (Figure(f"{title}. {drawing.note}", alt, drawing.figure, of=(at,)),), table
