"""Passwords are hashed one at a time in each process: pages go on meanwhile."""

from threading import BoundedSemaphore, Lock
from typing import Any, Final

from django.contrib.auth.hashers import PBKDF2PasswordHasher

from benchmarks.errors import TooFastError
from benchmarks.sentences import Sentence

# Of a process's four threads one hashes and one waits for it.
WAITING: Final = 2
PATIENCE_S: Final = 10
AGAIN_S: Final = 3

_room = BoundedSemaphore(WAITING)
_turn = Lock()


class BoundedHasher(PBKDF2PasswordHasher):
    """Django's password hasher, with few hashes at once: each takes 0.5 s of CPU.

    Raises TooFastError for one too many.
    """

    def encode(self, password: Any, salt: Any, iterations: Any = None) -> str:
        if not _room.acquire(blocking=False):
            raise _too_many()
        try:
            if not _turn.acquire(timeout=PATIENCE_S):
                raise _too_many()
            try:
                return str(super().encode(password, salt, iterations))
            finally:
                _turn.release()
        finally:
            _room.release()


def _too_many() -> TooFastError:
    many = Sentence("Many people sign in at this moment.")
    return TooFastError(many, AGAIN_S)
