"""Pages about email: confirmed addresses, password resets, unsubscribing."""

import re

import pytest
from allauth.account.models import EmailAddress
from django.core import signing

from benchmarks.collaboration import outgoing_mail, subscriptions
from benchmarks.models import AuditEntry, Digest, OutgoingEmail
from config import env

PASSWORD = "sesame-open-now"


@pytest.fixture
def mails(settings):
    settings.MAIL_SERVER = env.MailServer(
        host="localhost",
        port=1,
        user="",
        password="",
        security="none",
        sender="lab@example.org",
        site="https://lab.example.org",
    )
    settings.SITE_URL = settings.MAIL_SERVER.site


@pytest.fixture
def signed_in(client, person):
    client.post("/login/", {"username": "carol", "password": PASSWORD})
    return client


def link_of(letter):
    _, text = outgoing_mail.RENDERERS[letter.kind](letter)
    return re.findall(r"#(\S+)", text)[0]


def test_address_is_stored_after_confirmation(signed_in, person, mails):
    answer = signed_in.post("/account/email/", {"email": "carol@example.org"})
    assert answer["Location"] == "/account/"
    assert not EmailAddress.objects.exists()
    code = link_of(OutgoingEmail.objects.get())

    page = signed_in.post("/account/email/confirm/", {"code": code}, follow=True)

    assert "Email is now sent to carol@example.org" in page.text
    assert EmailAddress.objects.get().verified
    assert AuditEntry.objects.get().kind == "changed_sign_in"


def test_link_for_another_user_confirms_nothing(
    client, signed_in, person, mails, django_user_model
):
    mallory = django_user_model.objects.create_user("mallory")
    letter = OutgoingEmail.objects.create(
        kind="address_confirmation", address="carol@example.org", person=mallory
    )

    page = signed_in.post(
        "/account/email/confirm/", {"code": link_of(letter)}, follow=True
    )

    assert (
        "This link is invalid or has expired, or it was sent for another account."
        in page.text
    )
    assert not EmailAddress.objects.exists()


def test_password_reset_ends_sessions_without_old_password(
    client, person, mails, valkey
):
    EmailAddress.objects.create(user=person, email="c@example.org", verified=True)
    page = client.post("/login/forgot-password/", {"name_or_email": "c@example.org"})
    unknown = client.post(
        "/login/forgot-password/", {"name_or_email": "nobody@example.org"}
    )
    assert page.text.split("<main")[1] == unknown.text.split("<main")[1]
    code = link_of(OutgoingEmail.objects.get())

    assert client.post("/login/new-password/", {"code": code}).status_code == 302
    page = client.get("/login/new-password/")
    assert code not in page.text
    new = {"new_password1": "a-much-longer-one", "new_password2": "a-much-longer-one"}
    answer = client.post("/login/new-password/", new)

    assert answer["Location"] == "/login/"
    person.refresh_from_db()
    assert person.check_password("a-much-longer-one")
    assert AuditEntry.objects.get().kind == "reset_password"
    assert client.get("/account/").status_code == 302
    # The link works once.
    over = client.post("/login/new-password/", {"code": code})
    assert over["Location"] == "/login/forgot-password/"


def test_reset_requests_are_limited(client, db, mails, valkey):
    answers = {
        client.post("/login/forgot-password/", {"name_or_email": "carol"}).status_code
        for _ in range(10)
    }

    assert answers == {200}
    assert (
        client.post("/login/forgot-password/", {"name_or_email": "carol"}).status_code
        == 429
    )


@pytest.mark.parametrize(
    "code",
    ["", "x", "x" * 2000, signing.dumps([1, "x"])],
    ids=["none", "short", "long", "another"],
)
def test_forged_link_is_rejected(client, db, mails, code):
    answer = client.post("/login/new-password/", {"code": code})

    assert answer["Location"] == "/login/forgot-password/"


def test_unsubscribe_needs_post(client, person, mails):
    subscriptions.start_digest(person, "week", labs=True)
    address = subscriptions.unsubscribe_url(person.pk).removeprefix(
        "https://lab.example.org"
    )

    assert client.get(address).status_code == 200
    assert Digest.objects.exists()
    client.post(address, {"List-Unsubscribe": "One-Click"})

    assert not Digest.objects.exists()
    assert client.post("/unsubscribe/made-up/").status_code == 404


def test_user_sets_digest_and_follows_visible_studies(
    signed_in, person, mails, study, other_lab
):
    other = study.__class__.objects.create(lab=other_lab, slug="hid", title="Hidden")
    EmailAddress.objects.create(user=person, email="c@example.org", verified=True)

    signed_in.post("/subscriptions/digest/", {"frequency": "week", "labs": "on"})
    signed_in.post("/subscriptions/follow/", {"study": "alpha-lab/study"})
    refused = signed_in.post(
        "/subscriptions/follow/", {"study": f"beta-lab/{other.slug}"}, follow=True
    )

    assert "Hidden" not in refused.text
    assert "A study" in refused.text
    assert Digest.objects.get().frequency == "week"
    signed_in.post("/subscriptions/digest/", {"frequency": ""})
    assert not Digest.objects.exists()


def test_email_pages_need_mail_server(signed_in, person):
    for address in ("/login/forgot-password/", "/login/new-password/"):
        assert signed_in.get(address).status_code == 404
    assert "E-mail" not in signed_in.get("/account/").text
    assert "By mail" not in signed_in.get("/subscriptions/").text
