"""How often a password may be tried, counted in the real Valkey."""

import uuid

import pytest
import redis

from benchmarks.broker import connection
from benchmarks.errors import TooManyAttemptsError
from benchmarks.labs import throttle
from benchmarks.labs.throttle import (
    ATTACK,
    HERE,
    UNDER_ATTACK,
    Attempt,
    known_browser,
    network_of,
)

pytestmark = pytest.mark.usefixtures("valkey")


@pytest.fixture
def name():
    return f"carol-{uuid.uuid4()}"


@pytest.fixture
def address():
    return f"address-{uuid.uuid4()}"


def try_often(number, name, address):
    for _ in range(number):
        Attempt(name, address).count()


def is_held_up(name, address):
    try:
        Attempt(name, address).count()
    except TooManyAttemptsError:
        return True
    return False


def test_ten_wrong_passwords_are_enough_for_a_while(name, address):
    try_often(HERE, name, address)

    with pytest.raises(TooManyAttemptsError) as refused:
        Attempt(name, address).count()
    assert 0 < refused.value.wait_s <= throttle.WINDOW_S
    assert str(refused.value) == "Too many attempts. Wait 15 min, then try again."


def test_another_spelling_of_the_name_is_the_same_name(name, address):
    try_often(HERE, name, address)

    with pytest.raises(TooManyAttemptsError):
        Attempt(name.upper(), address).count()


def test_others_are_not_held_up(name, address):
    try_often(HERE, name, address)

    assert is_held_up(name, address)
    assert not is_held_up(f"{name}-friend", address)
    assert not is_held_up(name, f"{address}-elsewhere")


def test_nobody_locks_the_owner_out(name, address):
    """110 tries from 10 addresses did."""
    for number in range(11 * ATTACK // 10):
        is_held_up(name, f"{address}-{number % 10}")

    assert not is_held_up(name, f"{address}-of-the-owner")


def test_many_addresses_help_little(name, address):
    for number in range(ATTACK):
        Attempt(name, f"{address}-{number}").count()

    try_often(UNDER_ATTACK, name, f"{address}-fresh")
    assert is_held_up(name, f"{address}-fresh")


def test_a_browser_that_was_signed_in_has_tries_of_its_own(name, address):
    try_often(HERE, name, address)
    known = known_browser(name)

    for _ in range(HERE):
        Attempt(name, address, known).count()
    with pytest.raises(TooManyAttemptsError):
        Attempt(name, address, known).count()


@pytest.mark.parametrize("known", ["", "made up", "somebody else's"])
def test_no_other_browser_has(name, address, known):
    try_often(HERE, name, address)
    if known == "somebody else's":
        known = known_browser(f"{name}-friend")

    with pytest.raises(TooManyAttemptsError):
        Attempt(name, address, known).count()


def test_refused_tries_do_not_count(name, address):
    try_often(HERE, name, address)
    for _ in range(5 * ATTACK):
        assert is_held_up(name, address)

    # All of them would be an attack, under which a network has three.
    elsewhere = f"{address}-elsewhere"
    try_often(HERE, name, elsewhere)
    assert is_held_up(name, elsewhere)


def test_addresses_of_one_network_are_one():
    assert network_of("2001:db8:1:2::1") == network_of("2001:db8:1:2:ffff::9")
    assert network_of("2001:db8:1:2::1") != network_of("2001:db8:1:3::1")
    assert network_of("::ffff:192.0.2.1") == network_of("192.0.2.1") == "192.0.2.1"


def test_right_passwords_do_not_count(name, address):
    for _ in range(3 * HERE):
        trial = Attempt(name, address)
        trial.count()
        trial.succeeded()

    assert not is_held_up(name, address)


def test_every_counter_ends(name, address):
    trial = Attempt(name, address)
    trial.count()
    connection().delete(*trial.limits)
    trial.succeeded()  # after its window: what is given back must not stay for ever

    left = [connection().ttl(key) for key in trial.limits]
    assert all(0 < seconds <= throttle.WINDOW_S for seconds in left)


def test_nothing_in_redis_tells_the_name(name, address):
    trial = Attempt(name, address)

    assert not any(name in key or address in key for key in trial.limits)


def test_without_redis_nobody_is_locked_out_and_the_log_says_so(
    name, address, monkeypatch, caplog
):
    away = redis.Redis.from_url("redis://127.0.0.1:1/0")
    monkeypatch.setattr(throttle, "connection", lambda: away)

    trial = Attempt(name, address)
    trial.count()
    trial.succeeded()

    assert "Attempts to sign in are not counted" in caplog.text
