"""Arguments within limits, and lines of progress for terminals and logs."""

import argparse
import os
import re
import sys
import time
from typing import Callable, NoReturn, TypeVar

Number = TypeVar("Number", int, float)


# Controls, line separators, marks of direction and halves of surrogates. The server
# takes none of them (benchmarks/text.py), and a terminal obeys them.
_UNPRINTABLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)
# Virtlab's tokens, wherever they stand, as they are or as a part of an address.
_TOKEN = re.compile(r"\bvl(?:_|%5[fF])(?:[0-9A-Za-z_-]|%[0-9A-Fa-f]{2}){4,}")


def printable(text: str) -> str:
    """Return a text without what a terminal obeys: `\\x88` for what cannot be shown."""
    return _UNPRINTABLE.sub(
        lambda sign: sign.group().encode("unicode_escape").decode("ascii"), text
    )


def without_token(text: str) -> str:
    """Return a text that shows no token: some servers repeat what they were told."""
    return _TOKEN.sub("vl_***", text)


class Parser(argparse.ArgumentParser):
    """Says what is wrong with the words of a command, but never a token among them."""

    def error(self, message: str) -> "NoReturn":
        super().error(_shown(message))


class Console:
    """Lines for people. Results go to standard output, all else to standard error."""

    def __init__(self) -> None:
        self.is_terminal = sys.stderr.isatty()
        self._width = 0

    def result(self, text: str) -> None:
        """Print what was asked for."""
        self._clear()
        sys.stdout.write(_shown(text) + "\n")
        sys.stdout.flush()

    def say(self, text: str) -> None:
        """Print a line that stays."""
        self._clear()
        stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ ", time.gmtime())
        sys.stderr.write(("" if self.is_terminal else stamp) + _shown(text) + "\n")
        sys.stderr.flush()

    def progress(self, text: str) -> None:
        """Print a line that the next one replaces; in a log it stays."""
        if not self.is_terminal:
            return self.say(text)
        try:
            columns = os.get_terminal_size(sys.stderr.fileno()).columns
        except (OSError, ValueError):
            columns = 80
        # One column short: a full line wraps, and \r does not go back up.
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
    """Return what reads a whole number for argparse."""

    def read(text: str) -> int:
        return int(_within(text, int(text), least, most))

    return _named(read, "whole number")


def seconds(least: float, most: float = 1e6) -> Callable[[str], float]:
    """Return what reads a time for argparse."""

    def read(text: str) -> float:
        return _within(text, float(text), least, most)

    return _named(read, "number of seconds")


def _within(text: str, number: float, least: float, most: float) -> float:
    if not least <= number <= most:  # nor is what is no number at all
        sentence = "%s is not from %.10g to %.10g" % (text, least, most)
        raise argparse.ArgumentTypeError(sentence)
    return number


def _named(read: Callable[[str], Number], name: str) -> Callable[[str], Number]:
    """Let argparse say what is expected where a text is not a number."""
    read.__name__ = name
    return read
