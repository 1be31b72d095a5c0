"""Run a testbed: `python -m testbed [--short]` (docs/testbed.md)."""

import argparse
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from random import Random
from typing import Final

from agents.client import Client, RefusedError, UnreachableError
from testbed import TestbedError
from testbed.images import (
    GUEST,
    NESTED_HOST,
    build_image,
    kernel_path,
    own_sources,
    pack_agent,
)
from testbed.logged_programs import LoggedProgram
from testbed.results import (
    comparison_summary,
    result_problems,
    result_table,
    system_results,
    wait_until_parsed,
)
from testbed.runner import Testbed
from testbed.schedule import KINDS, SESSIONS, ScheduledBoot, boot_schedule, select_boots
from testbed.virtlab_server import (
    ORDER,
    RecordingProxy,
    create_study,
    data_folder,
    detect_machine_facts,
    free_port,
    hypervisor_versions,
    machine_name,
    network_peer,
    open_server,
    study_title,
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
    parser = argparse.ArgumentParser(prog="testbed", description=__doc__)
    parser.add_argument("--short", action="store_true", help="only the minimum")
    parser.add_argument("--repetitions", type=int, default=0)
    parser.add_argument("--sessions", type=int, default=0)
    parser.add_argument("--seed", help="to repeat the order of another run")
    parser.add_argument("--only", default="", help=f"some of {','.join(KINDS)}")
    parser.add_argument("--study", default=time.strftime("lab-%Y%m%d-%H%M%S"))
    parser.add_argument("--record", type=Path, help="save all uploads in this file")
    parser.add_argument(
        "--packages", action="store_true", help="print the missing packages and stop"
    )
    parser.add_argument(
        "--check", action="store_true", help="check this machine and stop"
    )
    options = parser.parse_args()
    if options.packages:
        print(*missing_packages())
        return 0
    # Like Ctrl-C: stop everything that was started.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        check_machine()
        if options.check:
            return 0
        return _run_testbed(options, os.environ)
    except (TestbedError, RefusedError, UnreachableError) as error:
        sys.stderr.write(f"{error}\n")
    except KeyboardInterrupt:
        sys.stderr.write("stopped; no process of the testbed is left\n")
        return 130
    return 1


def say(text: str) -> None:
    print(f"{time.strftime('%H:%M:%S')}  {text}", flush=True)


def _run_testbed(options: argparse.Namespace, environment: Mapping[str, str]) -> int:
    folder, started_s = data_folder(environment), time.monotonic()
    seed = options.seed or options.study
    sessions = options.sessions or (1 if options.short else SESSIONS)
    boots = boot_schedule(
        sessions,
        options.repetitions or (REPETITIONS_SHORT if options.short else REPETITIONS),
        Random(seed),
        is_short=options.short,
    )
    if options.only:
        boots = select_boots(boots, options.only.split(","))
    order = ORDER.format(sessions=sessions, seed=seed)
    systems = {system.name for boot in boots for system in boot.systems}
    with ExitStack() as stack:
        testbed, proxy = _set_up(stack, options, environment, order, systems)
        say(f"the order is that of SEED={seed}")
        try:
            for boot in boots:
                names = ", ".join(system.name for system in boot.systems)
                say(f"{boot.session_name}, {names}: {boot.repetitions} repetitions")
                testbed.run_boot(boot)
            failures = _report_results(testbed, boots)
        finally:
            if options.record:
                # Written even if the testbed was interrupted.
                uploads = list(proxy.uploads.values())
                write_record(options.record, testbed.reader, options.study, uploads)
                say(f"written: {options.record}, {len(uploads)} uploads")
    if "SERVER" in environment:
        say(f"the results are on {proxy.server}, study {options.study}")
    else:
        say(f"to see the results: VAR={folder / 'product'} make run")
    say(f"{time.monotonic() - started_s:.0f} s, {len(failures)} failures")
    return 1 if failures else 0


def _set_up(
    stack: ExitStack,
    options: argparse.Namespace,
    environment: Mapping[str, str],
    order: str,
    systems: Collection[str],
) -> tuple[Testbed, RecordingProxy]:
    folder = data_folder(environment)
    sources_file = environment.get("APT_SOURCES")
    sources = Path(sources_file) if sources_file else own_sources()
    guest = build_image(GUEST, folder / "images", sources, say)
    nested_host = None
    if not options.short:
        nested_host = build_image(NESTED_HOST, folder / "images", sources, say)
    agent = pack_agent(folder)
    say("using the given Virtlab" if "SERVER" in environment else "starting Virtlab")
    server = stack.enter_context(open_server(environment, folder))
    proxy, machine = RecordingProxy(server.url), machine_name(environment)
    kernel = kernel_path("system", folder)
    facts = detect_machine_facts(agent, guest.root, folder)
    testbed = Testbed(
        folder=folder,
        agent=agent,
        guest=guest,
        nested_host_image=nested_host,
        client=Client(server.url, server.token, retry_for_s=30),
        reader=Client(server.url, server.read_token, retry_for_s=30),
        token=server.token,
        study=options.study,
        machine=machine,
        proxy_port=stack.enter_context(proxy.serve()),
        time_port=stack.enter_context(_time_server(agent, folder)),
        peer=stack.enter_context(network_peer(kernel, folder / "log")),
        host_layers=create_study(server, facts, options.study, machine, order, systems),
        versions=hypervisor_versions(),
        say=say,
    )
    return testbed, proxy


@contextmanager
def _time_server(agent: Path, folder: Path) -> Iterator[int]:
    port = free_port()
    argv = [sys.executable, str(agent), "timeserver", "--port", str(port)]
    program = LoggedProgram(
        [*argv, "--bind", "127.0.0.1"], folder / "log/timeserver.log"
    )
    try:
        yield port
    finally:
        program.stop()


def _report_results(testbed: Testbed, boots: list[ScheduledBoot]) -> list[str]:
    wait_until_parsed(testbed.reader, testbed.study)
    results = system_results(testbed.reader, testbed.study, boots)
    by_name = {system.name: system for boot in boots for system in boot.systems}
    systems = list(by_name.values())
    reports = testbed.reports
    summary = comparison_summary(testbed.reader, testbed.study).lines()
    lines = result_table(systems, results, reports, testbed.seconds)
    print("\n".join(["", *lines, "", *summary, ""]))
    problems = result_problems(systems, results, reports, testbed.host_layers)
    failures = [*testbed.failures, *problems]
    if reports and reports.keys() < by_name.keys():
        title = study_title(reports)
        testbed.client.update_study(testbed.study, {"title": title})
    for failure in failures:
        sys.stderr.write(f"{failure}\n")
    return failures


def missing_packages(which: Which = shutil.which) -> list[str]:
    missing = (PACKAGES[name] for name in PACKAGES if which(name) is None)
    return [package for packages in missing for package in packages.split()]


def can_mount() -> bool:
    """Return whether mounts are allowed, which many containers forbid."""
    argv = ["unshare", "--mount", "mount", "-t", "tmpfs", "tmpfs", "/mnt"]
    return subprocess.run(argv, capture_output=True).returncode == 0


def check_machine(
    which: Which = shutil.which,
    user: Callable[[], int] = os.geteuid,
    mounts: Callable[[], bool] = can_mount,
) -> None:
    """Raise TestbedError with a remedy if the testbed cannot run here."""
    if packages := missing_packages(which):
        raise TestbedError(
            "The testbed needs programs that are not installed. On Debian 12, as root: "
            f"apt-get install --no-install-recommends {' '.join(packages)}"
        )
    if user() != 0:
        raise TestbedError(
            "The testbed builds and enters root file systems, which only root may do. "
            "Run it as root: sudo make testbed"
        )
    if not mounts():
        raise TestbedError(
            "This machine does not allow mounts, which root file systems need. Run the "
            "testbed outside of a container, or in a privileged one."
        )


if __name__ == "__main__":
    sys.exit(main())
