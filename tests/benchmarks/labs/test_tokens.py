"""Tokens: shown once, stored as a digest, invalid when revoked or expired."""

from datetime import timedelta

import pytest
from django.utils import timezone

from benchmarks import rls
from benchmarks.errors import InvalidError, UnauthenticatedError
from benchmarks.labs import tokens
from benchmarks.labs.tokens import (
    authenticate,
    issue_agent_token,
    issue_token,
    revoke_token,
)
from benchmarks.models import Agent, AuditEntry, Token


def test_token_is_found_by_its_secret(agent):
    token, secret = issue_token(agent=agent, can_upload=True)

    assert authenticate(secret) == token


def test_token_is_authenticated_without_visible_labs(agent, monkeypatch):
    _, secret = issue_token(agent=agent, can_upload=True)
    views = []
    monkeypatch.setattr(tokens, "_find", lambda _: views.append(rls.current_context()))

    with pytest.raises(UnauthenticatedError):
        authenticate(secret)

    assert views == [rls.NO_ROWS]


def test_secret_is_not_stored(agent):
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
def test_all_wrong_secrets_give_the_same_error(agent, spoil):
    _, secret = issue_token(agent=agent, can_upload=True)

    with pytest.raises(UnauthenticatedError, match="wrong, expired or revoked"):
        authenticate(spoil(secret))


def test_revoked_token_is_rejected(agent):
    token, secret = issue_token(agent=agent, can_upload=True)
    authenticate(secret)

    revoke_token(token=token)

    with pytest.raises(UnauthenticatedError):
        authenticate(secret)


def test_expired_token_is_rejected(agent):
    soon = timezone.now() + timedelta(hours=1)
    token, secret = issue_token(agent=agent, can_read=True, expires_at=soon)
    assert authenticate(secret) == token

    Token.objects.update(expires_at=timezone.now())

    with pytest.raises(UnauthenticatedError):
        authenticate(secret)


def test_time_of_use_is_stored_at_most_once_a_minute(agent, django_assert_num_queries):
    token, secret = issue_token(agent=agent, can_upload=True)
    authenticate(secret)
    token.refresh_from_db()
    first = token.last_used_at

    authenticate(secret)

    token.refresh_from_db()
    assert first is not None
    assert token.last_used_at == first


def handed(lab, person, agent="rack-7", scopes=("upload",)):
    return issue_agent_token(
        lab=lab,
        person=person,
        agent=agent,
        scopes=frozenset(scopes),
        expires_at=None,
    )


def test_issuing_and_revoking_tokens_is_audited(lab, person):
    token, secret = handed(lab, person)
    assert authenticate(secret).agent.name == "rack-7"

    revoke_token(token=token, person=person)
    revoke_token(token=token, person=person)

    entries = AuditEntry.objects.order_by("pk").values_list("actor", "kind", "about")
    assert list(entries) == [
        ("carol", "issued", f"{token} (rack-7, upload)"),
        ("carol", "revoked", f"{token} (rack-7)"),
    ]
    assert not any(secret[14:] in about for _, _, about in entries)


def test_existing_agent_gets_another_token(lab, person, agent):
    tokens = [handed(lab, person, "alice", ["read"])[0] for _ in range(2)]

    assert {token.agent for token in tokens} == {agent}
    assert [(item.can_upload, item.can_read) for item in tokens] == [(False, True)] * 2


@pytest.mark.parametrize(
    ("agent", "scopes"), [("rack-7", []), ("rack-7", ["sing"]), ("browser-1", ["read"])]
)
def test_token_without_scope_or_for_personal_agent_is_rejected(
    lab, person, agent, scopes
):
    with pytest.raises(InvalidError):
        handed(lab, person, agent, scopes)

    assert not Agent.objects.exists()
    assert not Token.objects.exists()
