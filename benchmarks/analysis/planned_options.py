"""The options that a plan may give a tool, as the agent's runners know them. PURE.

They become arguments of programs on other people's machines: each has one narrow form.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from benchmarks.analysis.planning import Option, PlanError
from benchmarks.errors import closest, did_you_mean, shorten
from benchmarks.sentences import Sentence, either, joined

NUMBERS: Final[Mapping[str, range]] = {
    "seconds": range(1, 86_401),
    "threads": range(1, 4_097),
    "file_mib": range(1, 1_048_577),
    "budget_s": range(1, 86_401),
    "bits": range(32, 65, 32),
    "array_mib": range(1, 65_537),
}
TEXTS: Final[Mapping[str, tuple[re.Pattern[str], str]]] = {
    "folder": (re.compile(r"/[\w./+-]{0,200}", re.ASCII), "/mnt/disk"),
    "peer": (re.compile(r"[A-Za-z0-9][A-Za-z0-9.:-]{0,200}"), "192.168.1.7"),
    "device": (re.compile(r"/dev/[\w/-]{1,100}", re.ASCII), "/dev/vda"),
    "sizes": (re.compile(r"[1-9]\d{0,4}(,[1-9]\d{0,4}){0,9}"), "1000,2000"),
    "blocks_kib": (re.compile(r"[1-9]\d{0,6}(,[1-9]\d{0,6}){0,31}"), "1,32,1024"),
}
KNOWN: Final = (*NUMBERS, *TEXTS)


def checked_options(options: Mapping[str, Any]) -> dict[str, Option]:
    """Return options that may be handed to an agent; PlanError says what is wrong."""
    for name, value in options.items():
        if name in NUMBERS:
            _check_number(name, value)
        elif name in TEXTS:
            _check_text(name, value)
        else:
            none = Sentence('Tools have no option "{name}".', name=shorten(name))
            known = Sentence("Known are: {known}.", known=", ".join(KNOWN))
            hint = did_you_mean(closest(name, KNOWN))
            raise PlanError(joined([none, hint, known]))
    return dict(options)


def _check_number(name: str, value: Any) -> None:
    wanted = NUMBERS[name]
    if type(value) is not int or value not in wanted:
        known = (
            either(["32", "64"])
            if name == "bits"
            else Sentence(
                "a whole number from {least:,} to {most:,}",
                least=wanted[0],
                most=wanted[-1],
            )
        )
        raise PlanError(
            Sentence('The option "{name}" is {known}.', name=name, known=known)
        )


def _check_text(name: str, value: Any) -> None:
    pattern, example = TEXTS[name]
    if not isinstance(value, str) or not pattern.fullmatch(value):
        raise PlanError(
            Sentence(
                'The option "{name}" is a text such as {example}.',
                name=name,
                example=example,
            )
        )
