"""Who runs PostgreSQL when Virtlab is started by root, which PostgreSQL refuses."""

import os
import pwd
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from running import processes
from running.errors import ServiceError
from running.launch import CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH

NAMES = ("postgres", "nobody")

# The least that works is taken. Reading alone is enough for a clone in /root; a
# container engine often takes that capability away and leaves the larger one.
CAPABILITIES: tuple[tuple[int, ...], ...] = (
    (),
    (CAP_DAC_READ_SEARCH,),
    (CAP_DAC_OVERRIDE,),
)


@dataclass(frozen=True)
class Account:
    """An account of the machine, and the capabilities it is lent."""

    uid: int
    gid: int
    capabilities: tuple[int, ...] = ()


def for_data(pgdata: Path) -> Account | None:
    """Return the account that must run PostgreSQL, None for our own.

    Existing data stay with their owner, so that root and a user do not take turns.
    """
    if os.geteuid() != 0:
        return None
    if sys.platform != "linux":
        raise ServiceError(
            "PostgreSQL does not run as root. Start Virtlab as an ordinary user."
        )
    if pgdata.exists() and (owner := pgdata.stat()).st_uid != 0:
        return Account(owner.st_uid, owner.st_gid)
    # An account that is there already; none is ever created.
    for name in NAMES:
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            continue
        return Account(entry.pw_uid, entry.pw_gid)
    raise ServiceError(
        "PostgreSQL does not run as root, and this machine has neither an account "
        "`postgres` nor `nobody` to run it. Start Virtlab as an ordinary user."
    )


def able_to_reach(account: Account, *, program: Path, reach: Sequence[Path]) -> Account:
    """Return the account with the least capabilities that let it reach its files.

    No permission of any folder is changed for it: a clone in /root stays private.
    """
    reasons = []
    for capabilities in CAPABILITIES:
        candidate = replace(account, capabilities=capabilities)
        if not (reason := _obstacle(candidate, program, reach)):
            return candidate
        reasons.append(reason)
    raise ServiceError(
        f"PostgreSQL does not run as root, and user {account.uid}, who shall run it, "
        # The first is of the account itself, without anything lent.
        f"cannot reach its files ({reasons[0]}). Start Virtlab as an ordinary user, "
        "or keep the clone and VAR in folders that every user may enter."
    )


def _obstacle(account: Account, program: Path, reach: Sequence[Path]) -> str:
    """Try it; return the obstacle, or ""."""
    command = processes.launched(
        [str(program), "--version"],
        account=account,
        reach=[str(path) for path in reach],
    )
    probe = subprocess.run(
        command, capture_output=True, text=True, cwd="/", check=False
    )
    return "" if probe.returncode == 0 else probe.stderr.strip() or "no reason given"
