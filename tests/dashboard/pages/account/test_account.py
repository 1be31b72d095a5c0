"""A user's account: password, sessions and limited attempts."""

import uuid

import pytest
from django.contrib.auth import authenticate, get_user_model
from django.test import Client

from benchmarks.labs.sign_in_throttle import TRIES_PER_NAME
from benchmarks.models import Membership

PASSWORD = "sesame-open-now"


@pytest.fixture
def dora(lab):
    """Return a user with a new name, for which no failed attempts are counted."""
    name = f"dora-{uuid.uuid4()}"
    user = get_user_model().objects.create_user(name, password=PASSWORD)
    Membership.objects.create(lab=lab, user=user, role="viewer")
    return user


@pytest.fixture
def browsers(dora):
    """Return two browsers in which Dora is signed in."""
    pair = Client(), Client()
    for browser in pair:
        assert browser.login(username=dora.username, password=PASSWORD)
    return pair


def sign_in(client, user, password):
    form = {"username": user.username, "password": password}
    return client.post("/login/", form)


def test_shows_labs_of_user(browsers):
    page = browsers[0].get("/account/").text

    assert "Alpha lab" in page
    assert "viewer" in page


def test_password_change_ends_other_sessions(browsers, dora):
    here, there = browsers
    new = "another-long-password"

    form = {"old_password": PASSWORD, "new_password1": new, "new_password2": new}
    answer = here.post("/account/password/", form, follow=True)

    assert "Your password was changed." in answer.text
    assert there.get("/account/").status_code == 302
    assert authenticate(username=dora.username, password=new) == dora


def test_password_change_validates_both_passwords(browsers):
    form = {"old_password": "wrong", "new_password1": "short", "new_password2": "short"}

    page = browsers[0].post("/account/password/", form).text

    assert "incorrectly" in page
    assert "too short" in page


def test_sign_out_everywhere_ends_all_sessions(browsers):
    here, there = browsers

    wrong = here.post("/account/sign-out-everywhere/", {"password": "wrong"})
    assert wrong.status_code == 422
    assert "Wrong password." in wrong.text
    assert there.get("/account/").status_code == 200

    answer = here.post("/account/sign-out-everywhere/", {"password": PASSWORD})
    assert answer["Location"] == "/login/"
    assert "signed out everywhere" in here.get("/login/").text
    assert there.get("/account/").status_code == 302


def test_sign_in_attempts_are_limited(client, dora):
    for _ in range(TRIES_PER_NAME):
        assert sign_in(client, dora, "wrong").status_code == 200

    answer = sign_in(client, dora, PASSWORD)

    assert answer.status_code == 429
    assert 0 < int(answer["Retry-After"]) <= 900
    assert "15 min" in answer.text
    assert client.get("/account/").status_code == 302


@pytest.mark.parametrize("place", ["password", "sign-out-everywhere"])
def test_password_attempts_of_signed_in_user_are_limited(browsers, place):
    address = f"/account/{place}/"
    for _ in range(TRIES_PER_NAME):
        browsers[0].post(address, {"password": "wrong", "old_password": "wrong"})

    answer = browsers[0].post(address, {"password": PASSWORD})

    assert answer.status_code == 429


def test_correct_passwords_are_never_limited(client, dora):
    for _ in range(2 * TRIES_PER_NAME):
        assert sign_in(client, dora, PASSWORD).status_code == 302
        client.post("/logout/")
