"""What single runs state: warnings of parsers, hypervisors, clients and co-runs."""

import re
from collections import defaultdict
from collections.abc import Iterator
from typing import Final

from benchmarks.analysis.coruns import MIN_OVERLAP
from benchmarks.analysis.energy import METERS
from benchmarks.platforms import BENEATH, shows_hypervisor_beneath
from benchmarks.plausibility.facts import Id, RunFact, StudyFacts, grouped
from benchmarks.plausibility.findings import Doubt, Subject, rule, subjects
from benchmarks.sentences import Sentence, counted

# Marks that say where numbers come from or that some are missing. What stands is not
# doubted by them: a run's clock is judged by its own stamps, and missing is missing.
SAID_ONLY: Final = frozenset({"time_server", "not_measured", "unknown_test"})


@rule("tool-mark", "A warning from the tool's parser", "implausible", family="marks")
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


@rule(
    "native-above-hypervisor",
    "A native Windows above a hypervisor",
    "check",
    family="beneath",
)
def native_above_hypervisor(study: StudyFacts) -> Iterator[Doubt]:
    """Runs of a system that is called native state that Windows ran above its own
    hypervisor, for virtualization-based security (VBS) or the Hyper-V role. All such
    runs of one system are one flag.

    Why: what the hypervisor costs is then in the baseline, so that guests look better
    than they are, above all in system calls, page faults and input and output.

    What to do: turn VBS off (and the role, or `bcdedit /set hypervisorlaunchtype off`),
    boot, and measure the baseline again; or dismiss the flag where a Windows as it is
    delivered is what guests are to be compared with.
    """
    beneath: dict[Id, list[RunFact]] = defaultdict(list)
    for run in study.runs:
        if run.is_native and shows_hypervisor_beneath(run.facts):
            beneath[run.system].append(run)
    for system, runs in beneath.items():
        yield Doubt(
            counted(
                "{where} is called native, and Windows ran above its hypervisor (VBS: "
                "{state}).",
                "{where} is called native, and Windows ran above its hypervisor (VBS: "
                "{state}) in {n} runs.",
                where=runs[0].where,
                state=str(runs[0].facts[BENEATH]),
                n=len(runs),
            ),
            subjects("run", (run.id for run in runs)),
            {"system": str(system), "runs": len(runs)},
            (str(system),),
        )


BUSY: Final = 0.9
THINKING: Final = 0.95
# Bounded: parameters hold any text, and too many digits are inf.
_SESSIONS: Final = re.compile(r"(\d{1,9}),(\d{1,9}),(\d{1,9}(?:\.\d{1,9})?)", re.ASCII)


@rule(
    "client-busy-loop",
    "A client that only waits, at full load",
    "check",
    family="clients",
)
def client_busy_loop(study: StudyFacts) -> Iterator[Doubt]:
    """httperf's client used its CPU for at least 90 % of the test, user and system time
    together. One flag for all such runs of a system.

    Why: httperf polls in a busy loop while it waits, so its CPU time is the length of
    the test and no measure of any cost. On a machine that also serves, it takes the
    CPU from what is measured.

    What to do: leave the client's CPU time out of comparisons; run the client on
    another machine.
    """
    busy: dict[object, list[tuple[RunFact, float]]] = defaultdict(list)
    used = ("client CPU user", "client CPU system", "test duration")
    for run in _of_httperf(study):
        for readings in grouped(run):
            if readings.has(*used):
                share = (readings[used[0]] + readings[used[1]]) / readings[used[2]]
                if share >= BUSY:
                    busy[run.system].append((run, share))
    for members in busy.values():
        run, share = members[0]
        yield Doubt(
            counted(
                "httperf used {share:.0%} of a CPU during {n} run on {system}: a busy "
                "loop, no measure.",
                "httperf used {share:.0%} of a CPU during {n} runs on {system}: a busy "
                "loop, no measure.",
                share=share,
                n=len(members),
                system=run.where,
            ),
            # Decisions of before rest on fingerprints in which a run may count twice.
            tuple(Subject("run", str(run.id)) for run, _ in members),
            {"shares": [round(share, 4) for _, share in members]},
            tuple(round(share, 6) for _, share in members),
        )


@rule(
    "client-think-time",
    "A test that only measures its own pauses",
    "check",
    family="clients",
)
def client_think_time(study: StudyFacts) -> Iterator[Doubt]:
    """The pauses that httperf was told to make (``wsess=sessions,calls,think time``,
    sessions one after the other) are at least 95 % of the duration of the test. One
    flag for all such runs of a system.

    Why: the duration is then a constant of the command line. In the UOC study 4
    sessions of 15 calls with pauses of 10 s take 560 s by themselves; the runs took
    560.02 to 560.08 s, on every storage alike.

    What to do: compare reply times instead, or load the server without pauses.
    """
    thinking: dict[object, list[tuple[RunFact, float, float]]] = defaultdict(list)
    for run in _of_httperf(study):
        for readings in grouped(run):
            wsess = _SESSIONS.fullmatch(readings.parameters.get("wsess", ""))
            if wsess and readings.has("test duration"):
                sessions, calls, think_s = map(float, wsess.groups())
                pauses_s = sessions * (calls - 1) * think_s
                took_s = readings["test duration"]
                # More pauses than time: the sessions did not come one after the other.
                if pauses_s and THINKING * took_s <= pauses_s <= took_s:
                    thinking[run.system].append((run, pauses_s, took_s))
    for members in thinking.values():
        run, pauses_s, _ = members[0]
        yield Doubt(
            counted(
                "{n} run of httperf on {system} took {took:g} s, of which {pauses:g} s "
                "are pauses that it was told to make.",
                "{n} runs of httperf on {system} took {took:g} s, of which {pauses:g} "
                "s are pauses that it was told to make.",
                n=len(members),
                system=run.where,
                took=max(took_s for *_, took_s in members),
                pauses=pauses_s,
            ),
            tuple(Subject("run", str(run.id)) for run, *_ in members),
            {"pauses_s": pauses_s, "took_s": [took_s for *_, took_s in members]},
            tuple(took_s for *_, took_s in members),
        )


def _of_httperf(study: StudyFacts) -> Iterator[RunFact]:
    return (run for run in study.runs if run.tool == "httperf")


@rule(
    "corun-overlap", "Slots that did not run together", "implausible", family="coruns"
)
def corun_overlap(study: StudyFacts) -> Iterator[Doubt]:
    """The time that all slots of a co-run share is less than 90 % of its longest run
    (method, section 5). Power meters and runs whose start or duration is not known are
    left out.

    Why: a slot that runs alone for the rest is faster then, and the sum of the slots is
    larger than the machine ever delivered.

    What to do: start the slots on a barrier, or evaluate the common window only.
    """
    groups: dict[str, list[RunFact]] = defaultdict(list)
    for run in study.runs:
        if run.corun and run.tool not in METERS and run.started_at and run.took_s:
            groups[run.corun].append(run)
    for name, runs in groups.items():
        if len(runs) < 2:  # the others may not have arrived yet
            continue
        began = [run.started_at for run in runs if run.started_at]
        took_s = [run.took_s or 0.0 for run in runs]
        starts = [start.timestamp() for start in began]
        ends = [start + length for start, length in zip(starts, took_s, strict=True)]
        share = max(0.0, min(ends) - max(starts)) / max(took_s)
        if share >= MIN_OVERLAP:
            continue
        windows = [
            (run.slot, start.isoformat(), length)
            for run, start, length in zip(runs, began, took_s, strict=True)
        ]
        yield Doubt(
            Sentence(
                'The {n} runs of "{name}" share {share:.0%} of the longest '
                "one's time; {needed:.0%} are needed.",
                n=len(runs),
                name=name,
                share=share,
                needed=MIN_OVERLAP,
            ),
            subjects("run", (run.id for run in runs)),
            {
                "overlap": round(share, 4),
                "runs": [
                    {"slot": slot, "started_at": start, "duration_s": length}
                    for slot, start, length in windows
                ],
            },
            tuple(value for _, start, length in windows for value in (start, length)),
        )
