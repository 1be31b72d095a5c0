"""The account for PostgreSQL if root starts Virtlab: PostgreSQL refuses root."""

import os
import pwd
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from running import processes
from running.child_process_setup import CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH
from running.errors import StartError

CANDIDATE_NAMES = ("postgres", "nobody")

# CAP_DAC_READ_SEARCH is enough for a clone in /root. Container engines often remove it
# but keep CAP_DAC_OVERRIDE, which allows more.
CAPABILITIES: tuple[tuple[int, ...], ...] = (
    (),
    (CAP_DAC_READ_SEARCH,),
    (CAP_DAC_OVERRIDE,),
)


@dataclass(frozen=True)
class OsAccount:
    uid: int
    gid: int
    capabilities: tuple[int, ...] = ()


def account_for_data(pgdata: Path) -> OsAccount | None:
    """Return the account that must run PostgreSQL, or None for the current user.

    Existing data keep their owner.
    """
    if os.geteuid() != 0:
        return None
    if sys.platform != "linux":
        raise StartError(
            "PostgreSQL cannot run as root. Start Virtlab as an ordinary user."
        )
    if pgdata.exists() and (owner := pgdata.stat()).st_uid != 0:
        return OsAccount(owner.st_uid, owner.st_gid)
    for name in CANDIDATE_NAMES:
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            continue
        return OsAccount(entry.pw_uid, entry.pw_gid)
    raise StartError(
        "PostgreSQL cannot run as root, and this machine has neither an account "
        "`postgres` nor `nobody` to run it. Start Virtlab as an ordinary user."
    )


def with_access(
    account: OsAccount, *, program: Path, reach: Sequence[Path]
) -> OsAccount:
    """Return the account with the fewest capabilities that give access to its files.

    Permissions of folders are not changed, so a clone in /root remains private.
    """
    reasons = []
    for capabilities in CAPABILITIES:
        candidate = replace(account, capabilities=capabilities)
        if not (reason := _access_problem(candidate, program, reach)):
            return candidate
        reasons.append(reason)
    raise StartError(
        f"PostgreSQL cannot run as root, and user {account.uid}, who should run it, "
        f"has no access to its files ({reasons[0]}). Start Virtlab as an ordinary "
        "user, or move the clone and VAR to folders that every user may enter."
    )


def _access_problem(account: OsAccount, program: Path, reach: Sequence[Path]) -> str:
    """Run `program --version` as this account; return its error, or "" if it works."""
    command = processes.launch_command(
        [str(program), "--version"],
        account=account,
        reach=[str(path) for path in reach],
    )
    probe = subprocess.run(
        command, capture_output=True, text=True, cwd="/", check=False
    )
    return "" if probe.returncode == 0 else probe.stderr.strip() or "no reason given"
