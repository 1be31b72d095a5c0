"""Send the spool whenever the server can be reached, until told to stop.

Meant to run as a service (docs/agents.md has a unit for systemd). It asks nothing of
the server while nothing waits. SIGTERM and Ctrl-C end it after the run being sent.

  virtlab-agent.cmd watch --install     on Windows: a task that begins with the machine
  virtlab-agent.cmd watch --remove
"""

import argparse
import getpass
import os
import subprocess
import sys
from html import escape
from typing import List

from agents import errors
from agents.console import Console, seconds
from agents.errors import AgentError, UsageError
from agents.files import forget
from agents.home import home
from agents.processes import ended

NAME = "Virtlab agent"
_PATIENCE_S = 60.0
_DEFINITION = """<?xml version="1.0" encoding="UTF-16"?>
<Task version="1.2" xmlns="http://schemas.microsoft.com/windows/2004/02/mit/task">
  <RegistrationInfo><Description>{about}</Description></RegistrationInfo>
  <Triggers><BootTrigger><Enabled>true</Enabled></BootTrigger></Triggers>
  <Principals>
    <Principal id="Author">
      <UserId>{user}</UserId>
      <LogonType>S4U</LogonType>
      <RunLevel>LeastPrivilege</RunLevel>
    </Principal>
  </Principals>
  <Settings>
    <MultipleInstancesPolicy>IgnoreNew</MultipleInstancesPolicy>
    <DisallowStartIfOnBatteries>false</DisallowStartIfOnBatteries>
    <StopIfGoingOnBatteries>false</StopIfGoingOnBatteries>
    <StartWhenAvailable>true</StartWhenAvailable>
    <ExecutionTimeLimit>PT0S</ExecutionTimeLimit>
    <RestartOnFailure><Interval>PT1M</Interval><Count>999</Count></RestartOnFailure>
  </Settings>
  <Actions Context="Author">
    <Exec>
      <Command>{program}</Command>
      <Arguments>{words}</Arguments>
    </Exec>
  </Actions>
</Task>
"""


def definition() -> str:
    """Return the XML of the task: this Python and agent, for this user and folder."""
    user = getpass.getuser()
    domain = os.environ.get("USERDOMAIN")
    words = ["-X", "utf8", os.path.abspath(sys.argv[0]), "watch", "--folder", home()]
    return _DEFINITION.format(
        about=escape("Sends runs to Virtlab whenever its server can be reached"),
        user=escape(domain + "\\" + user if domain else user),
        program=escape(sys.executable),
        words=escape(subprocess.list2cmdline(words)),
    )


def install() -> str:
    """Register and start the task; return a sentence."""
    _only_on_windows()
    path = os.path.join(home(), "task.xml")
    os.makedirs(home(), mode=0o700, exist_ok=True)
    # schtasks reads UTF-16 with a byte order mark, as the XML declares.
    with open(path, "wb") as file:
        file.write(definition().encode("utf-16"))
    try:
        _schtasks(["/create", "/tn", NAME, "/xml", path, "/f"])
    finally:
        forget(path)
    _schtasks(["/run", "/tn", NAME])
    return 'The task "%s" sends the spool, now and after each start.' % NAME


def remove() -> str:
    """End and delete the task; return a sentence."""
    _only_on_windows()
    ended(["schtasks", "/end", "/tn", NAME], _PATIENCE_S)  # it may not run
    _schtasks(["/delete", "/tn", NAME, "/f"])
    return 'The task "%s" is gone; what waits stays in the spool.' % NAME


def _only_on_windows() -> None:
    if os.name != "nt":
        raise UsageError(
            "Tasks are of Windows; docs/agents.md has a unit for systemd, which does "
            "the same here."
        )


def _schtasks(words: List[str]) -> None:
    try:
        code, printed, complaint = ended(["schtasks", *words], _PATIENCE_S)
    except OSError as error:
        raise AgentError("schtasks does not start: %s" % error) from None
    except subprocess.TimeoutExpired:
        raise AgentError("schtasks gave no end in %g s" % _PATIENCE_S) from None
    if code:
        said = (complaint.strip() or printed.strip() or "no reason").splitlines()[-1]
        raise AgentError(
            "schtasks %s failed: %s Open the command line as an administrator: a task "
            "that runs without its user is theirs to make." % (words[0], said)
        )


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--every",
        type=seconds(0.01, 3600),
        default=5.0,
        metavar="SECONDS",
        help="look so often (5)",
    )
    parser.add_argument(
        "--folder", default="", help="of enrolment and spool, as $VIRTLAB_AGENT says it"
    )
    task = parser.add_mutually_exclusive_group()
    task.add_argument("--install", action="store_true", help="Windows: as a task")
    task.add_argument("--remove", action="store_true", help="Windows: end that task")


def run(options: argparse.Namespace) -> int:
    from agents.client import Client
    from agents.home import VARIABLE, load_enrolment, open_spool
    from agents.processes import Stop
    from agents.sending import Watch

    if options.folder:
        # A task of Windows has no own environment.
        os.environ[VARIABLE] = os.path.abspath(options.folder)
    console = Console()
    if options.remove:
        console.say(remove())
        return errors.DONE
    enrolment = load_enrolment()
    if options.install:  # only when enrolled: else the task would end at once
        console.say(install())
        return errors.DONE
    stop = Stop()
    stop.listen_to_signals()
    console.say("watching, for %s" % enrolment.server)
    client = Client(enrolment.server, enrolment.token)
    Watch(open_spool(), client, console.say, options.every).go_on_until(stop)
    stop.close()
    console.say("stopped")
    return errors.DONE
