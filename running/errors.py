"""What the server says when it cannot start: sentences, not tracebacks."""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

NEEDED_MB = 200

FULL = {errno.ENOSPC, errno.EDQUOT}
FORBIDDEN = {errno.EACCES, errno.EPERM, errno.EROFS}
NOT_A_FOLDER = {errno.ENOTDIR, errno.EEXIST}


class ServiceError(Exception):
    """The server cannot start or go on; the text says why and what to do."""


@contextmanager
def in_words(folder: Path) -> Iterator[None]:
    """Turn an operating system's error about the folder into a sentence."""
    try:
        yield
    except OSError as error:
        raise ServiceError(sentence(error, folder)) from error


def sentence(error: OSError, folder: Path) -> str:
    """Return what is wrong with the folder, and a remedy."""
    if error.errno in FULL:
        return full_disk(folder)
    if error.errno in FORBIDDEN:
        return (
            f"{error.filename or folder} cannot be written by user {os.geteuid()} "
            f"({error.strerror}). Give the folder to that user, or choose another "
            "one: VAR=/path/to/folder make run"
        )
    if error.errno in NOT_A_FOLDER:
        return (
            f"{error.filename or folder} is a file where a folder is needed. Move it "
            "away, or choose another folder: VAR=/path/to/folder make run"
        )
    return f"{error.filename or folder}: {error.strerror or error}."


def full_disk(folder: Path) -> str:
    return (
        f"The disk that holds {folder} is full: Virtlab needs at least {NEEDED_MB} MB. "
        "Make room, or choose a folder on another disk: VAR=/path/to/folder make run"
    )
