"""Events of studies, for feeds, lists, webhooks and digests.

Publications create events at once. Checks detect new runs, flags and verdicts by
comparison with the state after the previous check.
"""

from collections import defaultdict
from collections.abc import Mapping
from datetime import timedelta
from typing import Any, Final

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from benchmarks.collaboration.webhooks import queue_deliveries
from benchmarks.comparison.study_verdicts import study_verdicts
from benchmarks.jobs import queue
from benchmarks.jobs.queue import JobKind, Jobs
from benchmarks.models import Event, Flag, Job, Run, Study, StudyEventState
from benchmarks.sentences import Sentence, pluralized
from benchmarks.viewer import Viewer

MAX_NAMED: Final = 20
MAX_EVENT_DELAY: Final = timedelta(minutes=5)
"""Events are not delayed longer than this, even if uploads arrive all the time."""


def visible_events(viewer: Viewer, **filters: Any) -> QuerySet[Event]:
    events = Event.objects.visible_to(viewer).filter(**filters)
    events = events.filter(study__deleted_at=None).select_related("study__lab")
    return events.order_by("pk")


def queue_events(study: Study) -> None:
    untried = Job.objects.filter(
        kind=JobKind.EVENTS, subject_id=study.pk, attempted_at=None
    )
    if not untried.exists():
        news = Job(
            kind=JobKind.EVENTS, subject_id=study.pk, study=study, lab_id=study.lab_id
        )
        queue.enqueue([news])


def publish_due_events() -> int:
    """Create events of studies that wait for no check, or have waited long enough.

    Return the number of studies.
    """
    checks = Job.objects.filter(kind=JobKind.CHECK)
    checked_soon = set(checks.values_list("subject_id", flat=True))
    published = 0
    for group in queue.due_job_groups(JobKind.EVENTS):
        is_late = group.first_created_at <= timezone.now() - MAX_EVENT_DELAY
        if group.subject_id not in checked_soon or is_late:
            published += queue.run_due_jobs(JobKind.EVENTS, group.subject_id)
    return published


@queue.job_handler(JobKind.EVENTS)
@transaction.atomic
def _publish_events(jobs: Jobs) -> None:
    study = Study.objects.get(pk=jobs[0].subject_id)
    StudyEventState.objects.get_or_create(
        study=study, defaults={"lab_id": study.lab_id}
    )
    state = StudyEventState.objects.select_for_update().get(study=study)
    runs = Run.objects.filter(study=study, status=Run.Status.PARSED).count()
    if runs > state.runs:
        n = runs - state.runs
        sentence = pluralized("{n} new run", "{n} new runs", n=n)
        _store_event(study, Event.Kind.RUNS, sentence, {"n": n, "runs": runs})
    state.runs = runs
    state.flags = _publish_flag_events(study, set(state.flags))
    previous_verdicts, verdicts = state.verdicts, study_verdicts(study)
    unchecked = {str(cell) for cell in verdicts.cells_being_checked}
    state.verdicts = {
        str(cell): cell_verdict.verdict
        for cell, cell_verdict in verdicts.cell_verdicts().items()
        if str(cell) not in unchecked
    } | {cell: previous_verdicts[cell] for cell in unchecked & previous_verdicts.keys()}
    # A cell's first verdict is not a change.
    changed = [
        {"cell": int(cell), "before": previous_verdicts[cell], "verdict": verdict}
        for cell, verdict in state.verdicts.items()
        if previous_verdicts.get(cell, verdict) != verdict
    ]
    if changed:
        sentence = pluralized(
            "A verdict changed", "{n} verdicts changed", n=len(changed)
        )
        content = {"n": len(changed), "cells": changed[:MAX_NAMED]}
        _store_event(study, Event.Kind.VERDICTS, sentence, content)
    state.save()
    queue.finish(jobs)


def _publish_flag_events(study: Study, published_flags: set[int]) -> list[int]:
    """Create events for new flags; return the ids of all current flags.

    Flags that quote the same studies have the same viewers, so they share an event.
    """
    current = {flag.pk: flag for flag in Flag.objects.filter(study=study).current()}
    quoted: dict[int, set[int]] = defaultdict(set)
    links = Flag.quoted_studies.through._default_manager.filter(flag__study=study)
    for flag_id, other_id in links.values_list("flag_id", "study_id"):
        quoted[flag_id].add(other_id)
    groups: dict[frozenset[int], list[Flag]] = defaultdict(list)
    for pk in sorted(current.keys() - published_flags):
        groups[frozenset(quoted[pk])].append(current[pk])
    for quoted_ids, flags in groups.items():
        rules = ", ".join(sorted({flag.rule for flag in flags}))
        sentence = pluralized(
            "{n} new flag: {rules}",
            "{n} new flags: {rules}",
            n=len(flags),
            rules=rules,
        )
        content = {
            "n": len(flags),
            "flags": [listed_flag.pk for listed_flag in flags[:MAX_NAMED]],
        }
        _store_event(study, Event.Kind.FLAGS, sentence, content, quoted_ids)
    return sorted(current)


def notify_version_published(study: Study, number: int, version: int) -> None:
    """Store an event; the caller stores the version in the same transaction."""
    sentence = Sentence("Version {number} was published", number=number)
    _store_event(study, Event.Kind.PUBLISHED, sentence, {"version": version})


def notify_version_withdrawn(study: Study, number: int, version: int) -> None:
    sentence = Sentence("Version {number} was withdrawn", number=number)
    _store_event(study, Event.Kind.WITHDRAWN, sentence, {"version": version})


def _store_event(
    study: Study,
    kind: Event.Kind,
    sentence: str,
    content: Mapping[str, Any],
    quoted_studies: frozenset[int] = frozenset(),
) -> None:
    event = Event.objects.create(
        lab_id=study.lab_id,
        study=study,
        kind=kind,
        message=sentence,
        content=dict(content),
    )
    if quoted_studies:
        event.quoted_studies.set(quoted_studies)
    queue_deliveries(event)
