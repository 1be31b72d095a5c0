"""Events: what is new in a study, for feeds and lists.

Publications are noted at once. New runs, flags and changed verdicts are found after
each check, by comparison with what was noted before.
"""

from collections import defaultdict
from collections.abc import Mapping
from datetime import timedelta
from typing import Any, Final

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from benchmarks.comparing.verdicts import study_verdicts
from benchmarks.models import Event, Flag, Job, Run, Study, StudyNews
from benchmarks.sentences import Sentence, counted
from benchmarks.together.webhooks import note_deliveries
from benchmarks.unattended import queue
from benchmarks.unattended.queue import Jobs, Kind
from benchmarks.viewer import Viewer

MOST_NAMED: Final = 20
"""How many ids an event names."""
LONGEST_WAIT: Final = timedelta(minutes=5)
"""Into a study that is uploaded to all day, this often is told what is new."""


def visible_events(viewer: Viewer, **filters: Any) -> QuerySet[Event]:
    """Return the events somebody may see, oldest first."""
    events = Event.objects.visible_to(viewer).filter(**filters)
    events = events.filter(study__deleted_at=None).select_related("study__lab")
    return events.order_by("pk")


def note_news(study: Study) -> None:
    """Note that there may be something to tell of a study."""
    untried = Job.objects.filter(kind=Kind.NEWS, subject_id=study.pk, tried_at=None)
    if not untried.exists():
        news = Job(
            kind=Kind.NEWS, subject_id=study.pk, study=study, lab_id=study.lab_id
        )
        queue.put([news])


def tell_due_news() -> int:
    """Tell what is new in studies that were checked; return of how many."""
    checks = Job.objects.filter(kind=Kind.CHECK)
    checked_soon = set(checks.values_list("subject_id", flat=True))
    told = 0
    for unit in queue.units(Kind.NEWS):
        is_late = unit.first <= timezone.now() - LONGEST_WAIT
        if unit.subject_id not in checked_soon or is_late:
            told += queue.run(Kind.NEWS, unit.subject_id)
    return told


@queue.job(Kind.NEWS)
@transaction.atomic
def _tell(jobs: Jobs) -> None:
    """Write what is new in a study, and keep what was told."""
    study = Study.objects.get(pk=jobs[0].subject_id)
    StudyNews.objects.get_or_create(study=study, defaults={"lab_id": study.lab_id})
    news = StudyNews.objects.select_for_update().get(study=study)
    runs = Run.objects.filter(study=study, status=Run.Status.PARSED).count()
    if runs > news.runs:
        n = runs - news.runs
        sentence = counted("{n} new run", "{n} new runs", n=n)
        _write(study, Event.Kind.RUNS, sentence, {"n": n, "runs": runs})
    news.runs = runs
    news.flags = _tell_flags(study, set(news.flags))
    known, marks = news.verdicts, study_verdicts(study).marks()
    news.verdicts = {str(cell): mark.verdict for cell, mark in marks.items()}
    # The first verdict of a cell is not a change.
    changed = [
        {"cell": int(cell), "before": known[cell], "verdict": verdict}
        for cell, verdict in news.verdicts.items()
        if known.get(cell, verdict) != verdict
    ]
    if changed:
        sentence = counted("A verdict changed", "{n} verdicts changed", n=len(changed))
        content = {"n": len(changed), "cells": changed[:MOST_NAMED]}
        _write(study, Event.Kind.VERDICTS, sentence, content)
    news.save()
    queue.finish(jobs)


def _tell_flags(study: Study, known: set[int]) -> list[int]:
    """Tell flags that were not there before, those together that the same may see."""
    current = {flag.pk: flag for flag in Flag.objects.filter(study=study).current()}
    quoted: dict[int, set[int]] = defaultdict(set)
    links = Flag.quotes.through._default_manager.filter(flag__study=study)
    for flag_id, other_id in links.values_list("flag_id", "study_id"):
        quoted[flag_id].add(other_id)
    groups: dict[frozenset[int], list[Flag]] = defaultdict(list)
    for pk in sorted(current.keys() - known):
        groups[frozenset(quoted[pk])].append(current[pk])
    for quotes, flags in groups.items():
        sentence = counted(
            "A new flag: {rules}",
            "{n} new flags: {rules}",
            n=len(flags),
            rules=", ".join(sorted({flag.rule for flag in flags})),
        )
        content = {"n": len(flags), "flags": [it.pk for it in flags[:MOST_NAMED]]}
        _write(study, Event.Kind.FLAGS, sentence, content, quotes)
    return sorted(current)


def tell_published(study: Study, number: int, version: int) -> None:
    """Tell that a version was published; in the transaction that stores it."""
    sentence = Sentence("Version {number} is published", number=number)
    _write(study, Event.Kind.PUBLISHED, sentence, {"version": version})


def tell_withdrawn(study: Study, number: int, version: int) -> None:
    """Tell that a version was withdrawn; in the transaction that does it."""
    sentence = Sentence("Version {number} is withdrawn", number=number)
    _write(study, Event.Kind.WITHDRAWN, sentence, {"version": version})


def _write(
    study: Study,
    kind: Event.Kind,
    sentence: str,
    content: Mapping[str, Any],
    quotes: frozenset[int] = frozenset(),
) -> None:
    event = Event.objects.create(
        lab_id=study.lab_id,
        study=study,
        kind=kind,
        sentence=sentence,
        content=dict(content),
    )
    if quotes:
        event.quotes.set(quotes)
    note_deliveries(event)
