"""/comments/: comments can be written, listed, edited and removed."""

import pytest
from django.contrib.auth import get_user_model

from benchmarks.models import Cell, Comment, CommentRevision, Membership, Run

TEXT = "31 °C.\nSee https://example.org/log"


def listed(api, **query):
    return [row["text"] for row in api.get("comments/", **query).json()["results"]]


def test_comments_are_listed_by_subject(api, anyone, measured):
    run, cell = Run.objects.first().pk, Cell.objects.first().pk
    for about in ({"study": "study"}, {"run": run}, {"cell": cell}):
        answer = api.post("comments/", {**about, "text": f"{TEXT} {about}"})
        assert answer.status_code == 201, answer.json()
        assert anyone.get(answer["Location"].partition("/api/v1/")[2]).json()["text"]

    assert len(listed(anyone, study="study")) == 3
    assert listed(anyone, run=run) == [f"{TEXT} {{'run': {run}}}"]
    assert listed(anyone, cell=cell) == [f"{TEXT} {{'cell': {cell}}}"]


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"text": "x"}, 400),
        ({"study": "study", "run": 1, "text": "x"}, 400),
        ({"study": "study"}, 400),
        ({"study": "study", "text": ""}, 400),
        ({"study": "study", "text": "  \n"}, 422),
        ({"study": "study", "text": "a\u202eb"}, 400),
        ({"study": "study", "text": "x" * 10_001}, 400),
        ({"study": "missing", "text": "x"}, 404),
        ({"run": 999_999, "text": "x"}, 404),
        ({"cell": 999_999, "text": "x"}, 404),
    ],
)
def test_invalid_comments_are_rejected(api, study, body, status):
    assert api.post("comments/", body).status_code == status
    assert not Comment.objects.exists()


def test_labs_can_comment_only_on_what_they_see(stranger, study, private_study):
    seen = stranger.post("comments/", {"study": "study", "text": "x"})
    hidden = stranger.post(
        "comments/", {"study": "alpha-lab/secret-study", "text": "x"}
    )

    assert (seen.status_code, hidden.status_code) == (201, 404)
    assert seen.json()["lab"] == "alpha-lab"


def test_writing_requires_an_upload_token(anyone, reader, study):
    body = {"study": "study", "text": "x"}

    assert anyone.post("comments/", body).status_code == 401
    assert reader.post("comments/", body).status_code == 403


def test_authors_can_edit_and_remove_and_revisions_are_stored(
    api, stranger, anyone, person, study
):
    written = api.post("comments/", {"study": "study", "text": "a"}).json()
    url = f"comments/{written['id']}/"

    refused = stranger.patch(url, {"text": "b"})
    edited = api.patch(url, {"text": "b"})
    removed = api.patch(url, {"removed": True})

    assert refused.status_code == 422
    assert refused.json()["code"] == "invalid_comment"
    assert (edited.json()["text"], removed.json()["text"]) == ("b", "")
    assert [row["text"] for row in removed.json()["revisions"]] == ["a", "b"]
    assert anyone.get(url).json()["revisions"] == []
    assert stranger.get(url).json()["revisions"] == []
    # Maintainers cannot read earlier texts, but signed-in admins can.
    anyone.client.force_login(person)
    assert anyone.get(url).json()["revisions"] == []
    Membership.objects.update(role="admin")
    assert len(anyone.get("comments/").json()["results"][0]["revisions"]) == 2
    assert CommentRevision.objects.count() == 2


@pytest.mark.parametrize(
    "body", [{}, {"removed": False}, {"text": "a", "removed": True}]
)
def test_changes_are_a_text_or_a_removal(api, study, body):
    number = api.post("comments/", {"study": "study", "text": "a"}).json()["id"]

    assert api.patch(f"comments/{number}/", body).status_code == 400


def test_query_count_is_independent_of_comments(
    anyone, api, study, django_assert_num_queries
):
    get_user_model().objects.create_user("zoe")
    for _ in range(3):
        api.post("comments/", {"study": "study", "text": "a"})

    with django_assert_num_queries(1):
        assert len(listed(anyone)) == 3
