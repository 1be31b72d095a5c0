"""The making of a report as a file: who asked for it reads how far it is."""

from django.conf import settings
from django.utils import timezone
from django.utils.translation import get_language

from benchmarks.models import Report
from benchmarks.publishing.jobs import held
from benchmarks.publishing.reports import note_stage, take_report
from dashboard.exports.citing import citation_at
from dashboard.exports.report.building import Making, report
from dashboard.exports.report.typesetting import pdf
from dashboard.kit.document import Document
from dashboard.kit.viewers import viewer_named

Stage = Report.Stage


def edition() -> str:
    """Return what a report depends on beside its study: day, version, language."""
    return f"{timezone.now().date()} {settings.VERSION} {get_language()}"


def make_report(report_id: int) -> None:
    """Make a report that somebody asked for, unless another worker does."""
    with held(Report, report_id) as is_mine:
        asked = take_report(report_id) if is_mine else None
        if asked is not None:
            _make(asked)


def _make(asked: Report) -> None:
    try:
        document, making = _document(asked)
        note_stage(report=asked, stage=Stage.TYPESETTING)
        file = pdf(document, making.made_at)
    except Exception:  # whatever it is: who waits is told, the log has the rest
        note_stage(report=asked, stage=Stage.FAILED)
        raise
    note_stage(report=asked, stage=Stage.DONE, content=file)


def _document(asked: Report) -> tuple[Document, Making]:
    who = asked.person.get_username() if asked.person else ""
    making = Making(made_at=timezone.now(), version=settings.VERSION, who=who)
    citation = citation_at(asked.site, asked.study)
    viewer = viewer_named(asked.person)
    return report(viewer, asked.study, citation, making), making
