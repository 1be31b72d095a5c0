"""Reports of small campaigns."""

from datetime import UTC, date, datetime

import pytest

from benchmarks.viewer import ANYONE
from dashboard.exports.citation import Citation
from dashboard.pages.report.building import Making, report

MAKING = Making(datetime(2026, 11, 21, 5, 0, tzinfo=UTC), "1.0", "carol")


@pytest.fixture
def made():
    """Make a campaign's report."""

    def make(campaign):
        citation = Citation(
            key=campaign.slug,
            title=campaign.title,
            author=campaign.author,
            institution=campaign.institution,
            published=campaign.published,
            language="",
            address="http://testserver/",
            note="Campaign",
            read_on=date(2026, 11, 21),
        )
        return report(ANYONE, campaign, citation, MAKING)

    return make


@pytest.fixture
def study(load_study):
    """Load the Xen study as the product does."""
    return load_study("lmu-2010-xen")
