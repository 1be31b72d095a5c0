"""Become another program on a leash: it ends when the one who started it ends.

``python -I -S launch.py LEASH COMMAND...``, where LEASH is JSON (see ``processes``).
A program of its own, because Python cannot safely run code between fork and exec.
Standard library only; every import here delays every child.
"""

import ctypes  # here, because Python itself may lie where the account cannot read
import json
import os
import sys
from typing import Any

UNREACHABLE = 126
NOT_FOUND = 127

PR_SET_PDEATHSIG, PR_SET_SECUREBITS, PR_CAP_AMBIENT = 1, 28, 47
PR_CAP_AMBIENT_RAISE = 2
SECBIT_NO_SETUID_FIXUP = 1 << 2
CAPABILITY_VERSION_3 = 0x20080522
CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH = 1, 2


def main(arguments: list[str]) -> None:
    """Apply the leash, then become the command."""
    leash, command = json.loads(arguments[0]), arguments[1:]
    os.umask(0o077)
    if leash["account"]:
        become(leash["account"])
    for path in leash["reach"]:
        # As PostgreSQL itself asks, which open() would answer otherwise.
        if not os.access(path, os.X_OK if os.path.isdir(path) else os.R_OK):
            leave(UNREACHABLE, f"{path} is out of reach")
    if sys.platform == "linux":
        # After the change of user, which clears it.
        prctl(PR_SET_PDEATHSIG, leash["death_signal"])
    # It may have died before the leash was tied: then no signal comes.
    if os.getppid() != leash["parent"]:
        leave(0, "whoever started this is gone already")
    execute(command)


def execute(command: list[str]) -> None:
    try:
        os.execv(command[0], command)
    except FileNotFoundError:
        leave(NOT_FOUND, f"{command[0]} is not there")
    except OSError as error:
        leave(UNREACHABLE, f"{command[0]}: {error.strerror}")


def become(account: dict[str, Any]) -> None:
    """Give up root for an account, keeping the named capabilities and no other."""
    capabilities = account["capabilities"]
    try:
        if capabilities:
            # Keeps capabilities across setuid, and makes access(2) count them.
            prctl(PR_SET_SECUREBITS, SECBIT_NO_SETUID_FIXUP)
        # The user last: without root the groups cannot be changed.
        os.setgroups(account["groups"])
        # All three of each: a saved one would be a way back to root.
        os.setresgid(*[account["gid"]] * 3)
        os.setresuid(*[account["uid"]] * 3)
        if capabilities:
            keep_only(capabilities)
    except OSError as error:
        leave(UNREACHABLE, f"user {account['uid']} cannot be used: {error.strerror}")


def keep_only(capabilities: list[int]) -> None:
    """Hold exactly these capabilities, and hand them on to the next program."""
    mask = sum(1 << capability for capability in capabilities)
    header = (ctypes.c_uint32 * 2)(CAPABILITY_VERSION_3, 0)
    # Two triples (effective, permitted, inheritable): capabilities 0-31, then 32-63.
    held = (ctypes.c_uint32 * 6)(mask, mask, mask, 0, 0, 0)
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.capset(header, held) != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    for capability in capabilities:
        prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, capability)


def prctl(option: int, *values: int) -> None:
    """Call prctl(2), which wants all five arguments."""
    libc = ctypes.CDLL(None, use_errno=True)
    numbers = [ctypes.c_ulong(value) for value in (*values, 0, 0, 0, 0)[:4]]
    if libc.prctl(option, *numbers) != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def leave(code: int, reason: str) -> None:
    sys.stderr.write(f"launch: {reason}\n")
    sys.exit(code)


if __name__ == "__main__":
    main(sys.argv[1:])
