from collections.abc import Mapping
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.utils.translation import gettext_lazy

from benchmarks.analysis.clock_reliability import figures_trust, run_trust
from benchmarks.collaboration.comments import CommentTarget
from benchmarks.comparison.row_queries import study_facets
from benchmarks.jobs.queue import retry_failed
from benchmarks.models import Cell, Job, Reparse, Run, RunMean, Study
from benchmarks.studies.overview import STALLED_AFTER
from benchmarks.study_sources import sources_of_run
from benchmarks.uploads.reparsing import create_reparse
from benchmarks.uploads.run_queries import (
    find_run,
    listed_runs,
    runs_of_upload,
    samples_of,
)
from benchmarks.viewer import Viewer
from dashboard import wording
from dashboard.kit.comments import comment_thread
from dashboard.kit.comparison_form import run_menus
from dashboard.kit.page_cache import PageContent, ViewResult, cached_study_page
from dashboard.kit.routes import EDITORS_ONLY, Tab, action, member_page, page
from dashboard.kit.upload_excerpt import readable_upload, stored_output
from dashboard.kit.url_parts import STUDY_PATH, cell_url, parse_id
from dashboard.kit.viewers import (
    editable_study_or_404,
    editor_or_404,
    is_editor,
    query_params,
    required_user,
    study_or_404,
    viewer_of,
)

RUNS_PER_PAGE = 50
SAMPLES_SHOWN = 500
DUPLICATES_SHOWN = 12
RUN_FILTERS = ("tool", "status", "scenario")
RAW_OUTPUT_TYPE = ("text/plain; charset=utf-8", "txt")


@cached_study_page
def list_runs(request: HttpRequest, lab: str, slug: str) -> ViewResult:
    viewer = viewer_of(request)
    study = study_or_404(viewer, lab, slug)
    query = query_params(request)
    if "cell" in query:
        return redirect(cell_url(study, query), permanent=True)
    context = {"study": study, "page": run_list(viewer, study, query)}
    return PageContent("runs/runs.html", context)


def run_list(viewer: Viewer, study: Study, query: Mapping[str, str]) -> dict[str, Any]:
    filters: dict[str, Any] = {
        name: query[name] for name in RUN_FILTERS if query.get(name)
    }
    if query.get("system"):
        filters["system"] = parse_id(query["system"])
    runs = listed_runs(viewer, study=study, **filters)
    # Pages start at an ID instead of an offset, so that the last page is fast, too.
    if query.get("after"):
        later = runs.filter(pk__gt=parse_id(query["after"])).order_by("pk")
        rows = list(later[: RUNS_PER_PAGE + 1])
        shown = rows[:RUNS_PER_PAGE][::-1]
        older = shown[-1].pk if shown else None
        newer = shown[0].pk if len(rows) > RUNS_PER_PAGE else None
    else:
        if query.get("before"):
            runs = runs.filter(pk__lt=parse_id(query["before"]))
        rows = list(runs.order_by("-pk")[: RUNS_PER_PAGE + 1])
        shown = rows[:RUNS_PER_PAGE]
        older = shown[-1].pk if len(rows) > RUNS_PER_PAGE else None
        newer = shown[0].pk if shown and query.get("before") else None
    measured = study_facets(study)
    # The facets do not include systems whose first run was not parsed yet.
    names = wording.system_names((*measured.systems, *(run.system for run in shown)))
    published = RunMean.objects.filter(
        lab=study.lab_id, run__in=shown, summarized_runs__isnull=False
    )
    return {
        "runs": shown,
        "has_steal": any(map(wording.steal_text, shown)),
        "summarized_runs": frozenset(published.values_list("run_id", flat=True)),
        "menus": run_menus(query, measured, names),
        "older": older,
        "newer": newer,
        "names": names,
        "is_live": any(run.status == Run.Status.RECEIVED for run in shown),
    }


def show_run(request: HttpRequest, run_id: int) -> HttpResponse:
    run = find_run(viewer_of(request), run_id)
    samples = list(samples_of(run)[: SAMPLES_SHOWN + 1])
    circumstances = ("study_id", "system_id", "scenario", "vms", "slot", "load")
    cell_filters: dict[str, Any] = {name: getattr(run, name) for name in circumstances}
    case_ids = {sample.case_id for sample in samples}
    # In the circumstances of this run, each case has one cell.
    cells = dict(
        Cell.objects.filter(case__in=case_ids, **cell_filters).values_list(
            "case_id", "pk"
        )
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
        "upload": readable_upload(run.upload.text, run.first_line, run.last_line),
        # Only runs that were parsed from raw output have line numbers and siblings.
        "others": list(runs_of_upload(run)) if run.first_line else [],
        "duplicates": run.duplicates.order_by("pk")[:DUPLICATES_SHOWN],
        "trust": trust,
        "sources": sources_of_run(run.study.original_works, run.document),
        # The run's duration could be corrected, but not the values that it printed.
        "is_uncorrected": trust is not None and trust.trust != printed,
    }
    context = {
        "run": run,
        "page": page,
        "can_edit": is_editor(request, run.lab_id),
        "thread": comment_thread(request, CommentTarget(run.study, run=run)),
    }
    return render(request, "runs/run.html", context)


def download_upload(request: HttpRequest, run_id: int) -> HttpResponse:
    run = find_run(viewer_of(request), run_id)
    stored = run.upload.text
    output = stored_output(stored)
    content_type, extension = (
        ("application/json", "json") if output is None else RAW_OUTPUT_TYPE
    )
    name = f'attachment; filename="virtlab-run-{run.pk}.{extension}"'
    return HttpResponse(
        stored if output is None else output,
        content_type=content_type,
        headers={"Content-Disposition": name},
    )


def start_reparse_view(request: HttpRequest, lab: str, slug: str) -> HttpResponse:
    study = editable_study_or_404(request, lab, slug)
    reparse = create_reparse(study=study, person=required_user(request))
    return redirect("dashboard:reparse", reparse.pk)


def retry_run(request: HttpRequest, run_id: int) -> HttpResponse:
    run = find_run(viewer_of(request), run_id)
    editor_or_404(request, run.lab_id)
    upload_id = run.first_run_id or run.pk
    retry_failed(Job.objects.filter(kind=Job.Kind.UPLOAD, subject_id=upload_id))
    return redirect("dashboard:run-detail", run.pk)


def show_reparse(request: HttpRequest, reparse_id: int) -> HttpResponse:
    reparses = Reparse.objects.select_related("study__lab")
    reparse = get_object_or_404(reparses, pk=reparse_id)
    study = reparse.study
    if study is None:
        raise Http404("A reparse of the whole installation has no page.")
    editor_or_404(request, study.lab_id)
    is_left = not reparse.done and timezone.now() > reparse.created_at + STALLED_AFTER
    context = {"reparse": reparse, "study": study, "is_left": is_left}
    return render(request, "runs/reparse.html", context)


urlpatterns = [
    page(
        f"{STUDY_PATH}runs/",
        list_runs,
        "runs",
        id_queries=("system={system}", "before={run}"),
        tab=Tab(gettext_lazy("Runs"), 90),
    ),
    action(f"{STUDY_PATH}reparse/", start_reparse_view, "start-reparse"),
    member_page(
        "reparses/<int:reparse_id>/",
        show_reparse,
        "reparse",
        example_urls=("", "/reparses/{finished}/"),
        member_statuses=EDITORS_ONLY,
    ),
    page(
        "runs/<int:run_id>/", show_run, "run-detail", query_count_urls=("/runs/{run}/",)
    ),
    action("runs/<int:run_id>/retry/", retry_run, "retry-run"),
    page("runs/<int:run_id>/upload/", download_upload, "run-upload", kind="file"),
]
