"""Creation and change of studies."""

import logging
from collections.abc import Iterable
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from benchmarks import rls
from benchmarks.errors import (
    ConflictError,
    InvalidError,
    RateLimitError,
    UnknownNameError,
    already_exists_error,
)
from benchmarks.evidence.queries import refresh_public_evidence, study_questions
from benchmarks.jobs.queue import enqueue_checks
from benchmarks.models import (
    AuditEntry,
    Lab,
    Report,
    Study,
    System,
)
from benchmarks.sentences import Sentence
from benchmarks.studies.checking import check_study, related_studies
from benchmarks.uploads.efficiencies import (
    cells_with_outdated_state,
    recompute_affected_efficiencies,
    recompute_efficiencies,
    recompute_study_efficiencies,
)

logger = logging.getLogger(__name__)

RETRY_AFTER_S = 3600
# Pooled evidence depends on visibility and attribution.
ATTRIBUTION_FIELDS = {"visibility", "institution", "author"}


@transaction.atomic
def save_study(*, lab: Lab, slug: str, **fields: Any) -> tuple[Study, bool]:
    """Return the study, and whether it was created.

    Raise ConflictError if a stored study differs from ``fields``, and RateLimitError
    above the lab's daily limit.
    """
    lab_slugs = fields.pop("shared_with", None)
    study, created = Study.objects.get_or_create(lab=lab, slug=slug, defaults=fields)
    differing = [
        name for name, value in fields.items() if getattr(study, name) != value
    ]
    if lab_slugs is not None and not created:
        stored = study.shared_with.values_list("slug", flat=True)
        differing += ["shared_with"] if set(stored) != set(lab_slugs) else []
    if differing:
        raise already_exists_error(
            "study_exists",
            Sentence("study"),
            slug,
            differing,
            Sentence(
                "Change it with PATCH /api/v1/studies/<slug>/, or choose another slug."
            ),
        )
    if created:
        _check_daily_limit(lab)
        _set_shared_labs(study, lab_slugs)
        rls.refresh()
    return study, created


def _check_daily_limit(lab: Lab) -> None:
    limit = settings.LAB_STUDIES_PER_DAY
    since = timezone.now() - timedelta(days=1)
    if limit and lab.studies.filter(created_at__gt=since).count() > limit:
        too_many = Sentence(
            "The lab exceeds the limit of {most:,} new studies per day.", most=limit
        )
        raise RateLimitError(too_many, RETRY_AFTER_S)


@rls.allow_all()
@transaction.atomic
def update_study(*, study: Study, actor: str = "", **changes: Any) -> Study:
    """Change a study and recompute its results as needed; audit changes of visibility.

    ``shared_with`` lists slugs of labs. Raises UnknownNameError and InvalidError, and
    ConflictError if the study cannot be checked before others see it.
    """
    lab_slugs = changes.pop("shared_with", None)
    _resolve(study, changes)
    changed = [name for name, value in changes.items() if getattr(study, name) != value]
    if "visibility" in changed:
        about = f"{study.slug}: {study.visibility} → {changes['visibility']}"
        AuditEntry.log(
            study.lab, AuditEntry.Kind.CHANGED_VISIBILITY, about, agent=actor
        )
    for name in changed:
        setattr(study, name, changes[name])
    study.save(update_fields=changed)
    if lab_slugs is not None or "visibility" in changed:
        _set_shared_labs(study, lab_slugs)
    if set(changed) & {
        "reference_system",
        "system_references",
        "equivalence_margin_percent",
        "baseline_max_age_days",
    }:
        recompute_study_efficiencies(study)
    if "equivalence_margin_percent" in changed:
        # Shapes and clock trust depend on the margin.
        locked = study.cells.order_by("pk").select_for_update(no_key=True)
        ids = list(locked.values_list("pk", flat=True))
        study.cells.filter(pk__in=ids).update(shaped_at=None)
    if set(changed) & {"equivalence_margin_percent", "factors"}:
        # A rule uses the declared factors.
        enqueue_checks([study.pk])
    if "visibility" in changed:
        _recheck_affected(study)
    if set(changed) & ATTRIBUTION_FIELDS:
        refresh_public_evidence(study_questions(study))
    return study


def _resolve(study: Study, changes: dict[str, Any]) -> None:
    if "archived" in changes:
        since = study.archived_at or timezone.now()
        changes["archived_at"] = since if changes.pop("archived") else None
    if "reference_system" in changes:
        system_id = changes["reference_system"]
        systems = System.objects.filter(lab_id=study.lab_id, pk=system_id)
        changes["reference_system"] = systems.first()
        if system_id is not None and changes["reference_system"] is None:
            raise UnknownNameError("system", system_id)
    _resolve_system_references(study, changes)


def _resolve_system_references(study: Study, changes: dict[str, Any]) -> None:
    references = changes.get("system_references", {})
    ids = [*references.values(), *(int(pk) for pk in references if pk.isdecimal())]
    systems = System.objects.filter(lab_id=study.lab_id, pk__in=ids)
    known = set(systems.values_list("pk", flat=True))
    for pk in (*references, *references.values()):
        if not str(pk).isdecimal() or int(pk) not in known:
            raise UnknownNameError("system", pk)


def _recheck_affected(study: Study) -> None:
    """Check a study whose visibility changed, and queue checks of related studies."""
    recompute_affected_efficiencies(study)
    # Reports depend on visibility.
    Report.objects.filter(study__lab=study.lab_id).delete()
    enqueue_checks(related_studies(study, study.cells.order_by().values("case")))
    try:
        with transaction.atomic():
            check_study(study)
            recompute_efficiencies(cells_with_outdated_state(study))
    except Exception as error:
        logger.exception("The check of study %s failed", study.pk)
        if not study.is_private:
            raise ConflictError(
                "study_unchecked",
                'The check of study "{slug}" failed, so the study stays private: '
                "unchecked results are not shown to others. Retry the check. The "
                "study page shows what failed.",
                slug=study.slug,
            ) from error
        # Hiding a study must not depend on a check.
        enqueue_checks([study.pk])


@rls.allow_all()
def _set_shared_labs(study: Study, lab_slugs: Iterable[str] | None) -> None:
    """None keeps the current labs, or removes them if the study is not shared.

    Raises InvalidError and UnknownNameError.
    """
    slugs = set(lab_slugs or ())
    is_shared = study.visibility == Study.Visibility.SHARED
    if lab_slugs is None and is_shared:
        slugs = set(study.shared_with.values_list("slug", flat=True))
    if slugs and not is_shared:
        raise InvalidError(
            "invalid_sharing",
            "Labs can be listed only for shared studies. Send the visibility "
            '"shared" with them.',
        ).for_field("shared_with")
    if is_shared and not slugs - {study.lab.slug}:
        raise InvalidError(
            "invalid_sharing",
            "List the labs to share the study with, or keep it private.",
        ).for_field("shared_with")
    labs = {lab.slug: lab for lab in Lab.objects.filter(slug__in=slugs)}
    for slug in sorted(slugs - labs.keys()):
        raise UnknownNameError("lab", slug)
    study.shared_with.set(lab for lab in labs.values() if lab.pk != study.lab_id)
