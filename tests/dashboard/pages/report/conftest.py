"""Reports of small studies."""

from datetime import UTC, date, datetime

import pytest

from benchmarks.viewer import ANYONE
from dashboard.exports.citation import Citation
from dashboard.exports.report.builder import ReportImprint, build_report

IMPRINT = ReportImprint(datetime(2026, 11, 21, 5, 0, tzinfo=UTC), "1.0", "carol")


@pytest.fixture
def report_of():
    """Return a function that creates a study's report."""

    def make(study):
        citation = Citation(
            key=study.slug,
            title=study.title,
            author=study.author,
            institution=study.institution,
            published=study.published,
            language="",
            url="http://testserver/",
            note="Study",
            accessed_on=date(2026, 11, 21),
        )
        return build_report(ANYONE, study, citation, IMPRINT)

    return make


@pytest.fixture
def xen_study(load_study):
    """Load the Xen study like the product."""
    return load_study("lmu-2010-xen")
