"""Charts as files, and archives with them, made by a worker."""

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

from benchmarks.evidence.records import Record
from benchmarks.models import Picture
from benchmarks.publishing.making import (
    begin,
    note,
    note_report_failed,
    request_picture,
)
from benchmarks.replica import from_primary
from benchmarks.tasks import send
from benchmarks.unattended import queue
from benchmarks.unattended.queue import Jobs, Kind
from dashboard.charts.forest import ForestMark, forest_chart, forest_marks
from dashboard.exports import MEDIA_TYPES
from dashboard.exports.citation import site_of
from dashboard.exports.paper_files import ChartForm, archive, drawn_chart
from dashboard.kit.figures import for_files
from dashboard.kit.waiting import progress_of, wait_a_moment

logger = logging.getLogger(__name__)

Form = Literal["svg", "pdf", "png"]
PICTURE_FORMS: Final[tuple[Form, ...]] = ("svg", "pdf", "png")


@for_files()
def drawn_of(record: Record) -> dict[str, Any]:
    return {
        "marks": [asdict(mark) for mark in forest_marks(record)],
        "axis_title": _("relative performance, native = 1"),
    }


@from_primary()
def picture_answer(
    request: HttpRequest,
    *,
    drawn: Mapping[str, Any],
    form: str,
    name: str,
    **words: str,
) -> HttpResponse:
    """Return a chart, or a page that waits while a worker draws it.

    ``words`` are the page's ``title``, what it is ``about`` and the address ``back``.
    """
    picture, is_to_draw = request_picture(drawn=drawn, form=form, site=site_of(request))
    if is_to_draw:
        transaction.on_commit(partial(send, Kind.PICTURE, picture.pk))
    is_part = "HX-Request" in request.headers
    if not is_part:
        wait_a_moment(picture, "content")
    address = request.get_full_path()
    if picture.stage == Picture.Stage.DONE:
        if is_part:
            return HttpResponseClientRedirect(address)
        return attached(name, form, bytes(picture.content))
    context = {"wanted": words, "progress": progress_of(picture), "address": address}
    return render(request, "kit/drawing.html", context)


def attached(name: str, form: str, content: str | bytes) -> HttpResponse:
    headers = {
        "Content-Disposition": f'attachment; filename="{name}.{form}"',
        "Cache-Control": "private, no-cache",
    }
    return HttpResponse(content, content_type=MEDIA_TYPES[form], headers=headers)


@for_files()
def picture_of(drawn: Mapping[str, Any], form: str) -> bytes:
    """Return the file of a picture. For workers alone: it imports matplotlib."""
    kind = drawn.get("kind")
    if kind == "ratios":
        return drawn_chart(drawn, cast(ChartForm, form), drawn["inches"])
    if kind == "archive":
        return archive(drawn["texts"], drawn["chart"])
    from dashboard.charts.paper import paper

    marks = [ForestMark(**mark) for mark in drawn["marks"]]
    chart = forest_chart(marks, axis_title=drawn["axis_title"])
    return paper(chart, cast(Form, form))


@queue.job(Kind.PICTURE, failed=note_report_failed)
def draw_picture(jobs: Jobs) -> None:
    picture = begin(Picture, jobs, ())
    if picture is None:
        return
    try:
        content = picture_of(picture.drawn, picture.form)
    except Exception:  # whatever it is: the reader is told, the log has the rest
        logger.exception("Picture %s was not drawn", picture.pk)
        note(picture, Picture.Stage.FAILED)
    else:
        note(picture, Picture.Stage.DONE, content=content)
