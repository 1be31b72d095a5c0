"""Back up the database to a file, and restore it.

    python -m running.backups write FILE
    python -m running.backups restore FILE

`running.management_command` sets the PG* variables of the database.
"""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from running.errors import StartError, explain_os_errors
from running.var_folder import write_private_file

USAGE = "usage: python -m running.backups write|restore FILE"
REQUIRED_TABLES = ("benchmarks_lab", "benchmarks_run", "django_migrations")
BACKUP_STAMP = "last-backup"


def write_backup(file: Path) -> None:
    """Dump the database; raise StartError if the dump fails or is incomplete.

    The file appears when the dump is verified. Only its owner can read it.
    """
    temporary = file.with_name(file.name + ".new")
    with explain_os_errors(file.parent):
        temporary.unlink(missing_ok=True)
        os.close(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        try:
            _run("pg_dump", "--format=custom", "--no-owner", f"--file={temporary}")
            verify_backup(temporary)
            with open(temporary, "rb") as dump:
                os.fsync(dump.fileno())
            temporary.replace(file)
        finally:
            temporary.unlink(missing_ok=True)


def verify_backup(file: Path) -> None:
    """Read a dump to its end; raise StartError if it is not a backup of Virtlab."""
    content = _run("pg_restore", "--list", str(file))
    names = {line.split()[6] for line in content.splitlines() if " TABLE DATA " in line}
    if missing := [table for table in REQUIRED_TABLES if table not in names]:
        raise StartError(
            f"{file} is not a backup of Virtlab: it has no data of {missing[0]}. "
            "Check DATABASE_URL and VAR."
        )
    _run("pg_restore", f"--file={os.devnull}", str(file))


def restore_backup(file: Path) -> None:
    """Replace the database in one transaction, after reading the whole file."""
    if not file.is_file():
        raise StartError(f"The file {file} does not exist.")
    verify_backup(file)
    _run(
        *("pg_restore", "--clean", "--if-exists", "--no-owner", "--exit-on-error"),
        *("--single-transaction", f"--dbname={os.environ['PGDATABASE']}", str(file)),
    )


def _run(*command: str) -> str:
    try:
        ended = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    except FileNotFoundError:
        raise StartError(f"The program {command[0]} was not found.") from None
    if ended.returncode != 0:
        raise StartError(f"{command[0]} failed; see its message above.")
    return ended.stdout


def main(arguments: Sequence[str]) -> int:
    if len(arguments) != 2 or arguments[0] not in {"write", "restore"}:
        sys.stderr.write(USAGE + "\n")
        return 2
    file = Path(arguments[1])
    try:
        if arguments[0] == "write":
            write_backup(file)
            write_private_file(
                Path(os.environ["VIRTLAB_VAR"]) / BACKUP_STAMP, file.name
            )
            sys.stdout.write(f"written: {file}\n")
        else:
            restore_backup(file)
            sys.stdout.write(f"restored: {file}\n")
    except StartError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
