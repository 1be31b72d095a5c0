"""Steps of a measurement plan: systems x scenarios x tools x repetitions.

See docs/method.md, Plans.
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
    closest_names,
    did_you_mean,
    shorten,
)
from benchmarks.sentences import Sentence, join_sentences, join_with_or

StepOrder = Literal["random", "abba", "listed"]
StepKind = Literal["single", "parallel", "under load", "combined"]
Option = str | int

STEP_ORDERS: Final[tuple[StepOrder, ...]] = ("random", "abba", "listed")
STEP_KINDS: Final[tuple[StepKind, ...]] = (
    "single",
    "parallel",
    "under load",
    "combined",
)
MAX_STEPS: Final = 5_000
MEASURED: Final = "measured"
LOAD: Final = "load"

# The programs that an agent runs for each tool, in this order (a test compares them
# with the agent's).
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

# Options become arguments of programs on the labs' machines, so each one has a narrow
# format.
NUMBER_OPTIONS: Final[Mapping[str, range]] = {
    "seconds": range(1, 86_401),
    "threads": range(1, 4_097),
    "file_mib": range(1, 1_048_577),
    "budget_s": range(1, 86_401),
    "bits": range(32, 65, 32),
    "array_mib": range(1, 65_537),
    "iterations": range(1, 1_001),
}
TEXT_OPTIONS: Final[Mapping[str, tuple[re.Pattern[str], str]]] = {
    "folder": (re.compile(r"/[\w./+-]{0,200}", re.ASCII), "/mnt/disk"),
    "peer": (re.compile(r"[A-Za-z0-9][A-Za-z0-9.:-]{0,200}"), "192.168.1.7"),
    "device": (re.compile(r"/dev/[\w/-]{1,100}", re.ASCII), "/dev/vda"),
    "sizes": (re.compile(r"[1-9]\d{0,4}(,[1-9]\d{0,4}){0,9}", re.ASCII), "1000,2000"),
    "blocks_kib": (
        re.compile(r"[1-9]\d{0,6}(,[1-9]\d{0,6}){0,31}", re.ASCII),
        "1,32,1024",
    ),
}
OPTION_NAMES: Final = (*NUMBER_OPTIONS, *TEXT_OPTIONS)


@dataclass(frozen=True)
class PlannedWork:
    """A tool with options, and which of its programs to run (empty: all)."""

    tool: str
    options: Mapping[str, Option] = field(default_factory=dict)
    programs: tuple[str, ...] = ()

    def resolve_programs(self) -> tuple[str, ...]:
        available = PROGRAMS.get(self.tool)
        if available is None:
            raise UnknownNameError("tool", self.tool, PROGRAMS)
        for program in self.programs:
            if program not in available:
                raise InvalidError(
                    "invalid_plan",
                    '{tool} has no program "{program}". Available programs: {known}.',
                    tool=self.tool,
                    program=program,
                    known=", ".join(available),
                )
        return self.programs or available


@dataclass(frozen=True)
class Scenario:
    """The number of VMs that run together; in a combined scenario, they run
    ``slot_works``.
    """

    kind: StepKind = "single"
    vms: int = 1
    load: PlannedWork | None = None
    slot_works: tuple[PlannedWork, ...] = ()


@dataclass(frozen=True)
class PlannedSystem:
    system: int
    slots: int = 1


@dataclass(frozen=True)
class StepPart:
    slot: int
    role: str
    tool: str
    program: str
    options: Mapping[str, Option]


@dataclass(frozen=True)
class Treatment:
    system: int
    scenario: str
    vms: int
    load: str
    parts: tuple[StepPart, ...]


NumberedTreatment = tuple[int, Treatment]


@dataclass(frozen=True)
class PlannedStep:
    """A treatment in one of the rounds. ``repetition`` numbers the rounds; it is 0 or
    less for warm-up.
    """

    repetition: int
    number: int
    treatment: Treatment


@dataclass(frozen=True, kw_only=True)
class PlanDesign:
    systems: tuple[PlannedSystem, ...]
    tools: tuple[PlannedWork, ...] = ()
    scenarios: tuple[Scenario, ...] = (Scenario(),)
    repetitions: int = 5
    warm_up: int = 1
    order: StepOrder = "random"
    seed: int = 0


def expand_design(design: PlanDesign) -> tuple[PlannedStep, ...]:
    """Put warm-up first. Raise InvalidError without steps or with too many."""
    treatments = tuple(enumerate(_list_treatments(design)))
    rounds = design.warm_up + design.repetitions
    if len(treatments) * rounds > MAX_STEPS:
        raise InvalidError(
            "invalid_plan",
            "{n} steps per round in {rounds} rounds give {all:,} steps; the maximum "
            "is {most:,}.",
            n=len(treatments),
            rounds=rounds,
            all=len(treatments) * rounds,
            most=MAX_STEPS,
        )
    random = Random(design.seed)
    return tuple(
        PlannedStep(round_index - design.warm_up + 1, number, treatment)
        for round_index in range(rounds)
        for number, treatment in _order_round(treatments, design, round_index, random)
    )


def further_round(
    design: PlanDesign, numbers: Sequence[int], repetition: int
) -> tuple[PlannedStep, ...]:
    numbered = tuple(enumerate(_list_treatments(design)))
    chosen = [numbered[number] for number in numbers]
    random = Random(f"{design.seed}/{repetition}")
    ordered = _order_round(chosen, design, repetition - 1 + design.warm_up, random)
    return tuple(
        PlannedStep(repetition, number, treatment) for number, treatment in ordered
    )


def _list_treatments(design: PlanDesign) -> tuple[Treatment, ...]:
    treatments: list[Treatment] = []
    for planned, scenario in product(design.systems, design.scenarios):
        if scenario.kind == "combined":
            treatments.append(_mixed_step(planned, scenario))
            continue
        _check_slots(planned, scenario.vms, scenario.kind)
        treatments += [
            _one_tool_step(planned, scenario, work, program)
            for work in design.tools
            for program in work.resolve_programs()
        ]
    if not treatments:
        raise InvalidError(
            "invalid_plan", "The plan would not run anything. Name at least one tool."
        )
    return tuple(treatments)


def _order_round(
    treatments: Sequence[NumberedTreatment],
    design: PlanDesign,
    number: int,
    random: Random,
) -> list[NumberedTreatment]:
    ordered = list(treatments)
    if design.order == "random":
        random.shuffle(ordered)
    elif design.order == "abba" and (number - design.warm_up) % 2:
        ordered.reverse()
    return ordered


def _one_tool_step(
    planned: PlannedSystem, scenario: Scenario, work: PlannedWork, program: str
) -> Treatment:
    slots = range(1, scenario.vms + 1)
    if scenario.load is None:
        parts = tuple(_part(slot, MEASURED, work, program) for slot in slots)
        return Treatment(planned.system, scenario.kind, scenario.vms, "", parts)
    load_program = scenario.load.resolve_programs()[0]
    loads = tuple(_part(slot, LOAD, scenario.load, load_program) for slot in slots[1:])
    measured = _part(1, MEASURED, work, program)
    text = f"{scenario.load.tool} in {len(loads)} further VM{'s' * (len(loads) > 1)}"
    return Treatment(
        planned.system, "under CPU load", scenario.vms, text, (measured, *loads)
    )


def _mixed_step(planned: PlannedSystem, scenario: Scenario) -> Treatment:
    vms = len(scenario.slot_works)
    _check_slots(planned, vms, scenario.kind)
    parts = tuple(
        _part(slot, MEASURED, work, work.resolve_programs()[0])
        for slot, work in enumerate(scenario.slot_works, start=1)
    )
    text = ", ".join(f"VM {part.slot}: {part.tool} {part.program}" for part in parts)
    return Treatment(planned.system, "combined", vms, text[:200], parts)


def _check_slots(planned: PlannedSystem, needed: int, kind: str) -> None:
    if needed > planned.slots:
        raise InvalidError(
            "invalid_plan",
            'The scenario "{kind}" needs {needed} slots, but system '
            "{system} has {slots}. Give the system more slots or the "
            "scenario fewer.",
            kind=kind,
            needed=needed,
            system=planned.system,
            slots=planned.slots,
        )


def _part(slot: int, role: str, work: PlannedWork, program: str) -> StepPart:
    return StepPart(slot, role, work.tool, program, dict(work.options))


def start_spread_us(began_us: Sequence[int | None]) -> int | None:
    starts = [moment for moment in began_us if moment is not None]
    if len(starts) < 2 or len(starts) < len(began_us):
        return None
    return max(starts) - min(starts)


def overlap_fraction(
    windows_us: Sequence[tuple[int | None, int | None]],
    loads_us: Sequence[tuple[int | None, int | None]] = (),
) -> float | None:
    """Return how long all slots ran together, relative to the longest window.

    Windows of loads limit the common time, but are not its measure. Return None for a
    single window, or if one is unknown.
    """
    known = [
        [(a, b) for a, b in windows if a is not None and b is not None and a < b]
        for windows in (windows_us, loads_us)
    ]
    windows, loads = known
    count = len(windows) + len(loads)
    if not windows or count < 2 or count < len(windows_us) + len(loads_us):
        return None
    start = max(a for a, _ in windows + loads)
    end = min(b for _, b in windows + loads)
    return max(end - start, 0) / max(b - a for a, b in windows)


def fits_budget(needed_s: float | None, left_s: float) -> bool:
    return left_s > 0 and (needed_s is None or needed_s <= left_s)


def validate_options(options: Mapping[str, Any]) -> dict[str, Option]:
    """Return options that are safe to pass to an agent; else raise InvalidError."""
    for name, value in options.items():
        if name in NUMBER_OPTIONS:
            _check_number(name, value)
        elif name in TEXT_OPTIONS:
            pattern, example = TEXT_OPTIONS[name]
            if not isinstance(value, str) or not pattern.fullmatch(value):
                raise InvalidError(
                    "invalid_plan",
                    'The option "{name}" must be text such as {example}.',
                    name=name,
                    example=example,
                )
        else:
            unknown = Sentence('Unknown option "{name}".', name=shorten(name))
            available = Sentence(
                "Known options: {known}.", known=", ".join(OPTION_NAMES)
            )
            hint = did_you_mean(closest_names(name, OPTION_NAMES))
            raise InvalidError(
                "invalid_plan", join_sentences([unknown, hint, available])
            )
    return dict(options)


def _check_number(name: str, value: Any) -> None:
    allowed = NUMBER_OPTIONS[name]
    if type(value) is not int or value not in allowed:
        expected = (
            join_with_or(["32", "64"])
            if name == "bits"
            else Sentence(
                "a whole number from {least:,} to {most:,}",
                least=allowed[0],
                most=allowed[-1],
            )
        )
        raise InvalidError(
            "invalid_plan",
            'The option "{name}" must be {known}.',
            name=name,
            known=expected,
        )
