"""Rules about parameters and durations that differ between compared systems."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from statistics import median
from typing import Final

from benchmarks.plausibility.findings import Finding, Subject, cell_finding, rule
from benchmarks.plausibility.study_facts import (
    CellFact,
    ColumnKey,
    Id,
    RunFact,
    StudyFacts,
)
from benchmarks.sentences import Sentence, join_sentences, pluralized

LOCATION_PARAMETERS: Final = frozenset(
    {
        *("from", "to", "from_host", "to_host", "client", "server", "peer", "host"),
        *("link", "target", "path", "file", "device", "interface", "workload"),
    }
)
MAX_CHANGED_PARAMETERS: Final = 2
"""Cases that differ in more parameters are different tests."""
ITERATION_PARAMETERS: Final = ("iterations", "repetitions", "runs", "loops", "passes")

ParameterChange = tuple[tuple[str, str, str], ...]


@rule("parameters-differ", "One system tested with different parameters", "implausible")
def parameters_differ(study: StudyFacts) -> Iterator[Finding]:
    """Flags a system that lacks a benchmark of the other systems and has a similar one
    instead: of the same tool and metric, with one or two different parameters, and
    measured on no other system. Parameters that name a machine, path or device, and
    parameters that the study varies on purpose, may differ.

    Why: the two benchmarks become separate rows of the comparison, or people compare
    them although they measure different things.

    Remedy: repeat the runs with one set of parameters. If the study varies the
    parameter on purpose, declare it as a factor.
    """
    tests: dict[object, dict[ColumnKey, dict[Id, CellFact]]] = defaultdict(dict)
    for cell in study.cells:
        test = (cell.tool, *cell.circumstances)
        tests[test].setdefault(cell.column_key, {})[cell.case] = cell
    # Variants measured on several systems are intended.
    systems: dict[Id, set[Id]] = defaultdict(set)
    for cell in study.cells:
        systems[cell.case].add(cell.system)
    for columns in tests.values():
        for column, cells in columns.items():
            unique = [cell for case, cell in cells.items() if len(systems[case]) == 1]
            missing = {
                case: cell
                for other_column, other_cells in columns.items()
                for case, cell in other_cells.items()
                if unique and other_column != column and case not in cells
            }
            yield from _changed(unique, list(missing.values()), study)


def _changed(
    unique: Sequence[CellFact], missing: Sequence[CellFact], study: StudyFacts
) -> Iterator[Finding]:
    """Yield findings about cases of one system that are similar to cases it lacks.

    Only this system has the cases of ``unique``; it lacks the cases of ``missing``.
    """
    changed: dict[object, list[tuple[CellFact, CellFact, ParameterChange]]] = (
        defaultdict(list)
    )
    for cell in unique:
        if counterpart := _nearest(cell, missing, study):
            change = _parameter_change(cell, counterpart)
            changed[tuple(key for key, _, _ in change)].append(
                (cell, counterpart, change)
            )
    for members in changed.values():
        cell, counterpart, change = members[0]
        changes = [
            Sentence(
                "{key}: {here} instead of {there}",
                key=key,
                here=value,
                there=other_value,
            )
            for key, value, other_value in change
        ]
        yield cell_finding(
            pluralized(
                "{name} was measured with other parameters than on {other} "
                "({changes}).",
                "{n} benchmarks were measured with other parameters than on {other}, "
                "for example {name} ({changes}).",
                name=cell.description,
                changes=join_sentences(changes, ", "),
                other=counterpart.system_label,
                n=len(members),
            ),
            [cell for cell, _, _ in members],
            parameters=[list(map(list, change)) for _, _, change in members],
            other_cells=[str(counterpart.id) for _, counterpart, _ in members],
        )


def _nearest(
    cell: CellFact, candidates: Iterable[CellFact], study: StudyFacts
) -> CellFact | None:
    best: CellFact | None = None
    fewest = MAX_CHANGED_PARAMETERS + 1
    for candidate in candidates:
        change = _parameter_change(cell, candidate)
        keys = {key for key, _, _ in change}
        if candidate.metric != cell.metric or not change:
            continue
        if len(change) < fewest and not keys & (
            LOCATION_PARAMETERS | set(study.varied)
        ):
            best, fewest = candidate, len(change)
    return best


def _parameter_change(cell: CellFact, counterpart: CellFact) -> ParameterChange:
    keys = sorted({*cell.parameters, *counterpart.parameters})
    pairs = (
        (k, cell.parameters.get(k, "-"), counterpart.parameters.get(k, "-"))
        for k in keys
    )
    return tuple(
        (key, value, other_value)
        for key, value, other_value in pairs
        if value != other_value
    )


@rule("length-differs", "Different test durations on compared systems", "check")
def length_differs(study: StudyFacts) -> Iterator[Finding]:
    """Flags a tool whose runs took, in the median, more than 1.5 times as long on one
    system as on another system of the study. On each of the two systems, at least three
    runs are needed, and two of three must be within 2% of the median. This shows that
    the duration of the test is fixed, and not longer because the system is slow.

    Why: in short runs the start has more weight, and they vary more.

    Remedy: report the duration with the result, or repeat the shorter runs.
    """
    tools: dict[str, dict[Id, list[RunFact]]] = defaultdict(lambda: defaultdict(list))
    for run in study.runs:
        if run.elapsed_s:
            tools[run.tool][run.system].append(run)
    for tool, systems in tools.items():
        lengths_s: dict[Id, float] = {}
        for system, runs in systems.items():
            times = [run.elapsed_s or 0 for run in runs]
            middle = median(times)
            similar = sum(abs(time_s / middle - 1) <= 0.02 for time_s in times)
            # Without a fixed length, slow systems take longer.
            if len(times) >= 3 and 3 * similar >= 2 * len(times):
                lengths_s[system] = middle
        if not lengths_s or max(lengths_s.values()) <= 1.5 * min(lengths_s.values()):
            continue
        ordered = sorted(lengths_s.items(), key=lambda pair: pair[1])
        labels = {s: systems[s][0].system_label or str(s) for s, _ in ordered}
        (shortest, short), (longest, long) = ordered[0], ordered[-1]
        yield Finding(
            Sentence(
                "The median duration of {tool} is {short:g} s on {one} and {long:g} s "
                "on {other}.",
                tool=tool,
                short=short,
                one=labels[shortest],
                long=long,
                other=labels[longest],
            ),
            tuple(Subject("system", str(system)) for system, _ in ordered),
            {"lengths_s": {labels[system]: length for system, length in ordered}},
            tuple(length for _, length in ordered),
        )


@rule("iterations-as-runs", "Iterations possibly counted as runs", "check")
def iterations_as_runs(study: StudyFacts) -> Iterator[Finding]:
    """Flags a result that has exactly as many runs as its benchmark has iterations
    (parameters ``iterations``, ``repetitions``, ``runs``, ``loops`` or ``passes``), if
    there are at least two.

    Why: a run is a fresh start of the tool. Iterations of one start share its cache,
    its placement in memory and its chance effects. If they are counted as runs, the
    confidence interval is too narrow (method, "From samples to a result").

    Remedy: upload the iterations as repetitions of one run, or confirm that the tool
    was restarted each time.
    """
    members: dict[object, list[CellFact]] = defaultdict(list)
    for cell in study.cells:
        counts = {cell.parameters.get(key) for key in ITERATION_PARAMETERS}
        if cell.n >= 2 and str(cell.n) in counts:
            members[cell.sibling_key].append(cell)
    for cells in members.values():
        yield cell_finding(
            pluralized(
                "{n} result of {tool} has {runs} runs, as many as the test has "
                "iterations. Are they separate runs, or iterations of one run?",
                "{n} results of {tool} have as many runs as the test has iterations "
                "(the first result: {runs}). Are they separate runs, or iterations "
                "of one run?",
                n=len(cells),
                tool=cells[0].tool,
                runs=cells[0].n,
            ),
            cells,
            runs=cells[0].n,
        )
