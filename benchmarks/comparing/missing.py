"""What a study still needs, system by system, before its tests have verdicts."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from benchmarks.analysis.intervals import WELCH_RUNS
from benchmarks.analysis.verdicts import Verdict
from benchmarks.comparing.row import NOT_YET, ComparisonRow, State
from benchmarks.comparing.rows import comparison_rows
from benchmarks.comparing.verdicts import primary_rows, study_verdicts
from benchmarks.models import Cell, Study, System
from benchmarks.sentences import Sentence, counted
from benchmarks.studies.lists import measured_systems

REASONS_TOLD = 5


@dataclass(frozen=True)
class Standing:
    """How many of a system's ``tests`` have a verdict, and what the others need."""

    system: System
    tests: int
    decided: int
    missing: tuple[tuple[str, int], ...]
    others: int = 0


def standings(study: Study, system_ids: Collection[int]) -> list[Standing]:
    """Return the standings of a study's guests, by its primary cases."""
    systems = {one.pk: one for one in measured_systems(study)}
    wanted = [pk for pk in system_ids if pk in systems and not systems[pk].is_native]
    if not wanted:
        return []
    rows = comparison_rows(
        study,
        systems=[systems[pk] for pk in wanted],
        filters={"system__in": wanted},
        verdicts=study_verdicts(study),
    )
    native = _native_runs(study, systems)
    primary = primary_rows(rows)
    told = []
    for pk in wanted:
        own = [row for row in rows if row.system.id == pk and row.case.id in primary]
        needs = [need for row in own if (need := next(_needs(row, native), None))]
        needed = Counter(needs).most_common()
        told.append(
            Standing(
                system=systems[pk],
                tests=len(own),
                decided=len(own) - len(needs),
                missing=tuple(needed[:REASONS_TOLD]),
                others=sum(n for _need, n in needed[REASONS_TOLD:]),
            )
        )
    return told


def _native_runs(study: Study, systems: Mapping[int, System]) -> Mapping[int, int]:
    own = [pk for pk, system in systems.items() if system.is_native]
    cells = Cell.objects.filter(study=study, system__in=own, n__gt=0)
    counts: dict[int, int] = {}
    for case, n in cells.values_list("case", "n"):
        counts[case] = max(n, counts.get(case, 0))
    return counts


def _needs(row: ComparisonRow, native: Mapping[int, int]) -> Iterator[str]:
    shown = row.shown
    judgement = shown.judgement
    if shown.state == NOT_YET:
        yield Sentence("not compared yet")
    there = shown.baseline_n or native.get(row.case.id, 0)
    if not there:
        yield Sentence("no native run of this test")
    own, other = WELCH_RUNS - shown.n, WELCH_RUNS - there
    if own > 0 and other > 0:
        yield Sentence("{n} more runs, and {m} more native ones", n=own, m=other)
    elif own > 0:
        yield counted("{n} more run", "{n} more runs", n=own)
    elif other > 0:
        yield counted("{n} more native run", "{n} more native runs", n=other)
    if shown.state == State.MISSING and shown.reason:
        yield shown.reason
    if judgement is None:
        return
    if not judgement.is_assessed:
        yield from judgement.sentences[:1]
    elif judgement.verdict == Verdict.UNDETERMINED.slug:
        yield judgement.advice or Sentence("The interval reaches over the margin.")
