"""Passwords are hashed one at a time, so pages are still served meanwhile."""

import time
from concurrent.futures import ThreadPoolExecutor
from threading import Lock

from django.contrib.auth.hashers import PBKDF2PasswordHasher

from benchmarks.errors import RateLimitError
from config.password_hashing import MAX_PENDING_HASHES, BoundedHasher


def test_hashes_are_those_of_django():
    made = PBKDF2PasswordHasher().encode("sesame", "salt", 1000)

    assert BoundedHasher().encode("sesame", "salt", 1000) == made
    assert BoundedHasher().verify("sesame", made)


def test_concurrent_sign_ins_hash_one_at_a_time(monkeypatch):
    at_once, most, lock = 0, 0, Lock()

    def slow(self, password, salt, iterations=None):
        nonlocal at_once, most
        with lock:
            at_once += 1
            most = max(most, at_once)
        time.sleep(0.2)
        with lock:
            at_once -= 1
        return "hashed"

    monkeypatch.setattr(PBKDF2PasswordHasher, "encode", slow)

    def sign_in(_):
        try:
            return BoundedHasher().encode("sesame", "salt")
        except RateLimitError as error:
            return str(error)

    begun = time.monotonic()
    with ThreadPoolExecutor(16) as threads:
        results = list(threads.map(sign_in, range(16)))

    assert most == 1
    assert MAX_PENDING_HASHES <= results.count("hashed") < 16
    assert any("Too many people are signing in" in result for result in results)
    assert time.monotonic() - begun < 16 * 0.2
