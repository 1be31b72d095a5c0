"""Send the spool whenever the server is reachable, until stopped.

Run it as a service (docs/agents.md has a systemd unit). It contacts the server only if
runs are waiting. SIGTERM and Ctrl-C stop it when the current request has ended.

  virtlab-agent.cmd watch --install     Windows: create a task that starts at boot
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
from agents.argument_parsing import seconds_between
from agents.console import Console
from agents.errors import AgentError, UsageError
from agents.files import remove_if_exists
from agents.local_state import agent_folder
from agents.processes import run_program

TASK_NAME = "Virtlab agent"
_TIMEOUT_S = 60.0
_TASK_TEMPLATE = """<?xml version="1.0" encoding="UTF-16"?>
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


def task_xml() -> str:
    user = getpass.getuser()
    domain = os.environ.get("USERDOMAIN")
    words = [
        "-X",
        "utf8",
        os.path.abspath(sys.argv[0]),
        "watch",
        "--folder",
        agent_folder(),
    ]
    return _TASK_TEMPLATE.format(
        about=escape("Sends runs to Virtlab whenever its server is reachable"),
        user=escape(domain + "\\" + user if domain else user),
        program=escape(sys.executable),
        words=escape(subprocess.list2cmdline(words)),
    )


def install_task() -> str:
    _require_windows()
    path = os.path.join(agent_folder(), "task.xml")
    os.makedirs(agent_folder(), mode=0o700, exist_ok=True)
    # schtasks reads UTF-16 with a byte order mark.
    with open(path, "wb") as file:
        file.write(task_xml().encode("utf-16"))
    try:
        _schtasks(["/create", "/tn", TASK_NAME, "/xml", path, "/f"])
    finally:
        remove_if_exists(path)
    _schtasks(["/run", "/tn", TASK_NAME])
    return 'The task "%s" sends the spool now and after each boot.' % TASK_NAME


def remove_task() -> str:
    _require_windows()
    run_program(["schtasks", "/end", "/tn", TASK_NAME], _TIMEOUT_S)
    _schtasks(["/delete", "/tn", TASK_NAME, "/f"])
    return 'The task "%s" is deleted. Waiting runs stay in the spool.' % TASK_NAME


def _require_windows() -> None:
    if os.name != "nt":
        raise UsageError(
            "--install and --remove need Windows. docs/agents.md has a systemd unit "
            "for the same purpose."
        )


def _schtasks(words: List[str]) -> None:
    try:
        code, output, error_output = run_program(["schtasks", *words], _TIMEOUT_S)
    except OSError as error:
        raise AgentError("schtasks cannot be started: %s" % error) from None
    except subprocess.TimeoutExpired:
        raise AgentError("schtasks did not end within %g s" % _TIMEOUT_S) from None
    if code:
        text = error_output.strip() or output.strip() or "no reason given"
        raise AgentError(
            "schtasks %s failed: %s Open the command line as an administrator, who may "
            "create tasks that run without a logged-in user."
            % (words[0], text.splitlines()[-1])
        )


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--every",
        type=seconds_between(0.01, 3600),
        default=5.0,
        metavar="SECONDS",
        help="interval of checks (default: 5)",
    )
    parser.add_argument(
        "--folder", default="", help="the agent's folder, like $VIRTLAB_AGENT"
    )
    task = parser.add_mutually_exclusive_group()
    task.add_argument("--install", action="store_true", help="Windows: create the task")
    task.add_argument("--remove", action="store_true", help="Windows: delete the task")


def run(options: argparse.Namespace) -> int:
    from agents.client import Client
    from agents.local_state import FOLDER_VARIABLE, load_enrolment, open_spool
    from agents.processes import StopFlag
    from agents.spool_delivery import SpoolWatcher

    if options.folder:
        # Windows tasks cannot set environment variables.
        os.environ[FOLDER_VARIABLE] = os.path.abspath(options.folder)
    console = Console()
    if options.remove:
        console.message(remove_task())
        return errors.DONE
    enrolment = load_enrolment()
    if options.install:  # the task needs an enrolment
        console.message(install_task())
        return errors.DONE
    stop = StopFlag()
    stop.install_signal_handlers()
    console.message("watching the spool for %s" % enrolment.server)

    client = Client(enrolment.server, enrolment.token)
    SpoolWatcher(open_spool(), client, console.message, options.every).run_until(stop)
    stop.close()
    console.message("stopped")
    return errors.DONE
