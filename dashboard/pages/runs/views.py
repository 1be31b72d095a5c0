"""Lists of runs, the page of one run, and rereading all uploads of a study."""

from collections.abc import Mapping
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.utils.translation import gettext_lazy

from benchmarks.analysis.clocks import figures_trust, run_trust
from benchmarks.comparing.rows import facets
from benchmarks.models import Cell, Job, Reread, Run, Study
from benchmarks.studies.lists import LEFT_WAITING
from benchmarks.together.comments import Thing
from benchmarks.unattended.queue import retry
from benchmarks.uploads.rereading import begin_reread
from benchmarks.uploads.runs import find_run, listed_runs, runs_of_upload, samples_of
from benchmarks.viewer import Viewer
from dashboard import wording
from dashboard.kit.addresses import STUDY, cell_address, id_in
from dashboard.kit.comments import comment_thread
from dashboard.kit.kept import Answer, Content, kept_study_page
from dashboard.kit.routes import KEEP, Tab, action, member_page, page
from dashboard.kit.selections import run_menus
from dashboard.kit.upload_text import kept_output, upload_text
from dashboard.kit.viewers import (
    keeper_or_404,
    keeps,
    kept_study_or_404,
    query_of,
    signed_in_person,
    study_or_404,
    viewer_of,
)

PAGE = 50
SAMPLES_SHOWN = 500
DUPLICATES_SHOWN = 12
FILTERS = ("tool", "status", "scenario")
RAW = ("text/plain; charset=utf-8", "txt")


@kept_study_page
def list_runs(request: HttpRequest, lab: str, slug: str) -> Answer:
    """Show a study's runs; redirect old addresses of a cell's runs to the cell."""
    viewer = viewer_of(request)
    study = study_or_404(viewer, lab, slug)
    query = query_of(request)
    if "cell" in query:
        return redirect(cell_address(study, query), permanent=True)
    context = {"study": study, "page": run_list(viewer, study, query)}
    return Content("runs/runs.html", context)


def run_list(viewer: Viewer, study: Study, query: Mapping[str, str]) -> dict[str, Any]:
    """Return one page of the runs that a query selects, newest first."""
    wanted: dict[str, Any] = {name: query[name] for name in FILTERS if query.get(name)}
    if query.get("system"):
        wanted["system"] = id_in(query["system"])
    runs = listed_runs(viewer, study=study, **wanted)
    # By key, not by offset: the last page is as quick as the first. One row more than
    # is shown tells whether there is another page.
    if query.get("after"):
        later = runs.filter(pk__gt=id_in(query["after"])).order_by("pk")
        rows = list(later[: PAGE + 1])
        shown = rows[:PAGE][::-1]
        older = shown[-1].pk if shown else None
        newer = shown[0].pk if len(rows) > PAGE else None
    else:
        if query.get("before"):
            runs = runs.filter(pk__lt=id_in(query["before"]))
        rows = list(runs.order_by("-pk")[: PAGE + 1])
        shown = rows[:PAGE]
        older = shown[-1].pk if len(rows) > PAGE else None
        newer = shown[0].pk if shown and query.get("before") else None
    measured = facets(study)
    # A run that was not read yet may be the first of its system.
    names = wording.system_names((*measured.systems, *(run.system for run in shown)))
    return {
        "runs": shown,
        "menus": run_menus(query, measured, names),
        "older": older,
        "newer": newer,
        "names": names,
        "is_live": any(run.status == Run.Status.RECEIVED for run in shown),
    }


def show_run(request: HttpRequest, run_id: int) -> HttpResponse:
    """Show one run: its system, its samples with their cells, its upload, its clock."""
    run = find_run(viewer_of(request), run_id)
    samples = list(samples_of(run)[: SAMPLES_SHOWN + 1])
    circumstances = ("study_id", "system_id", "scenario", "vms", "slot", "load")
    same: dict[str, Any] = {name: getattr(run, name) for name in circumstances}
    of_cases = {sample.case_id for sample in samples}
    # In one set of circumstances a case has one cell.
    cells = dict(
        Cell.objects.filter(case__in=of_cases, **same).values_list("case_id", "pk")
    )
    margin = run.study.equivalence_margin_percent / 100
    is_virtual = not run.system.is_native
    trust = run_trust(run.clock, run.facts, is_virtual=is_virtual, margin=margin)
    printed = figures_trust(run.clock, run.facts, is_virtual=is_virtual, margin=margin)
    page = {
        "samples": [
            {"sample": sample, "cell_id": cells.get(sample.case_id)}
            for sample in samples[:SAMPLES_SHOWN]
        ],
        "has_more_samples": len(samples) > SAMPLES_SHOWN,
        "upload": upload_text(run.upload.text, run.first_line, run.last_line),
        # Only a run that was read from raw output has lines, and others beside it.
        "others": list(runs_of_upload(run)) if run.first_line else [],
        "duplicates": run.duplicates.order_by("pk")[:DUPLICATES_SHOWN],
        "trust": trust,
        # The time could be corrected, but the printed figures could not.
        "is_uncorrected": trust is not None and trust.state != printed,
    }
    context = {
        "run": run,
        "page": page,
        "is_keeper": keeps(request, run.lab_id),
        "thread": comment_thread(request, Thing(run.study, run=run)),
    }
    return render(request, "runs/run.html", context)


def download_upload(request: HttpRequest, run_id: int) -> HttpResponse:
    """Return a run's upload as it was sent: raw output or JSON."""
    run = find_run(viewer_of(request), run_id)
    stored = run.upload.text
    output = kept_output(stored)
    kind, ending = ("application/json", "json") if output is None else RAW
    name = f'attachment; filename="virtlab-run-{run.pk}.{ending}"'
    return HttpResponse(
        stored if output is None else output,
        content_type=kind,
        headers={"Content-Disposition": name},
    )


def begin_again(request: HttpRequest, lab: str, slug: str) -> HttpResponse:
    study = kept_study_or_404(request, lab, slug)
    reread = begin_reread(study=study, person=signed_in_person(request))
    return redirect("dashboard:reread", reread.pk)


def try_again(request: HttpRequest, run_id: int) -> HttpResponse:
    """Queue a quarantined run again."""
    run = find_run(viewer_of(request), run_id)
    keeper_or_404(request, run.lab_id)
    upload_id = run.source_id or run.pk
    retry(Job.objects.filter(kind=Job.Kind.UPLOAD, subject_id=upload_id))
    return redirect("dashboard:run-detail", run.pk)


def show_reread(request: HttpRequest, reread_id: int) -> HttpResponse:
    """Show how far a reread is and which samples changed."""
    rereads = Reread.objects.select_related("study__lab")
    reread = get_object_or_404(rereads, pk=reread_id)
    study = reread.study
    if study is None:
        raise Http404("A reread of the whole installation has no page.")
    keeper_or_404(request, study.lab_id)
    is_left = not reread.done and timezone.now() > reread.created_at + LEFT_WAITING
    context = {"reread": reread, "study": study, "is_left": is_left}
    return render(request, "runs/reread.html", context)


urlpatterns = [
    page(
        f"{STUDY}runs/",
        list_runs,
        "runs",
        ids=("system={system}", "before={run}"),
        tab=Tab(gettext_lazy("Runs"), 90),
    ),
    action(f"{STUDY}reread/", begin_again, "begin-reread"),
    member_page(
        "rereads/<int:reread_id>/",
        show_reread,
        "reread",
        walked=("", "/rereads/{finished}/"),
        own=KEEP,
    ),
    page("runs/<int:run_id>/", show_run, "run-detail", counted=("/runs/{run}/",)),
    action("runs/<int:run_id>/retry/", try_again, "retry-run"),
    page("runs/<int:run_id>/upload/", download_upload, "run-upload", kind="file"),
]
