"""What the page of a campaign says of all its cells."""

from dataclasses import dataclass

from benchmarks.analysis.publishing import Assessment
from benchmarks.comparing.profile import campaign_profile
from benchmarks.models import Campaign
from benchmarks.publishing.readiness import campaign_assessment
from benchmarks.viewer import Viewer
from dashboard.kit.kept import kept
from dashboard.pages.report.document import Section
from dashboard.pages.report.profile import profile_section


@dataclass(frozen=True)
class Standing:
    """What each system costs, and what the campaign may be published as."""

    profile: Section
    assessment: Assessment


@kept
def campaign_standing(viewer: Viewer, campaign: Campaign) -> Standing:
    """Return what all cells of a campaign come to."""
    return Standing(
        profile=profile_section(campaign_profile(viewer, campaign)),
        assessment=campaign_assessment(campaign),
    )
