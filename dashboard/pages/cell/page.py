"""What the page of a cell shows and says: its answer, both sides, how sure it is."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from django.urls import reverse
from django.utils.translation import gettext as _

from benchmarks.analysis.baselines import FITS
from benchmarks.analysis.clocks import (
    CLOCKS,
    figures_trust,
    report_of,
    run_trust,
    trust_unmeasured,
)
from benchmarks.analysis.designs import Design
from benchmarks.analysis.intervals import LEAST_RUNS, WELCH_RUNS, hodges_lehmann_ratio
from benchmarks.analysis.judgement import Judgement
from benchmarks.analysis.speeds import MIN_RUNS
from benchmarks.comparing.cell_evidence import (
    CellEvidence,
    CellSamples,
    RunValue,
    evidence,
    width_advice,
)
from benchmarks.comparing.row import ComparisonRow
from benchmarks.models import Cell, Run, Study, System
from benchmarks.own_tools.declaration import BETWEEN
from benchmarks.power.energy_per_work import cell_energies, energy_row
from benchmarks.sentences import in_unit, kept_words
from benchmarks.viewer import Viewer
from dashboard import wording
from dashboard.kit import figures
from dashboard.kit.addresses import address, id_in
from dashboard.kit.selections import ENERGY, SPEED, shown
from dashboard.kit.table_cells import cell_view
from dashboard.pages.cell.drawings import cell_charts, has_single_figure, speeds_of
from dashboard.pages.cell.sessions import session_words
from dashboard.wording import states, verdicts
from dashboard.wording.comparability import comparability_words

MOST_RUNS_A_SIDE = 300  # ninety thousand pairs
# What others are compared with: of it nothing is to be judged.
SIDES = ("native", "reference")
# Of one sitting, so that runs are what narrows an interval.
OF_RUNS = (
    "",
    *(d.slug for d in (Design.SINGLE_RUN, Design.ONE_SHARED, Design.ASSUMED_ONE)),
)


def cell_page(
    viewer: Viewer, study: Study, cell_id: int, query: Mapping[str, str]
) -> dict[str, Any]:
    """Return the page of a cell against native, or the system that a query names."""
    reference, show = chosen_baseline(query), shown(query)
    evidence = evidence_or_404(viewer, study, cell_id, query)
    row, cell, baseline = evidence.row, evidence.cell, evidence.baseline
    # The one that was found has its lab with it, which is part of every address.
    cell.study = study

    cells, samples = [cell], [evidence.samples]
    sides = [_side("own", _("Runs of this result"), cell, samples[0], evidence.runs)]
    if baseline is not None:
        cells.append(baseline)
        samples.append(evidence.baseline_samples)
        title, runs = _("Runs of its baseline"), evidence.baseline_runs
        sides.append(_side("baseline", title, baseline, samples[1], runs))
    compared = evidence.comparability
    is_single = all(map(has_single_figure, cells))
    sessions = session_words(evidence, is_figure=is_single)
    drawn = [sessions["drawing"]] if sessions["drawing"] else []

    back = {
        "scenario": row.scenario,
        "baseline": str(reference or ""),
        "show": "" if show == SPEED else show,
    }
    view = cell_view(row)
    # Whether one ratio may be shown: it exists, and nothing forbids it.
    has_ratio = bool(view.shade) and is_single
    terms = ["own", "baseline"]
    if not has_ratio:
        terms = terms[: len(sides)]
    elif row.shown.better == "lower":
        terms.reverse()
    lab, between, slug = cell.case.tool.partition(BETWEEN)
    is_side = row.shown.state in SIDES and is_single
    systems = [side.system for side in cells]
    return {
        "evidence": evidence,
        "view": view,
        "headline": _headline(row, cell, baseline),
        "has_single_figure": is_single,
        "has_ratio": has_ratio,
        # The sides in the order in which they are divided.
        "terms": terms,
        "ratio_range": verdicts.ratio_range_text(row, ""),
        "reasons": verdicts.reasons(row),
        "is_judged": row.shown.judgement is not None and not is_side,
        # The lab that declared the tool, and its slug there; None: a built-in tool.
        "declared_by": (lab, slug) if between else None,
        "is_emulated": any(system.is_emulated for system in systems),
        "is_native_above_hypervisor": any(
            system.is_native_above_hypervisor for system in systems
        ),
        "baseline": _baseline_text(row, cell, baseline),
        "comparability": comparability_words(study, compared) if compared else None,
        # How many more runs would make the interval as narrow as the margin.
        "width": _width(evidence),
        # The ratio that a few odd runs do not move, from 10 runs a side on.
        "location": _location(evidence),
        "sides": sides,
        "sessions": sessions,
        "charts": (*drawn, *cell_charts(cells, samples)),
        "single_run": _single_run([side.n == 1 for side in cells]),
        "is_cut": any(side.is_cut for side in samples),
        # The energy of its work, for readers who come from the table of energies.
        "energy": _energy(study, row, reference) if show == ENERGY else "",
        "chosen": address({"baseline": str(reference)}) if reference else "",
        "back": address(back),
    }


def evidence_or_404(
    viewer: Viewer, study: Study, cell_id: int, query: Mapping[str, str]
) -> CellEvidence:
    """Return what a cell stands on, against native or the system a query names."""
    return evidence(viewer, study, cell_id, chosen_baseline(query))


def chosen_baseline(query: Mapping[str, str]) -> int | None:
    """Return the id of the system that a query sets the cell against; None: native."""
    return id_in(query["baseline"]) if query.get("baseline") else None


def _side(
    slug: str,
    title: str,
    cell: Cell,
    samples: CellSamples,
    runs: tuple[RunValue, ...],
) -> dict[str, Any]:
    unit, figure = cell.case.unit, ""
    if has_single_figure(cell):
        figure = wording.quantity(cell.mean, unit, whole=cell.sample_count == 1)
    elif speeds := speeds_of(cell):
        low, high = (speed.label for speed in speeds)
        figure = _("%(low)s or %(high)s") % {"low": low, "high": high}
    elif cell.minimum is not None and cell.maximum is not None:
        low, high = figures.brief(cell.minimum), wording.quantity(cell.maximum, unit)
        figure = wording.span_text(low, high)

    if shape := _shape_words(cell):
        if cell.n < MIN_RUNS:
            shape = _("of its samples: %(shape)s") % {"shape": shape}
        shape = f"{_capital(shape)}."
        if not samples.is_ordered:
            untold = _("When they began is not known, so their order was not examined.")
            shape = f"{shape} {untold}"
    elif samples.count < 2:
        shape = _("Single run: it has no shape yet.")
    else:
        shape = _("Too few runs to look at their shape: it takes 5.")

    place = [cell.study.lab.slug, cell.study.slug, cell.pk]
    return {
        "slug": slug,
        "title": title,
        "system": ", ".join([wording.system_name(cell.system), _host_name(cell)]),
        "figure": figure,
        "shape": shape,
        "clock": _clock_text(cell, (value.run for value in runs)),
        "runs": runs,
        "further": max(cell.n - len(runs), 0),
        "readings": f"{reverse('dashboard:cell', args=place)}runs/",
    }


def _shape_words(cell: Cell) -> str:
    shape = in_unit(kept_words(cell.shape or {}), cell.case.unit)
    return wording.said(shape).replace(" %", "\N{NO-BREAK SPACE}%")


def _host_name(cell: Cell) -> str:
    host = cell.system.host
    return host.title or host.slug


def _headline(row: ComparisonRow, cell: Cell, baseline: Cell | None) -> str:
    """Return the answer in one sentence: how much of native, and how sure."""
    label = row.case.label
    is_acronym = label[1:2].isupper()  # "CPU load, read", but "block read"
    words = {
        "platform": _host_name(cell) if cell.system.is_native else cell.system.platform,
        "case": (label[:1] if is_acronym else label[:1].lower())
        + label[1:].replace(" · ", ", "),
    }
    # Despite its shape a cell may have a verdict: every run slower than every other.
    words["verdict"] = _verdict_alone(row.shown.judgement)
    if not has_single_figure(cell):
        sentence = _("%(verdict)s, no single figure: %(shape)s")
        words["said"] = sentence % {**words, "shape": _shape_words(cell)}
    elif baseline is not None and not has_single_figure(baseline):
        sentence = _("%(verdict)s, no single figure; the baseline has %(shape)s")
        words["said"] = sentence % {**words, "shape": _shape_words(baseline)}
    if "said" in words:
        return _capital(_("%(case)s on %(platform)s: %(said)s.") % words)

    seen = row.shown
    if seen.kind == "scaling":
        answer = _("All VMs on %(platform)s reach %(ratio)s of one machine in %(case)s")
    elif seen.kind == "slowdown":
        words["slot"] = _capital(wording.slot_of_vms(row.slot, row.vms))
        answer = _(
            "%(slot)s on %(platform)s: slowdown %(ratio)s of one alone in %(case)s"
        )
    elif seen.kind == "relative":
        answer = _("%(platform)s reaches %(ratio)s of the reference in %(case)s")
    elif seen.kind == "efficiency":
        answer = _("%(platform)s reaches %(ratio)s of native in %(case)s")
    else:
        words["value"] = wording.quantity(seen.value, seen.unit, within=seen.within)
        words["why"] = states.state_meaning(seen.state) or wording.said(seen.reason)
        if seen.state == "no_speed":  # the reason says which of them it is
            words["why"] = _uncapital(wording.said(seen.reason)).rstrip(".")
        return _capital(_("%(case)s on %(platform)s: %(value)s; %(why)s.") % words)
    words["ratio"] = figures.ratio(seen.ratio or 0.0, seen.interval)
    return f"{answer % words}{_how_sure(seen.judgement)}."


def _uncapital(text: str) -> str:
    return text[:1].lower() + text[1:]


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _verdict_alone(judgement: Judgement | None) -> str:
    if judgement is None or not judgement.is_assessed:
        return verdicts.verdict_name("not_assessed")
    return verdicts.verdict_words(judgement)


def _how_sure(judgement: Judgement | None) -> str:
    """Return how the headline goes on: the verdict, or why there is none."""
    if judgement is None:
        return ""
    if judgement.is_assessed or judgement.label.startswith("indicative"):
        return f": {verdicts.verdict_words(judgement)}"
    if judgement.label == "single run":
        return _("; not assessed: single run")
    reason = wording.said(judgement.sentences[0]) if judgement.sentences else ""
    why = reason[:1].lower() + reason[1:].rstrip(".")
    return _("; not assessed: %(why)s") % {"why": why}


def _baseline_text(row: ComparisonRow, cell: Cell, baseline: Cell | None) -> str:
    state = row.shown.state
    parts = [f"{states.state_name(state)}: {states.state_meaning(state)}."]
    if baseline is not None and baseline.study_id != cell.study_id:
        title = baseline.study.title
        parts.append(_("It comes from the study “%(title)s”.") % {"title": title})
    # Its value is stored with the ratio; its runs may be private to another lab.
    if baseline is None and row.shown.baseline_value is not None:
        parts.append(_("You may not see its runs."))
    if row.shown.reason != FITS:  # what a pair is was just said
        parts.append(wording.said(row.shown.reason))
    return _capital(" ".join(filter(None, parts)))


def _clock_text(cell: Cell, runs: Iterable[Run]) -> str:
    """Return whose clock timed a side, and how far it may be trusted."""
    is_virtual = not cell.system.is_native
    known: dict[str, Any] = {
        "is_virtual": is_virtual,
        "margin": cell.study.equivalence_margin_percent / 100,
    }
    for run in runs:
        if report_of(run.facts) is None:
            continue
        if figures_trust(run.clock, run.facts, **known) != cell.clock_trust:
            continue
        if trust := run_trust(run.clock, run.facts, **known):
            return _("%(trust)s, as run %(run)s shows: %(sentence)s") % {
                "trust": _capital(str(states.TRUSTS[cell.clock_trust])),
                "run": run.pk,
                "sentence": wording.said(trust.sentence),
            }
    if cell.clock in CLOCKS:
        trust = trust_unmeasured(cell.clock, 0.0, is_virtual=is_virtual)
        return wording.said(trust.sentence)
    if cell.clock:
        return _("Timed by several clocks: %(clock)s.") % {"clock": cell.clock}
    return _("Whose clock timed these runs was not stated.")


def _single_run(is_once: Sequence[bool]) -> str:
    """Say what a side that was measured once cannot tell; nothing if none was."""
    if not any(is_once):
        return ""
    if all(is_once):
        return _(
            "One run per side: no uncertainty estimate. Needs 5 per side, each freshly "
            "started."
        )
    return _(
        "One side is a single run: no uncertainty estimate. Needs 5 per side, each "
        "freshly started."
    )


def _width(evidence: CellEvidence) -> str:
    judged = evidence.row.shown.judgement
    if evidence.baseline is None or judged is None:
        return ""
    if judged.design not in OF_RUNS:
        return ""  # more runs narrow no days: the advice speaks of sessions
    margin = evidence.cell.study.equivalence_margin_percent / 100
    is_few = min(evidence.cell.n, evidence.baseline.n) < WELCH_RUNS
    if is_few and judged.half_width is not None and judged.half_width < margin:
        return ""  # narrow already: more runs are for a verdict, as its reasons say
    return width_advice(evidence.cell, evidence.baseline, margin)


def _location(evidence: CellEvidence) -> str:
    sides = (evidence.samples, evidence.baseline_samples)
    if evidence.row.shown.ratio is None or any(
        side.is_cut or not LEAST_RUNS <= len(side.runs) <= MOST_RUNS_A_SIDE
        for side in sides
    ):
        return ""
    own, other = ([run.mean for run in side.runs] for side in sides)
    if min(*own, *other) <= 0:
        return ""
    is_rate = evidence.row.shown.better == "higher"
    ratio = hodges_lehmann_ratio(own, other, higher_is_better=is_rate)
    return _(
        "The median ratio of all pairs of runs, which a few odd runs do not move, is "
        "%(ratio)s (Hodges-Lehmann)."
    ) % {"ratio": figures.ratio(ratio)}


def _energy(study: Study, row: ComparisonRow, reference: int | None) -> str:
    system = System.objects.filter(pk=reference).first() if reference else None
    metered = energy_row(row, cell_energies(study, system).get(row.id))
    sentence, seen = verdicts.energy_sentence(metered), metered.shown
    if not (seen.judgement and seen.joules and seen.joules.has_interval):
        return sentence
    verdict = verdicts.scoped_verdict(seen.judgement)
    return _("%(sentence)s: %(verdict)s.") % {"sentence": sentence, "verdict": verdict}
