"""The systems of a lab, the processes they run in, the plan of its visits, and what
their agent is told. PURE.

Work is small: an emulated processor is ten to twenty times slower than a real one.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Any, Final

from lab import LabError

CONTAINER: Final = "systemd-nspawn"
KERNELS: Final = ("virtlab-linpack", "virtlab-memory", "virtlab-system")
SYSBENCH: Final = ("cpu", "memory")
LIARS_KERNELS: Final = ("virtlab-linpack",)
SIZES: Final = "500"
FOLDER: Final = "disk"
# How often a kernel measures each of its rows: a run is the unit of replication. Of the
# recorded lab three rows and one gave the same share of single figures (docs/lab.md).
ITERATIONS: Final = 1
# Nothing of a warm-up round is sent, and each boot would pay for one: our kernels warm
# up by themselves, and the guests' script has sysbench read from the disk before.
WORDS: Final = (
    *("--warm-up", "0", "--order", "random"),
    *("--seconds", "1", "--sizes", SIZES),
    *("--blocks-kib", "16,256", "--array-mib", "2"),
    *("--folder", FOLDER, "--file-mib", "8"),
)
SESSIONS: Final = 3  # so many let days be told from chance (docs/method.md)


@dataclass(frozen=True, kw_only=True)
class System:
    """A system that one agent measures; ``seen`` are the layers it can detect."""

    name: str
    layers: tuple[str, ...] = ()
    seen: tuple[str, ...] = ()
    options: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Boot:
    """One process (three of the trio); ``quiet_s`` is how long a boot takes
    undisturbed."""

    kind: str
    systems: tuple[System, ...]
    quiet_s: float
    is_plan: bool = False


NATIVE: Final = Boot(kind="native", systems=(System(name="native"),), quiet_s=2)
NSPAWN: Final = Boot(
    kind="container",
    systems=(System(name="container", layers=(CONTAINER,), seen=(CONTAINER,)),),
    quiet_s=2,
)
EMULATED: Final = System(name="qemu", layers=("qemu-tcg",), seen=("qemu-tcg",))
QEMU: Final = Boot(kind="qemu", systems=(EMULATED,), quiet_s=12)
KVM: Final = Boot(
    kind="kvm",
    systems=(System(name="kvm", layers=("qemu-tcg", "kvm"), seen=("kvm",)),),
    quiet_s=35,
)
XEN: Final = Boot(
    kind="xen",
    systems=(
        System(
            name="xen-pv", layers=("qemu-tcg", "xen-pv"), seen=("qemu-tcg", "xen-pv")
        ),
        System(name="xen-pvh", layers=("qemu-tcg", "xen-pvh"), seen=("xen-pvh",)),
    ),
    quiet_s=50,
)
LIAR: Final = Boot(
    kind="liar",
    systems=(
        System(
            name="liar",
            layers=("qemu-tcg",),
            seen=("qemu-tcg",),
            options=("clock=counts instructions",),
        ),
    ),
    quiet_s=20,
)
TRIO: Final = Boot(
    kind="trio",
    systems=tuple(
        System(name=f"slot-{slot}", layers=("qemu-tcg",), seen=("qemu-tcg",))
        for slot in (1, 2, 3)
    ),
    quiet_s=20,
    is_plan=True,
)

MEASURED: Final = (NATIVE, NSPAWN, QEMU, KVM, XEN)
SHORT: Final = (NATIVE, NSPAWN, QEMU)
HERE: Final = frozenset(boot.kind for boot in (NATIVE, NSPAWN))
KINDS: Final = tuple(boot.kind for boot in (*MEASURED, TRIO, LIAR))
LIARS_REPETITIONS: Final = 2


@dataclass(frozen=True)
class Visit:
    """A boot in its place of the plan, with the repetitions that are run in it."""

    boot: Boot
    repetitions: int
    session: int = 1

    @property
    def systems(self) -> tuple[System, ...]:
        return self.boot.systems

    @property
    def session_name(self) -> str:
        return f"session {self.session}"


def itinerary(
    sessions: int, repetitions: int, chance: Random, *, is_short: bool
) -> list[Visit]:
    """Return each session's boots in an order of its own.

    What costs no boot is visited twice with half its repetitions; trio and liar once.
    """
    visits: list[Visit] = []
    for session in range(1, sessions + 1):
        boots = [
            replace(boot, systems=tuple(chance.sample(boot.systems, len(boot.systems))))
            for boot in (SHORT if is_short else MEASURED)
        ]
        pieces = []
        for boot in boots:
            half = repetitions // 2 if boot.kind in HERE else 0
            parts = (half, repetitions - half)
            pieces += [Visit(boot, part, session) for part in parts if part]
        chance.shuffle(pieces)
        visits += pieces
        if session == 1:
            visits += [] if is_short else [Visit(TRIO, repetitions, session)]
            visits.append(Visit(LIAR, 1 if is_short else LIARS_REPETITIONS, session))
    return visits


def chosen(visits: Iterable[Visit], kinds: Sequence[str]) -> list[Visit]:
    """Return the visits of these kinds of boots; raise LabError for a kind unknown."""
    if unknown := sorted(set(kinds) - set(KINDS)):
        known = ", ".join(KINDS)
        raise LabError(
            f"There is no {', '.join(unknown)} in the lab; there are {known}."
        )
    return [visit for visit in visits if visit.boot.kind in kinds]


def runs_of(system: System, repetitions: int) -> int:
    """Return how many runs a visit is to upload: each start of a program is one."""
    return repetitions * (len(_kernels_of(system)) + len(SYSBENCH))


def _kernels_of(system: System) -> tuple[str, ...]:
    return LIARS_KERNELS if system.name == "liar" else KERNELS


def note_of(system: System) -> str:
    """Return the note by which the lab finds a system's runs again."""
    return f"make lab: {system.name}"


def measure_words(
    visit: Visit,
    system: System,
    *,
    peer: str,
    beneath: tuple[str, ...],
    versions: dict[str, str],
) -> list[str]:
    """Return the words of `run`; ``peer`` is the network's other end, ``beneath`` this
    machine."""
    words = ["run", *_kernels_of(system), f"sysbench:{','.join(SYSBENCH)}"]
    words += ["--repetitions", str(visit.repetitions), *WORDS, "--peer", peer]
    words += ["--iterations", str(ITERATIONS)]
    words += ["--session", visit.session_name, "--note", note_of(system)]
    return words + system_words(system, beneath, versions)


def system_words(
    system: System, beneath: tuple[str, ...], versions: dict[str, str]
) -> list[str]:
    """Say what the agent cannot see from inside: layers further out, and versions."""
    if not system.layers:
        return ["--hypervisor", "native"]
    words = ["--option", f"layers={' > '.join((*beneath, *system.layers))}"]
    for option in system.options:
        words += ["--option", option]
    if version := versions.get(system.layers[-1]):
        words += ["--hypervisor-version", version]
    return words


def plan_document(
    study: str, system: int, slots: int, repetitions: int, pace: float
) -> dict[str, Any]:
    """Return the plan for guests that run LINPACK together; ``pace`` stretches its
    times."""
    linpack = {"sizes": SIZES, "iterations": ITERATIONS}
    return {
        "study": study,
        "title": f"LINPACK in {slots} guests at once",
        "systems": [{"system": system, "slots": slots}],
        "tools": [{"tool": "virtlab-linpack", "options": linpack}],
        "scenarios": [{"kind": "parallel", "vms": slots}],
        "repetitions": repetitions,
        "budget_s": round(pace * (120 + 60 * (repetitions + 1))),
    }
