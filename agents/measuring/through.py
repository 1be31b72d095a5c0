"""Measure in a guest from outside: `ssh vm-a`, `podman exec box`, anything that starts
a program there and brings back what it prints. `winrm:vm-a` and `psdirect:vm-a` are
PowerShell's ways to a Windows: over the network, and from a Hyper-V host through none.

This machine keeps clock, spool and token; the guest needs nothing but the probe. What
is known here of load, time and hardware is not the guest's: it goes with the run as
what it is, under `through`.
"""

import re
import shlex
import shutil
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
_NOT_HERE = (
    "it was measured through another machine, whose clock says nothing about its"
)


# How PowerShell names the other side.
_TO = {"winrm": "ComputerName", "psdirect": "VMName"}
_SHELLS = ("powershell.exe", "powershell", "pwsh")
# Lines are written as they come: what PowerShell would show it could wrap. The probe's
# own complaints are lines like others, and its exit code is asked for in the session.
_SCRIPT = (
    "$s = New-PSSession -%s '%s'%s -ErrorAction Stop; "
    'Invoke-Command -Session $s { & {} 2>&1 | ForEach-Object { "$_" } } | '
    "ForEach-Object { [Console]::Out.WriteLine($_) }; "
    "$c = Invoke-Command -Session $s { $LASTEXITCODE }; Remove-PSSession $s; exit $c"
)


class Through(NamedTuple):
    """The words that start a program elsewhere, and where the probe is there.

    ``quote`` stands around each word that a shell there would read otherwise.
    """

    words: List[str]
    probe: str
    quote: str = ""

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
        if not any(WHOLE in word for word in self.words):
            return self.words + words
        whole = " ".join(self.quote + word + self.quote for word in words)
        return [word.replace(WHOLE, whole) for word in self.words]

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


def read_through(text: str, probe: str, credential: str = "") -> Through:
    """Read what a person wrote as one word, as a shell would."""
    kind, _, target = text.partition(":")
    if kind in _TO and target:
        return _by_powershell(kind, target, probe, credential)
    if credential:
        raise UsageError("--credential goes with winrm:HOST and psdirect:MACHINE.")
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise UsageError("--through %s: %s" % (text, error)) from None
    if not words or words == [WHOLE]:
        raise UsageError('--through names a program, as in --through "ssh vm-a"')
    return Through(words, probe)


def _by_powershell(kind: str, target: str, probe: str, credential: str) -> Through:
    """Return the way by PowerShell; ``credential`` is a file of Export-Clixml."""
    for name in (target, credential):
        if "'" in name or WHOLE in name:
            raise UsageError("%s cannot be said to PowerShell." % name)
    shell = next(filter(None, map(shutil.which, _SHELLS)), None)
    if shell is None:
        raise UsageError(
            "There is no PowerShell here (looked for %s): start this on a Windows, or "
            "install pwsh." % ", ".join(_SHELLS)
        )
    login = " -Credential (Import-Clixml '%s')" % credential if credential else ""
    script = _SCRIPT % (_TO[kind], target, login)
    words = [shell, "-NoProfile", "-NonInteractive", "-Command", script]
    return Through(words, probe, quote="'")


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
