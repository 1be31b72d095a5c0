"""Setup of a child process: account, capabilities, and its end with its parent.

``python -I -S child_process_setup.py LEASH COMMAND...``, where LEASH is JSON
(see ``processes.launch_command``). It is a separate program, because Python cannot
safely run code between fork and exec. Import little: each import delays every child
process.
"""

import ctypes  # at the top: later the account may be unable to read Python's files
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
    leash, command = json.loads(arguments[0]), arguments[1:]
    os.umask(0o077)
    if leash["account"]:
        switch_account(leash["account"])
    for path in leash["reach"]:
        # Use access(2), as PostgreSQL does: open() may have a different result.
        if not os.access(path, os.X_OK if os.path.isdir(path) else os.R_OK):
            exit_with(UNREACHABLE, f"{path} is not accessible")
    if sys.platform == "linux":
        # After the change of user, which clears this setting.
        prctl(PR_SET_PDEATHSIG, leash["death_signal"])
    # If the parent died before prctl, no signal will come.
    if os.getppid() != leash["parent"]:
        exit_with(0, "the parent process has already ended")
    execute(command)


def execute(command: list[str]) -> None:
    try:
        os.execv(command[0], command)
    except FileNotFoundError:
        exit_with(NOT_FOUND, f"{command[0]} does not exist")
    except OSError as error:
        exit_with(UNREACHABLE, f"{command[0]}: {error.strerror}")


def switch_account(account: dict[str, Any]) -> None:
    """Switch from root to an account, keeping only the listed capabilities."""
    capabilities = account["capabilities"]
    try:
        if capabilities:
            # Keep capabilities across setuid, and make access(2) respect them.
            prctl(PR_SET_SECUREBITS, SECBIT_NO_SETUID_FIXUP)
        # Change the user last: only root can change groups.
        os.setgroups(account["groups"])
        # A saved ID would allow a return to root.
        os.setresgid(*[account["gid"]] * 3)
        os.setresuid(*[account["uid"]] * 3)
        if capabilities:
            limit_capabilities(capabilities)
    except OSError as error:
        exit_with(
            UNREACHABLE, f"cannot switch to user {account['uid']}: {error.strerror}"
        )


def limit_capabilities(capabilities: list[int]) -> None:
    """Keep exactly these capabilities, also in the executed program."""
    mask = sum(1 << capability for capability in capabilities)
    header = (ctypes.c_uint32 * 2)(CAPABILITY_VERSION_3, 0)
    # Two triples (effective, permitted, inheritable): capabilities 0-31, then 32-63.
    sets = (ctypes.c_uint32 * 6)(mask, mask, mask, 0, 0, 0)
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.capset(header, sets) != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    for capability in capabilities:
        prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, capability)


def prctl(option: int, *values: int) -> None:
    """Call prctl(2), which needs all five arguments; raise OSError."""
    libc = ctypes.CDLL(None, use_errno=True)
    numbers = [ctypes.c_ulong(value) for value in (*values, 0, 0, 0, 0)[:4]]
    if libc.prctl(option, *numbers) != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def exit_with(code: int, reason: str) -> None:
    sys.stderr.write(f"launch: {reason}\n")
    sys.exit(code)


if __name__ == "__main__":
    main(sys.argv[1:])
