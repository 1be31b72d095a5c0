"""Copies of the tests' PostgreSQL, and standbys of them, all from our wheel."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from running.postgres import DATABASE, PORT, SUPERUSER, Postgres, environment
from running.var_folder import VarFolder
from tests.compose_stack import wait_for


class Copy:
    """A copy of a running server, independent from then on.

    The tests' server cannot be the primary: other tests keep transactions open for
    minutes, and while one of them has more than 64 savepoints PostgreSQL accepts no
    connections on a new standby.
    """

    follows = False

    def __init__(self, var: Path, original: Postgres) -> None:
        var.mkdir(parents=True, exist_ok=True)
        folder = VarFolder(var)
        folder.prepare()
        # It has the passwords of the original.
        shutil.copytree(original.folder.secrets, folder.secrets, dirs_exist_ok=True)
        self.original, self.server = original, Postgres(folder)

    @contextmanager
    def running(self) -> Iterator[None]:
        """Copy the original and run the copy within the block."""
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
        """Start it after a stop; the roles exist."""
        self.server.spawn()
        wait_for(self.server.is_ready)

    def stop(self) -> None:
        self.server.stop()


class Standby(Copy):
    """A copy that replays its original's log."""

    follows = True

    def hold(self, *, is_held: bool) -> None:
        """Pause or resume the replay: new data is received, but not visible."""
        word = "pause" if is_held else "resume"
        with self.server.connect(user=SUPERUSER, database=DATABASE) as connection:
            connection.execute(f"SELECT pg_wal_replay_{word}()".encode())


def server_of_tests() -> Postgres:
    """Return the server of the tests' database (`tests/server_plugin.py`)."""
    return Postgres(VarFolder(Path(os.environ["VIRTLAB_VAR"])))
