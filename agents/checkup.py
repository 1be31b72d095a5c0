"""What `doctor` looks at: one function a subject, each yields findings."""

import importlib
import os
import shutil
import stat
import sys
from typing import Iterator, NamedTuple

from agents import home
from agents.client import Client
from agents.errors import AgentError
from agents.files import forget, write_durably
from agents.servers import ask_health, ask_token
from agents.toolbox import PROGRAMS, installed

GOOD, NOTE, BAD = "ok", "note", "WRONG"
LEAST_FREE_BYTES = 200 * 1000 * 1000
_OPTIONAL = {
    "ctypes": "CPUID cannot be asked; install python3, not only python3-minimal",
    "ssl": "servers with https:// cannot be reached",
}


class Finding(NamedTuple):
    """One subject, its state, and a sentence: what is, and what to do."""

    state: str
    what: str
    sentence: str


def examine() -> Iterator[Finding]:
    """Look at everything, the nearest first."""
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
    from agents.detection.evidence import gather_evidence
    from agents.detection.layers import judge

    judgement = judge(gather_evidence())
    yield Finding(NOTE if judgement.conflict else GOOD, "platform", judgement.sentence)
    names = [program.tool for program in installed()]
    said = "%d of %d installed: %s" % (len(names), len(PROGRAMS), ", ".join(names))
    yield Finding(GOOD if names else NOTE, "tools", said + "; see: list")


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
    said = "%d wait, %.0f %% full" % (len(spool.waiting()), full * 100)
    yield Finding(BAD if full > 0.9 else GOOD, "spool", said)
    refused = spool.rejected()
    if refused:
        said = "%d were refused; see: spool rejected" % len(refused)
        yield Finding(NOTE, "spool", said)


def _server() -> Iterator[Finding]:
    try:
        enrolment = home.load_enrolment()
    except AgentError as error:
        yield Finding(BAD, "server", str(error))
        return
    yield from _secrecy()
    client = Client(enrolment.server, enrolment.token)
    try:
        health = ask_health(client)
        said = "%s, Virtlab %s, %s"
        words = (enrolment.server, health["version"], health["status"])
        yield Finding(
            GOOD if health["status"] == "ok" else NOTE, "server", said % words
        )
        ask_token(client)
        yield Finding(GOOD, "token", "may upload")
    except AgentError as error:
        yield Finding(BAD, "server", str(error))
        return
    yield _clock(enrolment.time_server or enrolment.server)


def _secrecy() -> Iterator[Finding]:
    if not os.path.exists(home.enrolment_path()):  # it stands in the environment
        return
    mode = stat.S_IMODE(os.stat(home.enrolment_path()).st_mode)
    if os.name != "nt" and mode & 0o077:
        path = home.enrolment_path()
        said = "%s can be read by others; say: chmod 600 %s" % (path, path)
        yield Finding(BAD, "token", said)


def _clock(address: str) -> Finding:
    from agents.timing.asking import NoTimeError, open_asking
    from agents.timing.intervals import OFFSET_LIMIT_US, offset_of
    from agents.timing.stamps import take_stamp

    try:
        with open_asking(address) as asking:
            offset = offset_of(take_stamp(asking))
    except NoTimeError as error:
        return Finding(NOTE, "clock", str(error))
    said = "%+.2f ms against %s, give or take %.2f ms"
    shown = said % (offset.us / 1e3, address, offset.bound_us / 1e3)
    if abs(offset.us) - offset.bound_us > OFFSET_LIMIT_US:
        return Finding(NOTE, "clock", shown + "; runs will be marked suspect")
    return Finding(GOOD, "clock", shown)
