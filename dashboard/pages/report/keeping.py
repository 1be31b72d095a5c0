"""A report that is made anew only when its study changed."""

from dataclasses import replace
from datetime import UTC, datetime

from benchmarks.models import Study
from benchmarks.viewer import Viewer
from dashboard.exports.citation import Citation
from dashboard.exports.report.building import Imprint, colophon, report
from dashboard.kit.document import Document
from dashboard.kit.kept import kept

NOBODY = Imprint(created_at=datetime.min.replace(tzinfo=UTC), version="", who="")


def kept_report(
    version: str,
    viewer: Viewer,
    study: Study,
    citation: Citation,
    imprint: Imprint,
) -> Document:
    """Return the report of a study's version; only who made it when is new."""
    document = _document(version, viewer, study, citation)
    return replace(document, colophon=colophon(imprint))


@kept
def _document(viewer: Viewer, study: Study, citation: Citation) -> Document:
    return report(viewer, study, citation, NOBODY)
