"""A review from the form over the worker to its page, and withdrawn."""

import hashlib
import json
from datetime import timedelta

import pytest
from django.contrib.auth import get_user_model

from benchmarks.models import Membership, Review
from benchmarks.studies import checking
from benchmarks.unattended import queue
from tests import publishing

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
    """A Xen guest beside its machine, six runs a side."""
    submit(
        *(run_document(value) for value in NATIVE),
        *(run_document(value, system=xen) for value in SLOW),
    )
    checking.check_due_studies(timedelta(0))


@pytest.fixture
def keeper(client, person):
    client.force_login(person)
    return client


@pytest.fixture
def review(measured, lab):
    return publishing.reviewed(lab)


def test_what_is_posted_is_published_once_and_handed_to_a_worker(
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


def test_a_worker_writes_its_files_which_its_page_hands_out(keeper, measured):
    page = keeper.post(FORM, ASKED).url
    review = Review.objects.get()

    queue.run("review", review.pk)

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


def test_a_worker_that_is_told_twice_writes_once(keeper, measured):
    keeper.post(FORM, ASKED)
    review = Review.objects.get()
    queue.run("review", review.pk)
    before = {file.pk: file.digest for file in review.files.all()}

    queue.run("review", review.pk)

    assert {file.pk: file.digest for file in review.files.all()} == before
    review.refresh_from_db()
    assert review.stage == Review.Stage.DONE


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"title": " "}, "Give the review a title."),
        ({"authors": ""}, "Name its authors"),
        ({"question": []}, "Choose at least one hypervisor"),
        ({"question": ["KVM/disk-fsync"]}, "Nothing that is public or signed"),
        ({"question": ["Xen/cooking"]}, "There is no class of work called cooking."),
        ({"question": ["nonsense"]}, "There is no class of work called nonsense."),
    ],
)
def test_what_cannot_be_published_is_told_above_what_was_typed(
    keeper, measured, change, words
):
    answer = keeper.post(FORM, {**ASKED, **change})

    assert answer.status_code == 422
    page = answer.content.decode()
    assert words in page
    assert "For a talk." in page
    assert not Review.objects.exists()


def test_a_lab_that_is_not_ones_own_is_not_there(keeper, measured, other_lab):
    assert keeper.post(FORM, {**ASKED, "lab": other_lab.slug}).status_code == 404


def test_who_has_not_signed_in_is_asked_to_first(client, measured):
    assert client.post(FORM, ASKED).url.startswith("/login/")
    assert not Review.objects.exists()


def test_the_form_has_what_was_looked_at_ticked(keeper, measured):
    page = keeper.get(FORM, {"hypervisor": "Xen", "work": WORK}).content.decode()

    ticked = [line for line in page.splitlines() if f'value="Xen/{WORK}"' in line]
    assert len(ticked) == 1
    assert " checked" in page[page.index(ticked[0]) :][:300]


def test_a_keeper_withdraws_it_with_a_reason_and_its_files_stay(keeper, review):
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
def test_nobody_else_withdraws_it(client, review, lab, role):
    dave = get_user_model().objects.create_user("dave", password="sesame-open-now")
    if role is not None:
        Membership.objects.create(lab=lab, user=dave, role=role)
    client.force_login(dave)

    answer = client.post(f"/reviews/{review.pk}/withdraw/", {"reason": "Envy."})

    assert answer.status_code in (403, 404)
    review.refresh_from_db()
    assert review.withdrawn_at is None
    assert "/withdraw/" not in client.get(f"/reviews/{review.pk}/").content.decode()


def test_it_is_in_the_list_of_reviews(client, review):
    assert f'href="/reviews/{review.pk}/"' in client.get("/reviews/").content.decode()


def test_a_review_that_is_not_there_is_not_found(client, db):
    assert client.get("/reviews/9/").status_code == 404
    assert client.get("/reviews/9/files/review.csv").status_code == 404
