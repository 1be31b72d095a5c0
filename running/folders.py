"""The folder of one installation (VAR): its parts, its lock, its secrets."""

import fcntl
import hashlib
import os
import re
import secrets
import shutil
import stat
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from running.accounts import Account
from running.errors import NEEDED_MB, ServiceError, full_disk, in_words

# The shortest limit of the systems we run on (macOS), its final zero included.
LONGEST_SOCKET_PATH = 103
# What needs no quoting in a connection URL, whoever reads it.
PLAIN_PATH = re.compile(r"[A-Za-z0-9/._-]+")


class VarFolder:
    """The files of one installation; `VAR=` chooses the folder."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.pgdata = path / "pgdata"
        self.valkey = path / "valkey"
        self.logs = path / "log"
        self.secrets = path / "secrets"
        self.runtime = path / "run"
        # Counters of all processes together, for Prometheus.
        self.counters = self.runtime / "counters"

    def prepare(self) -> None:
        """Make the folder; refuse one that cannot be written or a full disk."""
        with in_words(self.path):
            self.path.mkdir(parents=True, exist_ok=True)
            for private in (self.logs, self.secrets):
                private.mkdir(mode=0o700, exist_ok=True)
            # Entered, but not listed: root's PostgreSQL has its socket folder inside.
            self.runtime.mkdir(mode=0o711, exist_ok=True)
            if shutil.disk_usage(self.path).free < NEEDED_MB * 1_000_000:
                raise ServiceError(full_disk(self.path))

    def lock(self) -> "HeldLock":
        """Lock the folder, or raise an error that names its holder."""
        with in_words(self.path):
            held = HeldLock(self.path / "lock")
            if not held.try_to_take():
                raise ServiceError(
                    f"{self.path} is in use by {held.holder()}. Stop that first, or "
                    "run a second copy beside it: VAR=var2 PORT=8001 make run"
                )
            held.sign()
        return held

    def secret(self, name: str) -> str:
        """Return a secret of this installation, made at the first request."""
        path = self.secrets / name
        with in_words(self.path):
            if not path.exists():
                write_private(path, secrets.token_urlsafe(48))
            return path.read_text().strip()

    def socket_folder(self, name: str, account: Account | None = None) -> Path:
        """Return a private folder for a socket, with a path short enough for one."""
        folder = self.runtime / name
        if not _suits_socket(folder):
            # Named after the folder, so that two installations never share one.
            digest = hashlib.sha256(os.fsencode(self.path)).hexdigest()[:12]
            stem = f"virtlab-{os.geteuid()}-{digest}-{name}"
            folder = Path(tempfile.gettempdir()) / stem
            # $TMPDIR may be too long itself.
            if not _suits_socket(folder):
                folder = Path("/tmp") / stem
        with in_words(folder):
            make_private(folder, account)
        return folder

    def remove_socket_folder(self, folder: Path) -> None:
        """Remove a socket folder that had to lie elsewhere; keep one still in use."""
        if folder.parent != self.runtime:
            with suppress(OSError):
                folder.rmdir()


def _suits_socket(folder: Path) -> bool:
    longest = folder / ".s.PGSQL.5432"
    plain = PLAIN_PATH.fullmatch(str(folder)) is not None
    return plain and len(os.fsencode(longest)) <= LONGEST_SOCKET_PATH


def make_private(folder: Path, account: Account | None) -> None:
    """Make a folder that only its owner enters; refuse one a stranger prepared."""
    owner = account.uid if account else os.geteuid()
    with suppress(FileExistsError):
        folder.mkdir(mode=0o700)
    # Not stat: a link that a stranger prepared is no folder, wherever it leads.
    facts = folder.lstat()
    if not stat.S_ISDIR(facts.st_mode) or facts.st_uid not in {os.geteuid(), owner}:
        raise ServiceError(
            f"{folder} belongs to user {facts.st_uid} or is no folder. Remove it: "
            "Virtlab puts its sockets only where nobody else can."
        )
    if account and facts.st_uid != owner:
        os.chown(folder, account.uid, account.gid)
    # One that was there already may have other permissions.
    folder.chmod(0o700)


def write_private(path: Path, text: str) -> None:
    """Write a file of mode 0600 that is either whole or not there."""
    draft = path.with_name(path.name + ".new")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with open(descriptor, "w") as file:
        file.write(text + "\n")
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)


class HeldLock:
    """A lock on a file, held as long as any process has the descriptor open.

    A server that inherits the descriptor keeps the lock until it has really ended,
    even when the process that started it was killed before.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.descriptor: int | None = None

    def try_to_take(self) -> bool:
        descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            return False
        self.descriptor = descriptor
        return True

    def take(self, *, timeout_s: float, pause: Callable[[], None], what: str) -> int:
        """Take the lock once its last holder has ended."""
        deadline = time.monotonic() + timeout_s
        while not self.try_to_take():
            if time.monotonic() > deadline:
                raise ServiceError(
                    f"{what} of an earlier start still runs in {self.path.parent}. "
                    "Stop it, or choose another folder: VAR=/path/to/folder make run"
                )
            pause()
        assert self.descriptor is not None
        return self.descriptor

    def sign(self) -> None:
        """Write our process id into the lock."""
        assert self.descriptor is not None
        # Into the locked file itself: one renamed into its place would be unlocked.
        os.ftruncate(self.descriptor, 0)
        os.pwrite(self.descriptor, f"process {os.getpid()}\n".encode(), 0)

    def holder(self) -> str:
        return self.path.read_text().strip() or "another process"

    def release(self) -> None:
        """Let go; a process that inherited the lock still holds it."""
        if self.descriptor is not None:
            os.close(self.descriptor)
            self.descriptor = None
