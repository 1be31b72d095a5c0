"""Output for terminals and logs, and arguments within limits."""

import argparse
import os
import re
import sys
import time
from typing import Any, Callable, NoReturn, Optional, TypeVar

Number = TypeVar("Number", int, float)


# Controls, line separators, marks of direction and single surrogates: the server
# rejects them (benchmarks/text.py), and terminals interpret them.
_UNPRINTABLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)
# Tokens of Virtlab, also encoded in an address.
_TOKEN = re.compile(r"\bvl(?:_|%5[fF])(?:[0-9A-Za-z_-]|%[0-9A-Fa-f]{2}){4,}")


def printable(text: str) -> str:
    """Return a text with escapes such as `\\x88` for unprintable characters."""
    return _UNPRINTABLE.sub(
        lambda sign: sign.group().encode("unicode_escape").decode("ascii"), text
    )


def printable_all(value: Any) -> Any:
    """Return facts with only printable text, at every depth."""
    if isinstance(value, dict):
        return {name: printable_all(inner) for name, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [printable_all(inner) for inner in value]
    return printable(value.rstrip("\0")) if isinstance(value, str) else value


def utc_text(at_s: Optional[float] = None) -> str:
    """Return a time in seconds since 1970, by default now, as 2026-11-24T04:00:00Z."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(at_s))


def without_token(text: str) -> str:
    """Hide tokens in a text: some servers repeat the request."""
    return _TOKEN.sub("vl_***", text)


class Parser(argparse.ArgumentParser):
    """An argument parser whose errors contain no token."""

    def error(self, message: str) -> "NoReturn":
        super().error(_shown(message))


class Console:
    """Output for people: results to standard output, all else to standard error."""

    def __init__(self) -> None:
        self.is_terminal = sys.stderr.isatty()
        self._width = 0

    def result(self, text: str) -> None:
        """Print a result."""
        self._clear()
        sys.stdout.write(_shown(text) + "\n")
        sys.stdout.flush()

    def say(self, text: str) -> None:
        """Print a permanent line."""
        self._clear()
        stamp = "" if self.is_terminal else utc_text() + " "
        sys.stderr.write(stamp + _shown(text) + "\n")
        sys.stderr.flush()

    def progress(self, text: str) -> None:
        """Print a line that the next one replaces on a terminal."""
        if not self.is_terminal:
            return self.say(text)
        try:
            columns = os.get_terminal_size(sys.stderr.fileno()).columns
        except (OSError, ValueError):
            columns = 80
        # One column short: a full line would wrap, and \r does not go back up.
        shown = _shown(text)[: columns - 1]
        sys.stderr.write("\r" + shown.ljust(self._width))
        sys.stderr.flush()
        self._width = len(shown)
        return None

    def _clear(self) -> None:
        if self._width:
            sys.stderr.write("\r" + " " * self._width + "\r")
            self._width = 0


def _shown(text: str) -> str:
    return printable(without_token(text))


def whole(least: int, most: int = 10**15) -> Callable[[str], int]:
    """Return a parser of whole numbers for argparse."""
    return _within(int, "whole number", least, most)


def seconds(least: float, most: float = 1e6) -> Callable[[str], float]:
    """Return a parser of seconds for argparse."""
    return _within(float, "number of seconds", least, most)


def _within(
    kind: Callable[[str], Number], name: str, least: float, most: float
) -> Callable[[str], Number]:
    def read(text: str) -> Number:
        number = kind(text)
        if not least <= number <= most:  # true for NaN
            sentence = "%s is not from %.10g to %.10g" % (text, least, most)
            raise argparse.ArgumentTypeError(sentence)
        return number

    # argparse prints this name for a text that is not a number.
    read.__name__ = name
    return read
