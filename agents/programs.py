"""Other programs: found on the path, run for their output, never for ever."""

import os
import shutil
import subprocess
from typing import Dict, List, Optional

PATIENCE_S = 10.0


def plain_environment() -> Dict[str, str]:
    """Return our environment with the locale in which tools print decimal points."""
    return dict(os.environ, LC_ALL="C.UTF-8", LANGUAGE="")


def output_of(argv: List[str], patience_s: float = PATIENCE_S) -> Optional[str]:
    """Return what a program printed, or None if it is missing, failed or hung.

    systemd-detect-virt prints `none` with exit code 1: text counts, the code does not.
    """
    if shutil.which(argv[0]) is None:
        return None
    try:
        program = subprocess.Popen(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=plain_environment(),
        )
    except OSError:
        return None
    try:
        printed, _ = program.communicate(timeout=patience_s)
    except subprocess.TimeoutExpired:
        program.kill()
        program.communicate()
        return None
    return printed.decode("utf-8", "replace").strip() or None
