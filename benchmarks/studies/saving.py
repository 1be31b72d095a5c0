"""Create and change studies."""

import logging
from collections.abc import Iterable
from typing import Any

from django.db import transaction
from django.utils import timezone

from benchmarks import sight
from benchmarks.errors import (
    ConflictError,
    InvalidError,
    UnknownNameError,
    exists_otherwise,
)
from benchmarks.evidence.reading import questions_of, renew_pools
from benchmarks.models import (
    AuditEntry,
    Lab,
    Report,
    Study,
    System,
)
from benchmarks.sentences import Sentence
from benchmarks.studies.checking import check_study, studies_beside
from benchmarks.unattended.queue import put_checks
from benchmarks.uploads.efficiencies import (
    cells_misjudged,
    normalise,
    normalise_around,
    normalise_study,
)

logger = logging.getLogger(__name__)

# What decides who sees a study's results in a pool, and as whose.
MEASURED_BY = {"visibility", "institution", "author"}


@transaction.atomic
def save_study(*, lab: Lab, slug: str, **fields: Any) -> tuple[Study, bool]:
    """Create a study, or return the same one; raise ConflictError if it differs."""
    named = fields.pop("shared_with", None)
    study, created = Study.objects.get_or_create(lab=lab, slug=slug, defaults=fields)
    differing = [
        name for name, value in fields.items() if getattr(study, name) != value
    ]
    if named is not None and not created:
        known = study.shared_with.values_list("slug", flat=True)
        differing += ["shared_with"] if set(known) != set(named) else []
    if differing:
        raise exists_otherwise(
            "study_exists",
            Sentence("study"),
            slug,
            differing,
            Sentence(
                "Change it with PATCH /api/v1/studies/<slug>/, or choose another slug."
            ),
        )
    if created:
        _share(study, named)
        sight.look_again()
    return study, created


@sight.everything()
@transaction.atomic
def update_study(*, study: Study, who: str = "", **changes: Any) -> Study:
    """Change a study and what depends on it; a change of visibility is audited.

    ``shared_with`` are slugs of labs. Raises UnknownNameError and InvalidError.
    """
    named = changes.pop("shared_with", None)
    _resolve(study, changes)
    changed = [name for name, value in changes.items() if getattr(study, name) != value]
    if "visibility" in changed:
        about = f"{study.slug}: {study.visibility} → {changes['visibility']}"
        AuditEntry.log(study.lab, AuditEntry.Kind.CHANGED_VISIBILITY, about, agent=who)
    for name in changed:
        setattr(study, name, changes[name])
    study.save(update_fields=changed)
    if named is not None or "visibility" in changed:
        _share(study, named)
    if set(changed) & {
        "reference_system",
        "equivalence_margin_percent",
        "baseline_max_age_days",
    }:
        normalise_study(study)
    if "equivalence_margin_percent" in changed:
        # What hardly moves a mean, and which clocks are good enough, hangs on it.
        locked = study.cells.order_by("pk").select_for_update(no_key=True)
        ids = list(locked.values_list("pk", flat=True))
        study.cells.filter(pk__in=ids).update(shaped_at=None)
    if set(changed) & {"equivalence_margin_percent", "factors"}:
        # A rule asks what was varied on purpose.
        put_checks([study.pk])
    if "visibility" in changed:
        _show_anew(study)
    if set(changed) & MEASURED_BY:
        renew_pools(questions_of(study))
    return study


def _resolve(study: Study, changes: dict[str, Any]) -> None:
    """Put the fields of a study where what stands for them was asked for."""
    if "archived" in changes:
        since = study.archived_at or timezone.now()
        changes["archived_at"] = since if changes.pop("archived") else None
    if "reference_system" in changes:
        system_id = changes["reference_system"]
        systems = System.objects.filter(lab_id=study.lab_id, pk=system_id)
        changes["reference_system"] = systems.first()
        if system_id is not None and changes["reference_system"] is None:
            raise UnknownNameError("system", system_id)


def _show_anew(study: Study) -> None:
    """Check a study whose visibility changed, and studies with a case in common."""
    normalise_around(study)
    # They are made anew, of what may be seen now.
    Report.objects.filter(study__lab=study.lab_id).delete()
    put_checks(studies_beside(study, study.cells.order_by().values("case")))
    try:
        with transaction.atomic():
            check_study(study)
            normalise(cells_misjudged(study))
    except Exception as error:
        logger.exception("The check of study %s failed", study.pk)
        if not study.is_private:
            raise ConflictError(
                "study_unchecked",
                'The check of study "{slug}" fails, so it stays private: unchecked '
                "numbers are not shown to others. The page of the study says what "
                "failed once the check was tried again.",
                slug=study.slug,
            ) from error
        # What must not be seen is hidden whatever its rules say of it.
        put_checks([study.pk])


@sight.everything()
def _share(study: Study, named: Iterable[str] | None) -> None:
    """Share a study with the labs of these names; None: keep them."""
    wanted = set(named or ())
    is_shared = study.visibility == Study.Visibility.SHARED
    if named is None and is_shared:
        wanted = set(study.shared_with.values_list("slug", flat=True))
    if wanted and not is_shared:
        raise InvalidError(
            "sharing",
            "Labs are named only for what is shared: send the visibility "
            '"shared" with them.',
        ).at("shared_with")
    if is_shared and not wanted - {study.lab.slug}:
        raise InvalidError(
            "sharing", "Name the labs it is shared with, or keep it private."
        ).at("shared_with")
    labs = {lab.slug: lab for lab in Lab.objects.filter(slug__in=wanted)}
    for slug in sorted(wanted - labs.keys()):
        raise UnknownNameError("lab", slug)
    study.shared_with.set(lab for lab in labs.values() if lab.pk != study.lab_id)
