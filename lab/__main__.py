"""Run a lab: `python -m lab [--short]`; docs/lab.md says what it does and needs."""

import argparse
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from random import Random
from typing import Final

from agents.client import Client, RefusedError, UnreachableError
from lab import LabError
from lab.boots import KINDS, SESSIONS, Visit, chosen, itinerary
from lab.images import GUEST, TOWER, binary_of, image_of, own_sources, pack_agent
from lab.laboratory import Laboratory
from lab.processes import Program
from lab.results import await_read, found_of, problems, said_of, table
from lab.servers import (
    ORDER,
    Desk,
    create_study,
    facts_of_machine,
    free_port,
    lab_folder,
    machine_name,
    network_peer,
    server_of,
    versions_here,
    write_record,
)

REPETITIONS: Final = 10
REPETITIONS_SHORT: Final = 3
PACKAGES: Final = {
    "mmdebstrap": "mmdebstrap",
    "mke2fs": "e2fsprogs",
    "qemu-system-x86_64": "qemu-system-x86",
    "systemd-nspawn": "systemd-container",
    "gcc": "gcc libc6-dev",
    "unshare": "util-linux",
    "ip": "iproute2",
}

Which = Callable[[str], str | None]


def main() -> int:
    """Run the lab; return 1 if a system failed."""
    parser = argparse.ArgumentParser(prog="lab", description=__doc__)
    parser.add_argument("--short", action="store_true", help="the least that tells")
    parser.add_argument("--repetitions", type=int, default=0)
    parser.add_argument("--sessions", type=int, default=0)
    parser.add_argument("--seed", help="for the order of another lab")
    parser.add_argument("--only", default="", help=f"of {','.join(KINDS)}")
    parser.add_argument("--study", default=time.strftime("lab-%Y%m%d-%H%M%S"))
    parser.add_argument("--record", type=Path, help="keep all uploads in this file")
    parser.add_argument(
        "--packages", action="store_true", help="print the packages that are missing"
    )
    parser.add_argument(
        "--check", action="store_true", help="only say whether a lab can run here"
    )
    options = parser.parse_args()
    if options.packages:
        print(*missing_packages())
        return 0
    # As Ctrl-C does it: all that was started is stopped on the way out.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        check_machine()
        if options.check:
            return 0
        return _lab(options, os.environ)
    except (LabError, RefusedError, UnreachableError) as error:
        sys.stderr.write(f"{error}\n")
    except KeyboardInterrupt:
        sys.stderr.write("stopped; nothing of the lab runs any more\n")
        return 130
    return 1


def say(text: str) -> None:
    """Print a line with its time."""
    print(f"{time.strftime('%H:%M:%S')}  {text}", flush=True)


def _lab(options: argparse.Namespace, environment: Mapping[str, str]) -> int:
    folder, begun_s = lab_folder(environment), time.monotonic()
    seed = options.seed or options.study
    sessions = options.sessions or (1 if options.short else SESSIONS)
    visits = itinerary(
        sessions,
        options.repetitions or (REPETITIONS_SHORT if options.short else REPETITIONS),
        Random(seed),
        is_short=options.short,
    )
    if options.only:
        visits = chosen(visits, options.only.split(","))
    order = ORDER.format(sessions=sessions, seed=seed)
    with ExitStack() as stack:
        laboratory, desk = _furnished(stack, options, environment, order)
        say(f"the order is that of SEED={seed}")
        try:
            for visit in visits:
                names = ", ".join(system.name for system in visit.systems)
                say(f"{visit.session_name}, {names}: {visit.repetitions} repetitions")
                laboratory.visit(visit)
            failures = _judged(laboratory, visits)
        finally:
            if options.record:
                # Even if the lab was stopped.
                uploads = list(desk.uploads.values())
                write_record(options.record, laboratory.reader, options.study, uploads)
                say(f"written: {options.record}, {len(uploads)} uploads")
    if "SERVER" in environment:
        say(f"the results are on {desk.server}, study {options.study}")
    else:
        say(f"to look at the results: VAR={folder / 'product'} make run")
    say(f"{time.monotonic() - begun_s:.0f} s, {len(failures)} failures")
    return 1 if failures else 0


def _furnished(
    stack: ExitStack,
    options: argparse.Namespace,
    environment: Mapping[str, str],
    order: str,
) -> tuple[Laboratory, Desk]:
    """Build what is missing, and start what guests and runs speak to."""
    folder = lab_folder(environment)
    given = environment.get("APT_SOURCES")
    sources = Path(given) if given else own_sources()
    guest = image_of(GUEST, folder / "images", sources, say)
    tower = None
    if not options.short:
        tower = image_of(TOWER, folder / "images", sources, say)
    agent = pack_agent(folder)
    say("asking Virtlab" if "SERVER" in environment else "starting Virtlab")
    server = stack.enter_context(server_of(environment, folder))
    desk, machine = Desk(server.url), machine_name(environment)
    kernel = binary_of("system", folder)
    facts = facts_of_machine(agent, guest.root, folder)
    laboratory = Laboratory(
        folder=folder,
        agent=agent,
        guest=guest,
        tower=tower,
        client=Client(server.url, server.token, patience_s=30),
        reader=Client(server.url, server.read_token, patience_s=30),
        token=server.token,
        study=options.study,
        machine=machine,
        desk_port=stack.enter_context(desk.opened()),
        time_port=stack.enter_context(_time_server(agent, folder)),
        peer=stack.enter_context(network_peer(kernel, folder / "log")),
        beneath=create_study(server, facts, options.study, machine, order),
        versions=versions_here(),
        say=say,
    )
    return laboratory, desk


@contextmanager
def _time_server(agent: Path, folder: Path) -> Iterator[int]:
    port = free_port()
    argv = [sys.executable, str(agent), "timeserver", "--port", str(port)]
    program = Program([*argv, "--bind", "127.0.0.1"], folder / "log/timeserver.log")
    try:
        yield port
    finally:
        program.stop()


def _judged(laboratory: Laboratory, visits: list[Visit]) -> list[str]:
    """Print the table and what is wrong; return the latter."""
    await_read(laboratory.reader, laboratory.study)
    found = found_of(laboratory.reader, laboratory.study, visits)
    named = {system.name: system for visit in visits for system in visit.systems}
    systems = list(named.values())
    reports = laboratory.reports
    said = said_of(laboratory.reader, laboratory.study).lines()
    lines = table(systems, found, reports, laboratory.seconds)
    print("\n".join(["", *lines, "", *said, ""]))
    wrong = problems(systems, found, reports, laboratory.beneath)
    failures = [*laboratory.failures, *wrong]
    for failure in failures:
        sys.stderr.write(f"{failure}\n")
    return failures


def missing_packages(which: Which = shutil.which) -> list[str]:
    """Return the Debian packages of the programs that are not there."""
    absent = (PACKAGES[name] for name in PACKAGES if which(name) is None)
    return [package for packages in absent for package in packages.split()]


def can_mount() -> bool:
    """Return whether mounts of our own are allowed; in many containers they are not."""
    argv = ["unshare", "--mount", "mount", "-t", "tmpfs", "tmpfs", "/mnt"]
    return subprocess.run(argv, capture_output=True).returncode == 0


def check_machine(
    which: Which = shutil.which,
    user: Callable[[], int] = os.geteuid,
    mounts: Callable[[], bool] = can_mount,
) -> None:
    """Raise LabError with the command that makes the machine fit."""
    if packages := missing_packages(which):
        raise LabError(
            "The lab needs programs that are not here. On Debian 12, as root: "
            f"apt-get install --no-install-recommends {' '.join(packages)}"
        )
    if user() != 0:
        raise LabError(
            "The lab builds root file systems and enters them, which only root may. "
            "Run it as root: sudo make lab"
        )
    if not mounts():
        raise LabError(
            "This machine allows no mounts, which a root file system needs. In a "
            "container, run the lab outside of it, or in a privileged one."
        )


if __name__ == "__main__":
    sys.exit(main())
