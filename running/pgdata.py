"""The data folder of PostgreSQL: made once, of one version, cleared of dead servers."""

import os
import shutil
import subprocess
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

from running import processes
from running.accounts import Account
from running.errors import ServiceError, in_words
from running.folders import make_private, write_private

VERSION = "18"
SUPERUSER = "postgres"

# Written into postgresql.conf once, where they may be tuned; the first three are
# asserted at every start.
SETTINGS = {
    "fsync": "on",
    "synchronous_commit": "on",
    "full_page_writes": "on",
    "max_connections": "100",
    "shared_buffers": "256MB",
    "work_mem": "16MB",
    "maintenance_work_mem": "128MB",
    "effective_cache_size": "1GB",
    "random_page_cost": "1.1",
    "jit": "off",
    # What was just uploaded is planned for without statistics until the next look.
    "autovacuum_naptime": "10s",
    "wal_compression": "on",
    "timezone": "UTC",
    "log_timezone": "UTC",
    "log_line_prefix": "%m [%p] %q%u@%d ",
    "log_min_duration_statement": "1000",
    "unix_socket_permissions": "0700",
}


@dataclass(frozen=True)
class DataFolder:
    """Where PostgreSQL keeps everything, and whose it is (None: ours)."""

    path: Path
    account: Account | None

    def version(self) -> str:
        """Return the version of the data, "" when there are none; refuse another's."""
        with in_words(self.path):
            if not self.path.exists() or not any(self.path.iterdir()):
                return ""
            if not (self.path / "PG_VERSION").exists():
                raise ServiceError(
                    f"{self.path} holds files, but no PostgreSQL data. Move it away, "
                    "or choose another folder: VAR=/path/to/folder make run"
                )
            version = (self.path / "PG_VERSION").read_text().strip()
        if version != VERSION:
            raise ServiceError(self._other_version(version))
        return version

    def _other_version(self, version: str) -> str:
        return (
            f"{self.path} holds data of PostgreSQL {version}; this Virtlab runs "
            f"PostgreSQL {VERSION}. To keep the data, dump them with PostgreSQL "
            f"{version} (pg_dump), move {self.path} away and restore the dump "
            "(docs/operations.md); or start empty: VAR=/path/to/folder make run"
        )

    def make(
        self, *, initdb: Path, password: str, password_file: Path, log: Path
    ) -> bool:
        """Make the data beside their place, so that a broken-off start leaves none."""
        draft = self.path.with_name(self.path.name + ".new")
        shutil.rmtree(draft, ignore_errors=True)
        make_private(draft, self.account)
        write_private(password_file, password)
        if self.account:
            os.chown(password_file, self.account.uid, self.account.gid)
        is_made = self._run_initdb(initdb, draft, password_file, log)
        password_file.unlink()
        if is_made:
            with suppress(FileNotFoundError):
                self.path.rmdir()
            draft.rename(self.path)
        return is_made

    def _run_initdb(self, initdb: Path, data: Path, password: Path, log: Path) -> bool:
        options = [
            *(f"--pgdata={data}", f"--username={SUPERUSER}", f"--pwfile={password}"),
            *("--auth=scram-sha-256", "--data-checksums", "--encoding=UTF8"),
            *("--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--locale=C"),
            "--no-instructions",
            *(f"--set={name}={value}" for name, value in SETTINGS.items()),
        ]
        tie = processes.leash(account=self.account)
        with processes.open_log(log) as output:
            ended = subprocess.run(
                processes.launched([str(initdb), *options], tie),
                stdout=output,
                stderr=output,
                env=environment(),
                cwd="/",
                start_new_session=True,
                check=False,
            )
        return ended.returncode == 0

    def remove_stale_pid(self) -> None:
        """Remove a pid file whose number now belongs to some other program.

        PostgreSQL removes the file of a dead server itself, but takes any living
        process with that number for a server. The caller holds the lock that every
        process of a server inherits.
        """
        pid_file = self.path / "postmaster.pid"
        with suppress(FileNotFoundError, ValueError, IndexError, psutil.Error):
            pid = int(pid_file.read_text().splitlines()[0])
            if Path(psutil.Process(pid).cwd()) != self.path.resolve():
                pid_file.unlink()


def environment() -> dict[str, str]:
    """Return an environment without the PG* variables of whoever starts us."""
    return {"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C", "TZ": "UTC"}
