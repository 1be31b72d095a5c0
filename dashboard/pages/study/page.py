"""What the page of a study says of all its cells."""

from dataclasses import dataclass

from benchmarks.analysis.publishing import Assessment
from benchmarks.comparing.profile import study_profile
from benchmarks.models import Study
from benchmarks.publishing.readiness import study_assessment
from benchmarks.viewer import Viewer
from dashboard.kit.document import Section
from dashboard.kit.kept import kept
from dashboard.kit.profile import profile_section


@dataclass(frozen=True)
class Standing:
    """What each system costs, and what the study may be published as."""

    profile: Section
    assessment: Assessment


@kept
def study_standing(viewer: Viewer, study: Study) -> Standing:
    """Return what all cells of a study come to."""
    return Standing(
        profile=profile_section(study_profile(viewer, study)),
        assessment=study_assessment(study),
    )
