"""Rules about systems that differ only in their settings."""

import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Final

from benchmarks.plausibility.findings import Finding, Subject, cell_finding, rule
from benchmarks.plausibility.study_facts import CellFact, Id, StudyFacts
from benchmarks.sentences import Sentence, join_sentences, pluralized, template

LABEL_OPTIONS: Final = frozenset(
    {"setting", "settings", "label", "name", "profile", "config", "configuration"}
    | {"variant", "setup"}
)
"""Options that name a system instead of describing it."""
MIN_DIFFERENCE: Final = 0.03
CRITICAL_ERRORS: Final = 3.3
MAX_LISTED: Final = 3
MIN_RUNS: Final = 3

Description = frozenset[tuple[str, str]]
Cells = Mapping[object, CellFact]

OTHER_MEMORY: Final = template(
    "{name} has {other:g} GiB of memory, most other guests in this benchmark have "
    "{usual:g} GiB. The effect of its options includes that of the size."
)
OTHER_CPUS: Final = template(
    "{name} has {other:g} CPUs, most other guests in this benchmark have {usual:g}. "
    "The effect of its options includes that of the size."
)


@rule(
    "label-of-two-systems", "One label for different options", "check", family="systems"
)
def label_of_two_systems(study: StudyFacts) -> Iterator[Finding]:
    """Flags systems of a host that have the same label (an option such as `setting`,
    `configuration` or `profile`), but other options, memory or numbers of CPUs.

    Why: people compare by label. If "v43" has two NUMA cells in one workload and none
    in another, its effect is not that of one setting.

    Remedy: correct the options, or give the second system a label of its own.
    """
    labels: dict[object, dict[Description, list[CellFact]]] = defaultdict(dict)
    for cell in _settings(study):
        label = _label(cell)
        if label:
            described = _description(cell)
            key = (cell.host, cell.hypervisor, cell.is_native, label)
            labels[key].setdefault(described, []).append(cell)
    groups: dict[tuple[str, ...], list[Mapping[Description, list[CellFact]]]] = (
        defaultdict(list)
    )
    for variants in labels.values():
        if len(variants) > 1:
            groups[_differing(list(variants))].append(variants)
    for options, found in groups.items():
        first = found[0]
        cells = [members[0] for variants in found for members in variants.values()]
        names = [_label(next(iter(variants.values()))[0]) for variants in found]
        one, other = sorted(map(sorted, first))[:2]
        yield Finding(
            pluralized(
                'The label "{label}" names {systems} systems that differ in {options}: '
                "{one}, and {other}.",
                '{n} labels, for example "{label}", name systems that differ in '
                "{options}: {one}, and {other}.",
                label=names[0],
                systems=len(first),
                options=join_sentences(options, ", "),
                one=_written(one, options),
                other=_written(other, options),
                n=len(found),
            ),
            tuple(Subject("system", str(cell.system)) for cell in cells),
            {"labels": names, "options": list(options)},
            tuple(str(cell.system) for cell in cells),
        )


@rule(
    "equal-settings-differ",
    "Equal settings with different results",
    "check",
    family="systems",
)
def equal_settings_differ(study: StudyFacts) -> Iterator[Finding]:
    """Flags two systems that differ only in their label, but whose results differ by
    more than 3% and 3.3 standard errors in a benchmark with at least three runs each.

    Why: the same system was measured twice. Either the machine changed between the two
    measurements, so that effects of other settings contain this change, or an option
    that differs is not stated.

    Remedy: compare each setting with the measurement of its own time, or state the
    option that differs.
    """
    systems: dict[object, dict[Id, list[CellFact]]] = defaultdict(dict)
    for cell in _settings(study):
        if _label(cell) and cell.is_performance and cell.mean > 0:
            same = (*_place(cell), _description(cell))
            systems[same].setdefault(cell.system, []).append(cell)
    for columns in systems.values():
        for first, second in combinations(columns.values(), 2):
            yield from _drifted(first, second, study)


def _drifted(
    first: Sequence[CellFact], second: Sequence[CellFact], study: StudyFacts
) -> Iterator[Finding]:
    pairs = []
    for one, other in _common_cases(first, second):
        if min(len(one.run_means), len(other.run_means)) < MIN_RUNS:
            continue
        difference = abs(other.mean / one.mean - 1)
        error = math.hypot(*map(study.noise.mean_error, (one, other)))
        if difference > max(MIN_DIFFERENCE, CRITICAL_ERRORS * error):
            pairs.append((difference, one, other))
    if not pairs:
        return
    _, one, other = max(pairs, key=lambda pair: pair[0])
    yield cell_finding(
        pluralized(
            "{one} and {other} have the same options, but {case} is {factor:.3g} times "
            "as large on the second. The machine changed, or an option is not stated.",
            "{one} and {other} have the same options, but differ in {n} benchmarks: "
            "{case} is {factor:.3g} times as large on the second. The machine changed, "
            "or an option is not stated.",
            one=one.system_phrase,
            other=other.system_phrase,
            case=one.case_name,
            factor=other.mean / one.mean,
            n=len(pairs),
        ),
        [cell for _, *cells in pairs for cell in cells],
        factors=[second.mean / first.mean for _, first, second in pairs],
    )


@rule("setting-and-day", "Settings measured on separate days", "check", family="days")
def setting_and_day(study: StudyFacts) -> Iterator[Finding]:
    """Flags systems of a host that differ only in their options and were measured in
    one session each, on different days. At least three runs are needed on each side.

    Why: the effect of the option and that of the day cannot be separated, however many
    runs each day has. A day may change results by as much as an option does.

    Remedy: measure both settings alternately in one session, or each of them in several
    sessions.
    """
    systems: dict[object, dict[Id, list[CellFact]]] = defaultdict(dict)
    for cell in _settings(study):
        is_single = len({*cell.session_names}) == 1
        if cell.first_at and cell.last_at and is_single and cell.n >= MIN_RUNS:
            systems[_place(cell)].setdefault(cell.system, []).append(cell)
    for columns in systems.values():
        pairs = [
            (one, other)
            for first, second in combinations(columns.values(), 2)
            for one, other in _common_cases(first, second)
            if _differ_by_option_and_day(one, other)
        ]
        if not pairs:
            continue
        one, other = pairs[0]
        options = _differing([_description(one), _description(other)])
        cells = list({cell.id: cell for pair in pairs for cell in pair}.values())
        yield cell_finding(
            Sentence(
                "{n} settings were measured in one session each, on different days: "
                "for example {one} on {day} and {other} on {other_day} ({options}). "
                "The effects of the setting and of the day cannot be separated.",
                n=len({cell.system for cell in cells}),
                one=one.system_phrase,
                day=_day(one),
                other=other.system_phrase,
                other_day=_day(other),
                options=join_sentences(options[:MAX_LISTED], ", "),
            ),
            cells,
            days=sorted({_day(cell) for cell in cells}),
        )


def _settings(study: StudyFacts) -> Iterator[CellFact]:
    return (cell for cell in study.cells if cell.scenario == "single")


def _label(cell: CellFact) -> str:
    names = sorted(LABEL_OPTIONS & cell.options.keys())
    return ", ".join(cell.options[name] for name in names)


def _options(cell: CellFact) -> Description:
    options = cell.options.items()
    return frozenset(option for option in options if option[0] not in LABEL_OPTIONS)


def _setting(cell: CellFact) -> Description:
    """Return the options, without labels if there are others."""
    return _options(cell) or frozenset(cell.options.items())


def _description(cell: CellFact) -> Description:
    stated = dict(_options(cell))
    sizes = {"vcpus": cell.vcpus, "memory_bytes": cell.memory_bytes}
    stated |= {name: str(size) for name, size in sizes.items() if size}
    return frozenset(stated.items())


def _place(cell: CellFact) -> tuple[object, ...]:
    return (
        *(cell.host, cell.is_native, cell.hypervisor, cell.hypervisor_version),
        *(cell.virtualization, cell.guest_os, cell.guest_bits),
    )


def _differing(descriptions: Sequence[Description]) -> tuple[str, ...]:
    common = frozenset.intersection(*descriptions)
    return tuple(sorted({name for d in descriptions for name, _ in d - common}))


def _written(description: Sequence[tuple[str, str]], names: Sequence[str]) -> str:
    stated = dict(description)
    return ", ".join(f"{name}={stated.get(name, '-')}" for name in names)


def _common_cases(
    first: Sequence[CellFact], second: Sequence[CellFact]
) -> Iterator[tuple[CellFact, CellFact]]:
    others = {(cell.case, cell.load): cell for cell in second}
    for cell in first:
        if other := others.get((cell.case, cell.load)):
            yield cell, other


def _differ_by_option_and_day(one: CellFact, other: CellFact) -> bool:
    return (
        _description(one) != _description(other)
        and {*one.session_names}.isdisjoint(other.session_names)
        and _day(one) != _day(other)
    )


def _day(cell: CellFact) -> str:
    return cell.first_at.date().isoformat() if cell.first_at else ""


SIZES: Final = ("memory_bytes", "vcpus")
MIN_USUAL: Final = 3


@rule("size-differs", "Guests of another size", "check", family="systems")
def size_differs(study: StudyFacts) -> Iterator[Finding]:
    """Flags guests that have another number of CPUs or another memory than at least
    three, and most, of the guests that ran the same benchmark on the same host with the
    same hypervisor, and whose other options none of those guests has.

    Why: the effect of the option includes that of the size. A guest with 5 GiB instead
    of 7 caches less of a database, whatever its page size is.

    Remedy: measure a reference of the same size, and compare with it.
    """
    cases: dict[object, list[CellFact]] = defaultdict(list)
    for cell in _settings(study):
        if not cell.is_native:
            cases[(*_place(cell), cell.case, cell.load)].append(cell)
    groups: dict[tuple[str, int, int, object], dict[Id, CellFact]] = defaultdict(dict)
    for cells in cases.values():
        for size in SIZES:
            counts = Counter(getattr(cell, size) for cell in cells)
            usual, count = counts.most_common(1)[0]
            if usual is None or count < max(MIN_USUAL, len(cells) / 2 + 1):
                continue
            of_usual_size = {
                _setting(cell) for cell in cells if getattr(cell, size) == usual
            }
            for cell in cells:
                other = getattr(cell, size)
                is_new = cell.options and _setting(cell) not in of_usual_size
                if is_new and other not in (None, usual):
                    groups[size, usual, other, _place(cell)][cell.id] = cell
    for (size, usual, other, _), members in groups.items():
        cells = list(members.values())
        is_memory = size == "memory_bytes"
        yield cell_finding(
            Sentence(
                OTHER_MEMORY if is_memory else OTHER_CPUS,
                name=cells[0].system_phrase,
                other=other / 2**30 if is_memory else other,
                usual=usual / 2**30 if is_memory else usual,
            ),
            cells,
            size=size,
            systems=sorted({cell.system_phrase for cell in cells}),
        )
