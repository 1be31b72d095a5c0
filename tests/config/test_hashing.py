"""Passwords are hashed one at a time: pages go on meanwhile."""

import time
from concurrent.futures import ThreadPoolExecutor
from threading import Lock

from django.contrib.auth.hashers import PBKDF2PasswordHasher

from benchmarks.errors import TooFastError
from config.hashing import WAITING, BoundedHasher


def test_it_makes_and_reads_what_djangos_own_does():
    made = PBKDF2PasswordHasher().encode("sesame", "salt", 1000)

    assert BoundedHasher().encode("sesame", "salt", 1000) == made
    assert BoundedHasher().verify("sesame", made)


def test_of_sixteen_sign_ins_at_once_one_is_hashed_and_few_wait(monkeypatch):
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
        except TooFastError as error:
            return str(error)

    begun = time.monotonic()
    with ThreadPoolExecutor(16) as threads:
        said = list(threads.map(sign_in, range(16)))

    assert most == 1
    assert WAITING <= said.count("hashed") < 16
    assert any("Many people sign in" in each for each in said)
    assert time.monotonic() - begun < 16 * 0.2
