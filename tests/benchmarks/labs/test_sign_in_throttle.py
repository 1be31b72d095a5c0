"""Limits of sign-in attempts, counted in a real Valkey."""

import uuid

import pytest
import redis

from benchmarks.errors import TooManyAttemptsError
from benchmarks.labs import sign_in_throttle
from benchmarks.labs.sign_in_throttle import (
    ATTACK_TRIES,
    TRIES_PER_NAME,
    TRIES_UNDER_ATTACK,
    SignInAttempt,
    known_browser_cookie,
    network_of,
)
from benchmarks.redis_connection import connection

pytestmark = pytest.mark.usefixtures("valkey")


@pytest.fixture
def name():
    return f"carol-{uuid.uuid4()}"


@pytest.fixture
def address():
    return f"address-{uuid.uuid4()}"


def try_often(number, name, address):
    for _ in range(number):
        SignInAttempt(name, address).count()


def is_blocked(name, address):
    try:
        SignInAttempt(name, address).count()
    except TooManyAttemptsError:
        return True
    return False


def test_ten_wrong_passwords_block_further_attempts(name, address):
    try_often(TRIES_PER_NAME, name, address)

    with pytest.raises(TooManyAttemptsError) as refused:
        SignInAttempt(name, address).count()
    assert 0 < refused.value.retry_after_s <= sign_in_throttle.WINDOW_S
    assert str(refused.value) == "Too many attempts. Try again in 15 min."


def test_another_spelling_of_the_name_is_the_same_name(name, address):
    try_often(TRIES_PER_NAME, name, address)

    with pytest.raises(TooManyAttemptsError):
        SignInAttempt(name.upper(), address).count()


def test_other_names_are_not_blocked(name, address):
    try_often(TRIES_PER_NAME, name, address)

    assert is_blocked(name, address)
    assert not is_blocked(f"{name}-friend", address)
    assert not is_blocked(name, f"{address}-elsewhere")


def test_owner_is_not_locked_out(name, address):
    """As after 110 attempts from 10 addresses."""
    for number in range(11 * ATTACK_TRIES // 10):
        is_blocked(name, f"{address}-{number % 10}")

    assert not is_blocked(name, f"{address}-of-the-owner")


def test_attack_from_many_addresses_lowers_limits(name, address):
    for number in range(ATTACK_TRIES):
        SignInAttempt(name, f"{address}-{number}").count()

    try_often(TRIES_UNDER_ATTACK, name, f"{address}-fresh")
    assert is_blocked(name, f"{address}-fresh")


def test_known_browser_has_its_own_limit(name, address):
    try_often(TRIES_PER_NAME, name, address)
    known = known_browser_cookie(name)

    for _ in range(TRIES_PER_NAME):
        SignInAttempt(name, address, known).count()
    with pytest.raises(TooManyAttemptsError):
        SignInAttempt(name, address, known).count()


@pytest.mark.parametrize("known", ["", "made up", "somebody else's"])
def test_unknown_browser_has_no_separate_limit(name, address, known):
    try_often(TRIES_PER_NAME, name, address)
    if known == "somebody else's":
        known = known_browser_cookie(f"{name}-friend")

    with pytest.raises(TooManyAttemptsError):
        SignInAttempt(name, address, known).count()


def test_rejected_attempts_do_not_count(name, address):
    try_often(TRIES_PER_NAME, name, address)
    for _ in range(5 * ATTACK_TRIES):
        assert is_blocked(name, address)

    # If they counted, the name would be under attack, with a limit of three.
    elsewhere = f"{address}-elsewhere"
    try_often(TRIES_PER_NAME, name, elsewhere)
    assert is_blocked(name, elsewhere)


def test_addresses_of_a_network_count_together():
    assert network_of("2001:db8:1:2::1") == network_of("2001:db8:1:2:ffff::9")
    assert network_of("2001:db8:1:2::1") != network_of("2001:db8:1:3::1")
    assert network_of("::ffff:192.0.2.1") == network_of("192.0.2.1") == "192.0.2.1"


def test_correct_passwords_do_not_count(name, address):
    for _ in range(3 * TRIES_PER_NAME):
        trial = SignInAttempt(name, address)
        trial.count()
        trial.give_back()

    assert not is_blocked(name, address)


def test_every_counter_expires(name, address):
    trial = SignInAttempt(name, address)
    trial.count()
    connection().delete(*trial.limits)
    trial.give_back()  # after its window: what is given back must not stay for ever

    left = [connection().ttl(key) for key in trial.limits]
    assert all(0 < seconds <= sign_in_throttle.WINDOW_S for seconds in left)


def test_redis_keys_do_not_contain_names(name, address):
    trial = SignInAttempt(name, address)

    assert not any(name in key or address in key for key in trial.limits)


def test_without_redis_nobody_is_blocked_but_logged(name, address, monkeypatch, caplog):
    away = redis.Redis.from_url("redis://127.0.0.1:1/0")
    monkeypatch.setattr(sign_in_throttle, "connection", lambda: away)

    trial = SignInAttempt(name, address)
    trial.count()
    trial.give_back()

    assert "Attempts to sign in are not counted" in caplog.text
