"""Rule about versions and builds of a tool that differ between compared systems."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Final

from benchmarks.plausibility.findings import Finding, cell_finding, rule
from benchmarks.plausibility.study_facts import CellFact, Id, RunFact, StudyFacts
from benchmarks.sentences import Sentence, join_sentences

BUILD_FACTS: Final = frozenset(
    {"compiler", "compiler_version", "compiler_flags", "flags", "cflags", "build"}
    | {"program", "server", "library", "version", "mpi", "blas"}
)
TOOL_VERSION: Final = "tool_version"

Build = Mapping[str, frozenset[str]]


@rule("build-differs", "Another version or build of the tool", "check")
def build_differs(study: StudyFacts) -> Iterator[Finding]:
    """Flags results of a benchmark on one host whose runs state different versions of
    the tool, compilers, compiler flags, programs or libraries. Results that state
    nothing, and results of several builds that agree in one of them, are not flagged.

    Why: another build does another amount of work. `gcc -O1` instead of `-O3`, or
    another server program, changes a result more than most hypervisors do.

    Remedy: build the tool once, and run the same file on all systems. If the versions
    are the subject of the study, make them a parameter of the benchmark.
    """
    builds = _builds(study)
    cases: dict[object, list[CellFact]] = defaultdict(list)
    for cell in study.cells:
        if builds.get(cell.id):
            cases[(cell.host, cell.case, *cell.circumstances)].append(cell)
    groups: dict[tuple[str, str, str], list[CellFact]] = defaultdict(list)
    for cells in cases.values():
        for name in sorted({name for cell in cells for name in builds[cell.id]}):
            stating = [cell for cell in cells if name in builds[cell.id]]
            texts = {builds[cell.id][name] for cell in stating}
            if len(texts) > 1 and not frozenset.intersection(*texts):
                groups[cells[0].host, cells[0].tool, name] += stating
    for (host, tool, name), cells in groups.items():
        by_text = {", ".join(sorted(builds[cell.id][name])): cell for cell in cells}
        written = [
            Sentence("{text} on {system}", text=text, system=cell.system_phrase)
            for text, cell in sorted(by_text.items())[:3]
        ]
        yield cell_finding(
            Sentence(
                "Results of {tool} on host {host} are from different builds ({fact}): "
                "{builds}. They do not differ by the system alone.",
                tool=tool,
                host=host,
                fact=name.replace("_", " "),
                builds=join_sentences(written, "; "),
            ),
            cells,
            builds=sorted(by_text),
        )


def _builds(study: StudyFacts) -> Mapping[Id, Build]:
    """Return the stated facts of the builds of each cell's runs."""
    builds: dict[Id, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for run in study.runs:
        stated = _stated(run)
        for cell in {sample.cell for sample in run.samples} if stated else ():
            if cell is not None:
                for name, text in stated.items():
                    builds[cell][name].add(text)
    return {
        cell: {name: frozenset(texts) for name, texts in facts.items()}
        for cell, facts in builds.items()
    }


def _stated(run: RunFact) -> Mapping[str, str]:
    stated = {
        name: str(value).strip()
        for name, value in run.facts.items()
        if name.casefold() in BUILD_FACTS and not isinstance(value, bool)
    }
    if run.tool_version:
        stated[TOOL_VERSION] = run.tool_version
    return {name: text for name, text in stated.items() if text}
