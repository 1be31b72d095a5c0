"""The systems of a lab, and the processes in which they run. PURE."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from lab.errors import LabError

CONTAINER: Final = "systemd-nspawn"


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
        return Boot(
            kind=self.kind,
            systems=self.systems[::-1],
            start_s=self.start_s,
            is_plan=self.is_plan,
        )


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
