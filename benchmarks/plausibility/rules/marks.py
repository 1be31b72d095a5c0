"""What the tools' own parsers doubted."""

from collections import defaultdict
from collections.abc import Iterator
from typing import Final

from benchmarks.plausibility.facts import Id, RunFact, StudyFacts
from benchmarks.plausibility.findings import Doubt, rule, subjects
from benchmarks.sentences import counted

# Marks that say where numbers come from or that some are missing. What stands is not
# doubted by them: a run's clock is judged by its own stamps, and missing is missing.
SAID_ONLY: Final = frozenset({"time_server", "not_measured", "unknown_test"})


@rule("tool-mark", "A warning from the tool's parser", "implausible")
def tool_mark(study: StudyFacts) -> Iterator[Doubt]:
    """The parser that read a run's raw output marked it: an output cut short, errors
    that the tool reported, a confidence that it did not reach, readings left out.
    Equal marks of one tool on one system are one flag that names all its runs. A mark
    that says only which clock told the times, or what the tool could not measure, is a
    notice: it withholds nothing.

    Why: such a run may be slower, shorter or emptier than it looks in a table.

    What to do: open the run's raw output at the place that the sentence names; repeat
    the run, or dismiss the flag with the reason why its numbers hold.
    """
    marked: dict[tuple[Id, str, str, str], list[RunFact]] = defaultdict(list)
    for run in study.runs:
        for code, sentence in run.marks:
            marked[run.system, run.tool, code, sentence].append(run)
    for (_, _, code, sentence), runs in marked.items():
        yield Doubt(
            counted(
                "{name}: {mark}",
                "{name} ({n} runs): {mark}",
                name=runs[0].name,
                mark=sentence,
                n=len(runs),
            ),
            subjects("run", (run.id for run in runs)),
            {"code": code, "mark": sentence, "runs": len(runs)},
            (code, sentence),
            "check" if code in SAID_ONLY else None,
        )
