"""/saved-views/: an agent shares a view with its lab."""

import pytest


def test_an_agent_shares_a_view_with_its_lab(api, reader, stranger):
    body = {"name": "Integer", "address": "/compare/?work=cpu-integer"}

    answer = api.post("saved-views/", body)

    assert answer.status_code == 201
    (seen,) = reader.get("saved-views/").json()["results"]
    assert seen == answer.json()
    assert (seen["lab"], seen["who"]) == ("alpha-lab", "alice")
    assert seen["page"] == "http://testserver/compare/?work=cpu-integer"
    assert stranger.get("saved-views/").json()["results"] == []


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"name": "x", "address": "https://evil.example/compare/"}, 422),
        ({"name": "x"}, 400),
        ({"name": "x", "address": "/compare/", "lab": "beta-lab"}, 400),
    ],
)
def test_what_is_no_view_is_refused(api, body, status):
    assert api.post("saved-views/", body).status_code == status
