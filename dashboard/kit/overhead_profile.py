"""Overhead profile: a row per system, a column per component."""

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from benchmarks.comparison.overhead_profile import ComponentMean, Profile
from dashboard import wording
from dashboard.kit import formatting
from dashboard.kit.report_elements import (
    ReportSection,
    ReportTable,
    TableCell,
    TableRow,
    table_row,
)
from dashboard.wording import verdicts

MAX_PROFILE_SYSTEMS = 200


def profile_section(profile: Profile, *, is_folded: bool = False) -> ReportSection:
    if not profile.rows:
        why = _(
            "The profile is not available. It needs systems that ran alone (scenario "
            "“Single”) and a native machine or a reference system, all measured with "
            "the same benchmarks."
        )
        return ReportSection("profile", _("Overhead profile"), (why,))
    notes = [
        _(
            "Each figure is the geometric mean of a system's ratios in one "
            "component, over the benchmarks that all compared systems have, in the "
            "scenario “Single”. Below it are the 95% confidence interval over "
            "benchmarks of this kind, the number of benchmarks and runs, and the "
            "range from the worst to the best benchmark."
        )
    ]
    if any(
        component_mean.min_runs < 2
        for row in profile.rows
        for component_mean in row.known_means
    ):
        notes.append(
            _(
                "If a benchmark has a single run, no interval is given. The range "
                "shows how benchmarks differ, not how certain the mean is."
            )
        )
    if len(profile.rows) > MAX_PROFILE_SYSTEMS:
        notes.append(_("Showing the first %(n)s systems.") % {"n": MAX_PROFILE_SYSTEMS})
    if profile.is_relative:
        notes.append(
            _("Ratios are relative to the study's reference system, not to native.")
        )

    names = [wording.component_name(name) for name in profile.components]
    lines = tuple(
        TableRow(
            (
                TableCell(wording.column_name(row.column)),
                *(
                    _mean_cell(component_mean, is_folded=is_folded)
                    for component_mean in row.component_means
                ),
            )
        )
        for row in profile.rows[:MAX_PROFILE_SYSTEMS]
    )
    table = ReportTable("", (table_row(_("System"), *names),), lines, len(names) + 1)
    return ReportSection("profile", _("Overhead profile"), notes, (table,))


def _mean_cell(component_mean: ComponentMean | None, *, is_folded: bool) -> TableCell:
    if component_mean is None:
        return TableCell("", subtext=_("no common benchmarks"), is_number=True)
    cases = ngettext("%(n)s benchmark", "%(n)s benchmarks", component_mean.case_count)
    facts = [
        cases % {"n": component_mean.case_count},
        wording.runs_text(component_mean.runs),
    ]
    if component_mean.case_count == 1 or not is_folded:
        facts = [", ".join(facts)]
    if component_mean.case_count > 1:
        ends = {
            "low": formatting.ratio(component_mean.minimum),
            "high": formatting.ratio(component_mean.maximum),
        }
        facts.append(_("lowest %(low)s, highest %(high)s") % ends)
        facts.append(_("worst: %(case)s") % {"case": component_mean.slowest_case})
    if component_mean.flagged_count:
        facts.append(_("%(n)s flagged") % {"n": component_mean.flagged_count})
    if component_mean.unpaired_count:
        text = ngettext(
            "%(n)s result with a baseline from another session",
            "%(n)s results with a baseline from another session",
            component_mean.unpaired_count,
        )
        facts.append(text % {"n": component_mean.unpaired_count})
    interval = (
        ""
        if component_mean.interval is None
        else verdicts.ratio_interval_text(component_mean.interval)
    )
    lines = [_("95%% CI %(x)s") % {"x": interval}] if interval else []
    return TableCell(
        formatting.ratio(component_mean.mean, component_mean.interval),
        subtext=interval if is_folded else "\n".join([*lines, *facts]),
        details=tuple(facts) if is_folded else (),
        shade=formatting.ratio_shade(component_mean.mean),
        is_number=True,
    )
