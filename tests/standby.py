"""Copies of the PostgreSQL of the tests, and standbys of them: all of our wheel."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from running.folders import VarFolder
from running.postgres import DATABASE, PORT, SUPERUSER, Postgres, environment
from tests.stack import wait_for


class Copy:
    """A copy of a running server: from there on it has a life of its own.

    The tests' server is no primary for a standby. Transactions of other tests' worlds
    are open for minutes there, and while one of them has more than 64 savepoints
    PostgreSQL lets nobody into a standby that begins.
    """

    follows = False

    def __init__(self, var: Path, original: Postgres) -> None:
        var.mkdir(parents=True, exist_ok=True)
        folder = VarFolder(var)
        folder.prepare()
        # It is asked with the original's passwords.
        shutil.copytree(original.folder.secrets, folder.secrets, dirs_exist_ok=True)
        self.original, self.server = original, Postgres(folder)

    @contextmanager
    def running(self) -> Iterator[None]:
        """Copy the original; be there in the block."""
        server, original = self.server, self.original
        subprocess.run(
            [
                *(str(server.bin / "pg_basebackup"), "--checkpoint=fast"),
                *("--wal-method=stream", "-D", str(server.folder.pgdata)),
                *(["--write-recovery-conf"] if self.follows else []),
                *("-h", str(original.socket_folder), "-p", str(PORT), "-U", SUPERUSER),
            ],
            env={**environment(), "PGPASSWORD": original.password(SUPERUSER)},
            check=True,
        )
        if self.follows:
            with (server.folder.pgdata / "postgresql.auto.conf").open("a") as own:
                own.write("hot_standby_feedback = on\n")
        if account := server.account:
            for path in [server.folder.pgdata, *server.folder.pgdata.rglob("*")]:
                os.chown(path, account.uid, account.gid)
        try:
            self.resume()
            yield
        finally:
            self.stop()

    def resume(self) -> None:
        """Start it where it was stopped; the roles are there."""
        self.server.spawn()
        wait_for(self.server.is_ready)

    def stop(self) -> None:
        self.server.stop()


class Standby(Copy):
    """A copy that follows its original's log."""

    follows = True

    def hold(self, *, is_held: bool) -> None:
        """Let it stand still, or go on: what comes meanwhile it has, but shows not."""
        word = "pause" if is_held else "resume"
        with self.server.connect(user=SUPERUSER, database=DATABASE) as connection:
            connection.execute(f"SELECT pg_wal_replay_{word}()".encode())


def server_of_tests() -> Postgres:
    """Return the server that the tests' database is on (`tests/services.py`)."""
    return Postgres(VarFolder(Path(os.environ["VIRTLAB_VAR"])))
