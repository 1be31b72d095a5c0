"""A stop flag for signal handlers, where threading.Event could deadlock."""

import select
import signal
import socket
from typing import Any


class Stop:
    """Can be set from a signal handler, and waited for."""

    def __init__(self) -> None:
        self.is_set = False
        self._listens = False
        self._waker, self.wakened = socket.socketpair()
        for sock in (self._waker, self.wakened):
            # The handler runs in the middle of anything: it must not wait for room.
            sock.setblocking(False)

    def listen_to_signals(self) -> None:
        """Take SIGTERM and Ctrl-C for the wish; Windows wakes from waiting only so."""
        self._listens = True
        signal.set_wakeup_fd(self._waker.fileno())
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self.set)

    def set(self, *_: Any) -> None:
        """Wish to stop; the arguments of a signal handler are welcome."""
        self.is_set = True
        try:
            self._waker.send(b"x")
        except OSError:  # so many wishes that nobody can miss them
            return

    def wait(self, seconds: float) -> bool:
        """Wait so long, or until the wish; say whether there is one."""
        if not self.is_set and select.select([self.wakened], [], [], seconds)[0]:
            # Any signal that Python handles writes here; unread, it wakes us for ever.
            self.wakened.recv(4096)
        return self.is_set

    def close(self) -> None:
        if self._listens:
            signal.set_wakeup_fd(-1)
        self._waker.close()
        self.wakened.close()
