from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby, islice
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from benchmarks.analysis.assessment import CellAssessment
from benchmarks.comparison.comparison_row import ComparisonRow
from benchmarks.comparison.comparison_table import COMPONENTS, rank_by_order
from benchmarks.comparison.coruns import study_coruns
from benchmarks.comparison.overhead_profile import Profile
from benchmarks.comparison.study_factor_effects import (
    ResponseAnalysis,
    study_factor_effects,
)
from benchmarks.custom_tools.lookup import require_tool
from benchmarks.models import Flag, Study
from benchmarks.models.run import SCENARIOS
from benchmarks.plausibility.findings import SEVERITIES
from benchmarks.power.printed_energy import study_energy
from benchmarks.viewer import Viewer
from dashboard import wording
from dashboard.charts.coruns import corun_charts
from dashboard.charts.energy import power_performance_chart, printed_energy_chart
from dashboard.charts.factor_effects import (
    ResponseDetail,
    effect_limit,
    effect_ranking_chart,
    response_detail,
)
from dashboard.exports.report.charts import figure_and_table
from dashboard.kit import formatting
from dashboard.kit.report_elements import (
    ReportFigure,
    ReportSection,
    ReportTable,
    TableCell,
    TableRow,
    heading_row,
    plain_table,
)
from dashboard.wording import DASH, short_system_names, state_names, verdicts
from dashboard.wording.coruns import corun_summary
from dashboard.wording.energy import energy_summary
from dashboard.wording.factor_effects import effect_sentences

SINGLE_SCENARIO = "single"
MAX_LOSSES = 3
MAX_WITHHELD_REASONS = 12
MAX_FLAGS_LISTED = 60


def conclusions_section(
    rows: Sequence[ComparisonRow],
    profile: Profile,
    tested_count: int,
    names: Mapping[int, str],
) -> ReportSection:
    """Return counts of verdicts, reasons for missing verdicts, and largest losses."""
    assessments = [
        row.result.assessment
        for row in rows
        if row.result.assessment and (row.result.ratio or row.result.ratio_range)
    ]
    if not assessments:
        return ReportSection(
            "findings", _("Findings"), (_("No results with a ratio yet."),)
        )
    counts = Counter(assessment.verdict for assessment in assessments)
    by_verdict = (
        f"{counts[verdict]} {name}"
        for verdict, name in verdicts.VERDICT_NAMES.items()
        if counts[verdict]
    )
    values = {"n": len(assessments), "counts": ", ".join(by_verdict)}
    texts = [_("%(n)s results with a ratio: %(counts)s.") % values]
    if tested_count:
        corrected = _(
            "Verdicts are corrected for %(n)s results tested together "
            "(Benjamini-Hochberg, 5%%)."
        )
        texts.append(corrected % {"n": tested_count})
    if scopes := verdicts.verdict_scopes_text(
        verdicts.count_verdict_scopes(assessments)
    ):
        texts.append(scopes)
    if any(assessment.is_weak and assessment.is_assessed for assessment in assessments):
        texts.append(
            _("A star (%(weak)s) after a sign means %(meaning)s.")
            % {"weak": verdicts.WEAK_SIGN, "meaning": verdicts.WEAK_MEANING}
        )
    texts += _mean_ranges(profile)
    reasons = Counter(
        wording.translate_text(sentence)
        for assessment in assessments
        if not assessment.is_assessed
        for sentence in assessment.general_reasons
    )
    tables = []
    if reasons:
        title = _("Why results are not assessed (a result can have several reasons)")
        lines = [
            (reason, str(count))
            for reason, count in reasons.most_common(MAX_WITHHELD_REASONS)
        ]
        columns = (_("Reason"), _("Results"))
        tables.append(plain_table(title, columns, lines, numbers_from=1))
    if losses := tuple(_loss_lines(rows, names)):
        heads = _("System"), _("Benchmark"), _("Ratio"), _("Verdict")
        title = _("Largest losses (up to %(n)s per component or scenario)")
        header = TableRow(
            tuple(TableCell(word, is_number=word == heads[2]) for word in heads)
        )
        weights = (5, 6, 1, 3)
        tables.append(
            ReportTable(
                title % {"n": MAX_LOSSES}, (header,), losses, 4, column_weights=weights
            )
        )
    return ReportSection("findings", _("Findings"), texts, tables)


def _mean_ranges(profile: Profile) -> Iterator[str]:
    for index, component in enumerate(profile.components):
        means = [
            (row.component_means[index], wording.column_name(row.column))
            for row in profile.rows
        ]
        ranked = sorted((mean.mean, name) for mean, name in means if mean)
        if len(ranked) < 2:
            continue
        (low, lowest), (high, highest) = ranked[0], ranked[-1]
        values = {
            "component": wording.component_name(component),
            "low": formatting.ratio(low),
            "lowest": lowest,
            "high": formatting.ratio(high),
            "highest": highest,
        }
        text = _(
            "%(component)s: the means of the systems range from %(low)s "
            "(%(lowest)s) to %(high)s (%(highest)s)."
        )
        text %= values
        if flagged_count := sum(
            1 for mean, _name in means if mean and mean.flagged_count
        ):
            flagged_text = ngettext(
                "%(n)s of these means includes flagged results.",
                "%(n)s of these means include flagged results.",
                flagged_count,
            )
            text = f"{text} {flagged_text % {'n': flagged_count}}"
        yield text


def _loss_lines(
    rows: Sequence[ComparisonRow], names: Mapping[int, str]
) -> Iterator[TableRow]:
    def sort_group(row: ComparisonRow) -> tuple[Any, ...]:
        component = row.case.component if row.scenario == SINGLE_SCENARIO else ""
        return rank_by_order(SCENARIOS, row.scenario), rank_by_order(
            COMPONENTS, component
        )

    # Sums over VMs and single slots are excluded: what one slot loses, others gain.
    losses = [
        row
        for row in rows
        if row.result.ratio_kind not in ("scaling", "slowdown")
        and row.result.ratio is not None
        and row.result.ratio < 1
    ]
    losses.sort(key=lambda row: (sort_group(row), row.result.ratio or 0))
    for _order, members in groupby(losses, key=sort_group):
        worst: dict[tuple[Any, ...], ComparisonRow] = {}
        for row in members:
            worst.setdefault((row.system.id, row.case.id, row.vms, row.load), row)
        first = next(iter(worst.values()))
        is_single = first.scenario == SINGLE_SCENARIO
        component = wording.component_name(first.case.component)
        yield heading_row(
            component if is_single else wording.scenario_name(first.scenario), 4
        )
        for row in islice(worst.values(), MAX_LOSSES):
            slot = "" if is_single or not row.slot else row.slot
            slot_suffix = f" ({wording.slot_text(slot)})" if slot else ""
            case = f"{row.tool_title}: {row.case.label}{slot_suffix}"
            ratio = TableCell(verdicts.ratio_text(row, ""), is_number=True)
            verdict = TableCell(_verdict_text(row.result.assessment))
            yield TableRow(
                (TableCell(names[row.system.id]), TableCell(case), ratio, verdict)
            )


def _verdict_text(assessment: CellAssessment | None) -> str:
    if assessment is None:
        return ""
    interval = verdicts.interval_text(assessment)
    flagged = _("flagged") if verdicts.is_withheld_by_flag(assessment) else ""
    weak_text = (
        _("weak evidence") if assessment.is_weak and assessment.is_assessed else ""
    )
    text = "; ".join(
        filter(None, (verdicts.verdict_with_scope(assessment), weak_text, flagged))
    )
    return f"{interval}: {text}" if interval else text


def flags_section(flags: Iterable[Flag]) -> ReportSection:
    ranked = sorted(
        flags, key=lambda flag: (SEVERITIES.index(flag.severity), flag.rule, flag.pk)
    )
    if not ranked:
        return ReportSection("flags", _("Flags"), (_("Nothing was flagged."),))
    counts = Counter(flag.status for flag in ranked)
    by_status = ", ".join(
        f"{counts[status]} {state_names.FLAG_STATUSES[status]}"
        for status in Flag.Status.values
    )
    texts = [_("Flags by status: %(counts)s.") % {"counts": by_status}]
    if len(ranked) > MAX_FLAGS_LISTED:
        texts.append(_("Showing the first %(n)s.") % {"n": MAX_FLAGS_LISTED})
    rows = []
    for flag in ranked[:MAX_FLAGS_LISTED]:
        decisions = [
            f"{state_names.FLAG_STATUSES[decision.status]}, {decision.decided_by}, "
            f"{decision.decided_at.date().isoformat()}: {decision.note}"
            for decision in flag.decisions.all()
        ]
        rows.append(
            (
                flag.rule,
                str(state_names.SEVERITY_NAMES[flag.severity]),
                wording.translate_text(flag.message),
                "; ".join(decisions) or str(state_names.FLAG_STATUSES[flag.status]),
            )
        )
    head = (_("Rule"), _("Severity"), _("Finding"), _("Decision"))
    table = plain_table(_("Flagged data"), head, rows, weights=(3, 2, 10, 3))
    return ReportSection("flags", _("Flags"), texts, (table,))


MAX_EFFECTS = 12


def effects_section(viewer: Viewer, study: Study) -> ReportSection | None:
    effects = study_factor_effects(viewer, study)
    overall_analyses = [part.overall for part in effects.components if part.overall]
    analyses = [analysis for analysis in overall_analyses if analysis.effects.effects]
    if not analyses:
        return None
    texts = [
        _(
            "Scenario %(scenario)s. Each bar shows the factor by which a parameter "
            "changes the response. Filled bars are clear effects; open bars may be "
            "due to chance, which the whiskers show."
        )
        % {"scenario": wording.scenario_name(effects.scenario)}
    ]
    charts: list[ReportFigure] = []
    tables: list[ReportTable] = []
    for analysis in analyses:
        name = wording.component_name(analysis.component)
        texts.append(f"{name}: {' '.join(effect_sentences(analysis))}")
        detail = response_detail(analysis, effects.response)
        charts.append(_ranking_figure(name, analysis, detail, len(tables)))
        tables.append(_effects_table(name, detail))
        if detail["half_normal"]:
            figure, table = _contrasts_figure(name, detail["half_normal"], len(tables))
            charts.append(figure)
            tables.append(table)
    title = _("Factor effects")
    return ReportSection("factor-effects", title, texts, tables, figures=charts)


def _ranking_figure(
    name: str, analysis: ResponseAnalysis, detail: ResponseDetail, table_index: int
) -> ReportFigure:
    caption = _("%(component)s: parameters by effect. %(chance)s") % {
        "component": name,
        "chance": detail["chance"],
    }
    limit = effect_limit(analysis.effects.effects)
    chart = effect_ranking_chart(detail["effects"][:MAX_EFFECTS], limit, detail["ends"])
    return ReportFigure(caption, caption, chart, (table_index,))


def _effects_table(name: str, detail: ResponseDetail) -> ReportTable:
    head = (
        _("Parameter"),
        _("Change"),
        _("Factor"),
        _("Range with margin") if detail["half_normal"] else _("95% CI"),
        _("Beyond chance?"),
    )
    rows = [
        (
            *(row["name"], row["change"], row["factor"]),
            *(row["bounds"] or DASH, row["strength_name"]),
        )
        for row in detail["effects"]
    ]
    title = _("%(component)s: effects, strongest first") % {"component": name}
    return plain_table(title, head, rows, weights=(4, 6, 2, 4, 3))


def _contrasts_figure(
    name: str, half_normal: ResponseDetail, table_index: int
) -> tuple[ReportFigure, ReportTable]:
    caption = _(
        "%(component)s: half-normal plot of all contrasts. If all contrasts were due "
        "to chance, they would be on the slanted line. The vertical lines are "
        "Lenth's margins for one contrast and for all contrasts together."
    ) % {"component": name}
    caption = f"{caption} {half_normal['note']}".rstrip()
    head = (_("Contrast"), _("Factor"), _("Beyond chance?"))
    title = _("%(component)s: contrasts") % {"component": name}
    return (
        ReportFigure(caption, caption, half_normal["chart"], (table_index,)),
        plain_table(title, head, half_normal["rows"], weights=(6, 2, 3)),
    )


def corun_section(study: Study) -> ReportSection | None:
    study_result = study_coruns(study)
    if not study_result.coruns:
        return None
    withheld = study.flags.cells_without_verdict()
    texts: list[str] = []
    charts: list[ReportFigure] = []
    tables: list[ReportTable] = []
    for component, members in groupby(
        study_result.coruns, key=lambda corun: corun.slots.case.component
    ):
        coruns = list(members)
        name = wording.component_name(component)
        texts.append(f"{name}: {corun_summary(coruns, withheld)}")
        # Charts show only the first benchmark where higher or lower is better.
        cases = (corun.slots.case for corun in coruns)
        case = next((case for case in cases if case.better != "neither"), None)
        if case is None:
            continue
        case_coruns = [corun for corun in coruns if corun.slots.case.pk == case.pk]
        curves = [curve for curve in study_result.curves if curve.case.pk == case.pk]
        title = f"{require_tool(case.tool).title}: {case.label}"
        for chart_with_table in corun_charts(case_coruns, curves):
            figures, table = figure_and_table(chart_with_table, title, len(tables))
            charts += figures
            tables.append(table)
    return ReportSection("co-runs", _("Co-runs"), texts, tables, figures=charts)


def energy_section(study: Study) -> ReportSection | None:
    texts: list[str] = []
    charts: list[ReportFigure] = []
    tables: list[ReportTable] = []
    for workload in study_energy(study, None).tables:
        names = short_system_names(system.system for system in workload.systems)
        texts.append(f"{workload.workload}: {energy_summary(workload, names)}")
        charts_with_tables = (
            printed_energy_chart(workload, names, None),
            power_performance_chart(workload, names),
        )
        for chart_with_table in filter(None, charts_with_tables):
            figures, table = figure_and_table(
                chart_with_table, workload.workload, len(tables)
            )
            charts += figures
            tables.append(table)
    if not tables:
        return None
    return ReportSection("energy", _("Energy"), texts, tables, figures=charts)
