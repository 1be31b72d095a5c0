"""The daemon's loop: look, send, wait longer after failures, say each trouble once."""

from agents.client import Client
from agents.quiet import is_quiet
from agents.sending import Report, deliver, pause_s
from agents.spool import Spool
from agents.stopping import Stop

FULL = 0.9


class Watch:
    """Sends a spool's runs until it is stopped."""

    def __init__(
        self, spool: Spool, client: Client, report: Report, every_s: float = 5.0
    ) -> None:
        self.spool, self.client = spool, client
        self.report, self.every_s = report, every_s
        self.failures = 0
        self.said = ""

    def go_on_until(self, stop: Stop) -> None:
        """Look and send, again and again."""
        while not stop.wait(self.look()):
            pass

    def look(self) -> float:
        """Send what waits; return how long to wait before the next look."""
        if not self.spool.waiting() or is_quiet():
            self._say("")
            return self.every_s
        delivery = deliver(self.spool, self.client, self.report)
        if not delivery.trouble:
            self.failures = 0
            self._say("")
            return self.every_s
        # Progress shows that the server is there: only failing from the start counts.
        self.failures = 0 if delivery.sent else self.failures + 1
        self._say("%d wait: %s" % (delivery.left, self._trouble(delivery.trouble)))
        return pause_s(self.failures, delivery.wait_s)

    def _trouble(self, sentence: str) -> str:
        full = self.spool.bytes_held() / self.spool.most_bytes
        if full < FULL:
            return sentence
        return "%s THE SPOOL IS FULL TO %.0f %%." % (sentence, full * 100)

    def _say(self, sentence: str) -> None:
        if sentence and sentence != self.said:
            self.report(sentence)
        self.said = sentence
