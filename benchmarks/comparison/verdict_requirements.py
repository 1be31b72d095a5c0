"""Number of a system's verdicts, and what the others still need."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from benchmarks.analysis.intervals import WELCH_RUNS
from benchmarks.analysis.verdicts import Verdict
from benchmarks.comparison.comparison_row import NOT_COMPARED_YET, ComparisonRow, State
from benchmarks.comparison.row_queries import comparison_rows
from benchmarks.comparison.study_verdicts import primary_cases_of_rows, study_verdicts
from benchmarks.comparison.system_comparability import ON_OTHER_MACHINES
from benchmarks.models import Cell, Study, System
from benchmarks.sentences import Sentence, pluralized
from benchmarks.studies.overview import measured_systems

MAX_REASONS = 5


@dataclass(frozen=True)
class VerdictProgress:
    """The number of benchmarks of a system that have a verdict, and the needs of the
    others.

    ``requirements`` are sentences with numbers of benchmarks. ``further_count``
    benchmarks need something else.
    """

    system: System
    benchmark_count: int
    decided_count: int
    requirements: tuple[tuple[str, int], ...]
    further_count: int = 0


def verdict_progress(
    study: Study, system_ids: Collection[int]
) -> list[VerdictProgress]:
    """Return the progress of a study's guests, counting only primary cases."""
    systems = {system.pk: system for system in measured_systems(study)}
    guest_ids = [pk for pk in system_ids if pk in systems and not systems[pk].is_native]
    if not guest_ids:
        return []
    rows = comparison_rows(
        study,
        systems=[systems[pk] for pk in guest_ids],
        filters={"system__in": guest_ids},
        verdicts=study_verdicts(study),
    )
    native = _native_runs(study, systems)
    primary = primary_cases_of_rows(rows)
    progress = []
    for pk in guest_ids:
        system_rows = [
            row for row in rows if row.system.id == pk and row.case.id in primary
        ]
        needs = [
            need for row in system_rows if (need := next(_needs(row, native), None))
        ]
        needed = Counter(needs).most_common()
        progress.append(
            VerdictProgress(
                system=systems[pk],
                benchmark_count=len(system_rows),
                decided_count=len(system_rows) - len(needs),
                requirements=tuple(needed[:MAX_REASONS]),
                further_count=sum(n for _need, n in needed[MAX_REASONS:]),
            )
        )
    return progress


def _native_runs(study: Study, systems: Mapping[int, System]) -> Mapping[int, int]:
    native_ids = [pk for pk, system in systems.items() if system.is_native]
    cells = Cell.objects.filter(study=study, system__in=native_ids, n__gt=0)
    counts: dict[int, int] = {}
    for case, n in cells.values_list("case", "n"):
        counts[case] = max(n, counts.get(case, 0))
    return counts


def _needs(row: ComparisonRow, native: Mapping[int, int]) -> Iterator[str]:
    result = row.result
    assessment = result.assessment
    if result.state == NOT_COMPARED_YET:
        yield Sentence("not compared yet")
    native_runs = result.baseline_n or native.get(row.case.id, 0)
    if not native_runs:
        yield Sentence("no native run of this test")
    if result.state in ON_OTHER_MACHINES and assessment:
        yield from assessment.sentences[:1]
    yield from _missing_runs(result.n, native_runs)
    if result.state == State.MISSING and result.reason:
        yield result.reason
    if assessment is None:
        return
    if not assessment.is_assessed:
        yield from assessment.general_reasons[:1]
    elif assessment.verdict == Verdict.UNDETERMINED.slug:
        yield assessment.advice or Sentence(
            "The confidence interval crosses the equivalence margin."
        )


def _missing_runs(runs: int, native_runs: int) -> Iterator[str]:
    missing_runs, missing_native_runs = WELCH_RUNS - runs, WELCH_RUNS - native_runs
    if missing_runs > 0 and missing_native_runs > 0:
        yield Sentence(
            "{n} more runs and {m} more native runs",
            n=missing_runs,
            m=missing_native_runs,
        )
    elif missing_runs > 0:
        yield pluralized("{n} more run", "{n} more runs", n=missing_runs)
    elif missing_native_runs > 0:
        yield pluralized(
            "{n} more native run", "{n} more native runs", n=missing_native_runs
        )
