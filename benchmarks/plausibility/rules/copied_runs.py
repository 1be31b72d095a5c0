"""Rule about runs that another study or host already has."""

from collections import defaultdict
from collections.abc import Iterator

from benchmarks.plausibility.findings import Finding, cell_finding, rule
from benchmarks.plausibility.study_facts import CellFact, OriginalCell, StudyFacts
from benchmarks.sentences import pluralized


@rule(
    "copied-runs",
    "Runs of another machine or lab",
    "implausible",
    uses_other_studies=True,
    family="duplicates",
)
def copied_runs(study: StudyFacts) -> Iterator[Finding]:
    """Flags results whose runs were uploaded earlier for another host or by another
    lab: they are equal up to rounding, order and a constant factor (another unit), or
    are three quarters of the other runs. The probability that independent runs agree so
    well is below 1 in 1,000,000,000 for a pair of results, or for the systems of two
    machines in one benchmark. It follows from the coarser display, the spread of the
    runs and their number, so few runs are never flagged. Only studies that all readers
    of this one can see are searched. If the earlier upload is of another lab, the
    severity is check.

    The evidence counts these runs once, for the machine of the earlier upload, whatever
    is decided about the flag.

    Why: two machines never produce the same runs. A copy would count as a second
    machine that confirms the first.

    Remedy: withdraw the copy, or correct the host.
    """
    groups: dict[object, list[tuple[CellFact, OriginalCell]]] = defaultdict(list)
    for cell in study.cells:
        original = study.originals.get(cell.id)
        if original and not (original.is_same_host and original.is_same_lab):
            groups[cell.system, original.study, original.system].append(
                (cell, original)
            )
    for pairs in groups.values():
        first, original = pairs[0]
        yield cell_finding(
            pluralized(
                "{n} result of {system} has the same runs as {other} in {study}, which "
                "were uploaded first ({cases}).",
                "{n} results of {system} have the same runs as {other} in {study}, "
                "which were uploaded first (such as {cases}).",
                n=len(pairs),
                system=first.system_phrase,
                other=original.system_label,
                study=original.study_label,
                cases=first.case_name,
            ),
            [cell for cell, _ in pairs],
            severity=None if original.is_same_lab else "check",
            quoted_studies=tuple({original.study} - {study.id}),
            other_study=str(original.study),
            other_system=str(original.system),
            other_host=original.host,
            runs=[found.shared for _, found in pairs],
            factors=[round(found.factor, 6) for _, found in pairs],
        )
