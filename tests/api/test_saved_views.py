"""/saved-views/: views that agents share with their lab."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection

from benchmarks.collaboration.saved_views import save_view
from benchmarks.models import SavedView


def test_agents_can_share_views_with_their_lab(api, reader, stranger):
    body = {"name": "Integer", "path": "/compare/?work=cpu-integer"}

    answer = api.post("saved-views/", body)

    assert answer.status_code == 201
    (seen,) = reader.get("saved-views/").json()["results"]
    assert seen == answer.json()
    assert (seen["lab"], seen["saved_by"]) == ("alpha-lab", "alice")
    assert seen["page_url"] == "http://testserver/compare/?work=cpu-integer"
    assert stranger.get("saved-views/").json()["results"] == []


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"name": "x", "path": "https://evil.example/compare/"}, 422),
        ({"name": "x"}, 400),
        ({"name": "x", "path": "/compare/", "lab": "beta-lab"}, 400),
    ],
)
def test_invalid_views_are_rejected(api, body, status):
    assert api.post("saved-views/", body).status_code == status


def test_views_can_be_read_changed_and_deleted(api, token, other_token, read_token):
    made = api.post("saved-views/", {"name": "One", "path": "/evidence/"}, token=token)
    url = f"saved-views/{made.json()['id']}/"
    assert made["Location"].endswith(f"/api/v1/{url}")
    assert api.get(url, token=read_token).json()["name"] == "One"

    changed = api.patch(url, {"name": "Two"}, token=token).json()
    assert (changed["name"], changed["path"]) == ("Two", "/evidence/")
    assert api.patch(url, {"path": "/labs/"}, token=token).status_code == 422
    assert api.patch(url, {}, token=token).status_code == 400

    assert api.get(url, token=other_token).status_code == 404
    assert api.send("delete", url, {}, other_token).status_code == 404
    assert api.send("delete", url, {}, read_token).status_code == 403
    assert api.send("delete", url, {}, token).status_code == 204
    assert api.get(url, token=read_token).status_code == 404


@pytest.mark.django_db(transaction=True)
def test_simultaneous_views_of_one_name_are_one_view(lab):
    def save(number):
        try:
            path = f"/compare/?q={number}"
            save_view(name="Same", path=path, person=None, lab=lab, agent="a")
        finally:
            connection.close()

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(save, range(8)))

    assert SavedView.objects.filter(lab=lab, name="Same").count() == 1
