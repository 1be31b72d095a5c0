"""What the pages of runs show."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from benchmarks.analysis.clocks import TimeTrust, figures_trust, run_trust
from benchmarks.comparing.rows import facets
from benchmarks.models import Cell, Run, Sample, Study
from benchmarks.uploads.runs import listed_runs, runs_of_upload, samples_of
from benchmarks.viewer import Viewer
from dashboard import wording
from dashboard.kit.addresses import id_in
from dashboard.kit.selections import Menu, run_menus
from dashboard.kit.upload_text import UploadText, upload_text

PAGE = 50
SAMPLES_SHOWN = 500
DUPLICATES_SHOWN = 12
FILTERS = ("tool", "status", "scenario")


@dataclass(frozen=True)
class RunListPage:
    """One page of runs, newest first; ``older`` and ``newer`` are where to go on."""

    runs: tuple[Run, ...]
    menus: list[Menu]
    older: int | None
    newer: int | None
    names: Mapping[int, str]
    """What the systems are called, by their ids."""

    @property
    def is_live(self) -> bool:
        """Some of them are still to be read."""
        return any(run.status == Run.Status.RECEIVED for run in self.runs)


@dataclass(frozen=True)
class ShownSample:
    """A sample and the cell it went into, once there is one."""

    sample: Sample
    cell_id: int | None


@dataclass(frozen=True)
class RunPage:
    """What a run measured and what was uploaded, both cut to what a page can hold."""

    samples: tuple[ShownSample, ...]
    has_more_samples: bool
    upload: UploadText
    others: tuple[Run, ...]
    """The other runs that were read from the same upload."""
    duplicates: tuple[Run, ...]
    """Runs that said the same once more, and are not counted."""
    trust: TimeTrust | None
    """How far the clock that timed the run is to be trusted."""
    is_uncorrected: bool = False
    """The time could be corrected, but what the tool printed was not."""


def run_list_page(
    viewer: Viewer, study: Study, query: Mapping[str, str]
) -> RunListPage:
    """Return the runs that a URL's query asks for."""
    wanted: dict[str, Any] = {name: query[name] for name in FILTERS if query.get(name)}
    if query.get("system"):
        wanted["system"] = id_in(query["system"])
    runs = listed_runs(viewer, study=study, **wanted)
    # By key, not by offset: the end comes as quickly as the beginning. One row more
    # than is shown tells whether there is another page.
    if query.get("after"):
        page = list(
            runs.filter(pk__gt=id_in(query["after"])).order_by("pk")[: PAGE + 1]
        )
        shown = page[:PAGE][::-1]
        older = shown[-1].pk if shown else None
        newer = shown[0].pk if len(page) > PAGE else None
    else:
        if query.get("before"):
            runs = runs.filter(pk__lt=id_in(query["before"]))
        page = list(runs.order_by("-pk")[: PAGE + 1])
        shown = page[:PAGE]
        older = shown[-1].pk if len(page) > PAGE else None
        newer = shown[0].pk if shown and query.get("before") else None
    measured = facets(study)
    # A run that is still to be read may be the first of its system.
    systems = (*measured.systems, *(run.system for run in shown))
    names = wording.system_names(systems)
    menus = run_menus(query, measured, names)
    return RunListPage(tuple(shown), menus, older, newer, names)


def run_page(run: Run) -> RunPage:
    """Return a run's samples with their cells, and its upload made readable."""
    samples = list(samples_of(run)[: SAMPLES_SHOWN + 1])
    circumstances = ("study_id", "system_id", "scenario", "vms", "slot", "load")
    same: dict[str, Any] = {name: getattr(run, name) for name in circumstances}
    of_cases = {sample.case_id for sample in samples}
    # In one set of circumstances a case has one cell.
    cells = Cell.objects.filter(case__in=of_cases, **same)
    cell_ids = dict(cells.values_list("case_id", "pk"))
    margin = run.study.equivalence_margin_percent / 100
    is_virtual = not run.system.is_native
    trust = run_trust(run.clock, run.facts, is_virtual=is_virtual, margin=margin)
    printed = figures_trust(run.clock, run.facts, is_virtual=is_virtual, margin=margin)
    return RunPage(
        samples=tuple(
            ShownSample(sample, cell_ids.get(sample.case_id))
            for sample in samples[:SAMPLES_SHOWN]
        ),
        has_more_samples=len(samples) > SAMPLES_SHOWN,
        upload=upload_text(run.upload.text, run.first_line, run.last_line),
        # Only what was read out of a raw output has lines, and others beside it.
        others=tuple(runs_of_upload(run)) if run.first_line else (),
        duplicates=tuple(run.duplicates.order_by("pk")[:DUPLICATES_SHOWN]),
        trust=trust,
        is_uncorrected=trust is not None and trust.state != printed,
    )
