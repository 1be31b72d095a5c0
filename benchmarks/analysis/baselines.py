"""Choose the native cell that a cell is compared with.

Rules: ``docs/method.md``, baselines. Network paths are compared with the same path
measured natively only.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import takewhile
from typing import Final, Literal
from uuid import UUID

from benchmarks.analysis.comparability import MACHINE_FACTS, other_os
from benchmarks.sentences import Sentence, joined

Id = int | str | UUID
State = Literal["native", "paired", "other_session", "stale", "ambiguous", "missing"]

MOST_WORDS: Final = 1_000  # more than any name has
INSIDE: Final = frozenset({"inter-vm", "same-host"})
"""Scenarios whose data never leaves the host: memory is the medium, not the wire."""
PATHS: Final = INSIDE | {"inter-host"}

# The reason of a pair of which there is nothing else to say.
FITS: Final = Sentence("Native run of the same host, OS and benchmark.")


@dataclass(frozen=True, slots=True, kw_only=True)
class CellConditions:
    """What decides whether two cells may be compared; empty texts and None: not stated.

    ``setting`` is what the machine itself ran; ``case_label`` and ``study`` appear in
    sentences only.
    """

    id: Id
    study_id: Id
    host: str
    guest_os: str
    guest_bits: int | None
    case_id: Id
    scenario: str
    is_native: bool
    options: Mapping[str, str]
    vcpus: int | None
    memory_bytes: int | None
    mean: float
    n: int
    sessions: frozenset[Id] = frozenset()
    first_at: datetime | None = None
    last_at: datetime | None = None
    slot: str = ""
    vms: int | None = None
    load: str = ""
    setting: Mapping[str, str] = field(default_factory=dict)
    case_label: str = "this case"
    study: str = ""


@dataclass(frozen=True, slots=True)
class BaselineChoice:
    """The chosen native cell, its trust and reason; ``rejected`` also fitted."""

    state: State
    chosen: Id | None
    reason: str
    rejected: tuple[Id, ...] = ()


def choose_baseline(
    cell: CellConditions,
    candidates: Sequence[CellConditions],
    *,
    equivalence_margin_percent: float,
    max_age_days: float,
) -> BaselineChoice:
    """Choose a cell's native partner among its lab's cells.

    Preferred in order: same bits, same OS, same study, nearest OS, equal vCPUs, memory
    and options. If the rest differ by at most ``equivalence_margin_percent`` the latest
    is taken, else the choice is ambiguous.
    """
    if cell.is_native:
        return BaselineChoice("native", None, Sentence("This is the native side."))
    fitting = [
        other
        for other in candidates
        if other.is_native
        and other.case_id == cell.case_id
        and place_of(other) in wanted_places(cell)
    ]
    if not fitting:
        return BaselineChoice("missing", None, _missing(cell))
    fitting = [it for it in fitting if it.guest_bits == cell.guest_bits] or fitting
    fitting = [other for other in fitting if same_os(cell, other)] or fitting
    own = [other for other in fitting if other.study_id == cell.study_id]
    partners = own or fitting
    # Of other systems than the guest's the most like it: a release, a distribution.
    nearest = max(_os_likeness(cell, other) for other in partners)
    partners = [it for it in partners if _os_likeness(cell, it) == nearest]

    # Sorted, so that the sentence does not hang on the order of the candidates.
    preferred = sorted(_preferred(cell, partners), key=_recency)
    means = [other.mean for other in preferred]
    low, high = min(means), max(means)
    # Readings of 0 or less have no difference in percent: only equal ones agree.
    apart = (high - low) / low * 100 if low > 0 else math.inf
    if low != high and apart > equivalence_margin_percent:
        disagreement = Sentence(
            "{n} native runs fit and differ by more than {percent:g} %: {values}.",
            n=len(preferred),
            percent=equivalence_margin_percent,
            values=joined([Sentence("{mean:g}", mean=mean) for mean in means], ", "),
        )
        return BaselineChoice("ambiguous", None, disagreement, _ids(partners))

    chosen = max(preferred, key=_recency)
    state, reason = _trust(cell, chosen, max_age_days)
    return BaselineChoice(state, chosen.id, reason, _ids(partners, but=chosen))


def _ids(
    cells: Sequence[CellConditions], but: CellConditions | None = None
) -> tuple[Id, ...]:
    return tuple(cell.id for cell in cells if cell is not but)


def place_of(native: CellConditions) -> tuple[object, ...]:
    """Where and how a native cell was measured, whatever its case and its OS."""
    return (native.host, native.guest_bits, *_circumstances(native))


def wanted_places(cell: CellConditions) -> tuple[tuple[object, ...], ...]:
    """The `place_of` native cells that a cell may be compared with, its own first."""
    others = (32, 64) if cell.guest_bits is None else (None,)
    return tuple(
        (cell.host, bits, *_wanted_circumstances(cell))
        for bits in (cell.guest_bits, *others)
    )


def same_os(cell: CellConditions, other: CellConditions) -> bool:
    return cell.guest_os.casefold() == other.guest_os.casefold()


def _os_likeness(cell: CellConditions, other: CellConditions) -> int:
    """How many words two systems' names begin with alike; all of them: the same."""
    if same_os(cell, other):
        return MOST_WORDS
    sides = (it.guest_os.casefold().split() for it in (cell, other))
    words = zip(*sides, strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], words))


def _circumstances(cell: CellConditions) -> tuple[str, ...]:
    if cell.scenario in PATHS:
        return (cell.scenario, cell.load, cell.slot)
    return (cell.scenario, cell.load)


def _wanted_circumstances(cell: CellConditions) -> tuple[str, ...]:
    return _circumstances(cell) if cell.scenario in PATHS else ("single", "")


def _preferred(
    cell: CellConditions, partners: list[CellConditions]
) -> list[CellConditions]:
    likenesses: tuple[Callable[[CellConditions], bool], ...] = (
        lambda other: _sizes(other) == _sizes(cell) and other.options == cell.options,
        lambda other: _sizes(other) == _sizes(cell) and _agrees(other, cell),
        lambda other: _agrees(other, cell),
    )
    for alike in likenesses:
        if alike_ones := [partner for partner in partners if alike(partner)]:
            return alike_ones
    return partners


def _sizes(cell: CellConditions) -> tuple[int | None, int | None]:
    return (cell.vcpus, cell.memory_bytes)


def _agrees(native: CellConditions, cell: CellConditions) -> bool:
    return native.options.items() <= cell.options.items()


def _recency(cell: CellConditions) -> tuple[float, str]:
    # The id decides between cells of one date, so that every run chooses the same.
    return (cell.last_at.timestamp() if cell.last_at else float("-inf"), str(cell.id))


def _trust(
    cell: CellConditions, chosen: CellConditions, max_age_days: float
) -> tuple[State, str]:
    reasons: list[Sentence] = []
    state: State = "paired"
    if not same_os(cell, chosen):
        reasons.append(other_os(cell.guest_os, chosen.guest_os))
    if cell.guest_bits != chosen.guest_bits:
        not_stated = Sentence("not stated")
        reasons.append(
            Sentence(
                "Bits are stated on one side: guest {guest}, host {host}.",
                guest=cell.guest_bits or not_stated,
                host=chosen.guest_bits or not_stated,
            )
        )
    if chosen.study_id != cell.study_id:
        here = Sentence("This study has no native run; this one is from another one.")
        there = Sentence(
            'This study has no native run; this one is from the study "{study}".',
            study=chosen.study,
        )
        reasons.append(there if chosen.study else here)
        state = "other_session"
    elif cell.sessions and chosen.sessions and not cell.sessions & chosen.sessions:
        reasons.append(Sentence("The native run is from another session."))
        state = "other_session"
    # Stale is looked for last: it outranks another session, and both are said.
    for name, word in MACHINE_FACTS.items():
        sides = (cell.setting.get(name), chosen.setting.get(name))
        if None not in sides and sides[0] != sides[1]:
            reasons.append(
                Sentence(
                    "The machine's {word} was another one: {before}, now {now}.",
                    word=word,
                    before=str(sides[1]),
                    now=str(sides[0]),
                )
            )
            state = "stale"
    gap = _gap(cell, chosen)
    if gap is not None and gap > timedelta(days=max_age_days):
        reasons.append(
            Sentence(
                "The native run is {days:.1f} days apart; the limit is {limit:g} days.",
                days=gap / timedelta(days=1),
                limit=max_age_days,
            )
        )
        state = "stale"
    return state, joined(reasons) if reasons else FITS


def _gap(cell: CellConditions, other: CellConditions) -> timedelta | None:
    """The time between two cells' runs: zero where they overlap, None if unknown."""
    first, last = cell.first_at, cell.last_at
    if not (first and last and other.first_at and other.last_at):
        return None
    return max(first - other.last_at, other.first_at - last, timedelta())


def _missing(cell: CellConditions) -> str:
    scenario, load, *_ = _wanted_circumstances(cell)
    if load:
        scenario = Sentence("{scenario} under {load}", scenario=scenario, load=load)
    if cell.guest_bits is None:
        return Sentence(
            "No native run of {case} on host {host}, {scenario}.",
            case=cell.case_label,
            host=cell.host,
            scenario=scenario,
        )
    return Sentence(
        "No native run of {case} on host {host} with {bits} bits, {scenario}.",
        case=cell.case_label,
        host=cell.host,
        bits=cell.guest_bits,
        scenario=scenario,
    )
