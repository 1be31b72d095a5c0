"""Measure in a guest from outside, through any command that runs a program there.

Commands are `ssh vm-a`, `podman exec box`, `winrm:vm-a` and `psdirect:vm-a` (PowerShell
over the network, and from a Hyper-V host without one), and `virsh:vm-a` (QEMU's agent
in a KVM guest).

This machine keeps clock, spool and token; the guest needs only the probe. Load and
clock of this machine are not the guest's: a run states them under `through`.
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
from agents.processes import FloodError, ended

# Interval of checks for the end: a check costs the guest time.
_PAUSE_S = 0.05
_GUEST_PATIENCE_S = 30.0
_SIGNALLED = 128  # as a shell says it


class GuestAgentError(Exception):
    """The guest's agent did not answer."""


def command(domain: str) -> List[str]:
    """Return the command that runs `main`; the words for the guest follow it."""
    # The folder of `agents`, or the file in which it is packed.
    ours = os.path.abspath(__file__)
    for _ in range(3):
        ours = os.path.dirname(ours)
    script = "import sys; sys.path.insert(0, %r); " % ours
    script += "from agents.measuring import through; sys.exit(through.main())"
    return [sys.executable, "-c", script, domain]


def main() -> int:
    """Run a program in a guest through QEMU's agent; return its exit code."""
    domain, words = sys.argv[1], sys.argv[2:]
    wanted = {"path": words[0], "arg": words[1:], "capture-output": True}
    try:
        pid = _asked(domain, "guest-exec", wanted)["pid"]
        state = _asked(domain, "guest-exec-status", {"pid": pid})
        while not state["exited"]:
            time.sleep(_PAUSE_S)
            state = _asked(domain, "guest-exec-status", {"pid": pid})
        for stream, name in ((sys.stdout, "out"), (sys.stderr, "err")):
            stream.buffer.write(base64.b64decode(state.get(name + "-data", "")))
            stream.flush()
            if state.get(name + "-truncated"):
                sentence = "The guest's agent kept only a part of the output."
                raise GuestAgentError(sentence)
    except GuestAgentError as error:
        print(error, file=sys.stderr)
        return 1
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
# The usage of the probe has two hundred bytes; a login may print more.
_MOST_SAID = 64 * 1024
# Words that no shell changes: ssh passes all words to one.
_PLAIN = re.compile(r"[\w./,:=@%+\[\]\\-]+")
_USAGE = "probe linpack|memory|system"
_NOT_HERE = (
    "it was measured through another machine, whose clock says nothing about its"
)


# Parameters of New-PSSession.
_TO = {"winrm": "ComputerName", "psdirect": "VMName"}
_SHELLS = ("powershell.exe", "powershell", "pwsh")
# Writes lines as they are: PowerShell might wrap its own output. Errors of the probe
# are lines too, and its exit code is read in the session.
_SCRIPT = (
    "$s = New-PSSession -%s '%s'%s -ErrorAction Stop; "
    'Invoke-Command -Session $s { & {} 2>&1 | ForEach-Object { "$_" } } | '
    "ForEach-Object { [Console]::Out.WriteLine($_) }; "
    "$c = Invoke-Command -Session $s { $LASTEXITCODE }; Remove-PSSession $s; exit $c"
)


class Through(NamedTuple):
    """The command that starts a program elsewhere, and the path of the probe there.

    ``quote`` goes around each word for a shell; ``said`` is the user's text if the
    command is ours.
    """

    words: List[str]
    probe: str
    quote: str = ""
    said: str = ""

    def argv(self, words: List[str]) -> List[str]:
        """Return the command that runs these words elsewhere.

        They replace ``{}`` as one text, or follow the command.
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
        """Return the steps with commands that run them elsewhere."""
        return [step._replace(argv=self.argv(step.argv)) for step in steps]

    def check(self) -> None:
        """Raise UsageError unless the probe starts."""
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

    def seen_from_outside(self, measured: Measured) -> Measured:
        """Mark the facts of a run that are this machine's, not the guest's."""
        execution = dict(measured.facts["execution"])
        here = {
            name: execution.pop(name)
            for name in ("load before", "load after", "busy share", "steal share")
            if name in execution
        }
        here["command"] = self.said or " ".join(self.words)
        here.update(clock=measured.facts["clock"], warnings=measured.warnings)
        facts = dict(
            measured.facts,
            execution=execution,
            clock={"unknown": _NOT_HERE},
            warnings=[],
            through=here,
        )
        return measured._replace(facts=facts)


def add_through_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options for measuring elsewhere."""
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
    """Return the way to a guest, or None; raise UsageError unless it works."""
    if options.through is None:
        if options.probe or options.credential:
            raise UsageError("--probe and --credential go with --through.")
        return None
    probe = options.probe or PROBE
    through = read_through(options.through, probe, options.credential)
    through.check()
    return through


def check_tools(tools: Iterable[str]) -> None:
    """Raise UsageError for tools that the probe does not have."""
    strange = sorted(set(tools) - set(KERNELS))
    if strange:
        raise UsageError(
            "--through runs what the probe has: %s. %s it has not: run it there and "
            "push what it printed." % (", ".join(KERNELS), ", ".join(strange))
        )


def read_through(text: str, probe: str, credential: str = "") -> Through:
    """Parse the value of --through."""
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
    """Return the way through PowerShell; ``credential`` is a file of Export-Clixml."""
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
    """The measured machine: its facts, whose clock its tools read, its system."""

    facts: Dict[str, Any]
    clock: str
    system: Any


def machine_of(
    options: argparse.Namespace, host: str, through: Optional[Through]
) -> Machine:
    """Describe this machine, or a guest, about which nothing is detected."""
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
