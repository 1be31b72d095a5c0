"""Rules about totals of several benchmarks, and summaries uploaded as runs."""

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from statistics import median
from typing import Final

from benchmarks.plausibility.findings import Finding, cell_finding, rule
from benchmarks.plausibility.study_facts import CellFact, StudyFacts
from benchmarks.sentences import Sentence, pluralized

TOTAL_WORDS: Final = frozenset({"total", "sum", "overall", "all", "together"})
PART_NAME: Final = "operation"
MIN_MISSING_SHARE: Final = 0.8
MIN_DIFFERENCE: Final = 0.05
MIN_SYSTEMS: Final = 3

SUMMARY_VALUES: Final = 3
MIN_SUMMARIES: Final = 3
MAX_DEVIATION: Final = 0.5

Parts = Mapping[str, CellFact]


@rule("total-of-fewer-parts", "Total of fewer parts", "implausible", family="sums")
def total_of_fewer_parts(study: StudyFacts) -> Iterator[Finding]:
    """Flags a total ("TOTAL", "sum") of a system that lacks parts which at least half
    of the host's other systems have, and that is smaller than their median total by
    at least four fifths of these parts (and 5%). At least three other systems are
    needed.

    Why: a part that failed or was not run makes the total smaller. A total time then
    looks faster, a total rate slower.

    Remedy: compare the parts. Upload the total only of complete runs.
    """
    groups: dict[object, dict[object, dict[str, CellFact]]] = defaultdict(
        lambda: defaultdict(dict)
    )
    for cell in study.cells:
        others = frozenset(
            pair for pair in cell.parameters.items() if pair[0] != PART_NAME
        )
        key = (cell.host, cell.tool, cell.unit, *cell.circumstances, others)
        groups[key][cell.system][_part_name(cell)] = cell
    for systems in groups.values():
        yield from _incomplete_totals(list(systems.values()))


def _part_name(cell: CellFact) -> str:
    return cell.parameters.get(PART_NAME) or cell.metric


def _is_total(name: str) -> bool:
    return bool(TOTAL_WORDS & set(name.casefold().split()))


def _incomplete_totals(systems: Sequence[Parts]) -> Iterator[Finding]:
    for name in sorted(
        {name for parts in systems for name in parts if _is_total(name)}
    ):
        complete = [parts for parts in systems if name in parts]
        if len(complete) <= MIN_SYSTEMS:
            continue
        names = {part for parts in complete for part in parts if not _is_total(part)}
        usual = {
            part
            for part in names
            if 2 * sum(part in parts for parts in complete) >= len(complete)
        }
        whole = [parts for parts in complete if usual <= parts.keys()]
        if not usual or len(whole) < MIN_SYSTEMS:
            continue
        typical = median(parts[name].mean for parts in whole)
        for parts in complete:
            missing = sorted(usual - parts.keys())
            lacking = sum(median(w[part].mean for w in whole) for part in missing)
            total = parts[name]
            least = max(MIN_MISSING_SHARE * lacking, MIN_DIFFERENCE * typical)
            if missing and math.inf > typical - total.mean >= least:
                yield cell_finding(
                    Sentence(
                        "{name} is {mean:g} {unit}, but {typical:g} {unit} on most "
                        "other systems, which also have results of {missing}. It is "
                        "probably the total of fewer parts.",
                        name=total.description,
                        mean=total.mean,
                        unit=total.unit,
                        typical=typical,
                        missing=", ".join(missing),
                    ),
                    [total],
                    missing=missing,
                    typical=typical,
                )


@rule(
    "summary-as-runs",
    "Mean, deviation and number as runs",
    "impossible",
    family="degenerate values",
)
def summary_as_runs(study: StudyFacts) -> Iterator[Finding]:
    """Flags results of a metric that have three values each: at least three such
    results, all with the same whole number as their last (or another) value, and
    another value that is less than half of the remaining one.

    Why: these are a mean, a standard deviation and a number of runs, which a reader of
    a table took for three runs. Their mean means nothing.

    Remedy: upload the mean with `runs` and `standard_deviation`.
    """
    groups: dict[object, list[CellFact]] = defaultdict(list)
    for cell in study.cells:
        if len(cell.run_means) == SUMMARY_VALUES and min(cell.run_means) >= 0:
            groups[cell.host, *cell.sibling_key].append(cell)
    for cells in groups.values():
        places = [place for place in range(SUMMARY_VALUES) if _is_count(cells, place)]
        if len(cells) < MIN_SUMMARIES or not places:
            continue
        first = cells[0]
        yield cell_finding(
            pluralized(
                "{name}: the three values {values} are probably a mean, a deviation "
                "and the number of runs ({count:g}).",
                "{n} results have three values that are probably a mean, a deviation "
                "and the number of runs ({count:g}), for example {name}: {values}.",
                name=first.description,
                values=", ".join(f"{value:g}" for value in first.run_means),
                count=first.run_means[places[0]],
                n=len(cells),
            ),
            cells,
            count=first.run_means[places[0]],
        )


def _is_count(cells: Sequence[CellFact], place: int) -> bool:
    counts = {cell.run_means[place] for cell in cells}
    count = counts.pop()
    if counts or count < 2 or not count.is_integer():
        return False
    others = [
        sorted(value for i, value in enumerate(cell.run_means) if i != place)
        for cell in cells
    ]
    return (
        all(low <= MAX_DEVIATION * high for low, high in others)
        and len({high for _, high in others}) > 1
        and sum(high > 2 * count or 2 * high < count for _, high in others)
        >= len(others) / 2
    )
