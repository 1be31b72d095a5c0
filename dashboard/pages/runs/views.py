"""Lists of runs and the page of one run."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import path
from django.views.decorators.http import require_safe

from dashboard.kit.addresses import STUDY, cell_address
from dashboard.kit.kept import Answer, Content, kept_page
from dashboard.kit.upload_text import kept_output
from dashboard.kit.viewers import query_of, run_or_404, study_or_404, viewer_of
from dashboard.pages.runs import rereads
from dashboard.pages.runs.page import run_list_page, run_page

RAW = ("text/plain; charset=utf-8", "txt")


@require_safe
@kept_page
def list_runs(request: HttpRequest, lab: str, slug: str) -> Answer:
    """Show a study's runs; those behind one cell have moved to the cell's page."""
    viewer = viewer_of(request)
    study = study_or_404(viewer, lab, slug)
    query = query_of(request)
    if "cell" in query:
        return redirect(cell_address(study, query), permanent=True)
    page = run_list_page(viewer, study, query)
    return Content("runs/runs.html", {"study": study, "page": page})


@require_safe
def show_run(request: HttpRequest, run_id: int) -> HttpResponse:
    """Show one run: what ran where, what it measured, and what was uploaded."""
    run = run_or_404(viewer_of(request), run_id)
    return render(request, "runs/run.html", {"run": run, "page": run_page(run)})


@require_safe
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


urlpatterns = [
    path(f"{STUDY}runs/", list_runs, name="runs"),
    path(f"{STUDY}reread/", rereads.begin, name="begin-reread"),
    path("rereads/<int:reread_id>/", rereads.show, name="reread"),
    path("runs/<int:run_id>/", show_run, name="run-detail"),
    path("runs/<int:run_id>/upload/", download_upload, name="run-upload"),
]
