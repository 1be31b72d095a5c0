"""Pages about mail: an address is confirmed, a password set anew, letters ended."""

import re

import pytest
from allauth.account.models import EmailAddress
from django.core import signing

from benchmarks.models import AuditEntry, Digest, Letter
from benchmarks.together import digests, letters
from config import env

PASSWORD = "sesame-open-now"


@pytest.fixture
def mails(settings):
    settings.EMAIL = env.Email(
        host="localhost",
        port=1,
        user="",
        password="",
        security="none",
        sender="lab@example.org",
        site="https://lab.example.org",
    )
    settings.SITE_URL = settings.EMAIL.site


@pytest.fixture
def signed_in(client, person):
    client.post("/login/", {"username": "carol", "password": PASSWORD})
    return client


def link_of(letter):
    _, text = letters.WRITERS[letter.kind](letter)
    return re.findall(r"#(\S+)", text)[0]


def test_an_address_is_taken_once_its_letter_was_read(signed_in, person, mails):
    answer = signed_in.post("/account/address/", {"email": "carol@example.org"})
    assert answer["Location"] == "/account/"
    assert not EmailAddress.objects.exists()
    code = link_of(Letter.objects.get())

    page = signed_in.post("/account/address/confirm/", {"code": code}, follow=True)

    assert "Mail goes to carol@example.org" in page.text
    assert EmailAddress.objects.get().verified
    assert AuditEntry.objects.get().kind == "changed_sign_in"


def test_a_letter_for_somebody_else_confirms_nothing(
    client, signed_in, person, mails, django_user_model
):
    mallory = django_user_model.objects.create_user("mallory")
    letter = Letter.objects.create(
        kind="address", address="carol@example.org", person=mallory
    )

    page = signed_in.post(
        "/account/address/confirm/", {"code": link_of(letter)}, follow=True
    )

    assert "This link is over, or it was sent for another account." in page.text
    assert not EmailAddress.objects.exists()


def test_a_new_password_ends_sessions_and_asks_for_no_old_one(
    client, person, mails, valkey
):
    EmailAddress.objects.create(user=person, email="c@example.org", verified=True)
    page = client.post("/login/forgotten/", {"who": "c@example.org"})
    unknown = client.post("/login/forgotten/", {"who": "nobody@example.org"})
    assert page.text.split("<main")[1] == unknown.text.split("<main")[1]
    code = link_of(Letter.objects.get())

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
    # The link is good once.
    over = client.post("/login/new-password/", {"code": code})
    assert over["Location"] == "/login/forgotten/"


def test_links_are_asked_for_no_more_than_ten_times(client, db, mails, valkey):
    answers = {
        client.post("/login/forgotten/", {"who": "carol"}).status_code
        for _ in range(10)
    }

    assert answers == {200}
    assert client.post("/login/forgotten/", {"who": "carol"}).status_code == 429


@pytest.mark.parametrize(
    "code",
    ["", "x", "x" * 2000, signing.dumps([1, "x"])],
    ids=["none", "short", "long", "another"],
)
def test_a_link_that_nobody_sent_opens_nothing(client, db, mails, code):
    answer = client.post("/login/new-password/", {"code": code})

    assert answer["Location"] == "/login/forgotten/"


def test_a_mail_program_ends_the_letters_and_one_that_looks_does_not(
    client, person, mails
):
    digests.ask_for_digest(person, "week", labs=True)
    address = digests.leaving(person.pk).removeprefix("https://lab.example.org")

    assert client.get(address).status_code == 200
    assert Digest.objects.exists()
    client.post(address, {"List-Unsubscribe": "One-Click"})

    assert not Digest.objects.exists()
    assert client.post("/unsubscribe/made-up/").status_code == 404


def test_somebody_chooses_a_digest_and_follows_what_they_see(
    signed_in, person, mails, study, other_lab
):
    other = study.__class__.objects.create(lab=other_lab, slug="hid", title="Hidden")
    EmailAddress.objects.create(user=person, email="c@example.org", verified=True)

    signed_in.post("/subscriptions/digest/", {"every": "week", "labs": "on"})
    signed_in.post("/subscriptions/follow/", {"study": "alpha-lab/study"})
    refused = signed_in.post(
        "/subscriptions/follow/", {"study": f"beta-lab/{other.slug}"}, follow=True
    )

    assert "Hidden" not in refused.text
    assert "A study" in refused.text
    assert Digest.objects.get().every == "week"
    signed_in.post("/subscriptions/digest/", {"every": ""})
    assert not Digest.objects.exists()


def test_without_a_server_for_mail_there_are_no_such_pages(signed_in, person):
    for address in ("/login/forgotten/", "/login/new-password/"):
        assert signed_in.get(address).status_code == 404
    assert "E-mail" not in signed_in.get("/account/").text
    assert "By mail" not in signed_in.get("/subscriptions/").text
