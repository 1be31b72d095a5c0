from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from django.urls import reverse
from django.utils.text import capfirst
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from benchmarks.analysis.assessment import CellAssessment
from benchmarks.analysis.baselines import MATCH_SENTENCE
from benchmarks.analysis.bimodality import MIN_RUNS
from benchmarks.analysis.clock_reliability import (
    CLOCKS,
    figures_sentence,
    figures_trust,
    read_clock_report,
    run_trust,
    trust_by_kind,
)
from benchmarks.analysis.intervals import (
    MIN_HODGES_LEHMANN_RUNS,
    WELCH_RUNS,
    hodges_lehmann_ratio,
)
from benchmarks.analysis.session_intervals import SessionDesign
from benchmarks.analysis.verdict_gates import gate_codes
from benchmarks.analysis.verdict_reasons import NEVER_ASSESSED
from benchmarks.comparison.cell_details import (
    CellDetails,
    CellSamples,
    RunValue,
    cell_details,
    width_advice,
)
from benchmarks.comparison.comparison_row import ComparisonRow
from benchmarks.comparison.comparison_table import SEPARATOR
from benchmarks.custom_tools.declaration import LAB_SEPARATOR
from benchmarks.models import Cell, Run, Study, System
from benchmarks.parsing.tool import find_percentile
from benchmarks.power.energy_per_work import cell_energies, energy_row
from benchmarks.sentences import sentence_from_json, with_unit
from benchmarks.viewer import Viewer
from dashboard import wording
from dashboard.kit import formatting
from dashboard.kit.comparison_form import ENERGY, RELATIVE_PERFORMANCE, read_quantity
from dashboard.kit.table_cells import cell_view, failed_text
from dashboard.kit.url_parts import parse_id, query_string
from dashboard.pages.cell.chart_sections import (
    cell_charts,
    has_single_figure,
    latency_chart,
    speed_modes,
    summary_name,
)
from dashboard.pages.cell.sessions import session_section
from dashboard.wording import machine_models, state_names, verdicts
from dashboard.wording.comparability import comparability_details

MAX_RUNS_PER_SIDE = 300  # 90,000 pairs
# Cells in these states are baselines themselves, so they have no verdict.
BASELINE_STATES = ("native", "reference")
# Designs with one session, in which more runs make the interval narrower.
RUN_DESIGNS = (
    "",
    *(
        d.slug
        for d in (
            SessionDesign.SINGLE_RUN,
            SessionDesign.ONE_SHARED,
            SessionDesign.INTERLEAVED,
            SessionDesign.ASSUMED_ONE_SESSION,
        )
    ),
)


def cell_page(
    viewer: Viewer, study: Study, cell_id: int, query: Mapping[str, str]
) -> dict[str, Any]:
    reference, show = baseline_id(query), read_quantity(query)
    evidence = cell_evidence_or_404(viewer, study, cell_id, query)
    row, cell, baseline = evidence.row, evidence.cell, evidence.baseline
    # This study object has its lab loaded, which saves queries.
    cell.study = study

    cells, samples = [cell], [evidence.samples]
    sides = [_side("own", _("Runs of this result"), cell, samples[0], evidence.runs)]
    if baseline is not None:
        cells.append(baseline)
        samples.append(evidence.baseline_samples)
        title, runs = _("Runs of the baseline"), evidence.baseline_runs
        sides.append(_side("baseline", title, baseline, samples[1], runs))
    compared = evidence.comparability
    is_single = all(map(has_single_figure, cells))
    sessions = session_section(evidence, is_figure=is_single)
    session_charts = [sessions["chart"]] if sessions["chart"] else []

    back_query = {
        "scenario": row.scenario,
        "baseline": str(reference or ""),
        "show": "" if show == RELATIVE_PERFORMANCE else show,
    }
    view = cell_view(row)
    has_ratio = bool(view.shade) and is_single
    terms = ["own", "baseline"]
    if not has_ratio:
        terms = terms[: len(sides)]
    elif row.result.better == "lower":
        terms.reverse()
    lab, separator, slug = cell.case.tool.partition(LAB_SEPARATOR)
    is_side = row.result.state in BASELINE_STATES and is_single
    systems = [side.system for side in cells]
    return {
        "evidence": evidence,
        "view": view,
        "headline": _headline(row, cell, baseline),
        "has_single_figure": is_single,
        "has_ratio": has_ratio,
        "ratio_terms": terms,
        "ratio_range": verdicts.ratio_range_text(row, ""),
        "reasons": verdicts.verdict_reasons(row),
        "failed": failed_text(row),
        "is_judged": row.result.assessment is not None and not is_side,
        # Lab and slug of a custom tool; None for a built-in tool.
        "declared_by": (lab, slug) if separator else None,
        "is_emulated": any(system.is_emulated for system in systems),
        "is_native_above_hypervisor": any(
            system.is_native_nested for system in systems
        ),
        "baseline": _baseline_text(row, cell, baseline),
        "comparability": comparability_details(study, compared) if compared else None,
        "width_advice": _width_advice(evidence),
        "model": machine_models.model_text(row, cell),
        "robust_ratio_sentence": _robust_ratio_text(evidence),
        "sides": sides,
        "sessions": sessions,
        "latencies": latency_chart(evidence.distribution),
        "latency_links": [
            (summary_name(other), other.id)
            for other in evidence.distribution
            if other.id != cell.pk
        ],
        "of_runs": _of_runs(row),
        "charts": (*session_charts, *cell_charts(cells, samples)),
        "single_run": ""
        if machine_models.is_on_other_machine(row)
        else _single_run([side.n == 1 for side in cells]),
        "is_cut": any(side.is_truncated for side in samples),
        "energy": _energy(study, row, reference) if show == ENERGY else "",
        "chosen": query_string({"baseline": str(reference)}) if reference else "",
        "back_query": query_string(back_query),
    }


def cell_evidence_or_404(
    viewer: Viewer, study: Study, cell_id: int, query: Mapping[str, str]
) -> CellDetails:
    return cell_details(viewer, study, cell_id, baseline_id(query))


def baseline_id(query: Mapping[str, str]) -> int | None:
    return parse_id(query["baseline"]) if query.get("baseline") else None


def _side(
    slug: str,
    title: str,
    cell: Cell,
    samples: CellSamples,
    runs: tuple[RunValue, ...],
) -> dict[str, Any]:
    unit, figure = cell.case.unit, ""
    if has_single_figure(cell):
        figure = wording.quantity(cell.mean, unit, exact=cell.sample_count == 1)
    elif speeds := speed_modes(cell):
        low, high = (speed.label for speed in speeds)
        figure = _("%(low)s or %(high)s") % {"low": low, "high": high}
    elif cell.minimum is not None and cell.maximum is not None:
        low, high = (
            formatting.measurement(cell.minimum),
            wording.quantity(cell.maximum, unit),
        )
        figure = wording.range_text(low, high)

    if cell.summarized_runs:
        shape = _(
            "Some or all runs are known only from their published mean, so their "
            "distribution, order and times are unknown."
        )
    elif shape := _shape_text(cell):
        if cell.n < MIN_RUNS:
            shape = _("distribution of the samples: %(shape)s") % {"shape": shape}
        shape = f"{capfirst(shape)}."
        if not samples.is_ordered:
            note = _(
                "The start times are unknown, so the order of the runs was "
                "not analyzed."
            )
            shape = f"{shape} {note}"
    elif samples.sample_count < 2:
        shape = _("Not enough runs to show a distribution.")
    elif samples.sample_count < MIN_RUNS:
        shape = _("At least 5 runs are needed to analyze the distribution.")
    else:
        shape = _("The distribution is analyzed with the next check of the study.")

    url_args = [cell.study.lab.slug, cell.study.slug, cell.pk]
    return {
        "slug": slug,
        "title": title,
        "system": ", ".join([wording.system_name(cell.system), _host_name(cell)]),
        "value_text": figure,
        "shape": shape,
        "clock": _clock_text(cell, (value.run for value in runs)),
        "runs": runs,
        "has_steal": any(wording.steal_text(value.run) for value in runs),
        "more_count": 0 if cell.summarized_runs else max(cell.n - len(runs), 0),
        "readings": f"{reverse('dashboard:cell', args=url_args)}runs/",
    }


def _of_runs(row: ComparisonRow) -> str:
    percentile = find_percentile(row.case.metric, row.case.parameters)
    if percentile is None:
        return ""
    return ngettext(
        "%(rank)s of one run", "mean of %(n)s runs' %(rank)s", row.result.n
    ) % {"n": formatting.exact(row.result.n), "rank": percentile}


def _shape_text(cell: Cell) -> str:
    shape = with_unit(sentence_from_json(cell.shape or {}), cell.case.unit)
    return wording.translate_text(shape)


def _host_name(cell: Cell) -> str:
    host = cell.system.host
    return host.title or host.slug


def _headline(row: ComparisonRow, cell: Cell, baseline: Cell | None) -> str:
    values = {
        "platform": _host_name(cell) if cell.system.is_native else cell.system.platform,
        "case": wording.lower_first(row.case.label).replace(SEPARATOR, ", "),
    }
    if not cell.n:
        return capfirst(
            _("%(case)s on %(platform)s: no value, because all runs failed.") % values
        )
    # Even with two modes, a verdict is possible: every run may be slower than native.
    values["verdict"] = _verdict_text(row.result.assessment)
    if not has_single_figure(cell):
        sentence = _("%(verdict)s. No single value describes the runs: %(shape)s")
        values["said"] = sentence % {**values, "shape": _shape_text(cell)}
    elif baseline is not None and not has_single_figure(baseline):
        sentence = _("%(verdict)s. No single value describes the baseline: %(shape)s")
        values["said"] = sentence % {**values, "shape": _shape_text(baseline)}
    if "said" in values:
        return capfirst(_("%(case)s on %(platform)s: %(said)s.") % values)

    result = row.result
    if result.ratio_kind == "scaling":
        template = _(
            "All VMs on %(platform)s together reach %(percent)s of the performance "
            "of one machine alone in %(case)s"
        )
    elif result.ratio_kind == "slowdown":
        values["slot"] = capfirst(wording.slot_of_total(row.slot, row.vms))
        template = _(
            "%(slot)s on %(platform)s reaches %(percent)s of the performance of one "
            "VM alone in %(case)s"
        )
    elif result.ratio_kind == "relative":
        template = _(
            "%(platform)s reaches %(percent)s of the reference system's "
            "performance in %(case)s"
        )
    elif result.ratio_kind == "efficiency":
        values["tool"] = row.tool_title
        ratio = result.ratio or 0.0
        values["difference"] = formatting.percent_difference(ratio, result.interval)
        template = _native_comparison(ratio, values["difference"])
    else:
        values["value"] = wording.quantity(
            result.value, result.unit, interval=result.value_interval
        )
        values["why"] = state_names.state_meaning(
            result.state
        ) or wording.translate_text(result.reason)
        if result.state == "no_speed":  # the reason names the kind of metric
            values["why"] = wording.lower_first(
                wording.translate_text(result.reason)
            ).rstrip(".")
        return capfirst(_("%(case)s on %(platform)s: %(value)s (%(why)s).") % values)
    values["percent"] = formatting.ratio_percent(result.ratio or 0.0, result.interval)
    return f"{template % values}{_verdict_clause(result.assessment)}."


def _native_comparison(ratio: float, difference: str) -> str:
    """Return the template of a comparison with native; ``difference`` is from 100%."""
    if not wording.HALF <= ratio <= wording.TWICE:
        return _(
            "%(platform)s reaches %(percent)s of native speed in %(tool)s, %(case)s"
        )
    if not any(digit in difference for digit in "123456789"):
        return _("%(platform)s is as fast as native in %(tool)s, %(case)s")
    if ratio < 1:
        return _(
            "%(platform)s is %(difference)s slower than native in %(tool)s, %(case)s"
        )
    return _("%(platform)s is %(difference)s faster than native in %(tool)s, %(case)s")


def _verdict_text(assessment: CellAssessment | None) -> str:
    if assessment is None or not (
        assessment.is_assessed or verdicts.is_pending(assessment)
    ):
        return verdicts.verdict_name("not_assessed")
    return verdicts.verdict_text(assessment)


def _verdict_clause(assessment: CellAssessment | None) -> str:
    if assessment is None:
        return ""
    if assessment.is_assessed or assessment.label.startswith("indicative"):
        return f" ({verdicts.verdict_text(assessment)})"
    if assessment.label == "single run":
        return _(" (single run, no verdict)")
    return _(" (no verdict)")


def _baseline_text(row: ComparisonRow, cell: Cell, baseline: Cell | None) -> str:
    state = row.result.state
    parts = [f"{state_names.state_name(state)}: {state_names.state_meaning(state)}."]
    if baseline is not None and baseline.study_id != cell.study_id:
        title = baseline.study.title
        parts.append(
            _("The baseline is from the study “%(title)s”.") % {"title": title}
        )
    # The baseline's value is stored with the ratio, but its runs may be private.
    if baseline is None and row.result.baseline_value is not None:
        parts.append(_("You don't have permission to view the runs of the baseline."))
    if row.result.reason != MATCH_SENTENCE:  # the headline already describes the pair
        parts.append(wording.translate_text(row.result.reason))
    return capfirst(" ".join(filter(None, parts)))


def _clock_text(cell: Cell, runs: Iterable[Run]) -> str:
    is_virtual = not cell.system.is_native
    facts: dict[str, Any] = {
        "is_virtual": is_virtual,
        "margin": cell.study.equivalence_margin_percent / 100,
    }
    for run in runs:
        if read_clock_report(run.facts) is None:
            continue
        state = figures_trust(run.clock, run.facts, **facts)
        if state != cell.clock_trust:
            continue
        if trust := run_trust(run.clock, run.facts, **facts):
            return _("%(trust)s (see run %(run)s): %(sentence)s") % {
                "trust": capfirst(str(state_names.CLOCK_TRUSTS[cell.clock_trust])),
                "run": run.pk,
                "sentence": wording.translate_text(
                    figures_sentence(trust) if state == "suspect" else trust.sentence
                ),
            }
    if cell.clock in CLOCKS:
        trust = trust_by_kind(cell.clock, 0.0, is_virtual=is_virtual)
        return wording.translate_text(trust.sentence)
    if cell.clock:
        return _("The runs were timed by several clocks: %(clock)s.") % {
            "clock": cell.clock
        }
    return _("The clock that timed these runs was not reported.")


def _single_run(is_once: Sequence[bool]) -> str:
    if not any(is_once):
        return ""
    if all(is_once):
        return _(
            "Only one run on each side, so the uncertainty cannot be estimated. A "
            "verdict needs at least 5 runs per side, each freshly started."
        )
    return _(
        "Only one run on one side, so the uncertainty cannot be estimated. A "
        "verdict needs at least 5 runs per side, each freshly started."
    )


def _width_advice(evidence: CellDetails) -> str:
    assessment = evidence.row.result.assessment
    if evidence.baseline is None or assessment is None:
        return ""
    if machine_models.is_on_other_machine(evidence.row):
        return ""  # machines must be repeated, not runs
    if assessment.design not in RUN_DESIGNS:
        return ""  # sessions vary more than runs; the assessment advises on sessions
    if not {*gate_codes(int(NEVER_ASSESSED))}.isdisjoint(assessment.reason_codes):
        return ""
    margin = evidence.cell.study.equivalence_margin_percent / 100
    is_few = min(evidence.cell.n, evidence.baseline.n) < WELCH_RUNS
    if is_few and assessment.half_width is not None and assessment.half_width < margin:
        return ""  # narrow enough; the reasons state how many runs a verdict needs
    return width_advice(evidence.cell, evidence.baseline, margin)


def _robust_ratio_text(evidence: CellDetails) -> str:
    sides = (evidence.samples, evidence.baseline_samples)
    if evidence.row.result.ratio is None or any(
        side.is_truncated
        or not MIN_HODGES_LEHMANN_RUNS <= len(side.runs) <= MAX_RUNS_PER_SIDE
        for side in sides
    ):
        return ""
    own, baseline = ([run.mean for run in side.runs] for side in sides)
    if min(*own, *baseline) <= 0:
        return ""
    is_rate = evidence.row.result.better == "higher"
    ratio = hodges_lehmann_ratio(own, baseline, higher_is_better=is_rate)
    return _(
        "The median ratio over all pairs of runs is %(ratio)s (Hodges-Lehmann). A "
        "few unusual runs hardly affect it."
    ) % {"ratio": formatting.ratio(ratio)}


def _energy(study: Study, row: ComparisonRow, reference: int | None) -> str:
    system = System.objects.filter(pk=reference).first() if reference else None
    metered = energy_row(row, cell_energies(study, system).get(row.id))
    sentence, result = verdicts.energy_sentence(metered), metered.result
    if not (
        result.assessment and result.energy_ratio and result.energy_ratio.has_interval
    ):
        return sentence
    verdict = verdicts.verdict_with_scope(result.assessment)
    return _("%(sentence)s: %(verdict)s.") % {"sentence": sentence, "verdict": verdict}
