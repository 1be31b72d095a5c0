"""Rule about documents of a study that give different values for one result."""

from collections import defaultdict
from collections.abc import Iterator
from typing import Final

from benchmarks.plausibility.findings import Finding, cell_finding, rule
from benchmarks.plausibility.study_facts import CellFact, StudyFacts
from benchmarks.sentences import Sentence

STATISTIC: Final = "statistic"
"""Parameter of a printed statistic of several runs, such as a mean in a paper."""
MAX_DIFFERENCE: Final = 0.02
"""Differences up to here may come from rounding or from another choice of runs."""


@rule("documents-disagree", "Two documents disagree", "impossible", family="arithmetic")
def documents_disagree(study: StudyFacts) -> Iterator[Finding]:
    """Flags results of one system and benchmark that differ by more than 2% although
    two documents state them as the same: a printed mean, and the runs or another
    printed mean. The parameter `statistic` names such means ("mean in the paper").

    Why: one result has one value. If a paper and the data behind it disagree, at least
    one of the two is wrong, and readers cannot know which.

    Remedy: ask the authors. Dismiss the flag of the correct document and exclude the
    other. Until then, both are shown and neither enters pools.
    """
    groups: dict[object, list[CellFact]] = defaultdict(list)
    for cell in study.cells:
        others = frozenset(
            (name, text) for name, text in cell.parameters.items() if name != STATISTIC
        )
        groups[cell.column_key, cell.tool, cell.metric, cell.unit, others].append(cell)
    for members in groups.values():
        if len(members) < 2 or not any(STATISTIC in m.parameters for m in members):
            continue
        low = min(members, key=lambda cell: cell.mean)
        high = max(members, key=lambda cell: cell.mean)
        if low.mean <= 0 or high.mean <= (1 + MAX_DIFFERENCE) * low.mean:
            continue
        yield cell_finding(
            Sentence(
                "{name} is {low:g} {unit} ({first}) and {high:g} {unit} ({second}), "
                "which differ by a factor of {factor:.3g}. At least one is wrong.",
                name=high.description,
                low=low.mean,
                high=high.mean,
                unit=high.unit,
                first=_source(low),
                second=_source(high),
                factor=high.mean / low.mean,
            ),
            members,
            values=[cell.mean for cell in members],
            unit=high.unit,
        )


def _source(cell: CellFact) -> str:
    stated = cell.parameters.get(STATISTIC, "")
    return stated or Sentence("mean of the runs")
