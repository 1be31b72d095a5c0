"""/reviews/: publication and withdrawal."""

from datetime import timedelta

import pytest

from benchmarks.models import Review
from benchmarks.studies import checking

WORK = "network-throughput-out"
QUESTION = {"hypervisor": "Xen", "work_class": WORK}
REVIEW = {"title": "Xen", "authors": "Doe, Jane", "questions": [QUESTION]}
WITHDRAWAL = {"withdrawal_reason": "A cable was loose."}


@pytest.fixture
def published(api, submit, run_document, xen):
    """Publish a review of current runs on Xen; return its URL."""
    submit(
        *(run_document(value) for value in (100.0, 100.4, 99.7)),
        *(run_document(value, system=xen) for value in (80.0, 80.3, 79.9)),
    )
    checking.check_due_studies(timedelta(0))
    answer = api.post("reviews/", REVIEW)
    assert answer.status_code == 201
    return f"reviews/{answer.json()['id']}/"


def test_labs_can_withdraw_reviews_with_a_reason(api, anyone, published):
    answer = api.patch(published, WITHDRAWAL)

    assert answer.status_code == 200
    assert answer.json() == anyone.get(published).json()
    assert answer.json()["withdrawal_reason"] == "A cable was loose."
    assert answer.json()["withdrawn_at"]
    assert Review.objects.get().withdrawn_by == "alice"


def test_withdrawn_reviews_have_the_same_numbers(api, anyone, published):
    before = anyone.get(published).json()["questions"]

    api.patch(published, WITHDRAWAL)

    assert anyone.get(published).json()["questions"] == before


def test_withdrawn_reviews_can_be_published_again(api, published):
    api.patch(published, WITHDRAWAL)

    assert api.post("reviews/", REVIEW).status_code == 201


@pytest.mark.parametrize(
    ("given", "status"),
    [
        ({}, 400),
        ({"withdrawal_reason": ""}, 400),
        ({"title": "Another"}, 400),
        ({**WITHDRAWAL, "title": "Another"}, 400),
    ],
)
def test_invalid_withdrawals_are_rejected(api, published, given, status):
    assert api.patch(published, given).status_code == status
    assert Review.objects.get().withdrawn_at is None


def test_reasons_cannot_be_changed(api, published):
    api.patch(published, WITHDRAWAL)

    assert api.patch(published, {"withdrawal_reason": "Again."}).status_code == 422
    assert Review.objects.get().withdrawal_reason == "A cable was loose."


def test_other_clients_cannot_withdraw_reviews(stranger, reader, anyone, published):
    assert stranger.patch(published, WITHDRAWAL).status_code == 404
    assert reader.patch(published, WITHDRAWAL).status_code == 403
    assert anyone.patch(published, WITHDRAWAL).status_code == 401
    assert Review.objects.get().withdrawn_at is None
