"""The folder of one installation (VAR), with its subfolders, lock and secrets."""

import hashlib
import os
import re
import secrets
import shutil
import stat
import tempfile
from contextlib import suppress
from pathlib import Path

from running.errors import MIN_FREE_MB, StartError, disk_full_message, explain_os_errors
from running.file_lock import FileLock
from running.os_accounts import OsAccount

# The limit of macOS, which is the smallest, without the final zero byte.
MAX_SOCKET_PATH = 103
# Paths that need no quoting in a connection URL.
PLAIN_PATH = re.compile(r"[A-Za-z0-9/._-]+")


class VarFolder:
    def __init__(self, path: Path) -> None:
        self.path = path
        self.pgdata = path / "pgdata"
        self.valkey = path / "valkey"
        self.logs = path / "log"
        self.secrets = path / "secrets"
        self.runtime = path / "run"
        self.counters = self.runtime / "counters"

    def prepare(self) -> None:
        with explain_os_errors(self.path):
            self.path.mkdir(parents=True, exist_ok=True)
            for private in (self.logs, self.secrets):
                private.mkdir(mode=0o700, exist_ok=True)
            # Searchable, but not listable: PostgreSQL's account has its socket inside.
            self.runtime.mkdir(mode=0o711, exist_ok=True)
            if shutil.disk_usage(self.path).free < MIN_FREE_MB * 1_000_000:
                raise StartError(disk_full_message(self.path))

    def lock(self) -> FileLock:
        with explain_os_errors(self.path):
            lock = FileLock(self.path / "lock")
            if not lock.try_acquire():
                raise StartError(
                    f"{self.path} is in use by {lock.holder_pid()}. Stop it first, or "
                    "run a second installation: VAR=var2 PORT=8001 make run"
                )
            lock.write_pid()
        return lock

    def secret(self, name: str) -> str:
        """Return a secret, which is created at the first call."""
        path = self.secrets / name
        with explain_os_errors(self.path):
            if not path.exists():
                write_private_file(path, secrets.token_urlsafe(48))
            return path.read_text().strip()

    def socket_folder(self, name: str, account: OsAccount | None = None) -> Path:
        """Return a private folder for a socket, whose path is short enough."""
        folder = self.runtime / name
        if not _fits_socket(folder):
            # The digest is different for each installation.
            digest = hashlib.sha256(os.fsencode(self.path)).hexdigest()[:12]
            stem = f"virtlab-{os.geteuid()}-{digest}-{name}"
            folder = Path(tempfile.gettempdir()) / stem
            if not _fits_socket(folder):
                folder = Path("/tmp") / stem
        with explain_os_errors(folder):
            make_private_folder(folder, account)
        return folder

    def remove_socket_folder(self, folder: Path) -> None:
        if folder.parent != self.runtime:
            with suppress(OSError):
                folder.rmdir()


def _fits_socket(folder: Path) -> bool:
    socket = folder / ".s.PGSQL.5432"
    is_plain = PLAIN_PATH.fullmatch(str(folder)) is not None
    return is_plain and len(os.fsencode(socket)) <= MAX_SOCKET_PATH


def make_private_folder(folder: Path, account: OsAccount | None) -> None:
    """Create a folder that only its owner (by default the current user) can enter.

    Raise StartError if another user owns it.
    """
    owner = account.uid if account else os.geteuid()
    with suppress(FileExistsError):
        folder.mkdir(mode=0o700)
    # Do not follow a symbolic link that another user prepared.
    status = folder.lstat()
    if not stat.S_ISDIR(status.st_mode) or status.st_uid not in {os.geteuid(), owner}:
        raise StartError(
            f"{folder} belongs to user {status.st_uid} or is not a folder. Remove it: "
            "Virtlab places its sockets only in folders that no other user can change."
        )
    if account and status.st_uid != owner:
        os.chown(folder, account.uid, account.gid)
    folder.chmod(0o700)


def write_private_file(path: Path, text: str) -> None:
    temporary = path.with_name(path.name + ".new")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with open(descriptor, "w") as file:
        file.write(text + "\n")
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)
