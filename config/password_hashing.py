"""Password hashing that leaves threads for other requests."""

from threading import BoundedSemaphore, Lock
from typing import Any, Final

from django.contrib.auth.hashers import PBKDF2PasswordHasher

from benchmarks.errors import RateLimitError
from benchmarks.sentences import Sentence

# One thread hashes while one other waits.
MAX_PENDING_HASHES: Final = 2
MAX_WAIT_S: Final = 10
RETRY_AFTER_S: Final = 3

_queue = BoundedSemaphore(MAX_PENDING_HASHES)
_hashing = Lock()


class BoundedHasher(PBKDF2PasswordHasher):
    """A hasher with limited concurrency, because a hash takes 0.5 s of CPU time.

    Raises RateLimitError if too many hashes are pending.
    """

    def encode(self, password: Any, salt: Any, iterations: Any = None) -> str:
        if not _queue.acquire(blocking=False):
            raise _rate_limit_error()
        try:
            if not _hashing.acquire(timeout=MAX_WAIT_S):
                raise _rate_limit_error()
            try:
                return str(super().encode(password, salt, iterations))
            finally:
                _hashing.release()
        finally:
            _queue.release()


def _rate_limit_error() -> RateLimitError:
    message = Sentence("Too many people are signing in right now.")
    return RateLimitError(message, RETRY_AFTER_S)
