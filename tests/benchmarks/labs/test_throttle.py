"""How often a password may be tried, counted in the real Valkey."""

import uuid

import pytest
import redis

from benchmarks.broker import connection
from benchmarks.errors import TooManyAttemptsError
from benchmarks.labs import throttle
from benchmarks.labs.throttle import ANYWHERE, HERE, Attempt

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


def test_many_addresses_do_not_help(name, address):
    for number in range(ANYWHERE):
        Attempt(name, f"{address}-{number}").count()

    with pytest.raises(TooManyAttemptsError):
        Attempt(name, f"{address}-fresh").count()


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
