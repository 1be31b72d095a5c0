"""What the agent says: progress on a terminal, plain lines with the time in a log."""

import os
import sys
import time


class Console:
    """Lines for people. Results go to standard output, all else to standard error."""

    def __init__(self) -> None:
        self.is_terminal = sys.stderr.isatty()
        self.is_quiet = False
        self._width = 0

    def result(self, text: str) -> None:
        """Print what was asked for."""
        self._clear()
        sys.stdout.write(text + "\n")
        sys.stdout.flush()

    def say(self, text: str) -> None:
        """Print a line that stays."""
        if not self.is_quiet:
            self.complain(text)

    def complain(self, text: str) -> None:
        """Print a line that stays, even if only the necessary is to be said."""
        self._clear()
        stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ ", time.gmtime())
        sys.stderr.write(("" if self.is_terminal else stamp) + text + "\n")
        sys.stderr.flush()

    def progress(self, text: str) -> None:
        """Print a line that the next one replaces; in a log it stays."""
        if not self.is_terminal:
            self.say(text)
        elif not self.is_quiet:
            shown = text[: _columns() - 1]
            sys.stderr.write("\r" + shown.ljust(self._width))
            sys.stderr.flush()
            self._width = len(shown)

    def _clear(self) -> None:
        if self._width:
            sys.stderr.write("\r" + " " * self._width + "\r")
            self._width = 0


def _columns() -> int:
    try:
        return os.get_terminal_size(sys.stderr.fileno()).columns
    except (OSError, ValueError):
        return 80
