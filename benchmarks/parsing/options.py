"""Options of command lines as parameters of a case: ``-t 4`` is ``--threads=4``.

Whoever uploads samples writes down how the tool was called, in the tool's own words or
in ours. Where a tool says what its options mean, both are one case. Nothing else is
guessed: an option that it does not know stays what it is.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from benchmarks.errors import InvalidError, shorten

# Parameters that hold a whole command line's options.
LINES: Final = frozenset({"args", "arguments", "options", "command line"})
_BARE_SIZE: Final = re.compile(r"(\d+(?:\.\d+)?) ?([kKmMgGtT])")
_SWITCHES: Final = {"0": "off", "1": "on"}


@dataclass(frozen=True, slots=True)
class Options:
    """What a tool's options mean: ``names`` as they are typed -> the parameter.

    ``sizes`` are parameters whose K, M, G mean powers of 1024, ``bit_rates`` those in
    bit/s, whose prefixes mean powers of 1000; ``switches`` are 0 or 1 when typed.
    """

    names: Mapping[str, str] = field(default_factory=dict)
    sizes: frozenset[str] = frozenset()
    bit_rates: frozenset[str] = frozenset()
    switches: frozenset[str] = frozenset()

    def spelled(self, parameters: Mapping[str, object]) -> dict[str, object]:
        """Return parameters with those options that are known under our names."""
        given: list[tuple[str, str, object]] = []
        for key, value in parameters.items():
            read = self._read(value) if _plain(key) in LINES else None
            if read is None:
                given.append((self._name(key), key, value))
            else:
                given += read
        spelled: dict[str, object] = {}
        keys: dict[str, str] = {}
        for name, key, value in given:
            if name in spelled:
                raise InvalidError(
                    "parameter",
                    'The parameters "{one}" and "{other}" are the same one '
                    '("{key}"). Send it once.',
                    one=shorten(keys[name]),
                    other=shorten(key),
                    key=name,
                )
            spelled[name], keys[name] = self._value(name, value), key
        return spelled

    def _name(self, key: str) -> str:
        """Return the parameter that an option means: of one letter with its dash."""
        typed = key.strip()
        if not typed.startswith("-") and len(typed) > 1:
            typed = "--" + _plain(typed).replace(" ", "-")
        return self.names.get(typed, key)

    def _read(self, line: object) -> list[tuple[str, str, object]] | None:
        """Return the options of a line; None unless every one of them is known."""
        try:
            words = shlex.split(line) if isinstance(line, str) else []
        except ValueError:  # an open quotation mark
            return None
        found: list[tuple[str, str, object]] = []
        at = 0
        while at < len(words):
            option, sign, value = words[at].partition("=")
            at += 1
            # -t4 and -t=4 do not mean the same everywhere: only what getopt takes.
            if not option.startswith("--") and option[:2] in self.names:
                value = words[at - 1][2:]
                option, sign = option[:2], value
            if option not in self.names:
                return None
            if not sign:
                if at == len(words):
                    return None
                value = words[at]
                at += 1
            found.append((self.names[option], option, value))
        return found or None

    def _value(self, name: str, value: object) -> object:
        text = value.strip() if isinstance(value, str) else str(value)
        if name in self.switches and text in _SWITCHES:
            return _SWITCHES[text]
        if name in self.bit_rates and (rate := _BARE_SIZE.fullmatch(text)):
            # Kilobits alone have a small prefix.
            return f"{rate[1]} {rate[2].upper().replace('K', 'k')}bit/s"
        size = _BARE_SIZE.fullmatch(text) if name in self.sizes else None
        return f"{size[1]} {size[2].upper()}iB" if size else value


def _plain(key: str) -> str:
    return re.sub(r"[ _-]+", " ", key.strip().casefold())
