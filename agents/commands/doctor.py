"""Check all that measuring and sending need, and say what to do about what is missing.

Exit code 0 if all is well or only worth knowing, 7 if something is wrong.
"""

import argparse
import importlib
import json
import os
import shutil
import stat
import sys
from typing import Iterator, NamedTuple

from agents import errors, home
from agents.client import Client
from agents.console import Console
from agents.detection.evidence import gather_evidence
from agents.detection.layers import judge
from agents.errors import AgentError
from agents.files import forget, write_durably
from agents.measuring.runners import PROGRAMS
from agents.sending import FULL, ask_health, ask_token
from agents.timing.asking import (
    OFFSET_LIMIT_US,
    NoTimeError,
    offset_of,
    open_asking,
    take_stamp,
)

GOOD, NOTE, BAD = "ok", "note", "WRONG"
LEAST_FREE_BYTES = 200 * 1000 * 1000
_OPTIONAL = {
    "ctypes": "CPUID cannot be asked; install python3, not only python3-minimal",
    "ssl": "servers with https:// cannot be reached",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="for programs")


def run(options: argparse.Namespace) -> int:
    console, findings = Console(), []
    for finding in examine():
        findings.append(finding)
        if not options.json:
            console.result("%-5s %-9s %s" % finding)
    if options.json:
        rows = [finding._asdict() for finding in findings]
        console.result(json.dumps(rows, indent=1))
    unwell = any(finding.state == BAD for finding in findings)
    return errors.UNWELL if unwell else errors.DONE


class Finding(NamedTuple):
    """The state of a subject, with a sentence on what is wrong and what to do."""

    state: str
    what: str
    sentence: str


def examine() -> Iterator[Finding]:
    """Check everything, from Python to the clock."""
    version = ".".join(str(part) for part in sys.version_info[:3])
    yield Finding(GOOD, "python", "%s, %s" % (version, sys.executable))
    for name in sorted(_OPTIONAL):
        try:
            importlib.import_module(name)
        except ImportError:
            yield Finding(NOTE, "python", "no %s: %s" % (name, _OPTIONAL[name]))
    yield from _folder()
    yield from _spool()
    yield from _server()
    judgement = judge(gather_evidence())
    yield Finding(NOTE if judgement.conflict else GOOD, "platform", judgement.sentence)
    names = [program.tool for program in PROGRAMS if program.path]
    counts = "%d of %d installed" % (len(names), len(PROGRAMS))
    sentence = "%s: %s; see: list" % (counts, ", ".join(names))
    yield Finding(GOOD if names else NOTE, "tools", sentence)


def _folder() -> Iterator[Finding]:
    folder = home.home()
    probe = os.path.join(folder, "doctor")
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        write_durably(probe, b"x" * 4096)
        forget(probe)
        free_bytes = shutil.disk_usage(folder).free
    except OSError as error:
        yield Finding(BAD, "folder", "%s: %s" % (folder, error.strerror))
        return
    state = GOOD if free_bytes >= LEAST_FREE_BYTES else BAD
    yield Finding(state, "folder", "%s, %.1f GB free" % (folder, free_bytes / 1e9))


def _spool() -> Iterator[Finding]:
    try:
        spool = home.open_spool()
    except AgentError as error:
        yield Finding(BAD, "spool", str(error))
        return
    full = spool.bytes_held() / spool.most_bytes
    sentence = "%d wait, %.0f %% full" % (spool.number(), full * 100)
    yield Finding(BAD if full > FULL else GOOD, "spool", sentence)
    refused = spool.rejected()
    if refused:
        sentence = "%d were refused; see: spool rejected" % len(refused)
        yield Finding(NOTE, "spool", sentence)


def _server() -> Iterator[Finding]:
    try:
        enrolment = home.load_enrolment()
    except AgentError as error:
        yield Finding(BAD, "server", str(error))
        return
    path = home.enrolment_path()
    is_stored = os.path.exists(path)  # the environment may replace the file
    if is_stored and os.name != "nt" and stat.S_IMODE(os.stat(path).st_mode) & 0o077:
        sentence = "%s can be read by others; say: chmod 600 %s" % (path, path)
        yield Finding(BAD, "token", sentence)
    client = Client(enrolment.server, enrolment.token)
    try:
        health = ask_health(client)
        words = (enrolment.server, health["version"], health["status"])
        state = GOOD if health["status"] == "ok" else NOTE
        yield Finding(state, "server", "%s, Virtlab %s, %s" % words)
        ask_token(client)
        yield Finding(GOOD, "token", "may upload")
    except AgentError as error:
        yield Finding(BAD, "server", str(error))
        return
    yield _clock(enrolment.time_server or enrolment.server)


def _clock(address: str) -> Finding:
    try:
        with open_asking(address) as asking:
            offset = offset_of(take_stamp(asking))
    except NoTimeError as error:
        return Finding(NOTE, "clock", str(error))
    words = (offset.us / 1e3, address, offset.bound_us / 1e3)
    sentence = "%+.2f ms against %s, give or take %.2f ms" % words
    if abs(offset.us) - offset.bound_us > OFFSET_LIMIT_US:
        return Finding(NOTE, "clock", sentence + "; runs will be marked suspect")
    return Finding(GOOD, "clock", sentence)
