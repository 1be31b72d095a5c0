"""Reviews: form, worker, page and withdrawal."""

import hashlib
import json
from datetime import timedelta

import pytest
from django.contrib.auth import get_user_model

from benchmarks.jobs import queue
from benchmarks.models import Membership, Review
from benchmarks.studies import checking
from tests import publications
from tests.upload_documents import interleaved

FORM = "/reviews/new/"
WORK = "network-throughput-out"
NATIVE = (100.0, 100.4, 99.7, 100.1, 99.9, 100.2)
SLOW = (80.0, 80.3, 79.9, 80.1, 79.8, 80.2)
ASKED = {
    "lab": "alpha-lab",
    "title": "What Xen costs",
    "authors": "Doe, Jane",
    "note": "For a talk.",
    "question": [f"Xen/{WORK}"],
}


@pytest.fixture
def measured(submit, run_document, xen):
    """Measure a Xen guest and its machine, six runs each."""
    submit(
        *interleaved(
            (run_document(value) for value in NATIVE),
            (run_document(value, system=xen) for value in SLOW),
        )
    )
    checking.check_due_studies(timedelta(0))


@pytest.fixture
def keeper(client, person):
    client.force_login(person)
    return client


@pytest.fixture
def review(measured, lab):
    return publications.reviewed(lab)


def test_viewers_cannot_publish_reviews(keeper, person, measured):
    Membership.objects.filter(user=person).update(role="viewer")

    assert keeper.get(FORM).status_code == 404
    assert keeper.post(FORM, ASKED).status_code == 404
    assert not Review.objects.exists()


def test_review_is_published_once_and_queued(
    keeper, measured, django_capture_on_commit_callbacks
):
    with django_capture_on_commit_callbacks() as handed_over:
        answer = keeper.post(FORM, ASKED)
    with django_capture_on_commit_callbacks() as again:
        second = keeper.post(FORM, ASKED)

    review = Review.objects.get()
    assert answer.url == second.url == f"/reviews/{review.pk}/"
    assert (len(handed_over), len(again)) == (1, 0)
    assert (review.title, review.published_by) == ("What Xen costs", "carol")
    assert not review.digest


def test_worker_writes_files_for_download(keeper, measured):
    page = keeper.post(FORM, ASKED).url
    review = Review.objects.get()

    queue.run_due_jobs("review", review.pk)

    names = {file.name for file in review.files.all()}
    texts = {f"review.{form}" for form in ("csv", "json", "tex", "md", "bib")}
    plots = {f"xen-{WORK}.{form}" for form in ("svg", "pdf", "png")}
    assert names == texts | plots
    shown = keeper.get(page).content.decode()
    for file in review.files.all():
        assert f"{page}files/{file.name}" in shown
        answer = keeper.get(f"{page}files/{file.name}")
        assert hashlib.sha256(answer.content).hexdigest() == file.digest
    (question,) = json.loads(keeper.get(f"{page}files/review.json").content)[
        "questions"
    ]
    assert question["pool"]["mean"] == pytest.approx(0.8, rel=0.01)


def test_repeated_task_writes_once(keeper, measured):
    keeper.post(FORM, ASKED)
    review = Review.objects.get()
    queue.run_due_jobs("review", review.pk)
    before = {file.pk: file.digest for file in review.files.all()}

    queue.run_due_jobs("review", review.pk)

    assert {file.pk: file.digest for file in review.files.all()} == before
    review.refresh_from_db()
    assert review.stage == Review.Stage.DONE


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"title": " "}, "Enter a title for the review."),
        ({"authors": ""}, "Enter the authors"),
        ({"question": []}, "Choose at least one hypervisor"),
        ({"question": ["KVM/disk-fsync"]}, "No public or signed results"),
        ({"question": ["Xen/cooking"]}, "Unknown work class: cooking."),
        ({"question": ["nonsense"]}, "Unknown work class: nonsense."),
    ],
)
def test_errors_are_shown_and_input_is_kept(keeper, measured, change, words):
    answer = keeper.post(FORM, {**ASKED, **change})

    assert answer.status_code == 422
    page = answer.content.decode()
    assert words in page
    assert "For a talk." in page
    assert not Review.objects.exists()


def test_other_lab_is_404(keeper, measured, other_lab):
    assert keeper.post(FORM, {**ASKED, "lab": other_lab.slug}).status_code == 404


def test_form_requires_sign_in(client, measured):
    assert client.post(FORM, ASKED).url.startswith("/login/")
    assert not Review.objects.exists()


def test_form_preselects_visited_questions(keeper, measured):
    page = keeper.get(FORM, {"hypervisor": "Xen", "work": WORK}).content.decode()

    ticked = [line for line in page.splitlines() if f'value="Xen/{WORK}"' in line]
    assert len(ticked) == 1
    assert " checked" in page[page.index(ticked[0]) :][:300]


def test_editor_withdraws_review_and_files_stay(keeper, review):
    place = f"/reviews/{review.pk}/"
    assert f'action="{place}withdraw/"' in keeper.get(place).content.decode()

    refused = keeper.post(f"{place}withdraw/", {"reason": " "}, follow=True)
    withdrawn = keeper.post(f"{place}withdraw/", {"reason": "A slip."}, follow=True)

    assert "Give a reason" in refused.content.decode()
    shown = withdrawn.content.decode()
    assert "A slip." in shown
    assert "Withdrawn on" in shown
    assert f'action="{place}withdraw/"' not in shown
    assert keeper.get(f"{place}files/review.csv").status_code == 200


@pytest.mark.parametrize("role", [None, Membership.Role.VIEWER])
def test_others_cannot_withdraw(client, review, lab, role):
    dave = get_user_model().objects.create_user("dave", password="sesame-open-now")
    if role is not None:
        Membership.objects.create(lab=lab, user=dave, role=role)
    client.force_login(dave)

    answer = client.post(f"/reviews/{review.pk}/withdraw/", {"reason": "Envy."})

    assert answer.status_code in (403, 404)
    review.refresh_from_db()
    assert review.withdrawn_at is None
    assert "/withdraw/" not in client.get(f"/reviews/{review.pk}/").content.decode()


def test_review_is_listed(client, review):
    assert f'href="/reviews/{review.pk}/"' in client.get("/reviews/").content.decode()


def test_unknown_review_is_404(client, db):
    assert client.get("/reviews/9/").status_code == 404
    assert client.get("/reviews/9/files/review.csv").status_code == 404
