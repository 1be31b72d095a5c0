"""Text output without tokens."""

import json
import os
import re
import sys
import time
from typing import Any, Dict, List, Optional

# Control characters, line separators, direction marks and lone surrogates, as in
# benchmarks/text_validation.py.
_UNPRINTABLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)
_TOKEN = re.compile(r"\bvl(?:_|%5[fF])(?:[0-9A-Za-z_-]|%[0-9A-Fa-f]{2}){4,}")


def printable(text: str) -> str:
    """Escape unprintable characters, as in `\\x88`."""
    return _UNPRINTABLE.sub(
        lambda match: match.group().encode("unicode_escape").decode("ascii"), text
    )


def printable_name(name: str) -> str:
    """Return a file name; bytes that are not UTF-8 become escapes as in `\\xe9`."""
    return printable(os.fsencode(name).decode("utf-8", "backslashreplace"))


def printable_all(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: printable_all(inner) for name, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [printable_all(inner) for inner in value]
    return printable(value.rstrip("\0")) if isinstance(value, str) else value


def utc_text(at_s: Optional[float] = None) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(at_s))


def without_token(text: str) -> str:
    return _TOKEN.sub("vl_***", text)


class JsonReport:
    """The output of a command as one JSON object (``--json``)."""

    def __init__(self, command: str) -> None:
        self.command = command
        self.results: List[str] = []
        self.messages: List[str] = []
        self.values: Dict[str, Any] = {}

    def text(self, exit_code: int) -> str:
        report = dict(self.values, command=self.command, exit_code=exit_code)
        report.update(results=self.results, messages=self.messages)
        return json.dumps(report, indent=1, sort_keys=True)


class Console:
    """Output of a command: results to stdout, messages to stderr, without any token."""

    json: Optional[JsonReport] = None  # of this process, if --json was given

    def __init__(self) -> None:
        self.is_terminal = sys.stderr.isatty()
        self._width = 0

    def print_result(self, text: str) -> None:
        self._clear()
        if self.json:
            self.json.results.append(safe_text(text))
            return
        sys.stdout.write(safe_text(text) + "\n")
        sys.stdout.flush()

    def message(self, text: str) -> None:
        self._clear()
        if self.json:
            self.json.messages.append(safe_text(text))
        stamp = "" if self.is_terminal else utc_text() + " "
        sys.stderr.write(stamp + safe_text(text) + "\n")
        sys.stderr.flush()

    def record(self, name: str, value: Any) -> None:
        """Add a value to the output with --json."""
        if self.json:
            self.json.values[name] = value

    def progress(self, text: str) -> None:
        """Print a line that the next one replaces on a terminal."""
        if not self.is_terminal:
            sys.stderr.write("%s %s\n" % (utc_text(), safe_text(text)))
            sys.stderr.flush()
            return
        try:
            columns = os.get_terminal_size(sys.stderr.fileno()).columns
        except (OSError, ValueError):
            columns = 80
        # A line as wide as the terminal would wrap.
        shown = safe_text(text)[: columns - 1]
        sys.stderr.write("\r" + shown.ljust(self._width))
        sys.stderr.flush()
        self._width = len(shown)

    def _clear(self) -> None:
        if self._width:
            sys.stderr.write("\r" + " " * self._width + "\r")
            self._width = 0


def safe_text(text: str) -> str:
    return printable(without_token(text))
