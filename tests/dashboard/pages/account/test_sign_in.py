"""Signing in and out, and pages that refuse."""

import pytest
from django.test import Client, RequestFactory
from django.views import defaults


def test_a_person_signs_in_and_out(client, person):
    page = client.get("/login/").content.decode()
    assert "Sign in" in page

    answer = client.post(
        "/login/", {"username": "carol", "password": "sesame-open-now", "next": ""}
    )
    assert answer["Location"] == "/"
    assert "carol" in client.get("/").content.decode()

    assert client.post("/logout/")["Location"] == "/"
    assert "carol" not in client.get("/").content.decode()


def test_a_name_typed_in_wide_letters_is_the_same_name(client, person):
    form = {"username": "\uff43arol", "password": "sesame-open-now"}

    assert client.post("/login/", form).status_code == 302


def test_a_wrong_password_is_said_without_saying_which_part(client, person):
    answer = client.post("/login/", {"username": "carol", "password": "wrong"})

    assert "Wrong username or password." in answer.content.decode()


def test_signing_in_leads_back_to_the_page_but_not_to_another_site(client, person):
    form = {"username": "carol", "password": "sesame-open-now"}

    away = client.post("/login/", {**form, "next": "https://evil.example/"})
    client.post("/logout/")
    back = client.post("/login/", {**form, "next": "/runs/1/"})

    assert (away["Location"], back["Location"]) == ("/", "/runs/1/")


def test_a_form_without_its_mark_is_refused_with_a_page(person):
    answer = Client(enforce_csrf_checks=True).post("/login/", {"username": "carol"})

    assert answer.status_code == 403
    assert "This form has expired" in answer.content.decode()


def test_signing_out_takes_a_form(client, person):
    client.force_login(person)

    answer = client.get("/logout/")

    assert (answer.status_code, answer["Allow"]) == (405, "POST, OPTIONS")
    assert '<p class="message-code" aria-hidden="true">405</p>' in answer.text


def test_the_api_keeps_its_own_words_for_a_wrong_method(client, db):
    answer = client.delete("/api/v1/studies/")

    assert (answer.status_code, answer.json()["code"]) == (405, "method_not_allowed")


@pytest.mark.parametrize(
    ("view", "arguments", "status", "words"),
    [
        (defaults.bad_request, [ValueError()], 400, "This request makes no sense"),
        (defaults.permission_denied, [ValueError()], 403, "Not allowed"),
        (defaults.page_not_found, [ValueError()], 404, "There is nothing here"),
        (defaults.server_error, [], 500, "Something broke on our side"),
    ],
)
def test_each_error_has_a_page_of_ours(view, arguments, status, words):
    answer = view(RequestFactory().get("/"), *arguments)

    assert answer.status_code == status
    assert words in answer.content.decode()
    assert "virtlab.css" in answer.content.decode()
