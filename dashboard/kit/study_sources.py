"""The studies behind a page, with their licenses and published sources."""

from collections.abc import Iterable
from typing import Any

from django.urls import reverse

from benchmarks.evidence.queries import StudyInfo


def study_sources(studies: Iterable[StudyInfo]) -> tuple[dict[str, Any], ...]:
    """Return the context of `kit/_study_sources.html`, one entry per study."""
    distinct = {study.pk: study for study in studies}
    return tuple(
        {
            "title": study.title,
            "url": reverse("dashboard:study", args=[study.lab, study.slug]),
            "licence": study.data_licence,
            "sources": study.sources,
        }
        for study in sorted(distinct.values(), key=lambda study: study.title)
    )
