import logging
from collections.abc import Mapping
from dataclasses import asdict
from functools import partial
from typing import Any, Final, Literal, cast

from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django_htmx.http import HttpResponseClientRedirect

from benchmarks.evidence.json_records import Record
from benchmarks.jobs import queue
from benchmarks.jobs.queue import JobKind, Jobs
from benchmarks.models import ChartFile
from benchmarks.publishing.generation_requests import (
    claim_request,
    record_report_failure,
    request_chart_file,
    set_stage,
)
from benchmarks.replica import from_primary
from benchmarks.tasks import dispatch_jobs
from dashboard.charts.forest_plot import ForestRow, forest_chart, forest_rows
from dashboard.exports import MEDIA_TYPES
from dashboard.exports.citation import site_url
from dashboard.exports.paper_files import (
    ChartFormat,
    build_paper_archive,
    render_paper_chart,
)
from dashboard.kit.formatting import number_format_for_files
from dashboard.kit.generation_progress import progress_context, wait_briefly

logger = logging.getLogger(__name__)

ChartFileFormat = Literal["svg", "pdf", "png"]
CHART_FILE_FORMATS: Final[tuple[ChartFileFormat, ...]] = ("svg", "pdf", "png")


@number_format_for_files()
def forest_plot_data(record: Record) -> dict[str, Any]:
    return {
        "marks": [asdict(row) for row in forest_rows(record)],
        "axis_title": _("relative performance, native = 1"),
    }


@from_primary()
def chart_file_response(
    request: HttpRequest,
    *,
    chart_data: Mapping[str, Any],
    file_format: str,
    name: str,
    **page_texts: str,
) -> HttpResponse:
    """Return a chart file, or a progress page until a worker has drawn it."""
    chart_file, must_draw = request_chart_file(
        chart_data=chart_data, file_format=file_format, site_url=site_url(request)
    )
    if must_draw:
        transaction.on_commit(partial(dispatch_jobs, JobKind.CHART, chart_file.pk))
    is_fragment = "HX-Request" in request.headers
    if not is_fragment:
        wait_briefly(chart_file, "content")
    url = request.get_full_path()
    if chart_file.stage == ChartFile.Stage.DONE:
        if is_fragment:
            return HttpResponseClientRedirect(url)
        return attachment_response(name, file_format, bytes(chart_file.content))
    context = {
        "page_texts": page_texts,
        "progress": progress_context(chart_file),
        "address": url,
    }
    return render(request, "kit/chart_file_progress.html", context)


def attachment_response(name: str, form: str, content: str | bytes) -> HttpResponse:
    headers = {
        "Content-Disposition": f'attachment; filename="{name}.{form}"',
        "Cache-Control": "private, no-cache",
    }
    return HttpResponse(content, content_type=MEDIA_TYPES[form], headers=headers)


@number_format_for_files()
def render_chart_data(chart_data: Mapping[str, Any], form: str) -> bytes:
    """Return a chart as a file. Only workers call this: it imports matplotlib."""
    kind = chart_data.get("kind")
    if kind == "ratios":
        return render_paper_chart(
            chart_data, cast(ChartFormat, form), chart_data["inches"]
        )
    if kind == "archive":
        return build_paper_archive(chart_data["texts"], chart_data["chart"])
    from dashboard.charts.matplotlib_renderer import render_chart_file

    rows = [ForestRow(**row) for row in chart_data["marks"]]
    chart = forest_chart(rows, axis_title=chart_data["axis_title"])
    return render_chart_file(chart, cast(ChartFileFormat, form))


@queue.job_handler(JobKind.CHART, on_failure=record_report_failure)
def generate_chart_files(jobs: Jobs) -> None:
    chart_file = claim_request(ChartFile, jobs, ())
    if chart_file is None:
        return
    try:
        content = render_chart_data(chart_file.chart_data, chart_file.file_format)
    except Exception:
        logger.exception("Picture %s was not drawn", chart_file.pk)
        set_stage(chart_file, ChartFile.Stage.FAILED)
    else:
        set_stage(chart_file, ChartFile.Stage.DONE, content=content)
