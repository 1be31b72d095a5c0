"""Small files, read and written so that what is missing or cut off is seen."""

import os
from typing import List, Optional

MOST_BYTES = 256 * 1024


def text_of(path: str, most_bytes: int = MOST_BYTES) -> Optional[str]:
    """Return a small file's text without the blanks around it, or None."""
    try:
        with open(path, "rb") as file:
            return file.read(most_bytes).decode("utf-8", "replace").strip()
    except (OSError, ValueError):
        return None


def names_in(folder: str) -> List[str]:
    """Return the sorted names in a folder; nothing if it cannot be read."""
    try:
        return sorted(os.listdir(folder))
    except OSError:
        return []


def whole_number_of(path: str) -> Optional[int]:
    """Return the whole number a file consists of, or None."""
    try:
        return int(text_of(path) or "")
    except ValueError:
        return None


def link_of(path: str) -> Optional[str]:
    """Return where a link leads, as it is written, or None."""
    try:
        return os.readlink(path)
    except OSError:
        return None


def write_durably(
    path: str, content: bytes, mode: int = 0o600, beside_in: str = ""
) -> None:
    """Replace a file at once: what stands there is always one whole version.

    Written beside it (or in another folder of the same disk), flushed and renamed; the
    folder is flushed last, so that a return from here outlives a crash of the machine.
    """
    name = "%s.%d.part" % (os.path.basename(path), os.getpid())
    # Two writers never share one.
    beside = os.path.join(beside_in or os.path.dirname(path), name)
    # Created with its mode: nobody else can read it, not even for a moment.
    descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode)
    try:
        with os.fdopen(descriptor, "wb") as file:
            # The umask may have taken away more than was asked for.
            os.chmod(beside, mode)
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, path)
    # Ctrl-C leaves no half of a file either.
    except BaseException:
        forget(beside)
        raise
    flush_folder(os.path.dirname(path) or ".")


def forget(path: str) -> None:
    """Remove a file that may not be there."""
    try:
        os.remove(path)
    except OSError:
        return


def flush_folder(folder: str) -> None:
    """Make renames in a folder outlive a crash; Windows has no such call."""
    if os.name == "nt":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
