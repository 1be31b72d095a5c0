"""Error responses have one format and the right status, without internal details."""

import pytest
from django.db import InterfaceError, OperationalError
from django.http import UnreadablePostError

from api.kit import errors
from api.runs import RunsView
from api.urls import urlpatterns


def shape(answer):
    assert answer.headers["Content-Type"] == "application/json"
    body = answer.json()
    assert list(body) == ["code", "detail", "fields"]
    assert body["detail"].endswith(".")
    return answer.status_code, body["code"]


@pytest.mark.parametrize(
    "path",
    [
        "",
        "nothing/",
        "runs",
        "runs/7",
        "runs/x/",
        "runs/-1/",
        "a/b/c/",
        "runs//",
        "a%0Ab/",
        "%00/",
        "studies/a%0D/",
    ],
)
def test_unknown_urls_are_404_in_json(anyone, path):
    answer = anyone.get(path)

    assert shape(answer) == (404, "not_found")
    assert "/api/v1/docs/" in answer.json()["detail"]


@pytest.mark.parametrize("method", ["post", "put", "patch", "delete", "options"])
def test_unknown_urls_are_404_for_every_method(anyone, method):
    assert shape(getattr(anyone.client, method)("/api/v1/nothing/")) == (
        404,
        "not_found",
    )


@pytest.mark.parametrize("method", ["put", "delete", "options", "trace"])
def test_unsupported_methods_are_405(api, db, method):
    answer = getattr(api.client, method)(
        "/api/v1/runs/", headers={"Authorization": f"Token {api.token}"}
    )

    assert shape(answer) == (405, "method_not_allowed")
    assert answer.headers["Allow"] == "GET, POST, HEAD"


@pytest.mark.parametrize(
    "content_type",
    [
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "application/x-ndjson",
        "application/jsonp",
        "",
        "/",
        "application/json/x",
    ],
)
def test_other_content_types_are_415(api, run_document, content_type):
    answer = api.post("runs/", run_document(), content_type=content_type)

    assert shape(answer) == (415, "unsupported_media_type")


def test_content_types_may_have_a_charset(api, run_document):
    answer = api.post(
        "runs/", run_document(), content_type="application/json; charset=utf-8"
    )

    assert answer.status_code == 202


def test_other_accept_headers_are_406(anyone, db):
    answer = anyone.client.get("/api/v1/runs/", headers={"Accept": "text/csv"})

    assert shape(answer) == (406, "not_acceptable")


@pytest.mark.parametrize(
    "path", ["runs/", "runs/1/", "hosts/1/", "health/", "schema/", "studies/x/"]
)
def test_unknown_query_parameters_are_400(anyone, db, path):
    answer = anyone.get(path, nonsense=1)

    assert shape(answer) == (400, "invalid")
    assert list(answer.json()["fields"]) == ["nonsense"]


@pytest.mark.parametrize("lost", [OperationalError, InterfaceError])
def test_a_lost_database_is_503_with_retry_after(anyone, monkeypatch, lost):
    def fail(view, request):
        raise lost("connection to server at 10.1.2.3 failed")

    monkeypatch.setattr(RunsView, "get", fail)

    answer = anyone.get("runs/")

    assert shape(answer) == (503, "database_unavailable")
    assert answer.headers["Retry-After"] == "2"
    assert "10.1.2.3" not in answer.content.decode()


def test_unexpected_errors_are_500_and_logged(anyone, monkeypatch, caplog):
    def fail(view, request):
        raise ZeroDivisionError("secret insides")

    monkeypatch.setattr(RunsView, "get", fail)

    answer = anyone.get("runs/")

    assert shape(answer) == (500, "server_error")
    assert "secret" not in answer.content.decode()
    assert "secret insides" in caplog.text


def test_truncated_bodies_are_400(api, run_document, monkeypatch):
    def break_off(stream, size=-1):
        raise UnreadablePostError("reset by peer")

    monkeypatch.setattr("django.http.request.HttpRequest.read", break_off)

    assert shape(api.post("runs/", run_document())) == (400, "malformed")


def test_the_catch_all_url_is_last():
    assert urlpatterns[-1].name == "unknown"


def test_the_challenge_names_one_scheme():
    assert errors.CHALLENGE.startswith("Token ")
