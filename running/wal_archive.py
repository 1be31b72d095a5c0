"""An archive of PostgreSQL's write-ahead log, and recovery to any second.

    ARCHIVE=/backups/virtlab make run       # archive the log continuously
    make base-backup ARCHIVE=...            # start of a recovery, for example weekly
    make recover ARCHIVE=... TO="2026-11-23 04:40:00+00" VAR=recovered

The archive is as confidential as the database.
"""

import os
import shlex
import shutil
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

from running import processes
from running.errors import StartError, explain_os_errors
from running.options import Options
from running.postgres import PORT, SUPERUSER, Postgres, environment
from running.processes import last_lines
from running.server_base import RECOVERY_TIMEOUT_S, sleep_briefly
from running.var_folder import VarFolder, make_private_folder, write_private_file

USAGE = "usage: python -m running.wal_archive base-backup | recover [TIME]"
TIME_FORMAT = "%Y%m%dT%H%M%SZ"
# A configuration file that is removed after the recovery.
RECOVERY_SETTINGS = "virtlab-recovery.conf"


def base_backup(folder: VarFolder, archive: Path) -> Path:
    postgres = Postgres(folder)
    backup = archive / "base" / datetime.now(UTC).strftime(TIME_FORMAT)
    temporary = backup.with_name(backup.name + ".new")
    with explain_os_errors(archive):
        make_private_folder(archive / "base", None)
        shutil.rmtree(temporary, ignore_errors=True)
    process = subprocess.run(
        [
            *(str(postgres.bin / "pg_basebackup"), "--format=tar", "--gzip"),
            *("--checkpoint=fast", "--wal-method=fetch", f"--pgdata={temporary}"),
            *("-h", str(postgres.socket_folder), "-p", str(PORT), "-U", SUPERUSER),
        ],
        env={**environment(), "PGPASSWORD": postgres.password(SUPERUSER)},
        check=False,
    )
    if process.returncode != 0:
        raise StartError("The base backup failed; see the message of pg_basebackup.")
    temporary.rename(backup)
    return backup


def recover(folder: VarFolder, archive: Path, until: datetime | None) -> Path:
    """Recover a new folder to a point in time; return the base backup used.

    Raise StartError if the folder has data, no base backup is old enough, or the log
    ends too early.
    """
    folder.prepare()
    lock = folder.lock()
    try:
        if folder.pgdata.exists() and any(folder.pgdata.iterdir()):
            raise StartError(
                f"{folder.pgdata} already contains data. Recover into a new folder: "
                "make recover VAR=recovered TO=..."
            )
        base = _newest_base(archive, until)
        postgres = Postgres(folder)
        _unpack(base, postgres, archive, until)
        _replay(postgres)
        return base
    finally:
        lock.release()


def _newest_base(archive: Path, until: datetime | None) -> Path:
    backups = sorted(path for path in (archive / "base").glob("*Z") if path.is_dir())
    usable = [path for path in backups if until is None or _started_at(path) <= until]
    if not usable:
        raise StartError(
            f"{archive / 'base'} has no base backup from before that time."
        )
    return usable[-1]


def _started_at(base: Path) -> datetime:
    return datetime.strptime(base.name, TIME_FORMAT).replace(tzinfo=UTC)


def _unpack(
    base: Path, postgres: Postgres, archive: Path, until: datetime | None
) -> None:
    data, account = postgres.folder.pgdata, postgres.account
    temporary = data.with_name(data.name + ".new")
    with explain_os_errors(postgres.folder.path):
        shutil.rmtree(temporary, ignore_errors=True)
        make_private_folder(temporary, account)
        # Not `tarfile`: before Python 3.11.4, names could escape the folder.
        packed = base / "base.tar.gz"
        unpack = ["tar", "--extract", "--gzip", "--no-same-owner", f"--file={packed}"]
        if subprocess.run(
            [*unpack, f"--directory={temporary}"], check=False
        ).returncode:
            raise StartError(f"{packed} could not be unpacked; see the message of tar.")
        wal = shlex.quote(str(archive / "wal")).replace("%", "%%")
        command = f'cp {wal}/%f "%p"'
        lines = [
            f"restore_command = {_quote_literal(command)}",
            "recovery_target_action = 'promote'",
            # Accept no connections before the recovery is complete.
            "hot_standby = off",
            "archive_mode = off",
        ]
        if until is not None:
            lines.append(f"recovery_target_time = {_quote_literal(until.isoformat())}")
        (temporary / RECOVERY_SETTINGS).write_text("\n".join(lines) + "\n")
        (temporary / "recovery.signal").touch()
        with (temporary / "postgresql.auto.conf").open("a") as config:
            config.write(f"include = '{RECOVERY_SETTINGS}'\n")
        if account:
            for path in [temporary, *temporary.rglob("*")]:
                os.chown(path, account.uid, account.gid)
        shutil.rmtree(data, ignore_errors=True)
        temporary.rename(data)


def _replay(postgres: Postgres) -> None:
    data = postgres.folder.pgdata
    postgres.spawn()
    try:
        end = time.monotonic() + RECOVERY_TIMEOUT_S
        while not postgres.is_ready():
            if postgres.poll() is not None or time.monotonic() > end:
                raise StartError(
                    "The archive ends before that time or is damaged. The end of "
                    f"{postgres.log}:\n{last_lines(postgres.log, 8)}"
                )
            sleep_briefly()
    except StartError:
        postgres.stop()
        shutil.rmtree(data)
        raise
    postgres.stop()
    config = data / "postgresql.auto.conf"
    lines = [
        line
        for line in config.read_text().splitlines()
        if RECOVERY_SETTINGS not in line
    ]
    config.write_text("\n".join(lines) + "\n")
    (data / RECOVERY_SETTINGS).unlink()
    _set_password(postgres)


def _set_password(postgres: Postgres) -> None:
    """Set this installation's password in single-user mode, which needs no old one."""
    password = postgres.password(SUPERUSER)
    command = [str(postgres.bin / "postgres"), "--single", "-D"]
    subprocess.run(
        processes.launch_command(
            [*command, str(postgres.folder.pgdata), "postgres"],
            account=postgres.account,
        ),
        input=f"alter role {SUPERUSER} password '{password}'\n".encode(),
        env=environment(),
        cwd="/",
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        check=True,
    )


def _quote_literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def main(arguments: list[str]) -> int:
    try:
        options = Options.from_environment(os.environ)
        archive = options.archive
        if archive is None:
            raise StartError("Name the archive: ARCHIVE=/path/to/folder")
        folder = VarFolder(options.var)
        if arguments == ["base-backup"]:
            backup = base_backup(folder, archive)
            sys.stdout.write(f"written: {backup}\n")
            write_private_file(options.var / "last-backup", backup.name)
        elif arguments[:1] == ["recover"] and len(arguments) <= 2:
            until = _parse_time(arguments[1]) if arguments[1:] else None
            base = recover(folder, archive, until)
            target = until.isoformat() if until else "the end of the archive"
            sys.stdout.write(f"recovered to {target}, from {base.name}\n")
        else:
            sys.stderr.write(USAGE + "\n")
            return 2
    except StartError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


def _parse_time(text: str) -> datetime:
    try:
        time_ = datetime.fromisoformat(text)
    except ValueError:
        raise StartError(f"{text} is not a time like 2026-11-23 04:40:00+00") from None
    return time_ if time_.tzinfo else time_.replace(tzinfo=UTC)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
