"""What httperf's client did while it measured."""

import re
from collections import defaultdict
from collections.abc import Iterator
from typing import Final

from benchmarks.plausibility.facts import RunFact, StudyFacts, grouped
from benchmarks.plausibility.findings import Doubt, Subject, rule
from benchmarks.sentences import counted

BUSY: Final = 0.9
THINKING: Final = 0.95
# Bounded: parameters hold any text, and too many digits are inf.
_SESSIONS: Final = re.compile(r"(\d{1,9}),(\d{1,9}),(\d{1,9}(?:\.\d{1,9})?)", re.ASCII)


@rule("client-busy-loop", "A client that only waits, at full load", "check")
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


@rule("client-think-time", "A test that only measures its own pauses", "check")
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
