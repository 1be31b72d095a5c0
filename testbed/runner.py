"""The boots of a testbed."""

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from agents.client import Client
from testbed import TestbedError, images
from testbed.images import Image
from testbed.logged_programs import ConsoleReport, LoggedProgram, read_console
from testbed.machines import (
    HOTPLUG,
    SVM,
    GuestEnrolment,
    GuestNetwork,
    QemuMachine,
    chroot_command,
    container_command,
    kvm_host_script,
    measuring_script,
    qemu_command,
    xen_host_script,
)
from testbed.schedule import (
    BootSetup,
    ScheduledBoot,
    TestSystem,
    plan_document,
    run_arguments,
    system_note,
)

# Five times what a quiet machine needs: to enroll and check the clock, and for a round.
ENROL_TIMEOUT_S: Final = 90
ROUND_TIMEOUT_S: Final = 120
# A machine that boots slowly also measures slowly. At first, a machine is assumed to be
# half as fast as a quiet one.
TIMEOUT_FACTOR: Final = 6
INITIAL_SLOWDOWN: Final = 2.0
MIN_TIMEOUT_S: Final = 20
# The guest's clock counts instructions as 64 ns each, over forty times their duration.
# With 32 ns, the clock was right by chance where QEMU got a fourteenth of a processor.
ICOUNT: Final = ("-icount", "shift=6,sleep=on")
GUEST_NETWORK: Final = GuestNetwork("10.0.2.15", "10.0.2.2", "/dev/vdc")
# Another network, so that 10.0.2.2 is this machine for the KVM guest, too.
NESTED_NETWORK: Final = GuestNetwork("10.0.3.15", "10.0.3.2", "/dev/vdc")
# dom0 has .15. The guests of Xen run one after another and use .16.
XEN_NETWORK: Final = GuestNetwork("10.0.2.16", "10.0.2.2", "/dev/xvdc")


@dataclass
class Testbed:
    folder: Path
    agent: Path
    guest: Image
    nested_host_image: Image | None
    client: Client
    reader: Client
    token: str
    study: str
    machine: str
    proxy_port: int
    time_port: int
    peer: str
    host_layers: tuple[str, ...]
    versions: dict[str, str]
    say: Callable[[str], None]
    reports: dict[str, list[ConsoleReport]] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)
    slowdown: float = INITIAL_SLOWDOWN
    """The longest boot so far, relative to a boot on a quiet machine."""

    def run_boot(self, boot: ScheduledBoot) -> None:
        try:
            programs = self._programs(boot)
        except TestbedError as error:
            self.failures.append(str(error))
            return
        started_s = time.monotonic()
        running = [
            LoggedProgram(argv, self.folder / "log" / f"{name}-{int(started_s)}.log")
            for name, argv in programs
        ]
        try:
            for program in running:
                self._follow(program, boot)
        finally:
            for program in running:
                program.stop()
        self._store_reports(boot, running, time.monotonic() - started_s)

    def _follow(self, program: LoggedProgram, boot: ScheduledBoot) -> None:
        quiet_s = boot.setup.expected_s
        since_s = program.started_s
        program.deadline_s = self._boot_deadline(since_s, quiet_s)
        try:
            for line in program.follow():
                _, prefix, text = line.text.partition("lab: ")
                if not prefix or text.startswith("clock"):
                    continue
                self.say(f"  {text} ({line.at_s - program.started_s:.0f} s)")
                if text.endswith(" is up"):
                    boot_s = line.at_s - since_s
                    self.slowdown = max(self.slowdown, boot_s / quiet_s)
                    work_s = self.slowdown * (
                        ENROL_TIMEOUT_S + ROUND_TIMEOUT_S * boot.repetitions
                    )
                    program.deadline_s = line.at_s + work_s
                elif text.endswith(" is done"):
                    # Another system of this boot may follow.
                    since_s = line.at_s
                    program.deadline_s = self._boot_deadline(since_s, quiet_s)
        except TimeoutError:
            elapsed_s = time.monotonic() - program.started_s
            self.failures.append(
                f"{program.log.stem} did not end in time and was stopped after "
                f"{elapsed_s:.0f} s (boots took up to {self.slowdown:.1f} times as "
                "long as on a quiet machine)."
            )

    def _boot_deadline(self, since_s: float, quiet_s: float) -> float:
        return since_s + TIMEOUT_FACTOR * self.slowdown * max(quiet_s, MIN_TIMEOUT_S)

    def _store_reports(
        self, boot: ScheduledBoot, programs: list[LoggedProgram], seconds: float
    ) -> None:
        reports: dict[str, ConsoleReport] = {}
        for program in programs:
            reports |= read_console(program.lines)
        for system in boot.systems:
            name = system.name
            self.seconds[name] = self.seconds.get(name, 0.0) + seconds
            report = reports.get(name)
            if report is None or report.done_s is None:
                lines = [f"{name} did not complete its work."]
                for program in programs:
                    lines += program.last_lines()
                self.failures.append("\n".join(lines))
            else:
                self.reports.setdefault(name, []).append(report)

    def _programs(self, boot: ScheduledBoot) -> Iterable[tuple[str, list[str]]]:
        kind = boot.setup.kind
        if kind in ("native", "container"):
            return [(kind, self._local_command(boot))]
        if kind == "kvm":
            return [(kind, self._kvm_command(boot))]
        if kind == "xen":
            return [(kind, self._xen_command(boot))]
        extra = ICOUNT if kind == "liar" else ()
        commands = (
            self._plan_arguments(boot)
            if boot.setup.is_plan
            else self._run_arguments(boot)
        )
        return [
            (system.name, self._qemu_command(system, commands[system.name], extra))
            for system in boot.systems
        ]

    def _run_arguments(self, boot: ScheduledBoot) -> dict[str, list[str]]:
        return {
            system.name: run_arguments(
                boot,
                system,
                peer=self.peer,
                host_layers=self.host_layers,
                versions=self.versions,
            )
            for system in boot.systems
        }

    def _plan_arguments(self, boot: ScheduledBoot) -> dict[str, list[str]]:
        """Create a plan for a co-run of the QEMU system that was measured alone.

        Return the agent's arguments by slot; raise TestbedError if no run was stored.
        """
        slots = boot.systems
        note = system_note(TestSystem(name="qemu"))
        runs = self.reader.get_all("runs/", study=self.study)
        system_id = next(
            (int(run["system_id"]) for run in runs if run["note"] == note), 0
        )
        if not system_id:
            raise TestbedError(f"No run has the note {note}: its guest failed.")
        plan = plan_document(
            self.study, system_id, len(slots), boot.repetitions, self.slowdown
        )
        number = str(self.client.request("POST", "plans/", plan)["id"])
        # In the same session, so that slots are compared with the single guest.
        words = ["plan", number, "--session", boot.session_name]
        words += ["--system", str(system_id), "--as"]
        return {slot.name: [*words, slot.name] for slot in slots}

    def _job(
        self, name: str, network: GuestNetwork, host: str, command: list[str]
    ) -> Path:
        enrolment = GuestEnrolment(
            server=f"http://{host}:{self.proxy_port}",
            time_server=f"tcp://{host}:{self.time_port}",
            study=self.study,
            machine=self.machine,
        )
        return images.write_job(
            self.folder / "jobs" / name,
            measuring_script(name, network, enrolment, [command]),
            images.agent_job_files(self.agent),
            {"token": self.token + "\n"},
        )

    def _local_command(self, boot: ScheduledBoot) -> list[str]:
        (system,) = boot.systems
        command = self._run_arguments(boot)[system.name]
        job = self._job(system.name, GuestNetwork(), "127.0.0.1", command)
        start = container_command if boot.setup.kind == "container" else chroot_command
        return start(str(self.guest.root), str(job))

    def _raw_disk(self, name: str) -> str:
        return str(images.write_raw_disk(self.folder / "raw" / f"{name}.img"))

    def _qemu_command(
        self, system: TestSystem, command: list[str], extra: tuple[str, ...]
    ) -> list[str]:
        job = self._job(system.name, GUEST_NETWORK, "10.0.2.2", command)
        return qemu_command(
            QemuMachine(
                kernel=str(self.guest.kernel),
                initrd=str(self.guest.initrd),
                disks=(str(self.guest.disk), str(images.write_disk(job))),
                raw=self._raw_disk(system.name),
                extra_arguments=extra,
            )
        )

    def _kvm_command(self, boot: ScheduledBoot) -> list[str]:
        (system,) = boot.systems
        command = self._run_arguments(boot)[system.name]
        job = self._job(system.name, NESTED_NETWORK, "10.0.2.2", command)
        inner = QemuMachine(
            kernel="vmlinuz",
            initrd="initrd",
            disks=("/dev/vdc", f"{system.name}.tar"),
            raw="/dev/vdd",
            accel="kvm",
            network="10.0.3.0/24",
        )
        return self._nested_host_command(boot.setup, kvm_host_script(inner), [job], {})

    def _xen_command(self, boot: ScheduledBoot) -> list[str]:
        commands = self._run_arguments(boot)
        names = [system.name for system in boot.systems]
        jobs = [
            self._job(name, XEN_NETWORK, "10.0.2.2", commands[name]) for name in names
        ]
        guests = [(name, name.partition("-")[2]) for name in names]
        script = xen_host_script(guests)
        return self._nested_host_command(boot.setup, script, jobs, HOTPLUG)

    def _nested_host_command(
        self, boot: BootSetup, start: str, jobs: list[Path], texts: dict[str, str]
    ) -> list[str]:
        assert self.nested_host_image
        copies = {path.name: path for path in map(images.write_disk, jobs)}
        copies |= {"vmlinuz": self.guest.kernel, "initrd": self.guest.initrd}
        job = images.write_job(self.folder / "jobs" / boot.kind, start, copies, texts)
        # The order matters: init reads the job from vdb, scripts the guests' root from
        # vdc.
        disks = (self.nested_host_image.disk, images.write_disk(job), self.guest.disk)
        return qemu_command(
            QemuMachine(
                kernel=str(self.nested_host_image.kernel),
                initrd=str(self.nested_host_image.initrd),
                disks=tuple(map(str, disks)),
                raw=self._raw_disk(boot.kind),
                # Enough for dom0's 768 MiB and a guest's 384.
                memory_mib=1536,
                cpu=SVM,
                xen=str(self.nested_host_image.xen) if boot.kind == "xen" else "",
            )
        )
