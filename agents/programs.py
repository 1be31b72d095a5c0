"""Other programs: found on the path, run for their output, never for ever."""

import os
import shutil
import subprocess
from typing import Dict, List, NamedTuple, Optional

from agents.home import TOKEN

PATIENCE_S = 10.0


class Ended(NamedTuple):
    """How a program ended, and what it said on both its streams."""

    exit_code: int
    printed: str
    complaint: str


def plain_environment() -> Dict[str, str]:
    """Return our environment with the locale in which tools print decimal points.

    Without the token: some tools print their environment, and what they print is sent.
    """
    kept = {name: value for name, value in os.environ.items() if name != TOKEN}
    return dict(kept, LC_ALL="C.UTF-8", LANGUAGE="")


def output_of(argv: List[str], patience_s: float = PATIENCE_S) -> Optional[str]:
    """Return what a program printed, or None if it is missing, failed or hung.

    systemd-detect-virt prints `none` with exit code 1: text counts, the code does not.
    """
    if shutil.which(argv[0]) is None:
        return None
    try:
        done = ended(argv, patience_s)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.printed.strip() or None


def ended(argv: List[str], patience_s: float, is_joined: bool = False) -> Ended:
    """Run a program to its end; ``is_joined``: its complaints among what it prints.

    Raises OSError if it cannot be started, TimeoutExpired if it had to be killed.
    """
    with subprocess.Popen(
        argv,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT if is_joined else subprocess.PIPE,
        env=plain_environment(),
    ) as program:
        try:
            streams = program.communicate(timeout=patience_s)
        except subprocess.TimeoutExpired:
            program.kill()
            raise
    printed, complaint = ((text or b"").decode("utf-8", "replace") for text in streams)
    return Ended(int(program.returncode), printed, complaint)
