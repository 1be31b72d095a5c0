"""Rule that compares the printed sum or mean of a co-run with its slots."""

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Final

from benchmarks.plausibility.findings import Finding, cell_finding, rule
from benchmarks.plausibility.study_facts import (
    CellFact,
    Noise,
    StudyFacts,
    find_precision,
)
from benchmarks.sentences import Sentence

TOTAL_SLOTS: Final = ("sum", "mean")
SUM_TOLERANCE: Final = 5e-4
MIN_CLEAR_ERROR: Final = 5e-3

Slots = Mapping[str, CellFact]


@rule(
    "slots-do-not-add-up",
    "Total that does not match its parts",
    "impossible",
    family="sums",
)
def slots_do_not_add_up(study: StudyFacts) -> Iterator[Finding]:
    """Flags a co-run whose printed sum or mean does not match the printed values of its
    slots. The difference must be larger than the rounding and 0.05% allow:
    - Rounding k slots and their sum changes the result by at most k + 1 half steps of
      the last digit.
    - Tools may average before they round, for which 0.05% is added.
    - If the slots and the total have different numbers of runs, three standard errors
      are added.

    A difference below 0.5% has only the severity check. A slot that is larger than the
    printed sum is flagged even if other slots are missing.

    Why: slots that do not match their total come from other runs.

    Remedy: look up the total and the slots in the source. Keep the slots or the total,
    not both.
    """
    for slots in _slots(study):
        # Not "sum", "mean", "all" or "host".
        parts = [cell for slot, cell in slots.items() if slot.isdigit()]
        for kind in TOTAL_SLOTS:
            if total := slots.get(kind):
                yield from _check_total(total, parts, study.noise)


def consistent_slots(study: StudyFacts) -> Iterator[CellFact]:
    for slots in _slots(study):
        totals = [slots[kind] for kind in TOTAL_SLOTS if kind in slots]
        parts = [cell for slot, cell in slots.items() if slot.isdigit()]
        if totals and len(parts) == totals[0].vms:
            checks = [_check_total(total, parts, study.noise) for total in totals]
            if not any(finding for findings in checks for finding in findings):
                yield from parts


def _slots(study: StudyFacts) -> Iterator[Slots]:
    groups: dict[object, dict[str, CellFact]] = defaultdict(dict)
    for cell in study.cells:
        if cell.vms is not None and cell.vms > 1:
            key = (cell.system, cell.case, cell.scenario, cell.vms, cell.load)
            groups[key][cell.slot] = cell
    return (slots for slots in groups.values() if len(slots) > 1)


def _check_total(
    total: CellFact, parts: list[CellFact], noise: Noise
) -> Iterator[Finding]:
    kind = total.slot
    if len(parts) == total.vms:
        expected = math.fsum(part.mean for part in parts)
        expected /= len(parts) if kind == "mean" else 1
        if not expected:
            return
        deviation = total.mean / expected - 1
        if abs(total.mean - expected) > _tolerance(total, parts, noise):
            yield cell_finding(
                Sentence(
                    "{name}: the printed {kind} is {total:g} {unit}, but the {kind} "
                    "of its {slots} slots is {expected:g} {unit}. The printed value "
                    "differs by {off:+.2%}.",
                    kind=Sentence("mean") if kind == "mean" else Sentence("sum"),
                    name=total.description,
                    total=total.mean,
                    unit=total.unit,
                    slots=len(parts),
                    expected=expected,
                    off=deviation,
                ),
                (total, *parts),
                severity=None if abs(deviation) >= MIN_CLEAR_ERROR else "check",
                printed=total.mean,
                recomputed=expected,
                parts=[part.mean for part in parts],
                off_percent=round(deviation * 100, 4),
            )
    elif kind == "sum" and total.better == "higher":
        largest = max(parts, key=lambda part: part.mean, default=total)
        if largest.mean > total.mean + _tolerance(total, parts, noise):
            yield cell_finding(
                Sentence(
                    "{name}: slot {slot} alone has {largest:g} {unit}, but the "
                    "printed sum of all {vms} slots is only {total:g} {unit}.",
                    slot=largest.slot,
                    name=total.description,
                    largest=largest.mean,
                    unit=total.unit,
                    vms=total.vms or 0,
                    total=total.mean,
                ),
                (total, largest),
                printed=total.mean,
                part=largest.mean,
            )


def _tolerance(total: CellFact, parts: list[CellFact], noise: Noise) -> float:
    cells = [total, *parts]
    decimals = [cell.decimals for cell in cells if cell.decimals is not None]
    readings = [value for cell in cells for value in cell.readings]
    precision = find_precision(readings, max(decimals, default=None))
    rounding = math.fsum(precision.step(cell.mean) for cell in cells) / 2
    scatter = 0.0
    if len({cell.n for cell in cells}) > 1:
        fewest = min(cell.n for cell in cells)
        scatter = 3 * noise.run_deviation(total) * abs(total.mean) / math.sqrt(fewest)
    return rounding + SUM_TOLERANCE * abs(total.mean) + scatter
