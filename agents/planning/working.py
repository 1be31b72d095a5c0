"""One part of a step: a program, run with the care that `run` takes, and its upload."""

import os
import time
from typing import Any, Callable, Dict, List, NamedTuple, Optional

from agents.errors import UsageError
from agents.measuring.bracket import Measured, TimePath, measure, stamp_or_silence
from agents.measuring.execution import execute
from agents.measuring.rounds import Job, Round, document_of, failure_of
from agents.measuring.runners import Step, Wishes, steps_of
from agents.planning.barrier import Gate, MissedError, Window, window_of
from agents.planning.keeping import Held
from agents.quiet import Quiet

Part = Dict[str, Any]
Report = Callable[[str], None]
_RUN = ("scenario", "vms", "slot", "load", "corun", "session")


class Slot(NamedTuple):
    """What all parts of one slot have in common."""

    study: str
    system: Any
    facts: Dict[str, Any]
    path: TimePath
    clock: str
    time_server: str


def work(part: Part, slot: Slot, server: Any, report: Report) -> Held:
    """Do a part and return its end. Raises ReleasedError where nobody is to start."""
    try:
        step = step_of(part, slot.time_server)
    except UsageError as error:
        return _ended(part, "hopeless", reason=str(error))
    gate = Gate(server, part, step.limit_s, report)
    try:
        with Quiet():
            if part["role"] == "load":
                return _load(part, step, slot, gate)
            measured = measure(step, slot.path, pass_gate=gate)
    except MissedError as error:
        return _ended(part, "missed", reason=str(error))
    for warning in measured.warnings:
        report("%s %s: %s" % (step.tool, step.name, warning))
    if measured.execution.problem:
        return _ended(part, "failed", reason=failure_of(step, measured)[:2000])
    window = _window(measured)
    documents = []
    if not part["is_warm_up"]:
        documents.append(_document(part, step, slot, measured, window))
    keys = [document["key"] for document in documents]
    return _ended(part, "done", window, documents, keys=keys)


def step_of(part: Part, time_server: str) -> Step:
    """Return the program that a part names; raise UsageError if it cannot be run."""
    steps = steps_of(part["tool"], wishes_of(part["options"], time_server))
    found = [step for step in steps if step.name == part["program"]]
    if not found:
        raise UsageError(
            "This agent's runner of %s has no program %s: update the agent."
            % (part["tool"], part["program"])
        )
    return found[0]


def wishes_of(options: Dict[str, Any], time_server: str) -> Wishes:
    """Return a plan's options as runners take them; files are written where we are."""
    known = {name: each for name, each in options.items() if name in Wishes._fields}
    wishes = Wishes(folder=os.getcwd(), time_server=time_server)
    return wishes._replace(**known)


def _document(
    part: Part, step: Step, slot: Slot, measured: Measured, window: Optional[Window]
) -> Dict[str, Any]:
    given = {name: part[name] for name in _RUN}
    given["clock"] = slot.clock
    facts = dict(
        slot.facts,
        plan={name: part[name] for name in ("step", "attempt", "position", "role")},
    )
    if window:
        facts["elapsed_s"] = (window.ended_us - window.began_us) / 1e6
    job = Job([step], slot.path, slot.study, slot.system, facts, given)
    this = Round(part["repetition"], part["repetitions"], part["sequence"] - 1)
    document = document_of(this, step, 0, measured, job)
    if window:
        seconds, rest = divmod(window.began_wall_us, 1000000)
        text = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds))
        document["started_at"] = "%s.%06dZ" % (text, rest)
    return document


def _load(part: Part, step: Step, slot: Slot, gate: Gate) -> Held:
    """Run a program again and again until told to stop."""

    def is_enough() -> bool:
        return bool(gate.server.meet(part)["state"] != "start")

    first = measure(step, slot.path, pass_gate=gate, is_enough=is_enough)
    window, rounds, execution = _window(first), 1, first.execution
    while not is_enough():
        if execution.problem:
            return _ended(part, "failed", reason=failure_of(step, first)[:2000])
        execution = execute(step.argv, step.limit_s, is_enough=is_enough)
        rounds += 1
    last, _ = stamp_or_silence(slot.path)
    if window and last:
        window = window._replace(ended_us=last.server_monotonic_us)
    return _ended(part, "done", window, rounds=rounds)


def _window(measured: Measured) -> Optional[Window]:
    execution = measured.execution
    return window_of(measured.facts["clock"], execution.began_us, execution.local_us)


def _ended(
    part: Part,
    outcome: str,
    window: Optional[Window] = None,
    documents: Optional[List[Dict[str, Any]]] = None,
    **more: Any,
) -> Held:
    report = dict(more, attempt=part["attempt"], outcome=outcome)
    if window:
        report.update(
            began_us=window.began_us, ended_us=window.ended_us, bound_us=window.bound_us
        )
    return Held(part["id"], report, documents or [])
