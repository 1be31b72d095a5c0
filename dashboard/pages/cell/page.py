"""What the page of a cell shows."""

from collections.abc import Mapping
from dataclasses import dataclass

from django.http import Http404
from django.urls import reverse
from django.utils.translation import gettext as _

from benchmarks.analysis.intervals import LEAST_RUNS, WELCH_RUNS, hodges_lehmann_ratio
from benchmarks.comparing.evidence import (
    CellSamples,
    Evidence,
    RunValue,
    evidence,
    sides_compared,
    width_advice,
)
from benchmarks.comparing.row import ComparisonRow
from benchmarks.errors import NotFoundError
from benchmarks.models import Cell, Study, System
from benchmarks.power.energy_per_work import cell_energies, energy_row
from benchmarks.viewer import Viewer
from dashboard import wording
from dashboard.charts.drawings import Drawing
from dashboard.kit import figures
from dashboard.kit.addresses import address, id_in
from dashboard.kit.selections import ENERGY, SPEED, shown
from dashboard.kit.table_cells import CellView, cell_view
from dashboard.pages.cell import words
from dashboard.pages.cell.drawings import cell_charts
from dashboard.pages.cell.sides import has_single_figure, side_of
from dashboard.pages.cell.words import host_name
from dashboard.wording import verdicts
from dashboard.wording.comparability import ComparabilityWords, comparability_words
from dashboard.wording.energy import energy_sentence

MOST_PAIRED = 300  # runs a side: ninety thousand pairs
TOKENS = ("--series-2", "--series-1")
# What others are set against: of it nothing is to be judged.
SIDES = ("native", "reference")


@dataclass(frozen=True)
class SideWords:
    """One side in words: this cell, or its baseline."""

    slug: str
    title: str
    system: str
    figure: str
    shape: str
    clock: str
    runs: tuple[RunValue, ...]
    further: int
    readings: str
    """Where each run's output is shown beside its numbers; the run's id comes after."""


@dataclass(frozen=True)
class CellPage:
    """Everything of a cell's page; ``advice`` says how many more runs would help."""

    evidence: Evidence
    view: CellView
    headline: str
    has_single_figure: bool
    baseline: str
    comparability: ComparabilityWords | None
    width: str
    location: str
    """The ratio that a few odd runs do not move, from 10 runs a side on."""
    sides: tuple[SideWords, ...]
    charts: tuple[Drawing, ...]
    single_run: str
    is_cut: bool
    energy: str
    """What its work took, for who comes from the table of energies."""
    chosen: str
    """The query that names the baseline, where one was chosen."""
    back: str
    """The query of the comparison that shows the same of all cells."""

    @property
    def has_ratio(self) -> bool:
        """Whether one ratio may be shown: there is one, and nothing forbids it."""
        return bool(self.view.shade) and self.has_single_figure

    @property
    def reasons(self) -> list[str]:
        """What decided, or what stands against a verdict."""
        return verdicts.reasons(self.evidence.row)

    @property
    def is_judged(self) -> bool:
        """Whether a verdict, or what stands against one, is told."""
        row = self.evidence.row
        is_side = row.shown.state in SIDES and self.has_single_figure
        return row.shown.judgement is not None and not is_side


def evidence_or_404(
    viewer: Viewer, study: Study, cell_id: int, query: Mapping[str, str]
) -> Evidence:
    """Return what a cell stands on, against native or the system a query names."""
    try:
        return evidence(viewer, study, cell_id, _reference(query))
    except NotFoundError as error:
        raise Http404(str(error)) from error


def _reference(query: Mapping[str, str]) -> int | None:
    return id_in(query["baseline"]) if query.get("baseline") else None


def cell_page(
    viewer: Viewer, study: Study, cell_id: int, query: Mapping[str, str]
) -> CellPage:
    """Return the page of a cell against native, or the system that a query names."""
    reference, show = _reference(query), shown(query)
    found = evidence_or_404(viewer, study, cell_id, query)
    found.cell.study = study
    cells = [each for each in (found.cell, found.baseline) if each is not None]
    samples = [found.samples, found.baseline_samples][: len(cells)]
    return CellPage(
        evidence=found,
        view=cell_view(found.row),
        headline=words.headline(found.row, found.cell, found.baseline),
        has_single_figure=all(map(has_single_figure, cells)),
        baseline=words.baseline_text(found.row, found.cell, found.baseline),
        comparability=_comparability(found),
        width=_width(found),
        location=_location(found),
        sides=tuple(_sides(found, cells, samples)),
        charts=_charts(cells, samples),
        single_run=_single_run(cells),
        is_cut=any(each.is_cut for each in samples),
        energy=_energy(study, found.row, reference) if show == ENERGY else "",
        chosen=address({"baseline": str(reference)}) if reference else "",
        back=address(
            {
                "scenario": found.row.scenario,
                "baseline": str(reference or ""),
                "show": "" if show == SPEED else show,
            }
        ),
    )


def _energy(study: Study, row: ComparisonRow, reference: int | None) -> str:
    system = System.objects.filter(pk=reference).first() if reference else None
    found = energy_row(row, cell_energies(study, system).get(row.id))
    sentence = energy_sentence(found)
    if not (
        found.shown.judgement and found.shown.joules and found.shown.joules.has_interval
    ):
        return sentence
    verdict = verdicts.verdict_words(found.shown.judgement)
    return _("%(sentence)s: %(verdict)s.") % {"sentence": sentence, "verdict": verdict}


def _sides(
    found: Evidence, cells: list[Cell], samples: list[CellSamples]
) -> list[SideWords]:
    titles = (_("Runs of this cell"), _("Runs of its baseline"))
    runs = (found.runs, found.baseline_runs)
    slugs = ("own", "baseline")
    return [
        SideWords(
            slug=slugs[at],
            title=titles[at],
            system=", ".join([wording.system_name(cell.system), host_name(cell)]),
            figure=words.figure_text(cell),
            shape=words.shape_text(cell, samples[at].count),
            clock=words.clock_text(cell, (each.run for each in runs[at])),
            runs=runs[at],
            further=max(cell.n - len(runs[at]), 0),
            readings=f"{_address(cell)}runs/",
        )
        for at, cell in enumerate(cells)
    ]


def _address(cell: Cell) -> str:
    place = [cell.study.lab.slug, cell.study.slug, cell.pk]
    return reverse("dashboard:cell", args=place)


def _charts(cells: list[Cell], samples: list[CellSamples]) -> tuple[Drawing, ...]:
    names = (_("this cell"), _("baseline"))
    sides = [
        side_of(cell, each, names[at], TOKENS[at])
        for at, (cell, each) in enumerate(zip(cells, samples, strict=True))
    ]
    return cell_charts(sides, cells)


def _single_run(cells: list[Cell]) -> str:
    """Say what a side that was measured once cannot tell; nothing if none was."""
    once = [cell.n == 1 for cell in cells]
    if not any(once):
        return ""
    if all(once):
        return _(
            "One run per side: no uncertainty estimate. Needs 5 per side, each freshly "
            "started."
        )
    return _(
        "One side is a single run: no uncertainty estimate. Needs 5 per side, each "
        "freshly started."
    )


def _comparability(found: Evidence) -> ComparabilityWords | None:
    if found.baseline is None:
        return None
    runs = [each.run for each in found.runs]
    others = [each.run for each in found.baseline_runs]
    compared = sides_compared(found.cell, found.baseline, runs, others)
    return comparability_words(found.cell.study, compared)


def _width(found: Evidence) -> str:
    judged = found.row.shown.judgement
    if found.baseline is None or judged is None:
        return ""
    margin, half_width = (
        found.cell.study.equivalence_margin_percent / 100,
        judged.half_width,
    )
    is_few = min(found.cell.n, found.baseline.n) < WELCH_RUNS
    if is_few and half_width is not None and half_width < margin:
        return ""  # narrow already: more runs are for a verdict, as its reasons say
    return width_advice(found.cell, found.baseline, margin)


def _location(found: Evidence) -> str:
    sides = (found.samples, found.baseline_samples)
    if found.row.shown.ratio is None or any(
        side.is_cut or not LEAST_RUNS <= len(side.runs) <= MOST_PAIRED for side in sides
    ):
        return ""
    own, other = ([run.mean for run in side.runs] for side in sides)
    if min(*own, *other) <= 0:
        return ""
    is_rate = found.row.shown.better == "higher"
    ratio = hodges_lehmann_ratio(own, other, higher_is_better=is_rate)
    return _(
        "The median ratio of all pairs of runs, which a few odd runs do not move, is "
        "%(ratio)s (Hodges-Lehmann)."
    ) % {"ratio": figures.ratio(ratio)}
