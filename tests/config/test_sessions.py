"""Sessions: the cookie signs in, what the database holds does not."""

import pytest
from django.contrib.sessions.models import Session
from django.test import Client
from django.utils import timezone

from config.sessions import SessionStore, row_key


@pytest.fixture
def inside(client, person):
    """Carol's browser."""
    assert client.login(username="carol", password="sesame-open-now")
    return client


def with_cookie(key):
    browser = Client()
    browser.cookies["sessionid"] = key
    return browser.get("/account/").status_code


def test_the_cookie_signs_in_and_what_the_database_holds_does_not(inside):
    key = inside.cookies["sessionid"].value
    stored = Session.objects.get()

    assert with_cookie(key) == 200
    assert with_cookie(stored.session_key) == 302
    assert key not in f"{stored.session_key} {stored.session_data}"


def test_it_is_written_again_under_the_same_key(inside):
    session = inside.session
    session["seen"] = 1
    session.save()

    assert SessionStore(session.session_key)["seen"] == 1
    assert Session.objects.count() == 1


def test_signing_out_deletes_it(inside):
    key = inside.cookies["sessionid"].value
    inside.post("/logout/")

    assert not Session.objects.exists()
    assert with_cookie(key) == 302


def test_signing_in_changes_the_key_and_leaves_no_old_one(client, person):
    old = SessionStore()
    old["invitation"] = 1
    old.create()
    client.cookies["sessionid"] = old.session_key
    client.force_login(person)

    assert client.cookies["sessionid"].value != old.session_key
    assert [each.session_key for each in Session.objects.all()] == [
        row_key(client.cookies["sessionid"].value)
    ]


def test_one_that_is_over_signs_nobody_in(inside):
    key = inside.cookies["sessionid"].value
    Session.objects.update(expire_date=timezone.now())

    assert with_cookie(key) == 302


def test_one_that_exists_is_found_by_its_key_alone(inside):
    key = inside.cookies["sessionid"].value

    assert SessionStore().exists(key)
    assert not SessionStore().exists(row_key(key))
