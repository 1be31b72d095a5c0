"""Cases that differ between systems which are to be compared."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from statistics import median
from typing import Final

from benchmarks.plausibility.facts import CellFact, Column, RunFact, StudyFacts
from benchmarks.plausibility.findings import Id, Subject
from benchmarks.plausibility.registry import Doubt, about_cells, rule
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

Cells = Mapping[Id, CellFact]
Change = tuple[tuple[str, str, str], ...]


@rule("parameters-differ", "One system was tested with other parameters", "implausible")
def parameters_differ(study: StudyFacts) -> Iterator[Doubt]:
    """A system lacks a case that others have and has, alone, one of the same tool and
    metric that differs from it in one or two parameters. Which machine, path or device
    it was does not count, nor do cases that several systems have in the same variant.
    All cases of a system that differ in the same way are one flag.

    Why: they stand in two rows of the comparison, or are compared by hand although they
    measure two things. The UOC study ran b_eff_io with T=600, MT=4096 on disks and with
    T=200, MT=2048 on flash memory.

    What to do: repeat the runs with one set of parameters; if the parameter is the
    subject of the study, name it as varied.
    """
    tests: dict[object, dict[Column, dict[Id, CellFact]]] = defaultdict(dict)
    for cell in study.cells:
        test = (cell.tool, *cell.column[2:])
        tests[test].setdefault(cell.column, {})[cell.case] = cell
    spread = _systems_of_cases(study)
    for columns in tests.values():
        for column, cells in columns.items():
            alone = [cell for case, cell in cells.items() if spread[case] == 1]
            if alone:
                others = [each for name, each in columns.items() if name != column]
                yield from _changed(alone, cells, others, study)


def _systems_of_cases(study: StudyFacts) -> Mapping[Id, int]:
    systems: dict[Id, set[Id]] = defaultdict(set)
    for cell in study.cells:
        systems[cell.case].add(cell.system)
    return {case: len(each) for case, each in systems.items()}


def _changed(
    alone: Sequence[CellFact], own: Cells, others: Sequence[Cells], study: StudyFacts
) -> Iterator[Doubt]:
    missing = {
        case: cell for each in others for case, cell in each.items() if case not in own
    }
    found: dict[tuple[str, ...], list[tuple[CellFact, CellFact, Change]]] = {}
    for cell in alone:
        if counterpart := _nearest(cell, missing.values(), study):
            change = _change(cell, counterpart)
            keys = tuple(key for key, _, _ in change)
            found.setdefault(keys, []).append((cell, counterpart, change))
    for members in found.values():
        cell, other, change = members[0]
        said = [
            Sentence("{key} {here} instead of {there}", key=key, here=here, there=there)
            for key, here, there in change
        ]
        yield about_cells(
            counted(
                "{name} was measured with {said} of {other}.",
                "{name} ({n} cases) was measured with {said} of {other}.",
                name=cell.name,
                said=joined(said, ", "),
                other=other.system_label,
                n=len(members),
            ),
            [each for each, _, _ in members],
            parameters=[list(map(list, each)) for _, _, each in members],
            other_cells=[str(each.id) for _, each, _ in members],
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
    case, and on each of them three of four runs lasted the same to 2 %: it is a test
    of a fixed length, not one that a slow system takes longer for.

    Why: short runs contain more of the start, and scatter more. The Heidelberg study
    ran netperf for 100 s before and for 20 s after its tuning.

    What to do: say the length beside the result, or repeat the shorter one.
    """
    tools: dict[str, dict[Id, list[RunFact]]] = defaultdict(lambda: defaultdict(list))
    for run in study.runs:
        if run.elapsed_s:
            tools[run.tool][run.system].append(run)
    for tool, systems in tools.items():
        lengths_s = {
            s: found for s, runs in systems.items() if (found := _fixed_s(runs))
        }
        if lengths_s and max(lengths_s.values()) > 1.5 * min(lengths_s.values()):
            told = sorted(lengths_s.items(), key=lambda each: each[1])
            labels = {s: systems[s][0].system_label or str(s) for s, _ in told}
            yield Doubt(
                Sentence(
                    "{tool} ran for {short:g} s on {one} and for {long:g} s on "
                    "{other}.",
                    tool=tool,
                    short=told[0][1],
                    one=labels[told[0][0]],
                    long=told[-1][1],
                    other=labels[told[-1][0]],
                ),
                tuple(Subject("system", str(system)) for system, _ in told),
                {"lengths_s": {labels[system]: length for system, length in told}},
                tuple(length for _, length in told),
            )


def _fixed_s(runs: Sequence[RunFact]) -> float | None:
    times = [run.elapsed_s or 0 for run in runs]
    middle = median(times)
    alike = sum(abs(each / middle - 1) <= 0.02 for each in times)
    return middle if len(times) >= 3 and 3 * alike >= 2 * len(times) else None


@rule("iterations-as-runs", "Iterations that may pass for runs", "check")
def iterations_as_runs(study: StudyFacts) -> Iterator[Doubt]:
    """A cell has exactly as many runs as its case has iterations (parameters
    ``iterations``, ``repetitions``, ``runs``, ``loops`` or ``passes``), at least two.

    Why: a run is a fresh start of the tool. Iterations of one start share its cache,
    its placement in memory and its luck: as runs they make an interval too narrow
    (method, section 1). The Heidelberg study gives five repetitions of an mpi-io-test
    with five iterations.

    What to do: upload the iterations as repetitions of one run, or confirm that the
    tool was started anew each time.
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
