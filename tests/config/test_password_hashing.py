"""Passwords are hashed one at a time, so pages are still served meanwhile."""

import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from itertools import islice
from threading import Event, Lock

import pytest
from django.contrib.auth.hashers import PBKDF2PasswordHasher

from benchmarks.errors import BusyError, RateLimitError
from benchmarks.labs.sign_in_throttle import (
    SignInAttempt,
    current_attempt,
    known_browser_cookie,
)
from config import password_hashing
from config.password_hashing import MAX_PENDING_HASHES, BoundedHasher


def test_hashes_are_those_of_django():
    made = PBKDF2PasswordHasher().encode("sesame", "salt", 1000)

    assert BoundedHasher().encode("sesame", "salt", 1000) == made
    assert BoundedHasher().verify("sesame", made)


def test_concurrent_sign_ins_hash_one_at_a_time(monkeypatch):
    at_once, most, lock = 0, 0, Lock()
    release = Event()

    def slow(self, password, salt, iterations=None):
        nonlocal at_once, most
        with lock:
            at_once += 1
            most = max(most, at_once)
        release.wait(60)
        with lock:
            at_once -= 1
        return "hashed"

    monkeypatch.setattr(PBKDF2PasswordHasher, "encode", slow)
    monkeypatch.setattr(password_hashing, "MAX_WAIT_S", 60)

    def sign_in():
        try:
            return BoundedHasher().encode("sesame", "salt")
        except RateLimitError as error:
            return str(error)

    with ThreadPoolExecutor(16) as threads:
        attempts = [threads.submit(sign_in) for _ in range(16)]
        try:
            # All others are refused while the first one still hashes.
            others = islice(as_completed(attempts, 50), 16 - MAX_PENDING_HASHES)
            refused = [attempt.result() for attempt in others]
        finally:
            release.set()
        results = [attempt.result() for attempt in attempts]

    assert all("Too many people are signing in" in result for result in refused)
    assert results.count("hashed") == MAX_PENDING_HASHES
    assert most == 1


@pytest.fixture
def results(monkeypatch):
    """Try passwords at the same time; return which of the attempts were hashed."""

    release = Event()

    def slow(self, password, salt, iterations=None):
        release.wait(60)
        return "hashed"

    monkeypatch.setattr(PBKDF2PasswordHasher, "encode", slow)
    monkeypatch.setattr(password_hashing, "MAX_WAIT_S", 60)

    def sign_in(attempt):
        current_attempt.set(attempt)
        try:
            return BoundedHasher().encode("sesame", "salt")
        except BusyError as error:
            return "own share" if error.is_own_share else "busy"

    def run(*attempts):
        with ThreadPoolExecutor(len(attempts)) as threads:
            futures = []
            for attempt in attempts:
                futures.append(threads.submit(sign_in, attempt))
                while not (futures[-1].done() or attempt in password_hashing._pending):
                    time.sleep(0.001)
            release.set()
            return [future.result() for future in futures]

    return run


def test_a_network_leaves_a_place_for_others(results):
    attackers = [SignInAttempt(f"name{n}", "198.51.100.7") for n in range(6)]

    tried = results(*attackers, SignInAttempt("carol", "192.0.2.1"))

    assert tried == ["hashed", *["own share"] * 5, "hashed"]


def test_an_attacked_account_leaves_a_place_for_others(results):
    attackers = [SignInAttempt("carol", f"198.51.100.{n}") for n in range(6)]

    tried = results(*attackers, SignInAttempt("dora", "192.0.2.1"))

    assert tried == ["hashed", *["own share"] * 5, "hashed"]


def test_a_known_browser_keeps_a_reserved_place(results):
    attackers = [SignInAttempt(f"name{n}", f"198.51.100.{n}") for n in range(6)]
    cookie = known_browser_cookie("carol")

    tried = results(*attackers, SignInAttempt("carol", "192.0.2.1", cookie))

    assert tried == ["hashed", "hashed", *["busy"] * 4, "hashed"]
