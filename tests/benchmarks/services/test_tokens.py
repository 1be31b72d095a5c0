"""Tokens: shown once, stored as a digest, useless once revoked or expired."""

from datetime import timedelta

import pytest
from django.utils import timezone

from benchmarks.errors import WrongTokenError
from benchmarks.models import Token
from benchmarks.services.tokens import authenticate, issue_token, revoke_token


def test_it_finds_the_token_behind_its_secret(agent):
    token, secret = issue_token(agent=agent, can_upload=True)

    assert authenticate(secret) == token


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

    with pytest.raises(WrongTokenError, match="wrong, expired or revoked"):
        authenticate(spoil(secret))


def test_a_revoked_token_is_useless_at_once(agent):
    token, secret = issue_token(agent=agent, can_upload=True)
    authenticate(secret)

    revoke_token(token=token)

    with pytest.raises(WrongTokenError):
        authenticate(secret)


def test_a_token_expires(agent):
    soon = timezone.now() + timedelta(hours=1)
    token, secret = issue_token(agent=agent, can_read=True, expires_at=soon)
    assert authenticate(secret) == token

    Token.objects.update(expires_at=timezone.now())

    with pytest.raises(WrongTokenError):
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
