"""An archive of PostgreSQL's log, and recovery to any second of it.

    ARCHIVE=/backups/virtlab make run       # archives the log while it runs
    make base-backup ARCHIVE=...            # the start of a recovery: once a week
    make recover ARCHIVE=... TO="2026-11-23 04:40:00+00" VAR=recovered

`wal/` has a file per 16 MB of the log or minute with changes, `base/` a folder per base
backup. Both are as secret as the database.
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
from running.errors import ServiceError, in_words
from running.folders import VarFolder, make_private, write_private
from running.options import Options
from running.postgres import PORT, SUPERUSER, Postgres, environment
from running.processes import last_lines
from running.servers import RECOVERY_S, step

USAGE = "usage: python -m running.archive base-backup | recover [TIME]"
STAMP = "%Y%m%dT%H%M%SZ"
# Read once by the recovery, and taken out again when it is over.
SETTINGS = "virtlab-recovery.conf"


def base_backup(folder: VarFolder, archive: Path) -> Path:
    """Write a base backup of a running server; return its folder."""
    postgres = Postgres(folder)
    made = archive / "base" / datetime.now(UTC).strftime(STAMP)
    draft = made.with_name(made.name + ".new")
    with in_words(archive):
        make_private(archive / "base", None)
        shutil.rmtree(draft, ignore_errors=True)
    ended = subprocess.run(
        [
            *(str(postgres.bin / "pg_basebackup"), "--format=tar", "--gzip"),
            *("--checkpoint=fast", "--wal-method=fetch", f"--pgdata={draft}"),
            *("-h", str(postgres.socket_folder), "-p", str(PORT), "-U", SUPERUSER),
        ],
        env={**environment(), "PGPASSWORD": postgres.password(SUPERUSER)},
        check=False,
    )
    if ended.returncode != 0:
        raise ServiceError("The base backup was not made; pg_basebackup says why.")
    # From now on it can be used: half of one never has this name.
    draft.rename(made)
    return made


def recover(folder: VarFolder, archive: Path, until: datetime | None) -> Path:
    """Recover a new folder to a moment; return the base backup that was used.

    Without a moment: as new as the archive. Raises ServiceError where the folder has
    data already, no base backup is old enough, or the log ends before.
    """
    folder.prepare()
    lock = folder.lock()
    try:
        if folder.pgdata.exists() and any(folder.pgdata.iterdir()):
            raise ServiceError(
                f"{folder.pgdata} holds data already. Recover into a new folder: "
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
    """Return the newest base backup that was begun before a moment."""
    made = sorted(path for path in (archive / "base").glob("*Z") if path.is_dir())
    usable = [path for path in made if until is None or _begun_at(path) <= until]
    if not usable:
        raise ServiceError(
            f"{archive / 'base'} has no base backup from before that moment."
        )
    return usable[-1]


def _begun_at(base: Path) -> datetime:
    return datetime.strptime(base.name, STAMP).replace(tzinfo=UTC)


def _unpack(
    base: Path, postgres: Postgres, archive: Path, until: datetime | None
) -> None:
    """Unpack a base backup beside its place, and configure the recovery."""
    data, account = postgres.folder.pgdata, postgres.account
    draft = data.with_name(data.name + ".new")
    with in_words(postgres.folder.path):
        shutil.rmtree(draft, ignore_errors=True)
        make_private(draft, account)
        # Not `tarfile`: before Python 3.11.4 names may lead it out of the folder.
        packed = base / "base.tar.gz"
        unpack = ["tar", "--extract", "--gzip", "--no-same-owner", f"--file={packed}"]
        if subprocess.run([*unpack, f"--directory={draft}"], check=False).returncode:
            raise ServiceError(f"{packed} was not unpacked; tar says why.")
        wal = shlex.quote(str(archive / "wal")).replace("%", "%%")
        command = f'cp {wal}/%f "%p"'
        lines = [
            f"restore_command = {_quoted(command)}",
            "recovery_target_action = 'promote'",
            # Then it answers nobody before it is there.
            "hot_standby = off",
            "archive_mode = off",
        ]
        if until is not None:
            lines.append(f"recovery_target_time = {_quoted(until.isoformat())}")
        (draft / SETTINGS).write_text("\n".join(lines) + "\n")
        (draft / "recovery.signal").touch()
        with (draft / "postgresql.auto.conf").open("a") as own:
            own.write(f"include = '{SETTINGS}'\n")
        if account:
            for path in [draft, *draft.rglob("*")]:
                os.chown(path, account.uid, account.gid)
        shutil.rmtree(data, ignore_errors=True)
        draft.rename(data)


def _replay(postgres: Postgres) -> None:
    """Let PostgreSQL replay the log, then give it this folder's password."""
    data = postgres.folder.pgdata
    postgres.spawn()
    try:
        end = time.monotonic() + RECOVERY_S
        while not postgres.is_ready():
            if postgres.poll() is not None or time.monotonic() > end:
                # What is there is of no moment anybody asked for.
                raise ServiceError(
                    "The archive does not reach to that moment, or is damaged. The "
                    f"end of {postgres.log}:\n{last_lines(postgres.log, 8)}"
                )
            step()
    except ServiceError:
        postgres.stop()
        shutil.rmtree(data)
        raise
    postgres.stop()
    own = data / "postgresql.auto.conf"
    kept = [line for line in own.read_text().splitlines() if SETTINGS not in line]
    own.write_text("\n".join(kept) + "\n")
    (data / SETTINGS).unlink()
    _set_password(postgres)


def _set_password(postgres: Postgres) -> None:
    """Set the superuser's password without knowing the old one, before any start."""
    password = postgres.password(SUPERUSER)
    command = [str(postgres.bin / "postgres"), "--single", "-D"]
    subprocess.run(
        processes.launched(
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


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def main(arguments: list[str]) -> int:
    try:
        options = Options.of(os.environ)
        archive = options.archive
        if archive is None:
            raise ServiceError("Say where the archive is: ARCHIVE=/path/to/folder")
        folder = VarFolder(options.var)
        if arguments == ["base-backup"]:
            made = base_backup(folder, archive)
            sys.stdout.write(f"written: {made}\n")
            write_private(options.var / "last-backup", made.name)
        elif arguments[:1] == ["recover"] and len(arguments) <= 2:
            until = _moment(arguments[1]) if arguments[1:] else None
            base = recover(folder, archive, until)
            when = until.isoformat() if until else "the end of the archive"
            sys.stdout.write(f"recovered to {when}, from {base.name}\n")
        else:
            sys.stderr.write(USAGE + "\n")
            return 2
    except ServiceError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


def _moment(text: str) -> datetime:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise ServiceError(f"{text} is no time like 2026-11-23 04:40:00+00") from None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
