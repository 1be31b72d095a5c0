"""The systems of a testbed, their boots, and the agent's arguments. PURE.

Workloads are small, because an emulated processor is ten to twenty times slower than a
real one.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Any, Final

from testbed import TestbedError

CONTAINER: Final = "systemd-nspawn"
KERNELS: Final = ("virtlab-linpack", "virtlab-memory", "virtlab-system")
SYSBENCH: Final = ("cpu", "memory")
WRONG_CLOCK_KERNELS: Final = ("virtlab-linpack",)
SIZES: Final = "500"
FOLDER: Final = "disk"
# Not more, because whole runs are repeated. In the recorded testbed, one and three
# iterations gave the same share of cells with a single figure (docs/testbed.md).
ITERATIONS: Final = 1
# No warm-up round, which would cost time in each boot: the kernels warm up themselves,
# and the guests' script runs sysbench once to read it from the disk.
TOOL_ARGUMENTS: Final = (
    *("--warm-up", "0", "--order", "random"),
    *("--seconds", "1", "--sizes", SIZES),
    *("--blocks-kib", "16,256", "--array-mib", "2"),
    *("--folder", FOLDER, "--file-mib", "8"),
)
SESSIONS: Final = 3  # the minimum to separate sessions from chance (docs/method.md)


@dataclass(frozen=True, kw_only=True)
class TestSystem:
    """A system that one agent measures, which detects only ``detectable_layers``."""

    name: str
    layers: tuple[str, ...] = ()
    detectable_layers: tuple[str, ...] = ()
    options: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class BootSetup:
    """A way to boot systems; ``expected_s`` is the boot time on a quiet machine."""

    kind: str
    systems: tuple[TestSystem, ...]
    expected_s: float
    is_plan: bool = False


NATIVE: Final = BootSetup(
    kind="native", systems=(TestSystem(name="native"),), expected_s=2
)
NSPAWN: Final = BootSetup(
    kind="container",
    systems=(
        TestSystem(
            name="container", layers=(CONTAINER,), detectable_layers=(CONTAINER,)
        ),
    ),
    expected_s=2,
)
EMULATED: Final = TestSystem(
    name="qemu", layers=("qemu-tcg",), detectable_layers=("qemu-tcg",)
)
QEMU: Final = BootSetup(kind="qemu", systems=(EMULATED,), expected_s=12)
KVM: Final = BootSetup(
    kind="kvm",
    systems=(
        TestSystem(name="kvm", layers=("qemu-tcg", "kvm"), detectable_layers=("kvm",)),
    ),
    expected_s=35,
)
XEN: Final = BootSetup(
    kind="xen",
    systems=(
        TestSystem(
            name="xen-pv",
            layers=("qemu-tcg", "xen-pv"),
            detectable_layers=("qemu-tcg", "xen-pv"),
        ),
        TestSystem(
            name="xen-pvh",
            layers=("qemu-tcg", "xen-pvh"),
            detectable_layers=("xen-pvh",),
        ),
    ),
    expected_s=50,
)
WRONG_CLOCK: Final = BootSetup(
    kind="liar",
    systems=(
        TestSystem(
            name="liar",
            layers=("qemu-tcg",),
            detectable_layers=("qemu-tcg",),
            options=("clock=counts instructions",),
        ),
    ),
    expected_s=20,
)
CORUN: Final = BootSetup(
    kind="trio",
    systems=tuple(
        TestSystem(
            name=f"slot-{slot}", layers=("qemu-tcg",), detectable_layers=("qemu-tcg",)
        )
        for slot in (1, 2, 3)
    ),
    expected_s=20,
    is_plan=True,
)

FULL_SETUPS: Final = (NATIVE, NSPAWN, QEMU, KVM, XEN)
SHORT_SETUPS: Final = (NATIVE, NSPAWN, QEMU)
UNBOOTED_KINDS: Final = frozenset(boot.kind for boot in (NATIVE, NSPAWN))
KINDS: Final = tuple(boot.kind for boot in (*FULL_SETUPS, CORUN, WRONG_CLOCK))
WRONG_CLOCK_REPETITIONS: Final = 2


@dataclass(frozen=True)
class ScheduledBoot:
    setup: BootSetup
    repetitions: int
    session: int = 1

    @property
    def systems(self) -> tuple[TestSystem, ...]:
        return self.setup.systems

    @property
    def session_name(self) -> str:
        return f"session {self.session}"


def boot_schedule(
    sessions: int, repetitions: int, random: Random, *, is_short: bool
) -> list[ScheduledBoot]:
    """Return the boots of all sessions, each session in a random order.

    Systems that need no boot are measured twice per session, each time with half of the
    repetitions. The trio (three guests at once) and the liar (a wrong clock) are only
    in the first session.
    """
    schedule: list[ScheduledBoot] = []
    for session in range(1, sessions + 1):
        setups = [
            replace(
                setup, systems=tuple(random.sample(setup.systems, len(setup.systems)))
            )
            for setup in (SHORT_SETUPS if is_short else FULL_SETUPS)
        ]
        boots = []
        for setup in setups:
            half = repetitions // 2 if setup.kind in UNBOOTED_KINDS else 0
            parts = (half, repetitions - half)
            boots += [ScheduledBoot(setup, part, session) for part in parts if part]
        random.shuffle(boots)
        schedule += boots
        if session == 1:
            schedule += [] if is_short else [ScheduledBoot(CORUN, repetitions, session)]
            schedule.append(
                ScheduledBoot(
                    WRONG_CLOCK, 1 if is_short else WRONG_CLOCK_REPETITIONS, session
                )
            )
    return schedule


def select_boots(
    boots: Iterable[ScheduledBoot], kinds: Sequence[str]
) -> list[ScheduledBoot]:
    if unknown := sorted(set(kinds) - set(KINDS)):
        raise TestbedError(
            f"There is no {', '.join(unknown)} in the testbed. "
            f"Choose from {', '.join(KINDS)}."
        )
    return [boot for boot in boots if boot.setup.kind in kinds]


def expected_runs(system: TestSystem, repetitions: int) -> int:
    return repetitions * (len(_kernels(system)) + len(SYSBENCH))


def _kernels(system: TestSystem) -> tuple[str, ...]:
    return WRONG_CLOCK_KERNELS if system.name == "liar" else KERNELS


def system_note(system: TestSystem) -> str:
    return f"make lab: {system.name}"


def run_arguments(
    boot: ScheduledBoot,
    system: TestSystem,
    *,
    peer: str,
    host_layers: tuple[str, ...],
    versions: dict[str, str],
) -> list[str]:
    """Return the agent's arguments; ``peer`` is the other end of network tests."""
    words = ["run", *_kernels(system), f"sysbench:{','.join(SYSBENCH)}"]
    words += ["--repetitions", str(boot.repetitions), *TOOL_ARGUMENTS, "--peer", peer]
    words += ["--iterations", str(ITERATIONS)]
    words += ["--session", boot.session_name, "--note", system_note(system)]
    return words + system_arguments(system, host_layers, versions)


def system_arguments(
    system: TestSystem, host_layers: tuple[str, ...], versions: dict[str, str]
) -> list[str]:
    """Return arguments with what the agent cannot detect: outer layers and versions."""
    if not system.layers:
        return ["--hypervisor", "native", "--confirm-native"]
    words = ["--option", f"layers={' > '.join((*host_layers, *system.layers))}"]
    for option in system.options:
        words += ["--option", option]
    if version := versions.get(system.layers[-1]):
        words += ["--hypervisor-version", version]
    return words


def plan_document(
    study: str, system: int, slots: int, repetitions: int, slowdown: float
) -> dict[str, Any]:
    """Return a plan in which guests run LINPACK at the same time.

    Its time budget is multiplied by ``slowdown``.
    """
    linpack = {"sizes": SIZES, "iterations": ITERATIONS}
    return {
        "study": study,
        "title": f"LINPACK in {slots} guests at once",
        "systems": [{"system": system, "slots": slots}],
        "tools": [{"tool": "virtlab-linpack", "options": linpack}],
        "scenarios": [{"kind": "parallel", "vms": slots}],
        "repetitions": repetitions,
        "budget_s": round(slowdown * (120 + 60 * (repetitions + 1))),
    }
