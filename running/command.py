"""Run a command on this installation's database: `python -m running.command COMMAND`.

    python -m running.command manage.py shell
    python -m running.command pg_dump --format=custom --file=virtlab.dump
    python -m running.command --alone pg_restore --dbname=virtlab virtlab.dump

Uses the servers of a running Virtlab, or starts them for as long as it takes.
"""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from running import embedded
from running.embedded import Services
from running.errors import ServiceError
from running.folders import HeldLock, VarFolder
from running.options import Options, child_environment
from running.postgres import DATABASE, OWNER, PORT
from running.processes import ROOT

ALONE = "--alone"
USAGE = f"usage: python -m running.command [{ALONE}] COMMAND..."


@contextmanager
def environment(options: Options, alone: bool) -> Iterator[dict[str, str]]:
    """Give the environment in which the command finds its servers."""
    if not options.has_own_servers:
        yield child_environment(options, {}, os.environ)
        return
    folder = VarFolder(options.var)
    folder.prepare()
    lock = HeldLock(folder.path / "lock")
    is_running = not lock.try_to_take()
    # Only asked: whoever starts the servers takes the lock himself.
    lock.release()
    # Alone while it runs is refused there, with the name of who has the folder.
    if alone or not is_running:
        with embedded.services(options.var) as services:
            yield _surroundings(options, services)
    else:
        yield _surroundings(options, Services(folder))


def _surroundings(options: Options, services: Services) -> dict[str, str]:
    """Return the variables for commands of the product, PostgreSQL and Python."""
    postgres = services.postgres
    surroundings = child_environment(
        options, services.environment() | services.owner(), os.environ
    )
    programs = [str(postgres.bin), str(Path(sys.executable).parent)]
    return {
        **surroundings,
        "PATH": os.pathsep.join([*programs, surroundings.get("PATH", os.defpath)]),
        "PGHOST": str(postgres.socket_folder),
        "PGPORT": str(PORT),
        # Shown all, as a backup has to be.
        "PGUSER": OWNER,
        "PGDATABASE": DATABASE,
        "PGPASSWORD": postgres.password(OWNER),
    }


def run(command: Sequence[str], surroundings: Mapping[str, str]) -> int:
    """Run the command in the terminal; Ctrl-C is the command's affair."""
    words = [sys.executable, *command] if command[0] == "manage.py" else [*command]
    program = shutil.which(words[0], path=surroundings.get("PATH"))
    if program is None:
        raise ServiceError(f"There is no program {words[0]}.")
    process = subprocess.Popen([program, *words[1:]], env=surroundings, cwd=ROOT)
    # A handler of ours, unlike "ignore", is not inherited by the command.
    handlers = {
        signal.SIGINT: lambda *_: None,  # the terminal sends it to the command as well
        signal.SIGTERM: lambda *_: process.terminate(),
    }
    previous = {number: signal.signal(number, handlers[number]) for number in handlers}
    try:
        return process.wait()
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


def main(arguments: Sequence[str]) -> int:
    alone = arguments[:1] == [ALONE]
    command = arguments[1:] if alone else arguments
    if not command:
        sys.stderr.write(USAGE + "\n")
        return 2
    try:
        with environment(Options.of(os.environ), alone) as surroundings:
            return run(command, surroundings)
    except ServiceError as error:
        sys.stderr.write(f"{error}\n")
        return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
