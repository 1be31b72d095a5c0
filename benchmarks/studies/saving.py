"""Create and change studies."""

from typing import Any

from django.db import transaction

from benchmarks.errors import StudyExistsError, UnknownSystemError
from benchmarks.models import Lab, Study, System
from benchmarks.uploads.efficiencies import normalise_study


@transaction.atomic
def save_study(*, lab: Lab, slug: str, **fields: Any) -> tuple[Study, bool]:
    """Create a study; saying the same again changes nothing.

    Raises StudyExistsError when the slug is taken by one that differs.
    """
    study, created = Study.objects.get_or_create(lab=lab, slug=slug, defaults=fields)
    differing = [
        name for name, value in fields.items() if getattr(study, name) != value
    ]
    if differing:
        raise StudyExistsError(slug, differing)
    return study, created


@transaction.atomic
def update_study(*, study: Study, **changes: Any) -> Study:
    """Change a study and recompute the efficiencies that lean on the change."""
    if "reference_system" in changes:
        changes["reference_system"] = _system_of(study, changes["reference_system"])
    changed = [name for name, value in changes.items() if getattr(study, name) != value]
    for name in changed:
        setattr(study, name, changes[name])
    study.save(update_fields=changed)
    if set(changed) & {
        "reference_system",
        "equivalence_margin_percent",
        "baseline_max_age_days",
    }:
        normalise_study(study)
    return study


def _system_of(study: Study, system_id: int | None) -> System | None:
    if system_id is None:
        return None
    system = System.objects.filter(lab_id=study.lab_id, pk=system_id).first()
    if system is None:
        raise UnknownSystemError(system_id)
    return system
