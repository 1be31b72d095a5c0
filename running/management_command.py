"""Run a command on this installation's database.

    python -m running.management_command COMMAND
    python -m running.management_command --alone python -m running.backups restore FILE

The command uses the servers of a running Virtlab, or servers started for its duration.
"""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import psycopg
from psycopg.conninfo import conninfo_to_dict
from psycopg.pq import Conninfo

from running import embedded_servers
from running.embedded_servers import EmbeddedServers
from running.errors import StartError
from running.file_lock import FileLock
from running.options import Options, child_environment
from running.postgres import DATABASE, OWNER, PORT, binaries
from running.processes import ROOT
from running.var_folder import VarFolder

ALONE_OPTION = "--alone"
USAGE = f"usage: python -m running.management_command [{ALONE_OPTION}] COMMAND..."


@contextmanager
def server_environment(options: Options, alone: bool) -> Iterator[dict[str, str]]:
    """Yield the environment for a command, while its servers run.

    With ``alone``, raise StartError if Virtlab is running.
    """
    folder = VarFolder(options.var)
    folder.prepare()
    if not options.has_own_servers:
        own_lock = folder.lock() if alone else None
        try:
            yield _external_environment(options, folder)
        finally:
            if own_lock:
                own_lock.release()
        return
    lock = FileLock(folder.path / "lock")
    is_running = not lock.try_acquire()
    # It was locked only to see whether Virtlab is running.
    lock.release()
    # With --alone, `embedded_servers` raises an error that names the running Virtlab.
    if alone or not is_running:
        with embedded_servers.embedded_servers(options.var) as services:
            yield _command_environment(options, services)
    else:
        yield _command_environment(options, EmbeddedServers(folder))


def _external_environment(options: Options, folder: VarFolder) -> dict[str, str]:
    secret = os.environ.get("SECRET_KEY") or folder.secret("secret-key")
    environment = child_environment(options, {"SECRET_KEY": secret}, os.environ)
    # The owner, because a backup needs all rows.
    url = os.environ.get("OWNER_DATABASE_URL") or options.database_url
    return {
        **environment,
        "PATH": _program_path(environment, str(binaries())),
        **libpq_variables(url),
    }


def libpq_variables(url: str) -> dict[str, str]:
    """Return the PG* variables of a database URL; raise StartError if it is invalid."""
    try:
        parts = conninfo_to_dict(url)
    except psycopg.ProgrammingError as error:
        raise StartError(f"DATABASE_URL is not a database URL: {error}") from error
    return {
        option.envvar.decode(): str(parts[name])
        for option in Conninfo.get_defaults()
        if option.envvar and (name := option.keyword.decode()) in parts
    }


def _program_path(environment: Mapping[str, str], *folders: str) -> str:
    own = [*folders, str(Path(sys.executable).parent)]
    return os.pathsep.join([*own, environment.get("PATH", os.defpath)])


def _command_environment(options: Options, services: EmbeddedServers) -> dict[str, str]:
    postgres = services.postgres
    environment = child_environment(
        options, services.environment() | services.owner_environment(), os.environ
    )
    return {
        **environment,
        "PATH": _program_path(environment, str(postgres.bin)),
        "PGHOST": str(postgres.socket_folder),
        "PGPORT": str(PORT),
        # The owner, because a backup needs all rows.
        "PGUSER": OWNER,
        "PGDATABASE": DATABASE,
        "PGPASSWORD": postgres.password(OWNER),
    }


def run(command: Sequence[str], environment: Mapping[str, str]) -> int:
    """Run the command, which handles Ctrl-C itself; return its exit code."""
    words = [sys.executable, *command] if command[0] == "manage.py" else [*command]
    program = shutil.which(words[0], path=environment.get("PATH"))
    if program is None:
        raise StartError(f"The program {words[0]} was not found.")
    process = subprocess.Popen([program, *words[1:]], env=environment, cwd=ROOT)
    # Functions, because the command would inherit SIG_IGN.
    handlers = {
        signal.SIGINT: lambda *_: None,  # the terminal also sends it to the command
        signal.SIGTERM: lambda *_: process.terminate(),
    }
    previous = {number: signal.signal(number, handlers[number]) for number in handlers}
    try:
        return process.wait()
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


def main(arguments: Sequence[str]) -> int:
    alone = arguments[:1] == [ALONE_OPTION]
    command = arguments[1:] if alone else arguments
    if not command:
        sys.stderr.write(USAGE + "\n")
        return 2
    try:
        with server_environment(
            Options.from_environment(os.environ), alone
        ) as environment:
            return run(command, environment)
    except StartError as error:
        sys.stderr.write(f"{error}\n")
        return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
