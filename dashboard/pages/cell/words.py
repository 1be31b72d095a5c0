"""What the page of a cell says: its answer, its figure, its baseline, its clock."""

from collections.abc import Iterable
from typing import Any

from django.utils.translation import gettext as _

from benchmarks.analysis.clocks import (
    CLOCKS,
    figures_trust,
    report_of,
    run_trust,
    trust_unmeasured,
)
from benchmarks.analysis.judgement import Judgement
from benchmarks.analysis.shape import MIN_RUNS
from benchmarks.comparing.row import ComparisonRow
from benchmarks.models import Cell, Run
from benchmarks.sentences import in_unit, kept_words
from dashboard import wording
from dashboard.kit import figures
from dashboard.pages.cell.sides import has_single_figure, speeds_of
from dashboard.wording import states, verdicts


def headline(row: ComparisonRow, cell: Cell, baseline: Cell | None) -> str:
    """Return the answer in one sentence: how much of native, and how sure."""
    platform, case = _platform(cell), _in_sentence(row.case.label)
    if said := _no_single_figure(cell, baseline):
        words = {"platform": platform, "case": case, "said": said}
        return _sentence_of(_("%(case)s on %(platform)s: %(said)s.") % words)
    if (answer := _answer(row)) is None:
        state = states.state_meaning(row.shown.state) or wording.said(row.shown.reason)
        value = wording.quantity(row.shown.value, row.shown.unit)
        words = {"platform": platform, "case": case, "value": value, "why": state}
        said = _("%(case)s on %(platform)s: %(value)s; %(why)s.") % words
        return _sentence_of(said)
    words = {"platform": platform, "case": case, "ratio": answer[1]}
    return f"{answer[0] % words}{_how_sure(row.shown.judgement)}."


def _platform(cell: Cell) -> str:
    """Return the hypervisor; where there is none, the machine."""
    if cell.system.is_native:
        return host_name(cell)
    return cell.system.platform


def host_name(cell: Cell) -> str:
    """Return what a cell's machine is called."""
    host = cell.system.host
    return host.title or host.slug


def _in_sentence(label: str) -> str:
    """Return a case's label as it stands within a sentence: "CPU load, read"."""
    is_acronym = label[1:2].isupper()
    first = label[:1] if is_acronym else label[:1].lower()
    return (first + label[1:]).replace(" · ", ", ")


def _sentence_of(text: str) -> str:
    return text[:1].upper() + text[1:]


def _answer(row: ComparisonRow) -> tuple[str, str] | None:
    """Return the sentence for the kind of ratio there is, and the ratio."""
    if row.shown.scaling is not None:
        words = _("All VMs on %(platform)s reach %(ratio)s of one machine in %(case)s")
        return words, figures.ratio(row.shown.scaling)
    if row.shown.relative is not None:
        words = _("%(platform)s reaches %(ratio)s of the reference in %(case)s")
        return words, figures.ratio(row.shown.relative)
    if row.shown.efficiency is not None:
        words = _("%(platform)s reaches %(ratio)s of native in %(case)s")
        return words, figures.ratio(row.shown.efficiency)
    return None


def _how_sure(judgement: Judgement | None) -> str:
    if judgement is None:
        return ""
    if judgement.is_assessed or judgement.label.startswith("indicative"):
        return f": {verdicts.verdict_words(judgement)}"
    if judgement.label == "single run":
        return _("; no verdict: single run")
    reason = wording.said(judgement.sentences[0]) if judgement.sentences else ""
    why = reason.rstrip(".")
    return _("; no verdict: %(why)s") % {"why": why[:1].lower() + why[1:]}


def _no_single_figure(cell: Cell, baseline: Cell | None) -> str:
    """Return why no single figure may stand here; nothing where it may."""
    if not has_single_figure(cell):
        said = _sentence(cell)
        return _("%(shape)s; no single figure, no verdict") % {"shape": said}
    if baseline is not None and not has_single_figure(baseline):
        said = _sentence(baseline)
        words = _("no single figure, no verdict; the baseline has %(shape)s")
        return words % {"shape": said}
    return ""


def _sentence(cell: Cell) -> str:
    """Return what was found in the runs, no percentage parted from its sign."""
    found = in_unit(kept_words(cell.shape or {}), cell.case.unit)
    return wording.said(found).replace(" %", "\N{NO-BREAK SPACE}%")


def figure_text(cell: Cell) -> str:
    """Return the mean of a cell, or what stands in its place: speeds, or a range."""
    unit = cell.case.unit
    if has_single_figure(cell):
        return wording.quantity(cell.mean, unit, whole=cell.sample_count == 1)
    if speeds := speeds_of(cell):
        low, high = (speed.label for speed in speeds)
        return _("%(low)s or %(high)s") % {"low": low, "high": high}
    if cell.minimum is None or cell.maximum is None:
        return ""
    low, high = figures.brief(cell.minimum), wording.quantity(cell.maximum, unit)
    return _("%(low)s to %(high)s") % {"low": low, "high": high}


def shape_text(cell: Cell, samples: int) -> str:
    """Return what the runs of a side look like, or why nothing can be said of it."""
    if said := _sentence(cell):
        is_of_runs = cell.n >= MIN_RUNS
        words = said if is_of_runs else _("of its samples: %(shape)s") % {"shape": said}
        return f"{_sentence_of(words)}."
    if samples < 2:
        return _("Single run: it has no shape yet.")
    return _("Too few runs to look at their shape: it takes 5.")


def clock_text(cell: Cell, runs: Iterable[Run]) -> str:
    """Return whose clock timed a side, and how far it may be trusted.

    A clock that was measured is told by the run that decides for the cell.
    """
    is_virtual = not cell.system.is_native
    if told := _measured_clock(cell, runs, is_virtual=is_virtual):
        return told
    if cell.clock in CLOCKS:
        trust = trust_unmeasured(cell.clock, 0.0, is_virtual=is_virtual)
        return wording.said(trust.sentence)
    if cell.clock:
        return _("Timed by several clocks: %(clock)s.") % {"clock": cell.clock}
    return _("Nobody stated whose clock timed these runs.")


def _measured_clock(cell: Cell, runs: Iterable[Run], *, is_virtual: bool) -> str:
    """Return what an agent found out about the clock of the first such run."""
    known: dict[str, Any] = {
        "is_virtual": is_virtual,
        "margin": cell.study.equivalence_margin_percent / 100,
    }
    for run in runs:
        if report_of(run.facts) is None:
            continue
        if figures_trust(run.clock, run.facts, **known) != cell.clock_trust:
            continue
        if found := run_trust(run.clock, run.facts, **known):
            words = {
                "trust": _sentence_of(states.trust_name(cell.clock_trust)),
                "run": run.pk,
                "sentence": wording.said(found.sentence),
            }
            return _("%(trust)s, as run %(run)s shows: %(sentence)s") % words
    return ""


def baseline_text(row: ComparisonRow, cell: Cell, baseline: Cell | None) -> str:
    """Return which baseline this is and why it is this one."""
    state = row.shown.state
    words = [f"{states.state_name(state)}: {states.state_meaning(state)}."]
    if baseline is not None and baseline.study_id != cell.study_id:
        title = baseline.study.title
        words.append(_("It comes from the study “%(title)s”.") % {"title": title})
    if baseline is None and row.shown.baseline_value is not None:
        words.append(_("Its runs are not yours to see."))
    if row.shown.state != "paired":  # what a pair is was just said
        words.append(wording.said(row.shown.reason))
    return _sentence_of(" ".join(filter(None, words)))
