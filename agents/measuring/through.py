"""Measure in a guest from outside: `ssh vm-a`, `podman exec box`, anything that starts
a program there and brings back what it prints. `winrm:vm-a` and `psdirect:vm-a` are
PowerShell's ways to a Windows: over the network, and from a Hyper-V host through none.
`virsh:vm-a` asks QEMU's agent in a KVM guest.

This machine keeps clock, spool and token; the guest needs nothing but the probe. What
is known here of load, time and hardware is not the guest's: it goes with the run as
what it is, under `through`.
"""

import argparse
import base64
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from typing import Any, Dict, Iterable, List, NamedTuple, Optional

from agents.documents import described_system, own_clock
from agents.errors import UsageError
from agents.measuring.bracket import Measured
from agents.measuring.runners import Step
from agents.programs import FloodError, ended

# A look costs the guest time; the end is seen as much later.
_PAUSE_S = 0.05
_GUEST_PATIENCE_S = 30.0
_SIGNALLED = 128  # as a shell says it


class GuestAgentError(Exception):
    """The guest was not asked, or did not answer."""


def command(domain: str) -> List[str]:
    """Return the words that start this; those for the guest stand behind them."""
    # The folder that `agents` lies in, or the one file that it is packed in.
    ours = os.path.abspath(__file__)
    for _ in range(3):
        ours = os.path.dirname(ours)
    script = "import sys; sys.path.insert(0, %r); " % ours
    script += "from agents.measuring import through; sys.exit(through.main())"
    return [sys.executable, "-c", script, domain]


def main() -> int:
    """Do what the command line says; end as the program there ended."""
    domain, words = sys.argv[1], sys.argv[2:]
    try:
        return run_there(domain, words)
    except GuestAgentError as error:
        print(error, file=sys.stderr)
        return 1


def run_there(domain: str, words: List[str]) -> int:
    """Start a program in a guest, wait for its end, and print what it printed."""
    wanted = {"path": words[0], "arg": words[1:], "capture-output": True}
    pid = _asked(domain, "guest-exec", wanted)["pid"]
    while True:
        state = _asked(domain, "guest-exec-status", {"pid": pid})
        if state["exited"]:
            break
        time.sleep(_PAUSE_S)
    for stream, name in ((sys.stdout, "out"), (sys.stderr, "err")):
        stream.buffer.write(base64.b64decode(state.get(name + "-data", "")))
        stream.flush()
        if state.get(name + "-truncated"):
            raise GuestAgentError("The guest's agent kept only a part of the output.")
    if "signal" in state:
        return _SIGNALLED + int(state["signal"])
    return int(state["exitcode"])


def _asked(domain: str, question: str, arguments: Dict[str, Any]) -> Dict[str, Any]:
    text = json.dumps({"execute": question, "arguments": arguments})
    try:
        done = ended(["virsh", "qemu-agent-command", domain, text], _GUEST_PATIENCE_S)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise GuestAgentError("virsh: %s" % error) from None
    try:
        answer = json.loads(done.printed)["return"]
    except (ValueError, KeyError, TypeError):
        why = done.complaint.strip() or "virsh gave no answer."
        raise GuestAgentError(why) from None
    if not isinstance(answer, dict):
        raise GuestAgentError("virsh answered something else: %r" % (answer,))
    return answer


PROBE = "./virtlab-probe"
KERNELS = ("virtlab-linpack", "virtlab-memory", "virtlab-system")
WHOLE = "{}"
_PATIENCE_S = 60.0
# The probe says how it is used in two hundred; a login may greet besides.
_MOST_SAID = 64 * 1024
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

    ``quote`` stands around each word that a shell there would read otherwise; ``said``
    is what a person wrote, where the words are ours.
    """

    words: List[str]
    probe: str
    quote: str = ""
    said: str = ""

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

    def steps(self, steps: List[Step]) -> List[Step]:
        """Return the same steps, started from here."""
        return [step._replace(argv=self.argv(step.argv)) for step in steps]

    def check(self) -> None:
        """Raise UsageError unless the probe starts there."""
        argv = self.argv([self.probe])
        try:
            code, printed, _ = ended(argv, _PATIENCE_S, True, _MOST_SAID)
        except FloodError as error:
            code, printed = 0, str(error.strerror)
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


def add_through_arguments(parser: argparse.ArgumentParser) -> None:
    """Take the words for measuring elsewhere."""
    parser.add_argument(
        "--through",
        metavar="COMMAND",
        help='measure in a guest by the probe there: "ssh vm-a", "podman exec box", '
        "virsh:vm-a, winrm:vm-a, psdirect:vm-a",
    )
    parser.add_argument(
        "--credential",
        default="",
        metavar="FILE",
        help="for winrm:HOST and psdirect:MACHINE: Get-Credential | Export-Clixml FILE",
    )
    parser.add_argument(
        "--probe", default="", metavar="PATH", help="where it is there (%s)" % PROBE
    )


def through_of(options: argparse.Namespace) -> Optional[Through]:
    """Return the way to a guest that was asked for; raise UsageError unless it works.

    None where this machine itself is measured.
    """
    if options.through is None:
        if options.probe or options.credential:
            raise UsageError("--probe and --credential go with --through.")
        return None
    probe = options.probe or PROBE
    through = read_through(options.through, probe, options.credential)
    through.check()
    return through


def check_tools(tools: Iterable[str]) -> None:
    """Raise UsageError where the probe has one of these tools not."""
    strange = sorted(set(tools) - set(KERNELS))
    if strange:
        raise UsageError(
            "--through runs what the probe has: %s. %s it has not: run it there and "
            "push what it printed." % (", ".join(KERNELS), ", ".join(strange))
        )


def read_through(text: str, probe: str, credential: str = "") -> Through:
    """Read what a person wrote as one word, as a shell would."""
    kind, _, target = text.partition(":")
    if kind in _TO and target:
        return _by_powershell(kind, target, probe, credential)._replace(said=text)
    if kind == "virsh" and target and not credential:
        return Through(command(target), probe, said=text)
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


class Machine(NamedTuple):
    """What is measured: what is known of it, whose clock its tools read, which system
    it is."""

    facts: Dict[str, Any]
    clock: str
    system: Any


def machine_of(
    options: argparse.Namespace, host: str, through: Optional[Through]
) -> Machine:
    """Describe this machine, or the one that is measured through it.

    Of that nothing is known, so that a person has to say it.
    """
    from agents.detection.facts import gather_platform

    if through is None:
        facts = gather_platform()
        system = described_system(options, facts, host)
        return Machine(facts, own_clock(facts), system)
    sentence = "It is measured through another machine."
    nothing = {"layers": [], "conflict": True, "sentence": sentence}
    system = described_system(options, {"platform": nothing}, host)
    is_native = (options.hypervisor or "").lower() == "native"
    return Machine({}, "local" if is_native else "guest", system)


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
            command=through.said or " ".join(through.words),
            clock=measured.facts["clock"],
            warnings=measured.warnings,
        ),
    )
    return measured._replace(facts=facts)
