"""Publish a review: the evidence of many studies, frozen; compare it with today."""

import hashlib
import json
from collections.abc import Collection, Mapping
from typing import Any, Final

from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Exists, OuterRef

from benchmarks.analysis.verdicts import RULE_SET
from benchmarks.errors import InvalidError
from benchmarks.evidence.reading import Question, evidence_origins
from benchmarks.evidence.records import (
    Changes,
    Record,
    changes,
    question_record,
    study_records,
)
from benchmarks.models import (
    AuditEntry,
    Lab,
    PublishingJob,
    Review,
    ReviewedStudy,
    ReviewFile,
    Signature,
    Study,
    Version,
)
from benchmarks.publishing.making import Stage, note, order
from benchmarks.publishing.publications import new_files
from benchmarks.publishing.versions import latest_versions
from benchmarks.sentences import Sentence
from benchmarks.studies.data_versions import study_version
from benchmarks.text import clean_text
from benchmarks.unattended import queue
from benchmarks.unattended.queue import Jobs, Kind
from benchmarks.viewer import ANYONE, Viewer
from benchmarks.work_classes import WORK_CLASSES

MOST_TITLE: Final = 300
MOST_AUTHORS: Final = 500
MOST_QUESTIONS: Final = 300
WORKS: Final = list(WORK_CLASSES)


def reviewable_studies(viewer: Viewer) -> set[int]:
    """Return the ids of the studies that a review may cover: public or signed ones.

    A signed study has not changed since a version that another lab signed.
    """
    found = set(
        Study.objects.visible_to(ANYONE)
        .filter(deleted_at=None)
        .values_list("pk", flat=True)
    )
    signed = Version.objects.visible_to(viewer).filter(
        Exists(Signature.objects.filter(version=OuterRef("pk"))),
        withdrawn_at=None,
        study__deleted_at=None,
    )
    jobs = PublishingJob.objects.filter(version__in=signed.exclude(study__in=found))
    for job in jobs.select_related("study"):
        if study_version(job.study) == job.data_version:
            found.add(job.study_id)
    return found


def reviewable_questions(viewer: Viewer) -> list[Question]:
    """Return every question that a review of this viewer may include, in order."""
    found = evidence_origins(viewer, studies=reviewable_studies(viewer))
    return sorted(found, key=_order)


@transaction.atomic
def publish_review(
    *,
    lab: Lab,
    viewer: Viewer,
    who: str,
    person: User | None,
    site: str,
    title: str,
    authors: str,
    questions: Collection[Question],
    note: str = "",
    with_flagged: bool = False,
) -> tuple[Review, bool]:
    """Freeze the current public or signed results; return whether the review is new.

    Raise InvalidError without a title, authors or any results.
    """
    stated = {
        "title": clean_text(title.strip(), what=Sentence("title")),
        "authors": clean_text(authors.strip(), what=Sentence("authors")),
        "note": clean_text(note.strip(), what=Sentence("note"), multiline=True),
    }
    _check(stated, questions)
    studies = reviewable_studies(viewer)
    found = evidence_origins(viewer, questions, studies)
    if missing := sorted(set(questions) - found.keys(), key=_order):
        raise InvalidError(
            "review",
            "Nothing that is public or signed was measured of {hypervisor}, "
            "{work}: leave it out.",
            hypervisor=missing[0].hypervisor,
            work=missing[0].work,
        )
    ids = {each.study.pk for parts in found.values() for each in parts}
    versions = latest_versions(viewer, ids)
    content = {
        "with_flagged": with_flagged,
        "questions": [
            question_record(question, found[question], with_flagged=with_flagged)
            for question in sorted(found, key=_order)
        ],
        "studies": study_records(found, versions),
    }
    text = json.dumps([stated, content, RULE_SET], sort_keys=True)
    stamp = hashlib.sha256(text.encode()).hexdigest()
    # The second of two simultaneous requests waits here and finds the first one's.
    Lab.objects.select_for_update(no_key=True).get(pk=lab.pk)
    known = Review.objects.filter(lab=lab, stamp=stamp, withdrawn_at=None).first()
    if known is not None:
        return known, False
    review = Review.objects.create(
        lab=lab,
        **stated,
        person=person,
        published_by=who,
        product_version=settings.VERSION,
        rule_set=RULE_SET,
        content=content,
        stamp=stamp,
        site=site,
    )
    ReviewedStudy.objects.bulk_create(
        ReviewedStudy(review=review, study_id=pk, version=versions.get(pk))
        for pk in sorted(ids)
    )
    order(Kind.REVIEW, review)
    AuditEntry.log(
        lab, AuditEntry.Kind.PUBLISHED, stated["title"], person=person, agent=who
    )
    return review, True


def _check(stated: Mapping[str, str], questions: Collection[Question]) -> None:
    if not stated["title"]:
        raise InvalidError("review", "Give the review a title.")
    if not stated["authors"]:
        raise InvalidError("review", "Name its authors: it will be cited.")
    for name, most in (("title", MOST_TITLE), ("authors", MOST_AUTHORS)):
        if len(stated[name]) > most:
            raise InvalidError(
                "review", "The {field} has more than {n} letters.", field=name, n=most
            )
    if not questions:
        raise InvalidError(
            "review", "Choose at least one hypervisor and class of work."
        )
    if unknown := sorted({it.work for it in questions} - WORK_CLASSES.keys()):
        raise InvalidError(
            "review", "There is no class of work called {name}.", name=unknown[0][:100]
        )
    if len(questions) > MOST_QUESTIONS:
        raise InvalidError(
            "review", "A review has at most {n} questions.", n=MOST_QUESTIONS
        )


@transaction.atomic
def store_review_files(*, review: Review, files: Mapping[str, bytes]) -> None:
    """Store the files of a review, unless another worker has taken over."""
    if not queue.are_mine(review.jobs):
        return
    ReviewFile.objects.bulk_create(new_files(review, files))
    note(review, Stage.DONE, digest=review.digest)
    queue.finish(review.jobs)


def note_review_failed(jobs: Jobs, error: str, is_final: bool) -> None:
    """Show on its page that the files of a review could not be written."""
    rows = Review.objects.filter(pk=jobs[0].subject_id, stage__in=Review.UNFINISHED)
    rows.update(stage=Stage.FAILED)


def changes_since(review: Review) -> Changes:
    """Return the differences between a review and its studies and public ones now.

    The caller checks that the viewer may see the review.
    """
    own = set(review.studies.values_list("pk", flat=True))
    public = set(Study.objects.visible_to(ANYONE).values_list("pk", flat=True))
    content = review.content
    questions = [
        Question(it["hypervisor"], it["work_class"]) for it in questions_of(review)
    ]
    labs = review.studies.values_list("lab_id", flat=True)
    found = evidence_origins(Viewer(frozenset(labs)), questions, own | public)
    now = [
        question_record(
            question, found.get(question, []), with_flagged=content["with_flagged"]
        )
        for question in questions
    ]
    return changes(
        content["questions"], now, content["studies"], study_records(found, {})
    )


def questions_of(review: Review) -> list[Record]:
    """Return the questions of a review with their numbers."""
    records: list[dict[str, Any]] = review.content["questions"]
    return records


def _order(question: Question) -> tuple[str, int]:
    return question.hypervisor, WORKS.index(question.work)
