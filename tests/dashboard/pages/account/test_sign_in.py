"""Sign-in, sign-out and error pages."""

import pytest
from django.test import Client, RequestFactory
from django.views import defaults


def test_user_signs_in_and_out(client, person):
    page = client.get("/login/").content.decode()
    assert "Sign in" in page

    answer = client.post(
        "/login/", {"username": "carol", "password": "sesame-open-now", "next": ""}
    )
    assert answer["Location"] == "/"
    assert "carol" in client.get("/").content.decode()

    assert client.post("/logout/")["Location"] == "/"
    assert "carol" not in client.get("/").content.decode()


def test_full_width_name_is_normalized(client, person):
    form = {"username": "\uff43arol", "password": "sesame-open-now"}

    assert client.post("/login/", form).status_code == 302


def test_wrong_password_error_does_not_reveal_user(client, person):
    answer = client.post("/login/", {"username": "carol", "password": "wrong"})

    assert "Wrong username or password." in answer.content.decode()


def test_sign_in_redirects_to_page_of_same_site_only(client, person):
    form = {"username": "carol", "password": "sesame-open-now"}

    away = client.post("/login/", {**form, "next": "https://evil.example/"})
    client.post("/logout/")
    back = client.post("/login/", {**form, "next": "/runs/1/"})

    assert (away["Location"], back["Location"]) == ("/", "/runs/1/")


def test_csrf_failure_has_page(person):
    answer = Client(enforce_csrf_checks=True).post("/login/", {"username": "carol"})

    assert answer.status_code == 403
    assert "This form has expired" in answer.content.decode()


def test_sign_out_needs_post(client, person):
    client.force_login(person)

    answer = client.get("/logout/")

    assert (answer.status_code, answer["Allow"]) == (405, "POST, OPTIONS")
    assert '<p class="error-code" aria-hidden="true">405</p>' in answer.text


def test_api_has_own_message_for_wrong_method(client, db):
    answer = client.delete("/api/v1/studies/")

    assert (answer.status_code, answer.json()["code"]) == (405, "method_not_allowed")


@pytest.mark.parametrize(
    ("view", "arguments", "status", "words"),
    [
        (defaults.bad_request, [ValueError()], 400, "Invalid request"),
        (defaults.permission_denied, [ValueError()], 403, "Permission denied"),
        (defaults.page_not_found, [ValueError()], 404, "Page not found"),
        (defaults.server_error, [], 500, "Internal error"),
    ],
)
def test_each_error_has_page(view, arguments, status, words):
    answer = view(RequestFactory().get("/"), *arguments)

    assert answer.status_code == status
    assert words in answer.content.decode()
    assert "virtlab.css" in answer.content.decode()
