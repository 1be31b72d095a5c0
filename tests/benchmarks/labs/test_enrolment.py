"""Enrolment codes: who gets a token, and for how long."""

from datetime import timedelta

import pytest
from django.utils import timezone

from benchmarks.errors import InvalidError
from benchmarks.labs import enrolment
from benchmarks.labs.enrolment import enrolment_code, redeem_code
from benchmarks.labs.tokens import authenticate
from benchmarks.models import AuditEntry, Membership


def test_code_gives_a_token_that_may_only_upload(study, host, person):
    found, secret, hosts = redeem_code(enrolment_code(study, person), "rack-7")

    token = authenticate(secret)
    assert (found, hosts, token.agent.name) == (study, [host.slug], "rack-7")
    assert token.scopes == ["upload"]
    assert token.expires_at < timezone.now() + timedelta(days=91)
    assert AuditEntry.objects.get(kind="issued").person == person


def test_code_works_on_several_machines(study, person):
    code = enrolment_code(study, person)

    assert redeem_code(code, "rack-7")[1] != redeem_code(code, "rack-8")[1]


def test_code_of_a_person_who_left_is_refused(study, person):
    code = enrolment_code(study, person)
    Membership.objects.all().delete()

    with pytest.raises(InvalidError, match="enrolment code"):
        redeem_code(code, "rack-7")


def test_changed_and_old_codes_are_refused(study, person, monkeypatch):
    code = enrolment_code(study, person)

    with pytest.raises(InvalidError):
        redeem_code(code[:-1] + ("a" if code[-1] != "a" else "b"), "rack-7")
    monkeypatch.setattr(enrolment, "CODE_LIFETIME", timedelta(seconds=-1))
    with pytest.raises(InvalidError):
        redeem_code(code, "rack-7")
