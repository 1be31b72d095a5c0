"""Password hashing that leaves threads for other requests."""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Any, Final

from django.contrib.auth.hashers import PBKDF2PasswordHasher

from benchmarks.errors import BusyError
from benchmarks.labs.sign_in_throttle import SignInAttempt, current_attempt

# One thread hashes while one other waits. A known browser may wait besides them.
MAX_PENDING_HASHES: Final = 2
MAX_WAIT_S: Final = 10
RETRY_AFTER_S: Final = 3

_pending: list[SignInAttempt | None] = []
_guard = Lock()
_hashing = Lock()


class BoundedHasher(PBKDF2PasswordHasher):
    """A hasher with limited concurrency, because a hash takes 0.5 s of CPU time.

    Raises BusyError if too many are pending. A network and an account have one place
    each, and known browsers a reserved one.
    """

    def encode(self, password: Any, salt: Any, iterations: Any = None) -> str:
        with _place(current_attempt.get()):
            if not _hashing.acquire(timeout=MAX_WAIT_S):
                raise BusyError(is_own_share=False, retry_after_s=RETRY_AFTER_S)
            try:
                return str(super().encode(password, salt, iterations))
            finally:
                _hashing.release()


@contextmanager
def _place(attempt: SignInAttempt | None) -> Iterator[None]:
    with _guard:
        if _takes_more_than_its_share(attempt):
            raise BusyError(is_own_share=True, retry_after_s=RETRY_AFTER_S)
        if len(_pending) >= MAX_PENDING_HASHES and not _may_use_reserved_place(attempt):
            raise BusyError(is_own_share=False, retry_after_s=RETRY_AFTER_S)
        _pending.append(attempt)
    try:
        yield
    finally:
        with _guard:
            _pending.remove(attempt)


def _takes_more_than_its_share(attempt: SignInAttempt | None) -> bool:
    if attempt is None:
        return False
    others = [
        other
        for other in _pending
        if other and other.is_known_browser == attempt.is_known_browser
    ]
    if attempt.is_known_browser:
        return any(other.name == attempt.name for other in others)
    return any(
        other.network == attempt.network or other.name == attempt.name
        for other in others
    )


def _may_use_reserved_place(attempt: SignInAttempt | None) -> bool:
    return bool(
        attempt
        and attempt.is_known_browser
        and not any(other and other.is_known_browser for other in _pending)
    )
