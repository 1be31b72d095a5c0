"""What goes on beside the readings, so that no server that hangs delays one.

A thread takes the time server's stamps and sends the spool; the readings' own thread
only collects the stamps.
"""

import threading
from typing import Callable, List, Optional

from agents.measuring.bracket import TimePath
from agents.stopping import Stop
from agents.timing.asking import NoTimeError
from agents.timing.stamps import Stamp
from agents.watching import Watch

STAMP_EVERY_S = 30.0
RETRY_S = 5.0
PATIENCE_S = 10.0


class Companion:
    """Takes a stamp now and then, and watches the spool if it is given one."""

    def __init__(
        self, path: TimePath, watch: Optional[Watch], report: Callable[[str], None]
    ) -> None:
        self.path, self.watch, self.report = path, watch, report
        self._stamps: List[Stamp] = []
        self._silence = ""
        self._stop = Stop()
        self._thread = threading.Thread(target=self._go_on, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stamps(self) -> List[Stamp]:
        """Return the stamps taken since the last time this was asked."""
        taken = []
        while self._stamps:
            taken.append(self._stamps.pop(0))
        return taken

    def stop(self) -> None:
        """End the thread, if it can be ended, and take a last stamp."""
        self._stop.set()
        self._thread.join(PATIENCE_S)
        if not self._thread.is_alive():
            self._stop.close()
            self._stamp()

    def _go_on(self) -> None:
        pause_s = 0.0
        while not self._stop.wait(pause_s):
            pause_s = self._stamp()
            if self.watch is not None:
                self.watch.look()

    def _stamp(self) -> float:
        """Take a stamp; return how long to wait before the next one."""
        try:
            self._stamps.append(self.path.stamp())
        except NoTimeError as error:
            if str(error) != self._silence:
                self._silence = str(error)
                self.report("No stamp, so the log waits for one: %s" % error)
            return RETRY_S
        self._silence = ""
        return STAMP_EVERY_S
