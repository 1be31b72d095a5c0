"""Sessions: the cookie signs in, the content of the database does not."""

import pytest
from django.contrib.sessions.models import Session
from django.test import Client
from django.utils import timezone

from config.session_store import SessionStore, row_key


@pytest.fixture
def inside(client, person):
    """The browser of Carol, signed in."""
    assert client.login(username="carol", password="sesame-open-now")
    return client


def with_cookie(key):
    browser = Client()
    browser.cookies["sessionid"] = key
    return browser.get("/account/").status_code


def test_cookie_signs_in_but_the_stored_key_does_not(inside):
    key = inside.cookies["sessionid"].value
    stored = Session.objects.get()

    assert with_cookie(key) == 200
    assert with_cookie(stored.session_key) == 302
    assert key not in f"{stored.session_key} {stored.session_data}"


def test_session_is_updated_under_the_same_key(inside):
    session = inside.session
    session["seen"] = 1
    session.save()

    assert SessionStore(session.session_key)["seen"] == 1
    assert Session.objects.count() == 1


def test_signing_out_deletes_the_session(inside):
    key = inside.cookies["sessionid"].value
    inside.post("/logout/")

    assert not Session.objects.exists()
    assert with_cookie(key) == 302


def test_signing_in_changes_the_key_and_deletes_the_old_one(client, person):
    old = SessionStore()
    old["invitation"] = 1
    old.create()
    client.cookies["sessionid"] = old.session_key
    client.force_login(person)

    assert client.cookies["sessionid"].value != old.session_key
    assert [session.session_key for session in Session.objects.all()] == [
        row_key(client.cookies["sessionid"].value)
    ]


def test_expired_session_signs_nobody_in(inside):
    key = inside.cookies["sessionid"].value
    Session.objects.update(expire_date=timezone.now())

    assert with_cookie(key) == 302


def test_session_is_found_only_by_its_key(inside):
    key = inside.cookies["sessionid"].value

    assert SessionStore().exists(key)
    assert not SessionStore().exists(row_key(key))
