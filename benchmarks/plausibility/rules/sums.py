"""Printed sums and means of a co-run's slots against the slots themselves."""

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Final

from benchmarks.plausibility.facts import CellFact, Noise, StudyFacts, precision
from benchmarks.plausibility.findings import Doubt, about_cells, rule
from benchmarks.sentences import Sentence

TOTALS: Final = ("sum", "mean")
SLACK: Final = 5e-4
CLEARLY: Final = 5e-3

Slots = Mapping[str, CellFact]


@rule("slots-do-not-add-up", "A total that does not match its parts", "impossible")
def slots_do_not_add_up(study: StudyFacts) -> Iterator[Doubt]:
    """A printed sum or mean of the slots of a co-run differs from what the slots give
    by more than their rounding and 0.05 %. Rounding k parts and their sum moves it by
    at most k + 1 half steps of the last digit; 0.05 % more covers a tool that averages
    before it rounds. Below 0.5 % it is a check. Where the numbers of runs differ, the
    slots' own scatter is allowed for (three standard errors). A part that is larger
    than its sum is flagged even where other parts are missing.

    Why: slots that do not give their sum come from other runs than the sum. In the
    LMU study of ESXi this shows that the slots are those of the study of Xen.

    What to do: look up both tables in the source; keep the slots or the sum, not both.
    """
    for slots in _slots(study):
        # "sum", "mean", "all" and "host" are no parts.
        parts = [cell for slot, cell in slots.items() if slot.isdigit()]
        for kind in TOTALS:
            if total := slots.get(kind):
                yield from _compared(total, parts, study.noise)


def adding_up(study: StudyFacts) -> Iterator[CellFact]:
    """The slots whose printed sum or mean is what they give."""
    for slots in _slots(study):
        totals = [slots[kind] for kind in TOTALS if kind in slots]
        parts = [cell for slot, cell in slots.items() if slot.isdigit()]
        if totals and len(parts) == totals[0].vms:
            compared = [_compared(total, parts, study.noise) for total in totals]
            if not any(doubt for doubts in compared for doubt in doubts):
                yield from parts


def _slots(study: StudyFacts) -> Iterator[Slots]:
    groups: dict[object, dict[str, CellFact]] = defaultdict(dict)
    for cell in study.cells:
        if cell.vms is not None and cell.vms > 1:
            key = (cell.system, cell.case, cell.scenario, cell.vms, cell.load)
            groups[key][cell.slot] = cell
    return (slots for slots in groups.values() if len(slots) > 1)


def _compared(total: CellFact, parts: list[CellFact], noise: Noise) -> Iterator[Doubt]:
    kind = total.slot
    if len(parts) == total.vms:
        expected = math.fsum(part.mean for part in parts)
        expected /= len(parts) if kind == "mean" else 1
        if not expected:
            return
        off = total.mean / expected - 1
        if abs(total.mean - expected) > _tolerance(total, parts, noise):
            yield about_cells(
                Sentence(
                    "The printed {kind} of {name} is {total:g} {unit}, its {slots} "
                    "slots give {expected:g} {unit} ({off:+.2%}).",
                    kind=Sentence("mean") if kind == "mean" else Sentence("sum"),
                    name=total.name,
                    total=total.mean,
                    unit=total.unit,
                    slots=len(parts),
                    expected=expected,
                    off=off,
                ),
                (total, *parts),
                severity=None if abs(off) >= CLEARLY else "check",
                printed=total.mean,
                recomputed=expected,
                parts=[part.mean for part in parts],
                off_percent=round(off * 100, 4),
            )
    elif kind == "sum" and total.better == "higher":
        largest = max(parts, key=lambda part: part.mean, default=total)
        if largest.mean > total.mean + _tolerance(total, parts, noise):
            yield about_cells(
                Sentence(
                    "Slot {slot} of {name} alone reads {largest:g} {unit}, the printed "
                    "sum of all {vms} only {total:g} {unit}.",
                    slot=largest.slot,
                    name=total.name,
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
    known = [cell.decimals for cell in cells if cell.decimals is not None]
    readings = [value for cell in cells for value in cell.readings]
    printed = precision(readings, max(known, default=None))
    rounding = math.fsum(printed.step(cell.mean) for cell in cells) / 2
    scatter = 0.0
    if len({cell.n for cell in cells}) > 1:
        fewest = min(cell.n for cell in cells)
        scatter = 3 * noise.of_run(total) * abs(total.mean) / math.sqrt(fewest)
    return rounding + SLACK * abs(total.mean) + scatter
