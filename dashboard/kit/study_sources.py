from collections.abc import Iterable, Sequence
from typing import Any

from django.urls import reverse

from benchmarks.evidence.queries import StudyInfo
from benchmarks.models import Study
from benchmarks.study_sources import Source


def study_sources(studies: Iterable[StudyInfo]) -> tuple[dict[str, Any], ...]:
    """Return the context of `kit/_study_sources.html`, one entry per study."""
    distinct = {study.pk: study for study in studies}
    return tuple(
        _entry(study, study.lab, study.sources)
        for study in sorted(distinct.values(), key=lambda study: study.title)
    )


def sources_of_studies(studies: Iterable[Study]) -> tuple[dict[str, Any], ...]:
    distinct = {study.pk: study for study in studies}
    return tuple(
        _entry(study, study.lab.slug, study.original_works)
        for study in sorted(distinct.values(), key=lambda study: study.title)
    )


def _entry(
    study: StudyInfo | Study, lab: str, sources: Sequence[Source]
) -> dict[str, Any]:
    return {
        "title": study.title,
        "url": reverse("dashboard:study", args=[lab, study.slug]),
        "licence": study.data_licence,
        "sources": sources,
    }
