"""Measure in a guest from outside, through any command that runs a program in it.

Examples are `ssh vm-a`, `podman exec box`, `winrm:vm-a`, `psdirect:vm-a` (PowerShell
from a Hyper-V host without a network) and `virsh:vm-a` (QEMU's guest agent).

The guest needs only the probe. Load and clock of this machine do not describe the
guest, so runs state them under `through`.
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

from agents.errors import UsageError
from agents.measuring.command_lines import Step
from agents.measuring.timed_run import MeasuredStep
from agents.processes import OutputTooLargeError, run_program
from agents.run_and_system_options import system_from_options
from agents.upload_documents import tool_clock

# Each status request takes CPU time from the guest.
_POLL_S = 0.05
_GUEST_TIMEOUT_S = 30.0
_SIGNAL_EXIT_CODE = 128


class GuestAgentError(Exception):
    """The guest agent did not answer."""


def guest_agent_command(domain: str) -> List[str]:
    # The folder or zip archive that contains the package `agents`.
    location = os.path.abspath(__file__)
    for _ in range(3):
        location = os.path.dirname(location)
    script = "import sys; sys.path.insert(0, %r); " % location
    script += "from agents.measuring import remote; sys.exit(remote.main())"
    return [sys.executable, "-c", script, domain]


def main() -> int:
    """Run a program through QEMU's guest agent; return its exit code."""
    domain, words = sys.argv[1], sys.argv[2:]
    request = {"path": words[0], "arg": words[1:], "capture-output": True}
    try:
        pid = _call_guest_agent(domain, "guest-exec", request)["pid"]
        state = _call_guest_agent(domain, "guest-exec-status", {"pid": pid})
        while not state["exited"]:
            time.sleep(_POLL_S)
            state = _call_guest_agent(domain, "guest-exec-status", {"pid": pid})
        for stream, name in ((sys.stdout, "out"), (sys.stderr, "err")):
            stream.buffer.write(base64.b64decode(state.get(name + "-data", "")))
            stream.flush()
            if state.get(name + "-truncated"):
                sentence = "The guest agent returned only a part of the output."
                raise GuestAgentError(sentence)
    except GuestAgentError as error:
        print(error, file=sys.stderr)
        return 1
    if "signal" in state:
        return _SIGNAL_EXIT_CODE + int(state["signal"])
    return int(state["exitcode"])


def _call_guest_agent(
    domain: str, command: str, arguments: Dict[str, Any]
) -> Dict[str, Any]:
    text = json.dumps({"execute": command, "arguments": arguments})
    try:
        process = run_program(
            ["virsh", "qemu-agent-command", domain, text], _GUEST_TIMEOUT_S
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise GuestAgentError("virsh: %s" % error) from None
    try:
        answer = json.loads(process.stdout)["return"]
    except (ValueError, KeyError, TypeError):
        reason = process.stderr.strip() or "virsh did not answer."
        raise GuestAgentError(reason) from None
    if not isinstance(answer, dict):
        raise GuestAgentError("virsh returned an unexpected answer: %r" % (answer,))
    return answer


PROBE_PATH = "./virtlab-probe"
KERNELS = ("virtlab-linpack", "virtlab-memory", "virtlab-system")
PLACEHOLDER = "{}"
_TIMEOUT_S = 60.0
# The probe's usage is short; a login may print more.
_MAX_CHECK_BYTES = 64 * 1024
# Characters without a special meaning in a shell, because ssh starts one.
_PLAIN = re.compile(r"[\w./,:=@%+\[\]\\-]+")
_USAGE = "probe linpack|memory|system"
_NO_GUEST_CLOCK = (
    "it was measured through another machine, whose clock does not describe the guest's"
)


# Parameters of New-PSSession.
_TARGET_PARAMETERS = {"winrm": "ComputerName", "psdirect": "VMName"}
_SHELLS = ("powershell.exe", "powershell", "pwsh")
# WriteLine, because PowerShell may wrap its own output. The exit code is known only
# inside the session.
_SCRIPT = (
    "$s = New-PSSession -%s '%s'%s -ErrorAction Stop; "
    'Invoke-Command -Session $s { & {} 2>&1 | ForEach-Object { "$_" } } | '
    "ForEach-Object { [Console]::Out.WriteLine($_) }; "
    "$c = Invoke-Command -Session $s { $LASTEXITCODE }; Remove-PSSession $s; exit $c"
)


class RemoteCommand(NamedTuple):
    """A command that starts programs on another machine.

    ``probe`` is the path of the probe there. ``quote`` is put around each word for a
    shell. ``description`` is the value of --through if the command was derived from it.
    """

    words: List[str]
    probe: str
    quote: str = ""
    description: str = ""

    def argv(self, words: List[str]) -> List[str]:
        """Return the command that runs a program, given as words, remotely.

        Words replace ``{}``, or are appended.
        """
        for word in words:
            if not _PLAIN.fullmatch(word):
                raise UsageError(
                    "%r cannot be passed through another program: use letters, digits "
                    "and . / , : = @ %% + -" % word
                )
        if not any(PLACEHOLDER in word for word in self.words):
            return self.words + words
        command = " ".join(self.quote + word + self.quote for word in words)
        return [word.replace(PLACEHOLDER, command) for word in self.words]

    def steps(self, steps: List[Step]) -> List[Step]:
        return [step._replace(argv=self.argv(step.argv)) for step in steps]

    def check(self) -> None:
        """Raise UsageError unless the probe can be started."""
        argv = self.argv([self.probe])
        try:
            code, output, _ = run_program(argv, _TIMEOUT_S, True, _MAX_CHECK_BYTES)
        except OutputTooLargeError as error:
            code, output = 0, str(error.strerror)
        except OSError as error:
            raise UsageError("%s: %s" % (argv[0], error.strerror)) from None
        except subprocess.TimeoutExpired:
            code, output = 0, "it did not end within %.0f s" % _TIMEOUT_S
        if code != 2 or _USAGE not in output:
            lines = output.strip().splitlines() or ["no output"]
            raise UsageError(
                "%s does not start the probe (%s). Copy virtlab-probe there (make "
                "probe) and name its path: --probe PATH" % (" ".join(argv), lines[-1])
            )

    def mark_local_facts(self, measured: MeasuredStep) -> MeasuredStep:
        """Move facts about this machine under `through`."""
        execution = dict(measured.facts["execution"])
        local_facts = {
            name: execution.pop(name)
            for name in ("load before", "load after", "busy share", "steal share")
            if name in execution
        }
        local_facts["command"] = self.description or " ".join(self.words)
        local_facts.update(clock=measured.facts["clock"], warnings=measured.warnings)
        facts = dict(
            measured.facts,
            execution=execution,
            clock={"unknown": _NO_GUEST_CLOCK},
            warnings=[],
            through=local_facts,
        )
        return measured._replace(facts=facts)


def add_remote_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--through",
        metavar="COMMAND",
        help='measure in a guest with the probe: "ssh vm-a", "podman exec box", '
        "virsh:vm-a, winrm:vm-a, psdirect:vm-a",
    )
    parser.add_argument(
        "--credential",
        default="",
        metavar="FILE",
        help="for winrm:HOST and psdirect:MACHINE: Get-Credential | Export-Clixml FILE",
    )
    parser.add_argument(
        "--probe",
        default="",
        metavar="PATH",
        help="path of the probe there (%s)" % PROBE_PATH,
    )


def remote_from_options(options: argparse.Namespace) -> Optional[RemoteCommand]:
    """Return the command of --through, if any; raise UsageError unless it works."""
    if options.through is None:
        if options.probe or options.credential:
            raise UsageError("--probe and --credential need --through.")
        return None
    probe = options.probe or PROBE_PATH
    through = parse_remote(options.through, probe, options.credential)
    through.check()
    return through


def check_tools(tools: Iterable[str]) -> None:
    """Raise UsageError for tools that the probe lacks."""
    missing = sorted(set(tools) - set(KERNELS))
    if missing:
        raise UsageError(
            "--through can run only the probe's tools: %s. Run %s in the guest and "
            "push the output." % (", ".join(KERNELS), ", ".join(missing))
        )


def parse_remote(text: str, probe: str, credential: str = "") -> RemoteCommand:
    """Parse the value of --through."""
    kind, _, target = text.partition(":")
    if kind in _TARGET_PARAMETERS and target:
        return _by_powershell(kind, target, probe, credential)._replace(
            description=text
        )
    if kind == "virsh" and target and not credential:
        return RemoteCommand(guest_agent_command(target), probe, description=text)
    if credential:
        raise UsageError("--credential is only for winrm:HOST and psdirect:MACHINE.")
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise UsageError("--through %s: %s" % (text, error)) from None
    if not words or words == [PLACEHOLDER]:
        raise UsageError('--through needs a command, as in --through "ssh vm-a"')
    return RemoteCommand(words, probe)


def _by_powershell(
    kind: str, target: str, probe: str, credential: str
) -> RemoteCommand:
    """Return a command for a PowerShell session; ``credential`` names an XML file."""
    for name in (target, credential):
        if "'" in name or PLACEHOLDER in name:
            raise UsageError("%s cannot be passed to PowerShell." % name)
    shell = next(filter(None, map(shutil.which, _SHELLS)), None)
    if shell is None:
        raise UsageError(
            "PowerShell was not found (%s). Run this command on Windows or install "
            "pwsh." % ", ".join(_SHELLS)
        )
    login = " -Credential (Import-Clixml '%s')" % credential if credential else ""
    script = _SCRIPT % (_TARGET_PARAMETERS[kind], target, login)
    words = [shell, "-NoProfile", "-NonInteractive", "-Command", script]
    return RemoteCommand(words, probe, quote="'")


class MeasuredMachine(NamedTuple):
    facts: Dict[str, Any]
    clock: str
    system: Any


def measured_machine(
    options: argparse.Namespace, host: str, through: Optional[RemoteCommand]
) -> MeasuredMachine:
    """Describe this machine or, with ``through``, a guest, whose facts are unknown."""
    from agents.detection.facts import gather_platform

    if through is None:
        facts = gather_platform()
        system = system_from_options(options, facts, host)
        return MeasuredMachine(facts, tool_clock(facts), system)
    sentence = "It is measured through another machine."
    platform = {"layers": [], "conflict": True, "sentence": sentence}
    system = system_from_options(options, {"platform": platform}, host)
    is_native = (options.hypervisor or "").lower() == "native"
    return MeasuredMachine({}, "local" if is_native else "guest", system)
