"""Lists of runs, the page of one run, and all uploads of a study read again."""

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.utils.translation import gettext_lazy

from benchmarks.models import OutboxItem, Reread
from benchmarks.studies.lists import LEFT_WAITING
from benchmarks.together.comments import Thing
from benchmarks.uploads.processing import retry
from benchmarks.uploads.rereading import begin_reread
from dashboard.kit.addresses import STUDY, cell_address
from dashboard.kit.comments import comment_thread
from dashboard.kit.kept import Answer, Content, kept_study_page
from dashboard.kit.routes import KEEP, Tab, action, member_page, page
from dashboard.kit.upload_text import kept_output
from dashboard.kit.viewers import (
    keeper_or_404,
    keeps,
    query_of,
    run_or_404,
    signed_in_person,
    study_or_404,
    viewer_of,
)
from dashboard.pages.runs.page import run_list_page, run_page

RAW = ("text/plain; charset=utf-8", "txt")


@kept_study_page
def list_runs(request: HttpRequest, lab: str, slug: str) -> Answer:
    """Show a study's runs; those behind one cell have moved to the cell's page."""
    viewer = viewer_of(request)
    study = study_or_404(viewer, lab, slug)
    query = query_of(request)
    if "cell" in query:
        return redirect(cell_address(study, query), permanent=True)
    page = run_list_page(viewer, study, query)
    return Content("runs/runs.html", {"study": study, "page": page})


def show_run(request: HttpRequest, run_id: int) -> HttpResponse:
    """Show one run: what ran where, what it measured, and what was uploaded."""
    run = run_or_404(viewer_of(request), run_id)
    return render(
        request,
        "runs/run.html",
        {
            "run": run,
            "page": run_page(run),
            "is_keeper": keeps(request, run.lab_id),
            "thread": comment_thread(request, Thing(run.study, run=run)),
        },
    )


def download_upload(request: HttpRequest, run_id: int) -> HttpResponse:
    """Hand out a run's upload as it was kept: what a tool printed, or the JSON."""
    run = run_or_404(viewer_of(request), run_id)
    kept = run.upload.text
    output = kept_output(kept)
    kind, ending = ("application/json", "json") if output is None else RAW
    name = f'attachment; filename="virtlab-run-{run.pk}.{ending}"'
    return HttpResponse(
        kept if output is None else output,
        content_type=kind,
        headers={"Content-Disposition": name},
    )


def begin_again(request: HttpRequest, lab: str, slug: str) -> HttpResponse:
    """Note that a study's uploads shall be read again; the sweeper does it."""
    study = study_or_404(viewer_of(request), lab, slug)
    keeper_or_404(request, study.lab_id)
    reread = begin_reread(study=study, person=signed_in_person(request))
    return redirect("dashboard:reread", reread.pk)


def try_again(request: HttpRequest, run_id: int) -> HttpResponse:
    """Let a run that was set aside be processed again."""
    run = run_or_404(viewer_of(request), run_id)
    keeper_or_404(request, run.lab_id)
    retry(OutboxItem.objects.filter(run__in=[run.source or run]))
    return redirect("dashboard:run-detail", run.pk)


def show_reread(request: HttpRequest, reread_id: int) -> HttpResponse:
    """Show how far a reread is and which samples changed."""
    rereads = Reread.objects.select_related("study__lab")
    reread = get_object_or_404(rereads, pk=reread_id)
    study = reread.study
    if study is None:
        raise Http404("The whole installation's is shown where it was typed.")
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
