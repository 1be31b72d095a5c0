"""Second factors: single use of codes, and limits of attempts."""

import threading
import time

import pytest
from allauth.mfa.models import Authenticator
from django.core.management import call_command
from django.db import connection

from benchmarks.encryption import decrypt, encrypt
from benchmarks.errors import InvalidError, TooManyAttemptsError
from benchmarks.labs import member_sign_in_methods
from benchmarks.labs.sign_in_throttle import (
    FACTOR_TRIES,
    SignInAttempt,
    known_browser_cookie,
)
from benchmarks.models import AuditEntry, Membership


def code_of(secret, periods=0):
    return member_sign_in_methods.totp_code(secret, int(time.time()) // 30 + periods)


@pytest.fixture
def secret(person):
    secret = member_sign_in_methods.new_totp_secret()
    assert member_sign_in_methods.set_authenticator_app(
        person, secret, code_of(secret, -1)
    )
    return secret


def test_code_works_once_and_older_codes_are_rejected(person, secret):
    assert member_sign_in_methods.use_code(person, code_of(secret, -1)) is None
    assert member_sign_in_methods.use_code(person, code_of(secret, 1))
    assert member_sign_in_methods.use_code(person, code_of(secret, 1)) is None
    assert member_sign_in_methods.use_code(person, code_of(secret)) is None


@pytest.mark.django_db(transaction=True)
def test_concurrent_use_of_a_code_succeeds_once(person, secret):
    code, taken = code_of(secret), []

    def send():
        taken.append(member_sign_in_methods.use_code(person, code) is not None)
        connection.close()

    both = [threading.Thread(target=send) for _ in range(2)]
    for item in both:
        item.start()
    for item in both:
        item.join()

    assert sorted(taken) == [False, True]


@pytest.mark.parametrize(
    "code", ["", "12345a", "\N{FULLWIDTH DIGIT ONE}" * 6, "0" * 400, "-00001"]
)
def test_invalid_code_is_rejected(person, secret, code):
    assert member_sign_in_methods.use_code(person, code) is None


def test_recovery_codes_are_removed_with_the_last_factor(person, secret):
    codes = member_sign_in_methods.new_recovery_codes(person)
    app = member_sign_in_methods.list_second_factors(person)[0]

    assert member_sign_in_methods.remove_factor(person, app.pk)

    assert not Authenticator.objects.exists()
    assert member_sign_in_methods.use_code(person, codes[0]) is None


def test_factor_of_another_person_cannot_be_removed(person, secret, django_user_model):
    other = django_user_model.objects.create_user("mallory")
    app = member_sign_in_methods.list_second_factors(person)[0]

    assert not member_sign_in_methods.remove_factor(other, app.pk)


def test_second_factor_attempts_are_limited_globally(valkey):
    person_name = "nobody-else"  # wrong tries of other tests' people are counted, too
    for number in range(FACTOR_TRIES):
        SignInAttempt(person_name, f"203.0.113.{number}", is_factor=True).count()

    with pytest.raises(TooManyAttemptsError):
        SignInAttempt(person_name, "203.0.113.200", is_factor=True).count()
    # The owner's browser and password are not blocked.
    SignInAttempt(
        person_name, "203.0.113.201", known_browser_cookie(person_name), is_factor=True
    ).count()
    SignInAttempt(person_name, "203.0.113.201").count()


def test_lost_factors_can_be_reset(person, secret, lab, capsys):
    call_command("reset_second_factor", "carol")

    assert not member_sign_in_methods.has_second_factor(person)
    entry = AuditEntry.objects.get(kind="reset_factor")
    assert (entry.lab, entry.actor, entry.about) == (lab, "manage.py", "carol")


def test_admin_with_factor_can_require_second_factors(person, lab):
    with pytest.raises(InvalidError):
        member_sign_in_methods.require_second_factor(
            lab=lab, actor=person, is_required=True
        )
    Membership.objects.update(role="admin")
    with pytest.raises(InvalidError):
        member_sign_in_methods.require_second_factor(
            lab=lab, actor=person, is_required=True
        )
    secret = member_sign_in_methods.new_totp_secret()
    member_sign_in_methods.set_authenticator_app(person, secret, code_of(secret))

    member_sign_in_methods.require_second_factor(
        lab=lab, actor=person, is_required=True
    )

    lab.refresh_from_db()
    assert lab.requires_second_factor
    assert member_sign_in_methods.lab_requiring_second_factor(person) is None
    assert AuditEntry.objects.filter(kind="changed_sign_in").count() == 1


def test_decryption_needs_the_same_key(settings):
    sealed = encrypt("a secret")
    assert "secret" not in sealed
    assert decrypt(sealed) == "a secret"

    settings.SECRET_KEY = "another"
    with pytest.raises(InvalidError):
        decrypt(sealed)
