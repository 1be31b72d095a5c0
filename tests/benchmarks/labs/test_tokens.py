"""Tokens: shown once, stored as a digest, useless once revoked or expired."""

from datetime import timedelta

import pytest
from django.utils import timezone

from benchmarks import sight
from benchmarks.errors import InvalidError, UnauthenticatedError
from benchmarks.labs import tokens
from benchmarks.labs.tokens import (
    authenticate,
    hand_out_token,
    issue_token,
    revoke_token,
)
from benchmarks.models import Agent, AuditEntry, Token


def test_it_finds_the_token_behind_its_secret(agent):
    token, secret = issue_token(agent=agent, can_upload=True)

    assert authenticate(secret) == token


def test_it_is_authenticated_without_a_view_of_any_lab(agent, monkeypatch):
    _, secret = issue_token(agent=agent, can_upload=True)
    views = []
    monkeypatch.setattr(tokens, "_find", lambda _: views.append(sight.current()))

    with pytest.raises(UnauthenticatedError):
        authenticate(secret)

    assert views == [sight.NOTHING]


def test_the_secret_is_nowhere_in_the_database(agent):
    token, secret = issue_token(agent=agent, can_upload=True)

    stored = " ".join(str(value) for value in Token.objects.values().get().values())
    assert secret.removeprefix(f"vl_{token.prefix}_") not in stored
    assert len(secret.rpartition("_")[2]) >= 43 or "_" in secret[14:]


@pytest.mark.parametrize(
    "spoil",
    [
        lambda secret: secret[:-1] + ("a" if secret[-1] != "a" else "b"),
        lambda secret: secret.replace("vl_", "xx_", 1),
        lambda secret: "vl_0000000000_" + secret[14:],
        lambda secret: secret[:13],
        lambda secret: "",
        lambda secret: "vl_\udc80_x",
        lambda secret: secret + "\n",
    ],
)
def test_a_wrong_secret_gets_one_and_the_same_answer(agent, spoil):
    _, secret = issue_token(agent=agent, can_upload=True)

    with pytest.raises(UnauthenticatedError, match="wrong, expired or revoked"):
        authenticate(spoil(secret))


def test_a_revoked_token_is_useless_at_once(agent):
    token, secret = issue_token(agent=agent, can_upload=True)
    authenticate(secret)

    revoke_token(token=token)

    with pytest.raises(UnauthenticatedError):
        authenticate(secret)


def test_a_token_expires(agent):
    soon = timezone.now() + timedelta(hours=1)
    token, secret = issue_token(agent=agent, can_read=True, expires_at=soon)
    assert authenticate(secret) == token

    Token.objects.update(expires_at=timezone.now())

    with pytest.raises(UnauthenticatedError):
        authenticate(secret)


def test_it_notes_when_a_token_was_used_but_not_every_time(
    agent, django_assert_num_queries
):
    token, secret = issue_token(agent=agent, can_upload=True)
    authenticate(secret)
    token.refresh_from_db()
    first = token.last_used_at

    authenticate(secret)

    token.refresh_from_db()
    assert first is not None
    assert token.last_used_at == first


def handed(lab, person, agent="rack-7", scopes=("upload",)):
    return hand_out_token(
        lab=lab,
        person=person,
        agent=agent,
        scopes=frozenset(scopes),
        expires_at=None,
    )


def test_a_person_hands_one_out_and_revokes_it_and_both_are_noted(lab, person):
    token, secret = handed(lab, person)
    assert authenticate(secret).agent.name == "rack-7"

    revoke_token(token=token, person=person)
    revoke_token(token=token, person=person)

    entries = AuditEntry.objects.order_by("pk").values_list("who", "kind", "about")
    assert list(entries) == [
        ("carol", "issued", f"{token} (rack-7, upload)"),
        ("carol", "revoked", f"{token} (rack-7)"),
    ]
    assert not any(secret[14:] in about for _, _, about in entries)


def test_a_known_agent_gets_a_further_token(lab, person, agent):
    tokens = [handed(lab, person, "alice", ["read"])[0] for _ in range(2)]

    assert {token.agent for token in tokens} == {agent}
    assert [(each.can_upload, each.can_read) for each in tokens] == [(False, True)] * 2


@pytest.mark.parametrize(
    ("agent", "scopes"), [("rack-7", []), ("rack-7", ["sing"]), ("browser-1", ["read"])]
)
def test_a_token_for_nothing_or_in_a_persons_name_is_refused(
    lab, person, agent, scopes
):
    with pytest.raises(InvalidError):
        handed(lab, person, agent, scopes)

    assert not Agent.objects.exists()
    assert not Token.objects.exists()
