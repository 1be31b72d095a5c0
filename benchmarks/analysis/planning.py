"""A plan's steps in order: systems x scenarios x tools x repetitions.

A step is one start of a program on one system, on one or several slots. A round is
every step once, so that a slow change of the machine affects all alike.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from random import Random
from typing import Any, Final, Literal

from benchmarks.errors import (
    InvalidError,
    UnknownNameError,
    closest,
    did_you_mean,
    shorten,
)
from benchmarks.sentences import Sentence, either, joined

StepOrder = Literal["random", "abba", "listed"]
StepKind = Literal["single", "parallel", "under load", "combined"]
Option = str | int

ORDERS: Final[tuple[StepOrder, ...]] = ("random", "abba", "listed")
KINDS: Final[tuple[StepKind, ...]] = ("single", "parallel", "under load", "combined")
MOST_STEPS: Final = 5_000
MEASURED: Final = "measured"
LOAD: Final = "load"

# The programs that an agent starts for each tool, one after the other
# (agents/measuring/runners.py; a test compares them).
PROGRAMS: Final[Mapping[str, tuple[str, ...]]] = {
    "fio": tuple(
        f"{pattern} {block}"
        for block in ("4k", "32k", "256k", "1m", "4m")
        for pattern in ("read", "write", "randread", "randwrite")
    ),
    "hackbench": ("process",),
    "hdparm": ("reads",),
    "httperf": ("100 a second",),
    "iozone": ("auto",),
    "iperf3": ("to the peer", "from the peer"),
    "mbw": ("128 MiB",),
    "netperf": ("TCP_STREAM", "TCP_MAERTS", "TCP_RR", "UDP_STREAM"),
    "stress-ng": ("cpu", "matrix"),
    "sysbench": ("cpu", "memory", "threads"),
    "tiotest": ("all",),
    "virtlab-linpack": ("all sizes",),
    "virtlab-memory": ("all",),
    "virtlab-system": ("all",),
}

# The options that a plan may give a tool, as the agent's runners know them. They become
# arguments of programs on other people's machines: each has one narrow form.
NUMBERS: Final[Mapping[str, range]] = {
    "seconds": range(1, 86_401),
    "threads": range(1, 4_097),
    "file_mib": range(1, 1_048_577),
    "budget_s": range(1, 86_401),
    "bits": range(32, 65, 32),
    "array_mib": range(1, 65_537),
    "iterations": range(1, 1_001),
}
TEXTS: Final[Mapping[str, tuple[re.Pattern[str], str]]] = {
    "folder": (re.compile(r"/[\w./+-]{0,200}", re.ASCII), "/mnt/disk"),
    "peer": (re.compile(r"[A-Za-z0-9][A-Za-z0-9.:-]{0,200}"), "192.168.1.7"),
    "device": (re.compile(r"/dev/[\w/-]{1,100}", re.ASCII), "/dev/vda"),
    "sizes": (re.compile(r"[1-9]\d{0,4}(,[1-9]\d{0,4}){0,9}", re.ASCII), "1000,2000"),
    "blocks_kib": (
        re.compile(r"[1-9]\d{0,6}(,[1-9]\d{0,6}){0,31}", re.ASCII),
        "1,32,1024",
    ),
}
KNOWN: Final = (*NUMBERS, *TEXTS)


@dataclass(frozen=True)
class PlannedWork:
    """A tool as agents run it, with its options; no ``programs`` are all it has."""

    tool: str
    options: Mapping[str, Option] = field(default_factory=dict)
    programs: tuple[str, ...] = ()

    def starts(self) -> tuple[str, ...]:
        """Return the programs to be started; raise if there is no such."""
        known = PROGRAMS.get(self.tool)
        if known is None:
            raise UnknownNameError("tool", self.tool, PROGRAMS)
        for program in self.programs:
            if program not in known:
                raise InvalidError(
                    "plan",
                    '{tool} has no program "{program}"; it has: {known}.',
                    tool=self.tool,
                    program=program,
                    known=", ".join(known),
                )
        return self.programs or known


@dataclass(frozen=True)
class Scenario:
    """Alone, on ``vms`` slots at once, beside a load, or each slot its own tool."""

    kind: StepKind = "single"
    vms: int = 1
    load: PlannedWork | None = None
    mix: tuple[PlannedWork, ...] = ()


@dataclass(frozen=True)
class PlannedSystem:
    """A system of the plan and how many of its guests take part."""

    system: int
    slots: int = 1


@dataclass(frozen=True)
class PartOfStep:
    """What one slot does in a step."""

    slot: int
    role: str
    tool: str
    program: str
    options: Mapping[str, Option]


@dataclass(frozen=True)
class Treatment:
    """A step without its place in the order: the same in every round."""

    system: int
    scenario: str
    vms: int
    load: str
    parts: tuple[PartOfStep, ...]


Numbered = tuple[int, Treatment]


@dataclass(frozen=True)
class Planned:
    """A treatment at its place.

    ``repetition`` <= 0 is a warm-up; ``number`` is the index of the treatment.
    """

    repetition: int
    number: int
    treatment: Treatment


@dataclass(frozen=True, kw_only=True)
class Design:
    """What a plan asks for."""

    columns: tuple[PlannedSystem, ...]
    tools: tuple[PlannedWork, ...] = ()
    scenarios: tuple[Scenario, ...] = (Scenario(),)
    repetitions: int = 5
    warm_up: int = 1
    order: StepOrder = "random"
    seed: int = 0


def expand(design: Design) -> tuple[Planned, ...]:
    """Return all steps in order, warm-up first; InvalidError for none or too many."""
    treatments = tuple(enumerate(_treatments_of(design)))
    rounds = design.warm_up + design.repetitions
    if len(treatments) * rounds > MOST_STEPS:
        raise InvalidError(
            "plan",
            "{n} steps in {rounds} rounds are {all:,}; a plan has at most {most:,}.",
            n=len(treatments),
            rounds=rounds,
            all=len(treatments) * rounds,
            most=MOST_STEPS,
        )
    # One generator for all rounds: each is drawn anew, and the seed gives the whole.
    chance = Random(design.seed)
    return tuple(
        Planned(turn - design.warm_up + 1, number, treatment)
        for turn in range(rounds)
        for number, treatment in _round(treatments, design, turn, chance)
    )


def further_round(
    design: Design, numbers: Sequence[int], repetition: int
) -> tuple[Planned, ...]:
    """Return one more round of some treatments, in the design's kind of order."""
    numbered = tuple(enumerate(_treatments_of(design)))
    chosen = [numbered[number] for number in numbers]
    # A seed of its own: this round is the same whatever was drawn before it.
    chance = Random(f"{design.seed}/{repetition}")
    ordered = _round(chosen, design, repetition - 1 + design.warm_up, chance)
    return tuple(
        Planned(repetition, number, treatment) for number, treatment in ordered
    )


def _treatments_of(design: Design) -> tuple[Treatment, ...]:
    """Return the treatments of one round in order; raise PlanError for none."""
    treatments: list[Treatment] = []
    for column, scenario in product(design.columns, design.scenarios):
        if scenario.kind == "combined":
            treatments.append(_mixed_step(column, scenario))
            continue
        _check_slots(column, scenario.vms, scenario.kind)
        treatments += [
            _one_tool_step(column, scenario, work, program)
            for work in design.tools
            for program in work.starts()
        ]
    if not treatments:
        raise InvalidError("plan", "Nothing would be run: name at least one tool.")
    return tuple(treatments)


def _round(
    treatments: Sequence[Numbered], design: Design, number: int, chance: Random
) -> list[Numbered]:
    """Each round in full: random anew, or there and back again, or as listed."""
    ordered = list(treatments)
    if design.order == "random":
        chance.shuffle(ordered)
    # Counted from the first round that is kept, which goes as listed.
    elif design.order == "abba" and (number - design.warm_up) % 2:
        ordered.reverse()
    return ordered


def _one_tool_step(
    column: PlannedSystem, scenario: Scenario, work: PlannedWork, program: str
) -> Treatment:
    slots = range(1, scenario.vms + 1)
    if scenario.load is None:
        parts = tuple(_part(slot, MEASURED, work, program) for slot in slots)
        return Treatment(column.system, scenario.kind, scenario.vms, "", parts)
    beside = scenario.load.starts()[0]
    loads = tuple(_part(slot, LOAD, scenario.load, beside) for slot in slots[1:])
    measured = _part(1, MEASURED, work, program)
    text = f"{scenario.load.tool} in {len(loads)} further VM{'s' * (len(loads) > 1)}"
    return Treatment(
        column.system, "under CPU load", scenario.vms, text, (measured, *loads)
    )


def _mixed_step(column: PlannedSystem, scenario: Scenario) -> Treatment:
    vms = len(scenario.mix)
    _check_slots(column, vms, scenario.kind)
    parts = tuple(
        _part(slot, MEASURED, work, work.starts()[0])
        for slot, work in enumerate(scenario.mix, start=1)
    )
    text = ", ".join(f"VM {part.slot}: {part.tool} {part.program}" for part in parts)
    # A step's `load` has room for 200 characters.
    return Treatment(column.system, "combined", vms, text[:200], parts)


def _check_slots(column: PlannedSystem, needed: int, kind: str) -> None:
    if needed > column.slots:
        raise InvalidError(
            "plan",
            'The scenario "{kind}" needs {needed} slots, but system '
            "{system} has {slots}. Give the system more slots or the "
            "scenario fewer.",
            kind=kind,
            needed=needed,
            system=column.system,
            slots=column.slots,
        )


def _part(slot: int, role: str, work: PlannedWork, program: str) -> PartOfStep:
    return PartOfStep(slot, role, work.tool, program, dict(work.options))


def spread_us(began_us: Sequence[int | None]) -> int | None:
    """Return how far apart slots began; None if that is not known of all."""
    known = [moment for moment in began_us if moment is not None]
    if len(known) < 2 or len(known) < len(began_us):
        return None
    return max(known) - min(known)


def shared_part(windows_us: Sequence[tuple[int | None, int | None]]) -> float | None:
    """Return the common window of all slots as a part of the longest one's.

    None unless two or more slots are known to end after their start.
    """
    known = [(a, b) for a, b in windows_us if a is not None and b is not None and a < b]
    if len(known) < 2 or len(known) < len(windows_us):
        return None
    start, end = max(a for a, _ in known), min(b for _, b in known)
    return max(end - start, 0) / max(b - a for a, b in known)


def fits_budget(needed_s: float | None, left_s: float) -> bool:
    """Whether a step may be begun in what is left of the budget."""
    return left_s > 0 and (needed_s is None or needed_s <= left_s)


def checked_options(options: Mapping[str, Any]) -> dict[str, Option]:
    """Return options that may be handed to an agent, or raise InvalidError."""
    for name, value in options.items():
        if name in NUMBERS:
            _check_number(name, value)
        elif name in TEXTS:
            pattern, example = TEXTS[name]
            if not isinstance(value, str) or not pattern.fullmatch(value):
                raise InvalidError(
                    "plan",
                    'The option "{name}" is a text such as {example}.',
                    name=name,
                    example=example,
                )
        else:
            none = Sentence('Tools have no option "{name}".', name=shorten(name))
            known = Sentence("Known: {known}.", known=", ".join(KNOWN))
            hint = did_you_mean(closest(name, KNOWN))
            raise InvalidError("plan", joined([none, hint, known]))
    return dict(options)


def _check_number(name: str, value: Any) -> None:
    wanted = NUMBERS[name]
    # Not isinstance: true is an int to Python.
    if type(value) is not int or value not in wanted:
        known = (
            either(["32", "64"])
            if name == "bits"
            else Sentence(
                "a whole number from {least:,} to {most:,}",
                least=wanted[0],
                most=wanted[-1],
            )
        )
        raise InvalidError(
            "plan", 'The option "{name}" is {known}.', name=name, known=known
        )
