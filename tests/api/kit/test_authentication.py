"""Permissions to read and write, and invalid tokens."""

from datetime import timedelta

import pytest
from django.conf import settings
from django.db import connection
from django.utils import timezone

from benchmarks.labs import tokens
from benchmarks.models import Run, Token


def test_writing_without_a_token_is_401_with_a_challenge(anyone, run_document):
    answer = anyone.post("runs/", run_document())

    assert answer.status_code == 401
    assert answer.headers["WWW-Authenticate"] == 'Token realm="virtlab"'
    assert answer.json()["code"] == "not_authenticated"
    assert "Authorization: Token vl_" in answer.json()["detail"]
    assert not Run.objects.exists()


def test_without_a_token_the_body_is_not_read(client, db):
    packed = {"content_type": "application/json", "headers": {"Content-Encoding": "x"}}

    for body in (b"{", b"\x1f\x8b", b"0" * (settings.UPLOAD_LIMIT_BYTES + 1)):
        answer = client.post("/api/v1/runs/", body, **packed)
        assert (answer.status_code, answer.json()["code"]) == (401, "not_authenticated")


@pytest.mark.parametrize(
    "shown",
    [
        "nonsense",
        "vl_",
        "vl__",
        "vl_0123456789_wrong",
        "VL_0123456789_x",
        "vl_" + "9" * 5000,
        "vl_\u00e4\u00f6_x".encode().decode("latin-1"),
    ],
)
def test_wrong_tokens_are_401_even_for_reading(anyone, db, shown):
    answer = anyone.get("runs/", token=shown)

    assert answer.status_code == 401
    assert answer.headers["WWW-Authenticate"]
    assert set(answer.json()) == {"code", "detail", "fields"}


def test_a_token_of_the_right_prefix_and_wrong_secret_is_401(anyone, token):
    answer = anyone.get("runs/", token=token[:-1] + ("a" if token[-1] != "a" else "b"))

    assert (answer.status_code, answer.json()["code"]) == (401, "wrong_token")


@pytest.mark.parametrize("header", ["Basic eDp5", "Token", "Token a b", "vl_x_y"])
def test_other_schemes_are_401_with_instructions(anyone, db, header):
    answer = anyone.client.get("/api/v1/runs/", headers={"Authorization": header})

    assert answer.status_code == 401
    assert "Authorization: Token vl_..." in answer.json()["detail"]


def test_bearer_is_accepted(api, token, run_document):
    answer = api.post(
        "runs/", run_document(), token="", Authorization=f"Bearer {token}"
    )

    assert answer.status_code == 202


def test_revoked_tokens_are_rejected_immediately(api, run_document):
    assert api.post("runs/", run_document()).status_code == 202

    tokens.revoke_token(token=Token.objects.get())

    assert api.post("runs/", run_document()).status_code == 401
    assert Run.objects.count() == 1


def test_expired_tokens_are_rejected(agent, anyone, run_document):
    past = timezone.now() - timedelta(seconds=1)
    _, secret = tokens.issue_token(agent=agent, can_upload=True, expires_at=past)

    assert anyone.post("runs/", run_document(), token=secret).status_code == 401


@pytest.mark.parametrize("path", ["runs/", "studies/", "hosts/", "systems/"])
def test_read_tokens_cannot_write(reader, db, path):
    answer = reader.post(path, {})

    assert (answer.status_code, answer.json()["code"]) == (403, "permission_denied")
    assert "This token has only: read." in answer.json()["detail"]


def test_upload_tokens_cannot_read_private_data(api, reader, private_study):
    assert api.get("studies/secret-study/").status_code == 404
    assert reader.get("studies/secret-study/").status_code == 200


def test_members_can_read_private_data_of_their_lab(anyone, person, private_study):
    anyone.client.force_login(person)

    assert anyone.get("studies/secret-study/").status_code == 200


def test_users_cannot_write_without_a_token(anyone, person, run_document):
    anyone.client.force_login(person)

    assert anyone.post("runs/", run_document()).status_code == 401


def test_token_secrets_are_not_stored(token, other_token):
    with connection.cursor() as cursor:
        cursor.execute("SELECT row_to_json(t)::text FROM benchmarks_token t")
        stored = " ".join(row for (row,) in cursor.fetchall())

    for shown in (token, other_token):
        secret = shown.split("_", 2)[2]
        assert len(secret) >= 43, "256 bits"
        assert secret not in stored


def test_token_secrets_are_not_logged(api, run_document, caplog, token):
    api.post("runs/", run_document())
    api.post("runs/", {"key": "nonsense"})
    api.get("runs/", token=token + "x")

    assert token not in caplog.text
