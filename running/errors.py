import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

MIN_FREE_MB = 200

DISK_FULL_ERRNOS = {errno.ENOSPC, errno.EDQUOT}
PERMISSION_ERRNOS = {errno.EACCES, errno.EPERM, errno.EROFS}
NOT_A_FOLDER = {errno.ENOTDIR, errno.EEXIST}


class StartError(Exception):
    """A reason why Virtlab cannot start; the message has the cause and the remedy."""


@contextmanager
def explain_os_errors(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StartError(os_error_message(error, folder)) from error


def os_error_message(error: OSError, folder: Path) -> str:
    if error.errno in DISK_FULL_ERRNOS:
        return disk_full_message(folder)
    if error.errno in PERMISSION_ERRNOS:
        return (
            f"User {os.geteuid()} cannot write to {error.filename or folder} "
            f"({error.strerror}). Give the folder to that user or choose another "
            "folder: VAR=/path/to/folder make run"
        )
    if error.errno in NOT_A_FOLDER:
        return (
            f"{error.filename or folder} is a file instead of a folder. Move it "
            "elsewhere or choose another folder: VAR=/path/to/folder make run"
        )
    return f"{error.filename or folder}: {error.strerror or error}."


def disk_full_message(folder: Path) -> str:
    return (
        f"The disk of {folder} is full. Virtlab needs at least {MIN_FREE_MB} MB. "
        "Free space or choose a folder on another disk: VAR=/path/to/folder make run"
    )
