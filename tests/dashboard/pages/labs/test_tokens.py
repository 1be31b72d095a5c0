"""Tokens: create, show once, use, revoke."""

import re

import pytest

from benchmarks.models import Token

TOKENS = "/labs/alpha-lab/tokens/"
ROOT = "/api/v1/"


@pytest.fixture
def keeper(client, person):
    client.force_login(person)
    return client


@pytest.fixture
def make(keeper):
    """Submit the form; return the page and the secret."""

    def post(**form):
        page = keeper.post(TOKENS, {"agent": "rack-7", "days": "30", **form})
        secret = re.search(r"vl_\w{10}_[\w-]{43}", page.text)
        return page, secret[0] if secret else ""

    return post


def headers(secret):
    return {"Authorization": f"Token {secret}"}


def test_token_uploads_until_revoked(make, keeper, client, study, host, run_document):
    page, secret = make(scopes="upload")
    upload = {"headers": headers(secret), "content_type": "application/json"}
    taken = client.post(f"{ROOT}runs/", run_document(), **upload)
    keeper.post(f"{TOKENS}{Token.objects.get().prefix}/revoke/")
    refused = client.post(f"{ROOT}runs/", run_document(), **upload)

    assert page.status_code == 201
    assert "no-store" in page["Cache-Control"]
    assert (taken.status_code, refused.status_code) == (202, 401)


def test_page_shows_command_without_token(make):
    page, secret = make(scopes="upload")

    command = re.search(r"python3 virtlab-agent.pyz enroll [^<]+", page.text)[0]
    assert command == (
        "python3 virtlab-agent.pyz enroll --server http://testserver --token -"
    )
    assert page.text.count(secret) == 1


def test_secret_is_shown_once_and_not_stored(make, keeper):
    _, secret = make(scopes="upload")

    stored = " ".join(map(str, Token.objects.values().get().values()))
    kept = secret.rpartition("_")[2] if secret.count("_") == 2 else secret[14:]
    assert kept not in stored
    assert kept not in keeper.get(TOKENS).text


def test_token_scopes_are_enforced(make, client, private_study, run_document):
    _, upload = make(scopes="upload")
    page, read = make(scopes="read")
    address = f"{ROOT}studies/secret-study/"
    answers = [client.get(address, headers=headers(each)) for each in (upload, read)]
    refused = client.post(
        f"{ROOT}runs/", {}, headers=headers(read), content_type="application/json"
    )

    assert [each.status_code for each in answers] == [404, 200]
    assert refused.status_code == 403
    assert "you cannot enroll an agent with it" in page.text


@pytest.mark.parametrize(("days", "lasts"), [("30", 30), ("365", 365), ("", None)])
def test_token_expires(make, days, lasts):
    make(scopes="upload", days=days)

    token = Token.objects.get()
    left = token.expires_at and round(
        (token.expires_at - token.created_at).total_seconds() / 86_400
    )
    assert left == lasts


@pytest.mark.parametrize(
    ("form", "words"),
    [
        ({}, "Choose at least one permission of the token"),
        ({"scopes": "everything"}, "not one of the available choices"),
        ({"scopes": "read", "agent": "rack 7"}, "such as rack-7"),
        ({"scopes": "read", "agent": "browser-1"}, "reserved for people"),
        ({"scopes": "read", "days": "4000"}, "not one of the available choices"),
    ],
)
def test_invalid_token_form_is_rejected(make, form, words):
    page, secret = make(**form)

    assert page.status_code == 422
    assert words in page.text
    assert secret == ""
    assert not Token.objects.exists()


def test_agent_shows_last_measurement(make, keeper, submit, run_document, study, token):
    made = {"python": "3.6.8", "sha256": "0123456789abcdef" * 4}
    submit(run_document(facts={"agent": made}))

    page = keeper.get(TOKENS).text

    assert "native Ubuntu Server 9.04 32-bit on alpha" in page
    assert "Agent 0123456789ab, Python 3.6.8." in page


def test_page_shows_the_key_of_the_agents_packages(keeper):
    page = keeper.get(TOKENS).content.decode()

    assert keeper.get("/agent/virtlab-agent.pub").content.decode().split()[-1] in page
    assert "/agent/simple/ virtlab-agent" in page
