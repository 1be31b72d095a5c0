"""Cases that differ between systems which are to be compared."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from statistics import median
from typing import Final

from benchmarks.plausibility.facts import CellFact, ColumnKey, Id, RunFact, StudyFacts
from benchmarks.plausibility.findings import Doubt, Subject, about_cells, rule
from benchmarks.sentences import Sentence, counted, joined

ENDS: Final = frozenset(
    {
        *("from", "to", "from_host", "to_host", "client", "server", "peer", "host"),
        *("link", "target", "path", "file", "device", "interface", "workload"),
    }
)
"""Which machine or place it was: that differs on purpose."""
MOST: Final = 2
"""Cases that differ in more parameters are other tests, not slips."""
ITERATIONS: Final = ("iterations", "repetitions", "runs", "loops", "passes")

Change = tuple[tuple[str, str, str], ...]


@rule("parameters-differ", "One system was tested with other parameters", "implausible")
def parameters_differ(study: StudyFacts) -> Iterator[Doubt]:
    """A system lacks a case that others have and has, alone, one of the same tool and
    metric that differs from it in one or two parameters. Which machine, path or device
    it was does not count, nor do cases that several systems have in the same variant.
    All cases of a system that differ in the same way are one flag.

    Why: they are two rows of the comparison, or are compared by hand although they
    measure two things. The UOC study ran b_eff_io with T=600, MT=4096 on disks and with
    T=200, MT=2048 on flash memory.

    What to do: repeat the runs with one set of parameters; if the parameter is the
    subject of the study, name it as varied.
    """
    tests: dict[object, dict[ColumnKey, dict[Id, CellFact]]] = defaultdict(dict)
    for cell in study.cells:
        test = (cell.tool, *cell.circumstances)
        tests[test].setdefault(cell.column, {})[cell.case] = cell
    # Whoever measured a variant on several systems chose it: only one alone may be a
    # slip.
    systems: dict[Id, set[Id]] = defaultdict(set)
    for cell in study.cells:
        systems[cell.case].add(cell.system)
    for columns in tests.values():
        for column, cells in columns.items():
            alone = [cell for case, cell in cells.items() if len(systems[case]) == 1]
            missing = {
                case: cell
                for name, others in columns.items()
                for case, cell in others.items()
                if alone and name != column and case not in cells
            }
            yield from _changed(alone, list(missing.values()), study)


def _changed(
    alone: Sequence[CellFact], missing: Sequence[CellFact], study: StudyFacts
) -> Iterator[Doubt]:
    """What a system has alone, beside what it lacks instead."""
    changed: dict[object, list[tuple[CellFact, CellFact, Change]]] = defaultdict(list)
    for cell in alone:
        if other := _nearest(cell, missing, study):
            change = _change(cell, other)
            changed[tuple(key for key, _, _ in change)].append((cell, other, change))
    for members in changed.values():
        cell, other, change = members[0]
        changes = [
            Sentence("{key} {here} instead of {there}", key=key, here=here, there=there)
            for key, here, there in change
        ]
        yield about_cells(
            counted(
                "{name} was measured with {said} of {other}.",
                "{name} ({n} benchmarks) was measured with {said} of {other}.",
                name=cell.name,
                said=joined(changes, ", "),
                other=other.system_label,
                n=len(members),
            ),
            [cell for cell, _, _ in members],
            parameters=[list(map(list, change)) for _, _, change in members],
            other_cells=[str(other.id) for _, other, _ in members],
        )


def _nearest(
    cell: CellFact, candidates: Iterable[CellFact], study: StudyFacts
) -> CellFact | None:
    best: CellFact | None = None
    fewest = MOST + 1
    for other in candidates:
        change = _change(cell, other)
        keys = {key for key, _, _ in change}
        if other.metric != cell.metric or not change:
            continue
        if len(change) < fewest and not keys & (ENDS | set(study.varied)):
            best, fewest = other, len(change)
    return best


def _change(cell: CellFact, other: CellFact) -> Change:
    keys = sorted({*cell.parameters, *other.parameters})
    pairs = (
        (k, cell.parameters.get(k, "-"), other.parameters.get(k, "-")) for k in keys
    )
    return tuple((key, here, there) for key, here, there in pairs if here != there)


@rule("length-differs", "Compared systems were tested for other times", "check")
def length_differs(study: StudyFacts) -> Iterator[Doubt]:
    """The runs of one tool lasted, in the median, more than 1.5 times as long on one
    system as on another of the study, though its length is not a parameter of the
    case, and on each of them two of three runs, of at least three, lasted the same to
    2 %: it is a test of a fixed length, not one that a slow system takes longer for.

    Why: short runs contain more of the start, and scatter more. The Heidelberg study
    ran netperf for 100 s before and for 20 s after its tuning.

    What to do: say the length beside the result, or repeat the shorter one.
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
            alike = sum(abs(time_s / middle - 1) <= 0.02 for time_s in times)
            # What a slow system takes longer for has no fixed length. Two of three: the
            # Heidelberg study ran netperf three times before its tuning, and one hung.
            if len(times) >= 3 and 3 * alike >= 2 * len(times):
                lengths_s[system] = middle
        if not lengths_s or max(lengths_s.values()) <= 1.5 * min(lengths_s.values()):
            continue
        ordered = sorted(lengths_s.items(), key=lambda pair: pair[1])
        labels = {s: systems[s][0].system_label or str(s) for s, _ in ordered}
        (shortest, short), (longest, long) = ordered[0], ordered[-1]
        yield Doubt(
            Sentence(
                "{tool} ran for {short:g} s on {one} and for {long:g} s on {other}.",
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


@rule("iterations-as-runs", "Iterations that may have been counted as runs", "check")
def iterations_as_runs(study: StudyFacts) -> Iterator[Doubt]:
    """A cell has exactly as many runs as its case has iterations (parameters
    ``iterations``, ``repetitions``, ``runs``, ``loops`` or ``passes``), at least two.

    Why: a run is a fresh start of the tool. Iterations of one start share its cache,
    its placement in memory and its luck: as runs they make an interval too narrow
    (method, section 1). The Heidelberg study gives five repetitions of an mpi-io-test
    with five iterations.

    What to do: upload the iterations as repetitions of one run, or confirm that the
    tool was restarted each time.
    """
    members: dict[object, list[CellFact]] = defaultdict(list)
    for cell in study.cells:
        counts = {cell.parameters.get(key) for key in ITERATIONS}
        if cell.n >= 2 and str(cell.n) in counts:
            members[cell.kind].append(cell)
    for cells in members.values():
        yield about_cells(
            counted(
                "{n} cell of {tool} has {runs} runs, as many as the test has "
                "iterations: are they runs or iterations of one?",
                "{n} cells of {tool} have {runs} runs each, as many as the test has "
                "iterations: are they runs or iterations of one?",
                n=len(cells),
                tool=cells[0].tool,
                runs=cells[0].n,
            ),
            cells,
            runs=cells[0].n,
        )
