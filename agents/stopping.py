"""A wish to stop that a signal handler may express at any moment.

threading.Event may not be set there: the handler runs in the very thread that may hold
the event's lock while it begins to wait, and would wait for itself for ever.
"""

import select
import socket
from typing import Any


class Stop:
    """Can be set from a signal handler, and waited for."""

    def __init__(self) -> None:
        self.is_set = False
        self._waker, self._wakened = socket.socketpair()
        self._waker.setblocking(False)

    def set(self, *_: Any) -> None:
        """Wish to stop; the arguments of a signal handler are welcome."""
        self.is_set = True
        try:
            self._waker.send(b"x")
        except OSError:  # so many wishes that nobody can miss them
            return

    def wait(self, seconds: float) -> bool:
        """Wait so long, or until the wish; say whether there is one."""
        if not self.is_set:
            select.select([self._wakened], [], [], seconds)
        return self.is_set

    def close(self) -> None:
        self._waker.close()
        self._wakened.close()
