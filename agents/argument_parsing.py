"""The command-line parser, and types of its arguments."""

import argparse
import os
from typing import Callable, NoReturn, TypeVar

from agents.console import safe_text
from agents.errors import UsageError

NumberType = TypeVar("NumberType", int, float)


class Parser(argparse.ArgumentParser):
    """An argument parser whose errors contain no token."""

    def error(self, message: str) -> "NoReturn":
        super().error(safe_text(message))


def read_given_file(name: str, advice: str = "") -> bytes:
    """Return the content of a file; refuse devices and pipes, which may never end."""
    try:
        if os.path.exists(name) and not os.path.isfile(name):
            raise UsageError(("%s is not a file. %s" % (name, advice)).rstrip())
        with open(name, "rb") as file:
            return file.read()
    except OSError as error:
        raise UsageError("%s: %s" % (name, error.strerror)) from None


def int_between(minimum: int, maximum: int = 10**15) -> Callable[[str], int]:
    return _within(int, "whole number", minimum, maximum)


def seconds_between(minimum: float, maximum: float = 1e6) -> Callable[[str], float]:
    return _within(float, "number of seconds", minimum, maximum)


def _within(
    kind: Callable[[str], NumberType], name: str, least: float, most: float
) -> Callable[[str], NumberType]:
    def read(text: str) -> NumberType:
        number = kind(text)
        if not least <= number <= most:  # False for NaN
            message = "%s is not from %.10g to %.10g" % (text, least, most)
            raise argparse.ArgumentTypeError(message)
        return number

    # argparse shows this name in its error messages.
    read.__name__ = name
    return read
