"""One lab: its images, its study, and the visits in which its systems measure."""

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from agents.client import Client
from lab import LabError, images
from lab.boots import Boot, System, Visit, measure_words, note_of, plan_document
from lab.images import Image
from lab.machines import (
    HOTPLUG,
    SVM,
    Enrolment,
    Machine,
    Place,
    bare,
    container,
    kvm_tower,
    measuring,
    qemu,
    xen_tower,
)
from lab.processes import ConsoleReport, Program, read_console

# Five times what a quiet machine takes to enrol and look at its clock, and for a round.
ENROL_S: Final = 90
ROUND_S: Final = 120
# A machine that is slow while it boots is slow while it measures. Before its first boot
# it is taken for half as quick as a quiet one.
PATIENCE: Final = 6
HASTE: Final = 2.0
LEAST_S: Final = 20
# Each instruction counts as 64 ns, forty times and more of what one takes: where QEMU
# has a fourteenth of a processor, 32 ns were the truth by chance.
ICOUNT: Final = ("-icount", "shift=6,sleep=on")
GUEST: Final = Place("10.0.2.15", "10.0.2.2", "/dev/vdc")
# Another network: 10.0.2.2 has to be this machine from within KVM's guest, too.
INNER: Final = Place("10.0.3.15", "10.0.3.2", "/dev/vdc")
# Beside dom0, which has .15; Xen's guests come one after another.
BRIDGED: Final = Place("10.0.2.16", "10.0.2.2", "/dev/xvdc")


@dataclass
class Laboratory:
    """Everything that visits have in common, and what came of them."""

    folder: Path
    agent: Path
    guest: Image
    tower: Image | None
    client: Client
    reader: Client
    token: str
    study: str
    machine: str
    desk_port: int
    time_port: int
    peer: str
    beneath: tuple[str, ...]
    versions: dict[str, str]
    say: Callable[[str], None]
    reports: dict[str, list[ConsoleReport]] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)
    pace: float = HASTE
    """How much longer than on a quiet machine the slowest boot so far took."""

    def visit(self, visit: Visit) -> None:
        """Start a boot, follow it to its end or its limit, and keep what it said."""
        try:
            started = self._started(visit)
        except LabError as error:
            # The other boots go on without this one.
            self.failures.append(str(error))
            return
        begun_s = time.monotonic()
        programs = [
            Program(argv, self.folder / "log" / f"{name}-{int(begun_s)}.log")
            for name, argv in started
        ]
        try:
            for program in programs:
                self._follow(program, visit)
        finally:
            for program in programs:
                program.stop()
        self._keep_reports(visit, programs, time.monotonic() - begun_s)

    def _follow(self, program: Program, visit: Visit) -> None:
        """Read to its end: each system has its time to be up, and then to measure."""
        quiet_s = visit.boot.quiet_s
        was_s = program.begun_s
        program.deadline_s = self._until(was_s, quiet_s)
        try:
            for line in program.follow():
                _, sign, text = line.text.partition("lab: ")
                if not sign or text.startswith("clock"):
                    continue
                self.say(f"  {text} ({line.at_s - program.begun_s:.0f} s)")
                if text.endswith(" is up"):
                    took_s = line.at_s - was_s
                    self.pace = max(self.pace, took_s / quiet_s)
                    work_s = self.pace * (ENROL_S + ROUND_S * visit.repetitions)
                    program.deadline_s = line.at_s + work_s
                elif text.endswith(" is done"):
                    # Another system of the same boot may follow, or only its end.
                    was_s = line.at_s
                    program.deadline_s = self._until(was_s, quiet_s)
        except TimeoutError:
            late_s = time.monotonic() - program.begun_s
            self.failures.append(
                f"{program.log.stem} did not end in time: it was stopped after "
                f"{late_s:.0f} s (boots took up to {self.pace:.1f} times as long as on "
                "a quiet machine)."
            )

    def _until(self, began_s: float, quiet_s: float) -> float:
        return began_s + PATIENCE * self.pace * max(quiet_s, LEAST_S)

    def _keep_reports(
        self, visit: Visit, programs: list[Program], seconds: float
    ) -> None:
        reports: dict[str, ConsoleReport] = {}
        for program in programs:
            reports |= read_console(program.lines)
        for system in visit.systems:
            name = system.name
            self.seconds[name] = self.seconds.get(name, 0.0) + seconds
            report = reports.get(name)
            if report is None or report.done_s is None:
                # With the end of every console of the boot.
                lines = [f"{name} did not do all that it was asked to."]
                for program in programs:
                    lines += program.last_words()
                self.failures.append("\n".join(lines))
            else:
                self.reports.setdefault(name, []).append(report)

    def _started(self, visit: Visit) -> Iterable[tuple[str, list[str]]]:
        """Return the programs of a boot by the names of their logs."""
        kind, boot = visit.boot.kind, visit.boot
        if kind in ("native", "container"):
            return [(kind, self._on_this_machine(visit))]
        if kind == "kvm":
            return [(kind, self._kvm(visit))]
        if kind == "xen":
            return [(kind, self._xen(visit))]
        more = ICOUNT if kind == "liar" else ()
        commands = self._plan(visit) if boot.is_plan else self._commands(visit)
        return [
            (system.name, self._plain(system, commands[system.name], more))
            for system in visit.systems
        ]

    def _commands(self, visit: Visit) -> dict[str, list[str]]:
        return {
            system.name: measure_words(
                visit,
                system,
                peer=self.peer,
                beneath=self.beneath,
                versions=self.versions,
            )
            for system in visit.systems
        }

    def _plan(self, visit: Visit) -> dict[str, list[str]]:
        """Make the plan of a co-run for the system that the single guest was."""
        slots = visit.systems
        # The lab knows no ids: that guest's runs are found by their note.
        note = note_of(System(name="qemu"))
        runs = self.reader.get_all("runs/", study=self.study)
        alone = next((int(run["system_id"]) for run in runs if run["note"] == note), 0)
        if not alone:
            raise LabError(f"No run has the note {note}: its guest failed.")
        plan = plan_document(
            self.study, alone, len(slots), visit.repetitions, self.pace
        )
        number = str(self.client.request("POST", "plans/", plan)["id"])
        # The sitting of the guest that was alone, which they are set beside.
        words = ["plan", number, "--session", visit.session_name]
        words += ["--system", str(alone), "--as"]
        return {slot.name: [*words, slot.name] for slot in slots}

    def _job(self, name: str, place: Place, host: str, command: list[str]) -> Path:
        enrolment = Enrolment(
            server=f"http://{host}:{self.desk_port}",
            time_server=f"tcp://{host}:{self.time_port}",
            study=self.study,
            machine=self.machine,
        )
        return images.write_job(
            self.folder / "jobs" / name,
            measuring(name, place, enrolment, [command]),
            images.agents_files(self.agent),
            {"token": self.token + "\n"},
        )

    def _on_this_machine(self, visit: Visit) -> list[str]:
        (system,) = visit.systems
        command = self._commands(visit)[system.name]
        job = self._job(system.name, Place(), "127.0.0.1", command)
        start = container if visit.boot.kind == "container" else bare
        return start(str(self.guest.root), str(job))

    def _raw(self, name: str) -> str:
        return str(images.write_raw(self.folder / "raw" / f"{name}.img"))

    def _plain(
        self, system: System, command: list[str], more: tuple[str, ...]
    ) -> list[str]:
        job = self._job(system.name, GUEST, "10.0.2.2", command)
        return qemu(
            Machine(
                kernel=str(self.guest.kernel),
                initrd=str(self.guest.initrd),
                disks=(str(self.guest.disk), str(images.write_disk(job))),
                raw=self._raw(system.name),
                more=more,
            )
        )

    def _kvm(self, visit: Visit) -> list[str]:
        (system,) = visit.systems
        command = self._commands(visit)[system.name]
        job = self._job(system.name, INNER, "10.0.2.2", command)
        inner = Machine(
            kernel="vmlinuz",
            initrd="initrd",
            disks=("/dev/vdc", f"{system.name}.tar"),
            raw="/dev/vdd",
            accel="kvm",
            network="10.0.3.0/24",
        )
        return self._tower(visit.boot, kvm_tower(inner), [job], {})

    def _xen(self, visit: Visit) -> list[str]:
        commands = self._commands(visit)
        names = [system.name for system in visit.systems]
        jobs = [self._job(name, BRIDGED, "10.0.2.2", commands[name]) for name in names]
        guests = [(name, name.partition("-")[2]) for name in names]
        return self._tower(visit.boot, xen_tower(guests), jobs, HOTPLUG)

    def _tower(
        self, boot: Boot, start: str, jobs: list[Path], texts: dict[str, str]
    ) -> list[str]:
        """Return the command of a machine whose guests' jobs lie in its own."""
        assert self.tower
        copies = {path.name: path for path in map(images.write_disk, jobs)}
        copies |= {"vmlinuz": self.guest.kernel, "initrd": self.guest.initrd}
        job = images.write_job(self.folder / "jobs" / boot.kind, start, copies, texts)
        # In this order: init takes the job from vdb, scripts the guests' root from vdc.
        disks = (self.tower.disk, images.write_disk(job), self.guest.disk)
        return qemu(
            Machine(
                kernel=str(self.tower.kernel),
                initrd=str(self.tower.initrd),
                disks=tuple(map(str, disks)),
                raw=self._raw(boot.kind),
                # dom0's 768 MiB and a guest's 384 fit in.
                memory_mib=1536,
                cpu=SVM,
                xen=str(self.tower.xen) if boot.kind == "xen" else "",
            )
        )
