"""Rules about warnings that concern single runs or single co-runs."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Final

from benchmarks.analysis.corun_statistics import MIN_OVERLAP
from benchmarks.analysis.energy_ratio import EXTERNAL_METER_TOOLS
from benchmarks.hypervisor_names import VBS_FACT, reports_nested_virtualization
from benchmarks.plausibility.findings import Finding, Subject, rule, unique_subjects
from benchmarks.plausibility.study_facts import (
    Id,
    RunFact,
    StudyFacts,
    readings_by_parameters,
)
from benchmarks.sentences import Sentence, pluralized

MAX_LISTED_REASONS: Final = 20
INFORMATIONAL_WARNINGS: Final = frozenset(
    {"time_server", "not_measured", "unknown_test"}
)


@rule("tool-mark", "Parser warning", "implausible", family="marks")
def find_parse_warnings(study: StudyFacts) -> Iterator[Finding]:
    """Flags runs for which the parser of the raw output reported a warning, for example
    about truncated output, errors reported by the tool, a confidence level that was not
    reached, or excluded readings. The severity is only check if the warning concerns
    the clock that timed the run, readings that the tool could not measure, or a test
    whose name the tool did not print.

    Why: such a run may be slower, shorter or less complete than it looks in a table.

    Remedy: read the warning and look for its cause in the raw output. Repeat the run,
    or dismiss the flag and state why the numbers are correct.
    """
    warnings: dict[tuple[Id, str, str, str], list[RunFact]] = defaultdict(list)
    for run in study.runs:
        for code, sentence in run.parse_warnings:
            warnings[run.system, run.tool, code, sentence].append(run)
    repeats: Counter[object] = Counter()
    for (_, _, code, sentence), runs in warnings.items():
        subjects = unique_subjects("run", (run.id for run in runs))
        warning = (subjects, warning_values(code, sentence, 0))
        number = repeats[warning]
        repeats[warning] += 1
        yield Finding(
            pluralized(
                "{name}: {mark}",
                "{name} ({n} runs): {mark}",
                name=runs[0].description,
                mark=sentence,
                n=len(runs),
            ),
            subjects,
            {"code": code, "mark": sentence, "runs": len(runs)},
            warning_values(code, sentence, number),
            "check" if code in INFORMATIONAL_WARNINGS else None,
        )


@rule("failed-work", "Failed work", "check", family="marks")
def find_failed_work(study: StudyFacts) -> Iterator[Finding]:
    """Flags runs whose work failed: the uploader stated it, the tool reported it (for
    example a stressor that died, a residual check that failed, or an exit code other
    than 0), or more than 0.5% of the operations failed, such as requests that were not
    answered with a status of 2xx. Results do not count these runs, but show how many
    there are.

    Why: the numbers of such a run do not measure the work that the benchmark names. A
    server answers errors faster than pages, and a stressor that dies stops counting.

    Remedy: remove the cause and repeat the run. If the numbers are correct
    nevertheless, dismiss the flag: the runs then count. The decision remains valid when
    more runs are uploaded.
    """
    groups: dict[tuple[Id, str, str], list[RunFact]] = defaultdict(list)
    for run in study.failed_runs:
        groups[run.system, run.tool, run.failure_decision].append(run)
    for runs in groups.values():
        reasons = tuple(dict.fromkeys(run.failure for run in runs))
        yield Finding(
            pluralized(
                '{name}: the work of {n} run failed ("{reason}").',
                '{name}: the work of {n} runs failed (first reason: "{reason}").',
                name=runs[0].description,
                reason=reasons[0],
                n=len(runs),
            ),
            unique_subjects("run", (run.id for run in runs)),
            {"reasons": reasons[:MAX_LISTED_REASONS], "runs": len(runs)},
        )


def warning_values(code: str, text: str, number: int) -> tuple[str | int | float, ...]:
    """Return values that identify a warning even if it is reworded: code and
    parameters.

    ``number`` counts warnings of the same runs that only differ in their wording.
    """
    return (code, *_leaf_parameters(text), *([number] if number else []))


def _leaf_parameters(part: str | int | float) -> tuple[str | int | float, ...]:
    if not isinstance(part, Sentence):
        return (part,)
    return tuple(
        leaf for value in part.parameters.values() for leaf in _leaf_parameters(value)
    )


@rule(
    "native-above-hypervisor",
    "Native Windows running on a hypervisor",
    "check",
    family="beneath",
)
def find_nested_natives(study: StudyFacts) -> Iterator[Finding]:
    """Flags runs of a native system whose Windows itself ran on a hypervisor. Windows
    starts its own hypervisor for virtualization-based security (VBS) and for the
    Hyper-V role.

    Why: the baseline then includes the cost of a hypervisor, so guests look better than
    they are, mainly in system calls, page faults, and input and output.

    Remedy: turn off VBS (and the role, or run `bcdedit /set hypervisorlaunchtype off`),
    restart, and measure the baseline again. Dismiss the flag if you want to compare the
    guests with Windows in its default configuration.
    """
    nested: dict[Id, list[RunFact]] = defaultdict(list)
    for run in study.runs:
        if run.is_native and reports_nested_virtualization(run.facts):
            nested[run.system].append(run)
    for system, runs in nested.items():
        yield Finding(
            pluralized(
                "{where} is declared as native, but Windows ran on its own "
                "hypervisor (VBS: {state}).",
                "{where} is declared as native, but Windows ran on its own "
                "hypervisor (VBS: {state}) in {n} runs.",
                where=runs[0].system_phrase,
                state=str(runs[0].facts[VBS_FACT]),
                n=len(runs),
            ),
            unique_subjects("run", (run.id for run in runs)),
            {"system": str(system), "runs": len(runs)},
            (str(system),),
        )


MAX_CLIENT_CPU: Final = 0.9
MAX_THINK_TIME: Final = 0.95
# Bounded: parameters may hold any text.
_SESSIONS: Final = re.compile(r"(\d{1,9}),(\d{1,9}),(\d{1,9}(?:\.\d{1,9})?)", re.ASCII)


@rule(
    "client-busy-loop",
    "Client in a busy loop at full CPU load",
    "check",
    family="clients",
)
def client_busy_loop(study: StudyFacts) -> Iterator[Finding]:
    """Flags httperf runs whose client used a CPU for at least 90% of the duration of
    the test (user and system time together).

    Why: httperf waits for replies in a busy loop. Its CPU time is then about as long as
    the test and does not show what the requests cost. If client and server run on the
    same machine, the client also takes CPU time from the server.

    Remedy: exclude the client's CPU time from comparisons. Run the client on another
    machine.
    """
    busy: dict[object, list[tuple[RunFact, float]]] = defaultdict(list)
    used = ("client CPU user", "client CPU system", "test duration")
    for run in _httperf_runs(study):
        for readings in readings_by_parameters(run):
            if readings.has(*used):
                fraction = (readings[used[0]] + readings[used[1]]) / readings[used[2]]
                if fraction >= MAX_CLIENT_CPU:
                    busy[run.system].append((run, fraction))
    for members in busy.values():
        run, fraction = members[0]
        yield Finding(
            pluralized(
                "httperf used {share:.0%} of a CPU in {n} run on {system}. It waits "
                "for replies in a busy loop, so its CPU time does not show what the "
                "requests cost.",
                "httperf used {share:.0%} of a CPU in the first of {n} runs on "
                "{system}. It waits for replies in a busy loop, so its CPU time does "
                "not show what the requests cost.",
                share=fraction,
                n=len(members),
                system=run.system_phrase,
            ),
            # Not distinct: fingerprints of existing decisions may contain a run twice.
            tuple(Subject("run", str(run.id)) for run, _ in members),
            {"shares": [round(fraction, 4) for _, fraction in members]},
            tuple(round(fraction, 6) for _, fraction in members),
        )


@rule(
    "client-think-time",
    "Test that only measures its own pauses",
    "check",
    family="clients",
)
def client_think_time(study: StudyFacts) -> Iterator[Finding]:
    """Flags httperf runs that spend at least 95% of their duration in pauses that the
    command line requested. With ``wsess=sessions,calls,think time``, httperf pauses for
    the think time between the calls of a session. Runs whose sessions were not executed
    one after the other are not flagged: their pauses add up to more than the duration.

    Why: the command line then determines the duration, so it does not measure the
    system.

    Remedy: compare reply times instead, or load the server without pauses.
    """
    thinking: dict[object, list[tuple[RunFact, float, float]]] = defaultdict(list)
    for run in _httperf_runs(study):
        for readings in readings_by_parameters(run):
            wsess = _SESSIONS.fullmatch(readings.parameters.get("wsess", ""))
            if wsess and readings.has("test duration"):
                sessions, calls, think_s = map(float, wsess.groups())
                pauses_s = sessions * (calls - 1) * think_s
                took_s = readings["test duration"]
                if pauses_s and MAX_THINK_TIME * took_s <= pauses_s <= took_s:
                    thinking[run.system].append((run, pauses_s, took_s))
    for members in thinking.values():
        run, pauses_s, _ = members[0]
        longest_s = max(took_s for *_, took_s in members)
        yield Finding(
            pluralized(
                "{n} run of httperf on {system} took {took:g} s, of which "
                "{pauses:g} s were requested pauses.",
                "{n} runs of httperf on {system} took up to {took:g} s. The pauses "
                "requested for the first run take {pauses:g} s.",
                n=len(members),
                system=run.system_phrase,
                took=longest_s,
                pauses=pauses_s,
            ),
            tuple(Subject("run", str(run.id)) for run, *_ in members),
            {"pauses_s": pauses_s, "took_s": [took_s for *_, took_s in members]},
            tuple(took_s for *_, took_s in members),
        )


def _httperf_runs(study: StudyFacts) -> Iterator[RunFact]:
    return (run for run in study.runs if run.tool == "httperf")


@rule(
    "corun-overlap",
    "Runs of a co-run that did not overlap enough",
    "implausible",
    family="coruns",
)
def corun_overlap(study: StudyFacts) -> Iterator[Finding]:
    """Flags a co-run whose slots all ran at the same time for less than 90% of the
    duration of the longest run (method, "Co-runs"). Power meters and runs whose start
    or duration is not known are excluded.

    Why: a guest is faster while it runs alone. The sum over the slots is then larger
    than what the machine delivers to all of them at the same time.

    Remedy: start the slots at a barrier, or evaluate only the time in which all of them
    ran.
    """
    groups: dict[str, list[RunFact]] = defaultdict(list)
    for run in study.runs:
        if (
            run.corun
            and run.tool not in EXTERNAL_METER_TOOLS
            and run.started_at
            and run.effective_duration_s
        ):
            groups[run.corun].append(run)
    for name, runs in groups.items():
        if len(runs) < 2:  # further slots may not be uploaded yet
            continue
        started = [run.started_at for run in runs if run.started_at]
        took_s = [run.effective_duration_s or 0.0 for run in runs]
        starts = [start.timestamp() for start in started]
        ends = [start + length for start, length in zip(starts, took_s, strict=True)]
        overlap = max(0.0, min(ends) - max(starts)) / max(took_s)
        if overlap >= MIN_OVERLAP:
            continue
        windows = [
            (run.slot, start.isoformat(), length)
            for run, start, length in zip(runs, started, took_s, strict=True)
        ]
        yield Finding(
            Sentence(
                'The {n} runs of the co-run "{name}" ran at the same time for '
                "{share:.0%} of the duration of the longest run. At least "
                "{needed:.0%} is required.",
                n=len(runs),
                name=name,
                share=overlap,
                needed=MIN_OVERLAP,
            ),
            unique_subjects("run", (run.id for run in runs)),
            {
                "overlap": round(overlap, 4),
                "runs": [
                    {"slot": slot, "started_at": start, "duration_s": length}
                    for slot, start, length in windows
                ],
            },
            tuple(value for _, start, length in windows for value in (start, length)),
        )
