"""Second factors: codes are good once, and tried by nobody for long."""

import threading
import time

import pytest
from allauth.mfa.models import Authenticator
from django.core.management import call_command
from django.db import connection

from benchmarks.errors import InvalidError, TooManyAttemptsError
from benchmarks.labs import sign_ins
from benchmarks.labs.throttle import FACTORS, Attempt, known_browser
from benchmarks.models import AuditEntry, Membership
from benchmarks.sealing import seal, unseal


def code_of(secret, periods=0):
    return sign_ins.app_code(secret, int(time.time()) // 30 + periods)


@pytest.fixture
def secret(person):
    secret = sign_ins.new_app_secret()
    assert sign_ins.set_up_app(person, secret, code_of(secret, -1))
    return secret


def test_a_code_is_good_once_and_no_older_one_after_it(person, secret):
    assert sign_ins.take_code(person, code_of(secret, -1)) is None
    assert sign_ins.take_code(person, code_of(secret, 1))
    assert sign_ins.take_code(person, code_of(secret, 1)) is None
    assert sign_ins.take_code(person, code_of(secret)) is None


@pytest.mark.django_db(transaction=True)
def test_of_two_who_send_the_same_code_at_once_one_gets_in(person, secret):
    code, taken = code_of(secret), []

    def send():
        taken.append(sign_ins.take_code(person, code) is not None)
        connection.close()

    both = [threading.Thread(target=send) for _ in range(2)]
    for each in both:
        each.start()
    for each in both:
        each.join()

    assert sorted(taken) == [False, True]


@pytest.mark.parametrize(
    "code", ["", "12345a", "\N{FULLWIDTH DIGIT ONE}" * 6, "0" * 400, "-00001"]
)
def test_what_is_no_code_is_refused(person, secret, code):
    assert sign_ins.take_code(person, code) is None


def test_recovery_codes_lead_nowhere_without_a_factor(person, secret):
    codes = sign_ins.new_recovery_codes(person)
    app = sign_ins.factors_of(person)[0]

    assert sign_ins.remove_factor(person, app.pk)

    assert not Authenticator.objects.exists()
    assert sign_ins.take_code(person, codes[0]) is None


def test_nobody_removes_what_is_anothers(person, secret, django_user_model):
    other = django_user_model.objects.create_user("mallory")
    app = sign_ins.factors_of(person)[0]

    assert not sign_ins.remove_factor(other, app.pk)


def test_factors_are_tried_by_the_whole_world_no_more_than_ten_times(valkey):
    who = "nobody-else"  # wrong tries of other tests' people are counted, too
    for number in range(FACTORS):
        Attempt(who, f"203.0.113.{number}", is_factor=True).count()

    with pytest.raises(TooManyAttemptsError):
        Attempt(who, "203.0.113.200", is_factor=True).count()
    # The owner's browser is not held up, nor is their password.
    Attempt(who, "203.0.113.201", known_browser(who), is_factor=True).count()
    Attempt(who, "203.0.113.201").count()


def test_an_admin_resets_what_somebody_has_lost(person, secret, lab, capsys):
    call_command("reset_second_factor", "carol")

    assert not sign_ins.has_factor(person)
    entry = AuditEntry.objects.get(kind="reset_factor")
    assert (entry.lab, entry.who, entry.about) == (lab, "manage.py", "carol")


def test_a_lab_demands_it_where_an_admin_who_has_one_says_so(person, lab):
    with pytest.raises(InvalidError):
        sign_ins.demand_factors(lab=lab, by=person, demand=True)
    Membership.objects.update(role="admin")
    with pytest.raises(InvalidError):
        sign_ins.demand_factors(lab=lab, by=person, demand=True)
    secret = sign_ins.new_app_secret()
    sign_ins.set_up_app(person, secret, code_of(secret))

    sign_ins.demand_factors(lab=lab, by=person, demand=True)

    lab.refresh_from_db()
    assert lab.needs_second_factor
    assert sign_ins.lab_that_waits_for(person) is None
    assert AuditEntry.objects.filter(kind="changed_sign_in").count() == 1


def test_what_is_sealed_is_opened_with_the_same_key_alone(settings):
    sealed = seal("a secret")
    assert "secret" not in sealed
    assert unseal(sealed) == "a secret"

    settings.SECRET_KEY = "another"
    with pytest.raises(InvalidError):
        unseal(sealed)
