"""A standby that streams from the PostgreSQL of the tests: both of our wheel."""

import os
import shutil
import subprocess
from pathlib import Path

from running.folders import VarFolder
from running.postgres import DATABASE, PORT, SUPERUSER, Postgres, environment
from tests.stack import wait_for


class Standby:
    """A copy of a running server that follows its log."""

    def __init__(self, var: Path, primary: Postgres) -> None:
        var.mkdir(parents=True, exist_ok=True)
        folder = VarFolder(var)
        folder.prepare()
        # It is asked with the primary's passwords.
        shutil.copytree(primary.folder.secrets, folder.secrets, dirs_exist_ok=True)
        self.primary, self.server = primary, Postgres(folder)

    def start(self) -> None:
        """Copy the primary, and follow it from there on."""
        server, primary = self.server, self.primary
        subprocess.run(
            [
                *(str(server.bin / "pg_basebackup"), "--checkpoint=fast"),
                *("--write-recovery-conf", "--wal-method=stream"),
                *("-D", str(server.folder.pgdata), "-h", str(primary.socket_folder)),
                *("-p", str(PORT), "-U", SUPERUSER),
            ],
            env={**environment(), "PGPASSWORD": primary.password(SUPERUSER)},
            check=True,
        )
        with (server.folder.pgdata / "postgresql.auto.conf").open("a") as own:
            own.write("hot_standby_feedback = on\n")
        if account := server.account:
            for path in [server.folder.pgdata, *server.folder.pgdata.rglob("*")]:
                os.chown(path, account.uid, account.gid)
        self.resume()

    def resume(self) -> None:
        """Start it where it was stopped; it makes no role, for it cannot write."""
        self.server.spawn()
        wait_for(self.server.is_ready)

    def stop(self) -> None:
        self.server.stop()

    def hold(self, *, is_held: bool) -> None:
        """Let it stand still, or go on: what comes meanwhile it has, but shows not."""
        word = "pause" if is_held else "resume"
        with self.server.connect(user=SUPERUSER, database=DATABASE) as connection:
            connection.execute(f"SELECT pg_wal_replay_{word}()".encode())


def primary_of() -> Postgres:
    """Return the server that the tests' database is on (`tests/services.py`)."""
    return Postgres(VarFolder(Path(os.environ["VIRTLAB_VAR"])))
