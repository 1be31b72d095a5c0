"""Rule about settings whose effects have opposite directions."""

import math
from collections import defaultdict
from collections.abc import Iterator
from typing import Final

from benchmarks.plausibility.findings import Finding, cell_finding, rule
from benchmarks.plausibility.study_facts import (
    CellFact,
    StudyFacts,
    factor_from_log,
    own_ratio_error,
)
from benchmarks.sentences import Sentence

MIN_EFFECT: Final = 0.1
MIN_RUNS: Final = 3
CRITICAL_ERRORS: Final = 3.3


@rule(
    "opposite-effects",
    "Setting with opposite effects",
    "check",
    family="systems",
)
def opposite_effects(study: StudyFacts) -> Iterator[Finding]:
    """Flags a system that is compared with another setting, if one metric of a tool is
    more than 10% better in one benchmark and more than 10% worse in another (each by
    3.3 standard errors, with at least three runs).

    Why: the setting has no single effect on "the database" or "the disk". A mean over
    these benchmarks, and a recommendation from one of them, is wrong for the other.

    Remedy: state the effect by benchmark (size of the data, reads or writes), and find
    what separates them.
    """
    groups: dict[object, list[tuple[float, CellFact]]] = defaultdict(list)
    for cell in study.cells:
        reference = study.baseline(cell)
        if reference is None or reference.is_native or not cell.is_performance:
            continue
        effect = _effect(cell, reference)
        if effect is not None:
            key = (*cell.column_key, *cell.sibling_key, reference.system)
            groups[key].append((effect, cell))
    for effects in groups.values():
        worst, best = (
            choose(effects, key=lambda pair: pair[0]) for choose in (min, max)
        )
        if worst[0] < 0 < best[0]:
            yield cell_finding(
                Sentence(
                    "{system}: {better} is {gain:.3g} times as fast as its reference, "
                    "but {worse} is {loss:.3g} times as fast. The setting has no "
                    "single effect.",
                    system=best[1].system_phrase,
                    better=best[1].case_name,
                    gain=factor_from_log(best[0]),
                    worse=worst[1].case_name,
                    loss=factor_from_log(worst[0]),
                ),
                [cell for _, cell in effects],
                ratios=[factor_from_log(effect) for effect, _ in effects],
            )


def _effect(cell: CellFact, reference: CellFact) -> float | None:
    """Return the log ratio of speeds if it is large and significant."""
    if min(cell.n, reference.n) < MIN_RUNS or min(cell.mean, reference.mean) <= 0:
        return None
    ratio = math.log(cell.mean) - math.log(reference.mean)
    if cell.better == "lower":
        ratio = -ratio
    error = own_ratio_error(cell, reference)
    least = max(math.log1p(MIN_EFFECT), CRITICAL_ERRORS * error)
    return ratio if abs(ratio) >= least else None
