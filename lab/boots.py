"""The systems of a lab, the processes they run in, and what their agent is told. PURE.

Sizes are small: an emulated processor computes twenty times slower than a real one.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from lab.errors import LabError

CONTAINER: Final = "systemd-nspawn"
TOOLS: Final = ("virtlab-linpack", "virtlab-memory", "sysbench")
STEPS: Final = {"virtlab-linpack": 1, "virtlab-memory": 1, "sysbench": 3}
LIARS_TOOLS: Final = ("virtlab-linpack", "sysbench")
SIZES: Final = "100,200"
# Nothing of a warm-up round is sent, and each boot would pay for one: our kernels warm
# up by themselves, and the guests' script has sysbench read from the disk before.
WORDS: Final = (
    *("--warm-up", "0"),
    *("--seconds", "1", "--sizes", SIZES),
    *("--blocks-kib", "16,1024", "--array-mib", "4"),
)


@dataclass(frozen=True, kw_only=True)
class System:
    """A system that one agent measures.

    ``layers`` are those above this machine; ``seen`` those that a guest can know of,
    which the agent has to detect.
    """

    name: str
    layers: tuple[str, ...] = ()
    seen: tuple[str, ...] = ()
    options: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Boot:
    """One process (three of the trio) with its systems and how long it may take."""

    kind: str
    systems: tuple[System, ...]
    start_s: int
    is_plan: bool = False

    def turned(self) -> "Boot":
        """Return it with its systems in the other order."""
        return replace(self, systems=self.systems[::-1])


NATIVE: Final = Boot(kind="native", systems=(System(name="native"),), start_s=60)
NSPAWN: Final = Boot(
    kind="container",
    systems=(System(name="container", layers=(CONTAINER,), seen=(CONTAINER,)),),
    start_s=60,
)
EMULATED: Final = System(name="qemu", layers=("qemu-tcg",), seen=("qemu-tcg",))
QEMU: Final = Boot(kind="qemu", systems=(EMULATED,), start_s=120)
KVM: Final = Boot(
    kind="kvm",
    systems=(System(name="kvm", layers=("qemu-tcg", "kvm"), seen=("kvm",)),),
    start_s=300,
)
XEN: Final = Boot(
    kind="xen",
    systems=(
        System(
            name="xen-pv", layers=("qemu-tcg", "xen-pv"), seen=("qemu-tcg", "xen-pv")
        ),
        System(name="xen-pvh", layers=("qemu-tcg", "xen-pvh"), seen=("xen-pvh",)),
    ),
    start_s=420,
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
    start_s=180,
)
TRIO: Final = Boot(
    kind="trio",
    systems=tuple(
        System(name=f"slot-{slot}", layers=("qemu-tcg",), seen=("qemu-tcg",))
        for slot in (1, 2, 3)
    ),
    start_s=240,
    is_plan=True,
)

MEASURED: Final = (NATIVE, NSPAWN, QEMU, KVM, XEN)
SHORT: Final = (NATIVE, NSPAWN, QEMU)
KINDS: Final = tuple(boot.kind for boot in (*MEASURED, TRIO, LIAR))
TWO_PASSES: Final = 4
"""From so many repetitions on, half of them are done there and half back again."""


@dataclass(frozen=True)
class Visit:
    """A boot in its place of the order, with the repetitions that are run in it."""

    boot: Boot
    repetitions: int

    @property
    def systems(self) -> tuple[System, ...]:
        return self.boot.systems


def itinerary(repetitions: int, *, is_short: bool) -> list[Visit]:
    """Return all boots in order: there, those that come once, and back again.

    A machine that slowly gets warmer or busier meets all systems alike that way.
    """
    boots = SHORT if is_short else MEASURED
    once = [] if is_short else [Visit(TRIO, repetitions)]
    once.append(Visit(LIAR, 1 if is_short else 2))
    if repetitions < TWO_PASSES:
        return [*(Visit(boot, repetitions) for boot in boots), *once]
    there = repetitions // 2
    back = [boot.turned() for boot in reversed(boots)]
    return [
        *(Visit(boot, there) for boot in boots),
        *once,
        *(Visit(boot, repetitions - there) for boot in back),
    ]


def chosen(visits: Iterable[Visit], kinds: Sequence[str]) -> list[Visit]:
    """Return the visits of these kinds of boots; raise LabError for a kind unknown."""
    if unknown := sorted(set(kinds) - set(KINDS)):
        known = ", ".join(KINDS)
        raise LabError(
            f"There is no {', '.join(unknown)} in the lab; there are {known}."
        )
    return [visit for visit in visits if visit.boot.kind in kinds]


def tools_of(system: System) -> tuple[str, ...]:
    return LIARS_TOOLS if system.name == "liar" else TOOLS


def runs_of(system: System, repetitions: int) -> int:
    """Return how many runs a visit is to upload: each start of a program is one."""
    return repetitions * sum(STEPS[tool] for tool in tools_of(system))


def note_of(system: System) -> str:
    """Return the note by which the lab finds a system's runs again."""
    return f"make lab: {system.name}"


def measure_words(
    system: System,
    repetitions: int,
    *,
    session: str,
    beneath: tuple[str, ...],
    versions: dict[str, str],
) -> list[str]:
    """Return the words of `run`. ``beneath``: what this machine itself stands on."""
    words = ["run", *tools_of(system), "--repetitions", str(repetitions), *WORDS]
    words += ["--session", session, "--note", note_of(system)]
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
    study: str, system: int, slots: int, repetitions: int
) -> dict[str, Any]:
    """Return the plan by which guests run LINPACK together."""
    return {
        "study": study,
        "title": f"LINPACK in {slots} guests at once",
        "systems": [{"system": system, "slots": slots}],
        "tools": [{"tool": "virtlab-linpack", "options": {"sizes": SIZES}}],
        "scenarios": [{"kind": "parallel", "vms": slots}],
        "repetitions": repetitions,
        "budget_s": 60 + 60 * (repetitions + 1),
    }
