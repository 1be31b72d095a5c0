"""Measure QEMU machines from this host: `python -m testbed.host_measurements`.

Three sessions of start-up (one, two and four machines at once) and migration, with the
agent's command `vm` (docs/testbed.md). The processor is emulated.
"""

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Final

from agents.client import Client, RefusedError
from testbed import TestbedError
from testbed.__main__ import check_machine, say
from testbed.images import (
    GUEST,
    Image,
    build_image,
    own_sources,
    pack_agent,
    write_disk,
    write_job,
)
from testbed.machines import QemuMachine, qemu_command
from testbed.virtlab_server import (
    TestServer,
    data_folder,
    hypervisor_versions,
    machine_name,
    open_server,
    register_machine,
)

TITLE: Final = "Start-up, memory and migration of QEMU machines, emulated"
NOTE: Final = (
    "Measured from the host by make testbed-vm. QEMU emulates the processor in "
    "software, so the figures show that the tools work, not how fast a hypervisor is."
)
# The machine shows a line every 50 ms, so that a migration leaves a gap.
START: Final = """echo 'lab: ready'
n=0
while :; do n=$((n + 1)); echo "line $n"; sleep 0.05; done
"""
COUNTS: Final = (1, 2, 4)
LIMIT_S: Final = 600


@dataclass(frozen=True)
class HostMeasurement:
    """An execution of ``vm`` in a session; ``count`` 0 is a migration."""

    session: int
    count: int

    @property
    def arguments(self) -> list[str]:
        if not self.count:
            return ["migrate", "--until", "line 20"]
        return ["boot", "--until", "lab: ready", "--count", str(self.count)]

    @property
    def push_arguments(self) -> list[str]:
        several = ["--scenario", "parallel", "--vms", str(self.count)]
        words = several if self.count > 1 else []
        return [*words, "--session", f"session {self.session}"]


def measurements(
    sessions: int, repetitions: int, random: Random
) -> Iterator[HostMeasurement]:
    """Yield all measurements, in random order within each repetition."""
    for session in range(1, sessions + 1):
        for _repetition in range(repetitions):
            for count in random.sample([0, *COUNTS], len(COUNTS) + 1):
                yield HostMeasurement(session, count)


def machine_command(image: Image, job: Path, *, is_shared: bool) -> list[str]:
    """Return QEMU's command; two machines can share disks that they only read."""
    machine = QemuMachine(
        kernel=str(image.kernel),
        initrd=str(image.initrd),
        disks=(str(image.disk), str(job)),
        memory_mib=256,
    )
    # Lines of the kernel show when it starts.
    words = [word.replace(" quiet", "") for word in qemu_command(machine)]
    if is_shared:
        words = [word.replace("snapshot=on", "readonly=on") for word in words]
    return words


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sessions", type=int, default=3)
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--study", default=time.strftime("vm-%Y%m%d-%H%M%S"))
    options = parser.parse_args()
    try:
        check_machine()
        with ExitStack() as stack:
            server = stack.enter_context(open_server(os.environ, data_folder()))
            return _measure(options, server)
    except (TestbedError, RefusedError) as error:
        sys.stderr.write(f"{error}\n")
        return 1


def _measure(options: argparse.Namespace, server: TestServer) -> int:
    folder, failures = data_folder(), 0
    image = build_image(GUEST, folder / "images", own_sources(), say)
    agent = [sys.executable, str(pack_agent(folder))]
    job = write_disk(write_job(folder / "jobs" / "outside", START, {}, {}))
    machine = machine_name()
    client = Client(server.url, server.token, retry_for_s=30)
    study = {"slug": options.study, "title": TITLE, "note": NOTE}
    client.create_study({**study, "visibility": "public"})
    register_machine(client, machine, {})
    environment = {
        **os.environ,
        "VIRTLAB_AGENT": str(folder / "outside"),
        "VIRTLAB_SERVER": server.url,
        "VIRTLAB_TOKEN": server.token,
    }
    system = ["--study", options.study, "--host", machine, "--hypervisor", "QEMU TCG"]
    system += ["--virtualization", "full", "--vcpus", "1"]
    system += ["--hypervisor-version", hypervisor_versions()["qemu-tcg"]]
    tasks = measurements(options.sessions, options.repetitions, Random(options.study))
    for task in tasks:
        say(f"session {task.session}: {' '.join(task.arguments)}")
        command = machine_command(image, job, is_shared=not task.count)
        words = ["vm", *task.arguments, "--limit-s", str(LIMIT_S), "--", *command]
        output = folder / "log" / "vm.txt"
        output.parent.mkdir(parents=True, exist_ok=True)
        with output.open("wb") as file:
            code = subprocess.run([*agent, *words], stdout=file).returncode
        if code == 0:
            push = ["push", *system, *task.push_arguments, str(output)]
            code = subprocess.run([*agent, *push], env=environment).returncode
        failures += code != 0
    say(f"study {options.study} on {server.url}, {failures} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
