"""Measure in a guest from outside: `ssh vm-a`, `podman exec box`, anything that starts
a program there and brings back what it prints.

This machine keeps clock, spool and token; the guest needs nothing but the probe. What
is known here of load, time and hardware is not the guest's: it goes with the run as
what it is, under `through`.
"""

import re
import shlex
import subprocess
from typing import Any, Dict, List, NamedTuple

from agents.errors import UsageError
from agents.measuring.bracket import Measured
from agents.programs import ended

PROBE = "./virtlab-probe"
KERNELS = ("virtlab-linpack", "virtlab-memory", "virtlab-system")
WHOLE = "{}"
_PATIENCE_S = 60.0
# What no shell and no command line changes: ssh gives all words to one.
_PLAIN = re.compile(r"[\w./,:=@%+\[\]\\-]+")
_USAGE = "probe linpack|memory|system"
_NOT_HERE = "it was measured through another machine, whose clock says nothing of its"


class Through(NamedTuple):
    """The words that start a program elsewhere, and where the probe is there."""

    words: List[str]
    probe: str

    def argv(self, words: List[str]) -> List[str]:
        """Return what is started here so that these words are started there.

        They take the place of ``{}`` as one text, or stand behind all others.
        """
        for word in words:
            if not _PLAIN.fullmatch(word):
                raise UsageError(
                    "%r cannot be said through another program: use letters, digits "
                    "and . / , : = @ %% + -" % word
                )
        if WHOLE not in self.words:
            return self.words + words
        return [" ".join(words) if word == WHOLE else word for word in self.words]

    def check(self) -> None:
        """Raise UsageError unless the probe starts there."""
        argv = self.argv([self.probe])
        try:
            code, printed, _ = ended(argv, _PATIENCE_S, is_joined=True)
        except OSError as error:
            raise UsageError("%s: %s" % (argv[0], error.strerror)) from None
        except subprocess.TimeoutExpired:
            code, printed = 0, "it gave no end within %.0f s" % _PATIENCE_S
        if code != 2 or _USAGE not in printed:
            lines = printed.strip().splitlines() or ["it printed nothing"]
            raise UsageError(
                "%s does not start the probe (%s). Copy virtlab-probe there (make "
                "probe) and say where it is: --probe PATH" % (" ".join(argv), lines[-1])
            )


def read_through(text: str, probe: str) -> Through:
    """Read what a person wrote as one word, as a shell would."""
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise UsageError("--through %s: %s" % (text, error)) from None
    if not words or words == [WHOLE]:
        raise UsageError('--through names a program, as in --through "ssh vm-a"')
    return Through(words, probe)


def facts_elsewhere() -> Dict[str, Any]:
    """Return what is known of the guest: nothing, so that a person has to say it."""
    sentence = "It is measured through another machine."
    return {"platform": {"layers": [], "conflict": True, "sentence": sentence}}


def seen_from_outside(measured: Measured, through: Through) -> Measured:
    """Say of a run's facts which are this machine's, not the guest's."""
    execution = dict(measured.facts["execution"])
    here = {
        name: execution.pop(name)
        for name in ("load before", "load after", "busy share", "steal share")
        if name in execution
    }
    facts = dict(
        measured.facts,
        execution=execution,
        clock={"unknown": _NOT_HERE},
        warnings=[],
        through=dict(
            here,
            command=" ".join(through.words),
            clock=measured.facts["clock"],
            warnings=measured.warnings,
        ),
    )
    return measured._replace(facts=facts)
