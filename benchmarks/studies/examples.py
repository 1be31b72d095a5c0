"""Telling places in the reference studies: what a first visit is shown."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from benchmarks.models import Study
from benchmarks.studies.rollups import (
    DISK,
    ESXI,
    LED_THROUGH,
    XEN,
    counted_studies,
)
from benchmarks.viewer import Viewer


@dataclass(frozen=True)
class ExamplePlace:
    """A cell or a flag of a study."""

    study: Study
    pk: int


@dataclass(frozen=True)
class Examples:
    """Each is None where its study is not there, not to be seen, or without it."""

    memory: Study | None = None
    """A hypervisor's memory against the native machine's."""
    single_run: ExamplePlace | None = None
    """A ratio that may not be judged."""
    settings: Study | None = None
    """Settings that moved the network."""
    mistake: ExamplePlace | None = None
    """The flag about a slip of a unit that the study printed."""
    bimodal: ExamplePlace | None = None
    report: Study | None = None


def visible_examples(viewer: Viewer) -> Examples:
    """Return what a viewer can be shown."""
    visible = Study.objects.visible_to(viewer).filter(slug__in=LED_THROUGH)
    studies = list(visible.select_related("lab"))
    rollups = counted_studies([study.pk for study in studies])
    return examples((study, rollups[study.pk].places) for study in studies)


def examples(studies: Iterable[tuple[Study, Mapping[str, int]]]) -> Examples:
    """Return what these studies have to show, given the places of each."""
    known = {study.slug: (study, places) for study, places in studies if places}

    def whole(slug: str, name: str) -> Study | None:
        study, places = known.get(slug, (None, {}))
        return study if places.get(name) else None

    def place(slug: str, name: str) -> ExamplePlace | None:
        study = whole(slug, name)
        return ExamplePlace(study, known[slug][1][name]) if study else None

    return Examples(
        memory=whole(XEN, "memory"),
        single_run=place(XEN, "single_run"),
        settings=whole(ESXI, "network"),
        mistake=place(ESXI, "mistake"),
        bimodal=place(DISK, "bimodal"),
        report=whole(XEN, "anything"),
    )
