"""Numbers that a command is given: within their limits, or a sentence."""

import argparse
from typing import Callable, TypeVar

Number = TypeVar("Number", int, float)


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
        said = "%s is not from %.10g to %.10g" % (text, least, most)
        raise argparse.ArgumentTypeError(said)
    return number


def _named(read: Callable[[str], Number], name: str) -> Callable[[str], Number]:
    """Let argparse say what is expected where a text is no number."""
    read.__name__ = name
    return read
