"""Passwords are hashed one at a time, so pages are still served meanwhile."""

from concurrent.futures import ThreadPoolExecutor, as_completed
from itertools import islice
from threading import Event, Lock

from django.contrib.auth.hashers import PBKDF2PasswordHasher

from benchmarks.errors import RateLimitError
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
