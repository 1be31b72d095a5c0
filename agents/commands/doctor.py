"""Check everything that measuring and sending need, and suggest remedies.

The exit code is 7 if there is a problem, and 0 if there are only notes.
"""

import argparse
import importlib
import json
import os
import shutil
import stat
import sys
from typing import Iterator, NamedTuple

from agents import errors, local_state
from agents.client import Client
from agents.console import Console
from agents.detection.indicators import gather_indicators
from agents.detection.layers import detect_layers
from agents.errors import AgentError
from agents.files import remove_if_exists, write_durably
from agents.measuring.command_lines import PROGRAMS
from agents.spool_delivery import (
    ALMOST_FULL,
    check_server,
    check_token,
    update_advice,
)
from agents.timing.time_client import (
    OFFSET_LIMIT_US,
    TimeServerError,
    connect_time_server,
    offset_of,
    take_stamp,
)

OK, NOTE, PROBLEM = "ok", "note", "WRONG"
MIN_FREE_BYTES = 200 * 1000 * 1000
_OPTIONAL = {
    "ctypes": "CPUID cannot be read; install python3, not only python3-minimal",
    "ssl": "https:// servers cannot be reached",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(options: argparse.Namespace) -> int:
    console, findings = Console(), []
    for finding in run_checks():
        findings.append(finding)
        if not options.json:
            console.print_result("%-5s %-9s %s" % finding)
    if options.json:
        rows = [
            {
                "state": finding.state,
                "what": finding.subject,
                "sentence": finding.message,
            }
            for finding in findings
        ]
        console.print_result(json.dumps(rows, indent=1))
    has_problem = any(finding.state == PROBLEM for finding in findings)
    return errors.CHECK_FAILED if has_problem else errors.DONE


class CheckResult(NamedTuple):
    state: str
    subject: str
    message: str


def run_checks() -> Iterator[CheckResult]:
    version = ".".join(str(part) for part in sys.version_info[:3])
    yield CheckResult(OK, "python", "%s, %s" % (version, sys.executable))
    for name in sorted(_OPTIONAL):
        try:
            importlib.import_module(name)
        except ImportError:
            yield CheckResult(NOTE, "python", "no %s: %s" % (name, _OPTIONAL[name]))
    yield from _folder()
    yield from _spool()
    yield from _server()
    detection = detect_layers(gather_indicators())
    yield CheckResult(NOTE if detection.conflict else OK, "platform", detection.summary)
    names = [program.tool for program in PROGRAMS if program.path]
    counts = "%d of %d installed" % (len(names), len(PROGRAMS))
    message = "%s: %s; see: list" % (counts, ", ".join(names))
    yield CheckResult(OK if names else NOTE, "tools", message)


def _folder() -> Iterator[CheckResult]:
    folder = local_state.agent_folder()
    probe = os.path.join(folder, "doctor")
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        write_durably(probe, b"x" * 4096)
        remove_if_exists(probe)
        free_bytes = shutil.disk_usage(folder).free
    except OSError as error:
        yield CheckResult(PROBLEM, "folder", "%s: %s" % (folder, error.strerror))
        return
    state = OK if free_bytes >= MIN_FREE_BYTES else PROBLEM
    yield CheckResult(state, "folder", "%s, %.1f GB free" % (folder, free_bytes / 1e9))


def _spool() -> Iterator[CheckResult]:
    try:
        spool = local_state.open_spool()
    except AgentError as error:
        yield CheckResult(PROBLEM, "spool", str(error))
        return
    full = spool.size_bytes() / spool.most_bytes
    message = "%d waiting, %.0f%% full" % (spool.count(), full * 100)
    yield CheckResult(PROBLEM if full > ALMOST_FULL else OK, "spool", message)
    rejected = spool.rejected()
    if rejected:
        message = "%d rejected; see: spool rejected" % len(rejected)
        yield CheckResult(NOTE, "spool", message)


def _server() -> Iterator[CheckResult]:
    try:
        enrolment = local_state.load_enrolment()
    except AgentError as error:
        yield CheckResult(PROBLEM, "server", str(error))
        return
    path = local_state.enrolment_path()
    is_stored = os.path.exists(path)
    if is_stored and os.name != "nt" and stat.S_IMODE(os.stat(path).st_mode) & 0o077:
        message = "other users can read %s; run: chmod 600 %s" % (path, path)
        yield CheckResult(PROBLEM, "token", message)
    client = Client(enrolment.server, enrolment.token)
    try:
        health = check_server(client)
        summary = (enrolment.server, health["version"], health["status"])
        state = OK if health["status"] == "ok" else NOTE
        yield CheckResult(state, "server", "%s, Virtlab %s, %s" % summary)
        advice = update_advice(health["version"])
        if advice:
            yield CheckResult(NOTE, "version", advice)
        check_token(client)
        yield CheckResult(OK, "token", "may upload")
    except AgentError as error:
        yield CheckResult(PROBLEM, "server", str(error))
        return
    yield _clock(enrolment.time_server or enrolment.server)


def _clock(address: str) -> CheckResult:
    try:
        with connect_time_server(address) as connection:
            offset = offset_of(take_stamp(connection))
    except TimeServerError as error:
        return CheckResult(NOTE, "clock", str(error))
    values = (offset.us / 1e3, address, offset.bound_us / 1e3)
    message = "%+.2f ms relative to %s, within %.2f ms" % values
    if abs(offset.us) - offset.bound_us > OFFSET_LIMIT_US:
        return CheckResult(NOTE, "clock", message + "; runs will be flagged")
    return CheckResult(OK, "clock", message)
