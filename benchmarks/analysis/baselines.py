"""Choice of a cell's native baseline (``docs/method.md``, "The baseline")."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import takewhile
from typing import Any, Final, Literal
from uuid import UUID

from benchmarks.analysis.comparability import MACHINE_FACTS, other_os_sentence
from benchmarks.analysis.machine_comparability import (
    Level,
    Specimen,
    compare_specimens,
    load_of,
)
from benchmarks.sentences import Sentence, join_sentences, pluralized

Id = int | str | UUID
BaselineState = Literal[
    "native",
    "paired",
    "other_session",
    "stale",
    "ambiguous",
    "missing",
    "same_model",
    "same_cpu",
]

MAX_OS_WORDS: Final = 1_000
ON_HOST_SCENARIOS: Final = frozenset({"inter-vm", "same-host"})
"""Network scenarios whose data never leave the host, so they measure its memory."""
PATH_SCENARIOS: Final = ON_HOST_SCENARIOS | {"inter-host"}
"""Network scenarios whose baseline must have the same scenario."""

MATCH_SENTENCE: Final = Sentence("Native run of the same host, OS and benchmark.")
OTHER_SESSION_SENTENCE: Final = Sentence("The baseline is from another session.")


@dataclass(frozen=True, slots=True, kw_only=True)
class CellConditions:
    """The facts of a cell that decide its baseline; empty or None if not reported.

    ``sessions`` is empty if the time of a run is unknown.
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
    common_facts: Mapping[str, str] = field(default_factory=dict)
    case_label: str = "this case"
    study: str = ""
    specimen: Specimen | None = None
    tool_version: str = ""
    component: str = ""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    is_higher_better: bool = True


@dataclass(frozen=True, slots=True)
class BaselineChoice:
    """The native cell chosen as a baseline, or None, and the reason.

    ``rejected`` are other native cells that match, or those that disagree.
    """

    state: BaselineState
    baseline_id: Id | None
    reason: str
    rejected: tuple[Id, ...] = ()


def choose_baseline(
    cell: CellConditions,
    candidates: Sequence[CellConditions],
    *,
    equivalence_margin_percent: float,
    max_age_days: float,
) -> BaselineChoice:
    """See docs/method.md, The baseline."""
    if cell.is_native:
        return BaselineChoice("native", None, Sentence("This is the native result."))
    matching = [
        candidate
        for candidate in candidates
        if candidate.is_native
        and candidate.case_id == cell.case_id
        and native_key(candidate) in candidate_native_keys(cell)
    ]
    if not matching:
        missing = BaselineChoice("missing", None, _missing_reason(cell))
        return _choice_on_other_machine(cell, candidates) or missing
    matching = [
        candidate for candidate in matching if candidate.guest_bits == cell.guest_bits
    ] or matching
    matching = [
        candidate for candidate in matching if same_os(cell, candidate)
    ] or matching
    same_study = [
        candidate for candidate in matching if candidate.study_id == cell.study_id
    ]
    partners = same_study or matching
    nearest = max(_os_likeness(cell, candidate) for candidate in partners)
    partners = [
        candidate for candidate in partners if _os_likeness(cell, candidate) == nearest
    ]

    preferred = sorted(_preferred(cell, partners), key=_recency)
    means = [candidate.mean for candidate in preferred]
    low, high = min(means), max(means)
    difference = (high - low) / low * 100 if low > 0 else math.inf
    if low != high and difference > equivalence_margin_percent:
        disagreement = Sentence(
            "{n} native results fit this result but differ by more than {percent:g}%, "
            "so none is the baseline: {values}.",
            n=len(preferred),
            percent=equivalence_margin_percent,
            values=join_sentences(
                [Sentence("{mean:g}", mean=mean) for mean in means], ", "
            ),
        )
        return BaselineChoice("ambiguous", None, disagreement, _ids(preferred))

    chosen = max(preferred, key=_recency)
    state, reason = _trust(cell, chosen, max_age_days)
    return BaselineChoice(state, chosen.id, reason, _ids(partners, excluded=chosen))


def _choice_on_other_machine(
    cell: CellConditions, candidates: Sequence[CellConditions]
) -> BaselineChoice | None:
    """Choose a native cell of another machine with the same CPU in the same study.

    Return None if the machines' facts name no common CPU or product family.
    """
    if cell.specimen is None:
        return None
    load = load_of(cell.component, cell.parameters, threads=cell.specimen.threads)
    ranked = []
    for native in candidates:
        other = native.specimen
        if (
            not native.is_native
            or other is None
            or native.study_id != cell.study_id
            or native.case_id != cell.case_id
            or _scenario_key(native) != _baseline_scenario_key(cell)
        ):
            continue
        is_family = bool(other.product_family) and (
            other.product_family == cell.specimen.product_family
        )
        if not is_family and other.cpu != cell.specimen.cpu:
            continue
        comparison = compare_specimens(
            *(other, cell.specimen, load),
            versions=(native.tool_version, cell.tool_version),
        )
        if comparison.level == Level.SAME_CPU:
            # Only here, because some work of one model is faster in guests.
            comparison = compare_specimens(
                *(other, cell.specimen, load), one_thread_ratios=_ratios(cell, native)
            )
        rank = (-comparison.level, is_family, same_os(cell, native), _recency(native))
        ranked.append((rank, native, comparison))
    if not ranked:
        return None
    _, chosen, comparison = max(ranked, key=lambda entry: entry[0])
    others = [native for _, native, _ in ranked]
    if comparison.level == Level.REFUSED:
        reason = join_sentences([_missing_reason(cell), comparison.reason])
        return BaselineChoice("missing", None, reason, _ids(others))
    state: BaselineState = (
        "same_model" if comparison.level == Level.SAME_MODEL else "same_cpu"
    )
    return BaselineChoice(
        state, chosen.id, comparison.reason, _ids(others, excluded=chosen)
    )


def _ratios(cell: CellConditions, native: CellConditions) -> tuple[float, ...]:
    if not (cell.mean > 0 and native.mean > 0):
        return ()
    ratio = cell.mean / native.mean
    return (ratio if cell.is_higher_better else 1 / ratio,)


def _ids(
    cells: Sequence[CellConditions], excluded: CellConditions | None = None
) -> tuple[Id, ...]:
    return tuple(cell.id for cell in cells if cell is not excluded)


def native_key(native: CellConditions) -> tuple[object, ...]:
    return (native.host, native.guest_bits, *_scenario_key(native))


def candidate_native_keys(cell: CellConditions) -> tuple[tuple[object, ...], ...]:
    """Return every `native_key` with which a native cell matches a cell, best match
    first.
    """
    other_bits = (32, 64) if cell.guest_bits is None else (None,)
    return tuple(
        (cell.host, bits, *_baseline_scenario_key(cell))
        for bits in (cell.guest_bits, *other_bits)
    )


def same_os(cell: CellConditions, other: CellConditions) -> bool:
    return cell.guest_os.casefold() == other.guest_os.casefold()


def _os_likeness(cell: CellConditions, other: CellConditions) -> int:
    if same_os(cell, other):
        return MAX_OS_WORDS
    names = (conditions.guest_os.casefold().split() for conditions in (cell, other))
    words = zip(*names, strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], words))


def _scenario_key(cell: CellConditions) -> tuple[str, ...]:
    if cell.scenario in PATH_SCENARIOS:
        return (cell.scenario, cell.load, cell.slot)
    return (cell.scenario, cell.load)


def _baseline_scenario_key(cell: CellConditions) -> tuple[str, ...]:
    return _scenario_key(cell) if cell.scenario in PATH_SCENARIOS else ("single", "")


def _preferred(
    cell: CellConditions, partners: list[CellConditions]
) -> list[CellConditions]:
    criteria: tuple[Callable[[CellConditions], bool], ...] = (
        lambda native: (
            _sizes(native) == _sizes(cell) and native.options == cell.options
        ),
        lambda native: _sizes(native) == _sizes(cell) and _options_agree(native, cell),
        lambda native: _options_agree(native, cell),
    )
    for matches in criteria:
        if matching := [partner for partner in partners if matches(partner)]:
            return matching
    return partners


def _sizes(cell: CellConditions) -> tuple[int | None, int | None]:
    return (cell.vcpus, cell.memory_bytes)


def _options_agree(native: CellConditions, cell: CellConditions) -> bool:
    return native.options.items() <= cell.options.items()


def _recency(cell: CellConditions) -> tuple[float, str]:
    return (cell.last_at.timestamp() if cell.last_at else float("-inf"), str(cell.id))


def _trust(
    cell: CellConditions, chosen: CellConditions, max_age_days: float
) -> tuple[BaselineState, str]:
    reasons: list[Sentence] = []
    state: BaselineState = "paired"
    if not same_os(cell, chosen):
        reasons.append(other_os_sentence(cell.guest_os, chosen.guest_os))
    if cell.guest_bits != chosen.guest_bits:
        not_stated = Sentence("not reported")
        reasons.append(
            Sentence(
                "Only one side reports whether it is 32-bit or 64-bit: guest {guest}, "
                "host {host}.",
                guest=cell.guest_bits or not_stated,
                host=chosen.guest_bits or not_stated,
            )
        )
    if chosen.study_id != cell.study_id:
        without_name = Sentence(
            "This study has no native run; the baseline is from another study."
        )
        with_name = Sentence(
            'This study has no native run; the baseline is from the study "{study}".',
            study=chosen.study,
        )
        reasons.append(with_name if chosen.study else without_name)
        state = "other_session"
    elif cell.sessions and chosen.sessions and not cell.sessions & chosen.sessions:
        reasons.append(OTHER_SESSION_SENTENCE)
        state = "other_session"
    # Staleness comes last: it overrides the state `other_session`.
    for name, word in MACHINE_FACTS.items():
        sides = (cell.common_facts.get(name), chosen.common_facts.get(name))
        if None not in sides and sides[0] != sides[1]:
            reasons.append(
                Sentence(
                    "The machine's {word} differs: {before} for the baseline, {now} "
                    "for this system.",
                    word=word,
                    before=str(sides[1]),
                    now=str(sides[0]),
                )
            )
            state = "stale"
    gap = _gap(cell, chosen)
    if gap is not None and gap > timedelta(days=max_age_days):
        if OTHER_SESSION_SENTENCE in reasons:
            reasons.remove(OTHER_SESSION_SENTENCE)
        days = round(gap / timedelta(days=1), 1)
        is_earlier = _is_earlier(chosen, cell)
        reasons.append(_stale_reason(days, max_age_days, is_earlier=is_earlier))
        state = "stale"
    return state, join_sentences(reasons) if reasons else MATCH_SENTENCE


def _stale_reason(days: float, limit: float, *, is_earlier: bool) -> Sentence:
    if is_earlier:
        return pluralized(
            "The baseline was measured {n:g} day before this system (limit: "
            "{limit:g}).",
            "The baseline was measured {n:g} days before this system (limit: "
            "{limit:g}).",
            n=days,
            limit=limit,
        )
    return pluralized(
        "The baseline was measured {n:g} day after this system (limit: {limit:g}).",
        "The baseline was measured {n:g} days after this system (limit: {limit:g}).",
        n=days,
        limit=limit,
    )


def _gap(cell: CellConditions, other: CellConditions) -> timedelta | None:
    first, last = cell.first_at, cell.last_at
    if not (first and last and other.first_at and other.last_at):
        return None
    return max(first - other.last_at, other.first_at - last, timedelta())


def _is_earlier(cell: CellConditions, other: CellConditions) -> bool:
    return bool(cell.last_at and other.first_at and cell.last_at < other.first_at)


def _missing_reason(cell: CellConditions) -> str:
    scenario, load, *_ = _baseline_scenario_key(cell)
    if load:
        scenario = Sentence("{scenario} under {load}", scenario=scenario, load=load)
    values = {"case": cell.case_label, "host": cell.host}
    if cell.guest_bits is None:
        text = Sentence("No native run of {case} on host {host}", **values)
    else:
        text = Sentence(
            "No native {bits}-bit run of {case} on host {host}",
            bits=cell.guest_bits,
            **values,
        )
    if scenario == "single":
        return Sentence("{text}.", text=text)
    return Sentence("{text} (scenario: {scenario}).", text=text, scenario=scenario)
