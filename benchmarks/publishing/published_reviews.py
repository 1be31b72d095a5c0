"""Publication of reviews (frozen evidence of several studies), and later changes."""

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
from benchmarks.evidence.json_records import (
    Record,
    ReviewChanges,
    question_record,
    review_changes,
    study_records,
)
from benchmarks.evidence.queries import Question, study_averages_by_question
from benchmarks.jobs import queue
from benchmarks.jobs.queue import JobKind, Jobs
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
from benchmarks.publishing.generation_requests import (
    Stage,
    request_generation,
    set_stage,
)
from benchmarks.publishing.publications import unsaved_files
from benchmarks.publishing.versions import latest_versions
from benchmarks.sentences import Sentence
from benchmarks.studies.data_versions import study_version
from benchmarks.text_validation import clean_text
from benchmarks.viewer import ANYONE, Viewer
from benchmarks.work_classes import WORK_CLASSES

MAX_TITLE: Final = 300
MAX_AUTHORS_LENGTH: Final = 500
MAX_QUESTIONS: Final = 300
WORK_CLASS_ORDER: Final = list(WORK_CLASSES)


def reviewable_studies(viewer: Viewer) -> set[int]:
    """Return the ids of studies that a review may cover: public or signed ones.

    A study counts as signed if it has not changed since a version that another lab
    signed.
    """
    ids = set(
        Study.objects.visible_to(ANYONE)
        .filter(deleted_at=None)
        .values_list("pk", flat=True)
    )
    signed = Version.objects.visible_to(viewer).filter(
        Exists(Signature.objects.filter(version=OuterRef("pk"))),
        withdrawn_at=None,
        study__deleted_at=None,
    )
    jobs = PublishingJob.objects.filter(version__in=signed.exclude(study__in=ids))
    for job in jobs.select_related("study"):
        if study_version(job.study) == job.data_version:
            ids.add(job.study_id)
    return ids


def reviewable_questions(viewer: Viewer) -> list[Question]:
    averages = study_averages_by_question(viewer, studies=reviewable_studies(viewer))
    return sorted(averages, key=_order)


@transaction.atomic
def publish_review(
    *,
    lab: Lab,
    viewer: Viewer,
    actor: str,
    person: User | None,
    site_url: str,
    title: str,
    authors: str,
    questions: Collection[Question],
    note: str = "",
    without_doubtful: bool = False,
) -> tuple[Review, bool]:
    """Publish a review of public or signed results; return whether it is new.

    An equal review of the lab is returned instead. Raise InvalidError without a title,
    authors or any results.
    """
    stated = {
        "title": clean_text(title.strip(), label=Sentence("title")),
        "authors": clean_text(authors.strip(), label=Sentence("authors")),
        "note": clean_text(note.strip(), label=Sentence("note"), multiline=True),
    }
    _check(stated, questions)
    studies = reviewable_studies(viewer)
    averages = study_averages_by_question(viewer, questions, studies)
    if missing := sorted(set(questions) - averages.keys(), key=_order):
        raise InvalidError(
            "invalid_review",
            "No public or signed results exist for {hypervisor}, {work}. Leave out "
            "this combination.",
            hypervisor=missing[0].hypervisor,
            work=missing[0].work_class,
        )
    ids = {average.study.pk for parts in averages.values() for average in parts}
    versions = latest_versions(viewer, ids)
    content = {
        "without_doubtful": without_doubtful,
        "questions": [
            question_record(
                question, averages[question], without_doubtful=without_doubtful
            )
            for question in sorted(averages, key=_order)
        ],
        "studies": study_records(averages, versions),
    }
    text = json.dumps([stated, content, RULE_SET], sort_keys=True)
    stamp = hashlib.sha256(text.encode()).hexdigest()
    # Lock the lab so that concurrent requests do not create two equal reviews.
    Lab.objects.select_for_update(no_key=True).get(pk=lab.pk)
    existing = Review.objects.filter(
        lab=lab, request_digest=stamp, withdrawn_at=None
    ).first()
    if existing is not None:
        return existing, False
    review = Review.objects.create(
        lab=lab,
        **stated,
        person=person,
        published_by=actor,
        product_version=settings.VERSION,
        rule_set=RULE_SET,
        content=content,
        request_digest=stamp,
        site_url=site_url,
    )
    ReviewedStudy.objects.bulk_create(
        ReviewedStudy(review=review, study_id=pk, version=versions.get(pk))
        for pk in sorted(ids)
    )
    request_generation(JobKind.REVIEW, review)
    AuditEntry.log(
        lab, AuditEntry.Kind.PUBLISHED, stated["title"], person=person, agent=actor
    )
    return review, True


def _check(texts: Mapping[str, str], questions: Collection[Question]) -> None:
    if not texts["title"]:
        raise InvalidError("invalid_review", "Enter a title for the review.")
    if not texts["authors"]:
        raise InvalidError(
            "invalid_review", "Enter the authors, because the review will be cited."
        )
    for name, limit in (("title", MAX_TITLE), ("authors", MAX_AUTHORS_LENGTH)):
        if len(texts[name]) > limit:
            raise InvalidError(
                "invalid_review",
                "The {field} has more than {n} characters.",
                field=name,
                n=limit,
            )
    if not questions:
        raise InvalidError(
            "invalid_review", "Choose at least one hypervisor and one work class."
        )
    if unknown := sorted(
        {question.work_class for question in questions} - WORK_CLASSES.keys()
    ):
        raise InvalidError(
            "invalid_review", "Unknown work class: {name}.", name=unknown[0][:100]
        )
    if len(questions) > MAX_QUESTIONS:
        raise InvalidError(
            "invalid_review",
            "A review can have at most {n} combinations of hypervisor and work class.",
            n=MAX_QUESTIONS,
        )


@transaction.atomic
def store_review_files(*, review: Review, files: Mapping[str, bytes]) -> None:
    """Store the files of a review unless another worker has claimed its job."""
    if not queue.are_claimed(review.claimed_jobs):
        return
    ReviewFile.objects.bulk_create(unsaved_files(review, files))
    set_stage(review, Stage.DONE, digest=review.digest)
    queue.finish(review.claimed_jobs)


def record_review_failure(jobs: Jobs, error: str, is_final: bool) -> None:
    rows = Review.objects.filter(pk=jobs[0].subject_id, stage__in=Review.UNFINISHED)
    rows.update(stage=Stage.FAILED)


def changes_since(review: Review) -> ReviewChanges:
    """Compare a review with the present results of its studies and public ones.

    The caller checks visibility.
    """
    reviewed = set(review.studies.values_list("pk", flat=True))
    public = set(Study.objects.visible_to(ANYONE).values_list("pk", flat=True))
    content = review.content
    questions = [
        Question(record["hypervisor"], record["work_class"])
        for record in review_questions(review)
    ]
    labs = review.studies.values_list("lab_id", flat=True)
    averages = study_averages_by_question(
        Viewer(frozenset(labs)), questions, reviewed | public
    )
    now = [
        question_record(
            question,
            averages.get(question, []),
            without_doubtful=review.excludes_doubtful,
        )
        for question in questions
    ]
    return review_changes(
        content["questions"], now, content["studies"], study_records(averages, {})
    )


def review_questions(review: Review) -> list[Record]:
    records: list[dict[str, Any]] = review.content["questions"]
    return records


def _order(question: Question) -> tuple[str, int]:
    return question.hypervisor, WORK_CLASS_ORDER.index(question.work_class)
