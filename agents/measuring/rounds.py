"""A round runs every step once; what a step printed is kept as one upload."""

import random
from typing import Any, Dict, List, NamedTuple, Optional

from agents.console import Console
from agents.detection.facts import printable_all
from agents.documents import decoded, upload
from agents.measuring.bracket import Measured, TimePath, measure
from agents.measuring.runners import Step, version_of
from agents.measuring.through import Through, seen_from_outside
from agents.spool import Spool


class Job(NamedTuple):
    """What all runs of one command have in common."""

    steps: List[Step]
    path: TimePath
    study: str
    system: Any
    facts: Dict[str, Any]
    given: Dict[str, Any]
    through: Optional[Through] = None


class Round(NamedTuple):
    """A repetition (0 and less warm up), of how many, and the steps run before it."""

    repetition: int
    repetitions: int
    steps_before: int

    @property
    def is_warm_up(self) -> bool:
        return self.repetition < 1


def run_rounds(
    job: Job,
    warm_up: int,
    repetitions: int,
    spool: Spool,
    console: Console,
    is_shuffled: bool = False,
) -> int:
    """Run everything in order, or each round in one of its own; return how many steps
    failed."""
    failed = 0
    for number in range(warm_up + repetitions):
        if is_shuffled:
            steps = random.sample(job.steps, len(job.steps))
            job = job._replace(steps=steps)
        this = Round(number - warm_up + 1, repetitions, number * len(job.steps))
        failed += run_round(this, job, spool, console)
    return failed


def run_round(this: Round, job: Job, spool: Spool, console: Console) -> int:
    """Run each step; keep its output unless it warms up; return how many failed."""
    failed = 0
    for place, step in enumerate(job.steps):
        which = "warm-up" if this.is_warm_up else "%d of %d" % this[:2]
        words = (which, place + 1, len(job.steps), step.tool, step.name)
        console.progress("%s, step %d of %d: %s %s" % words)
        measured = measure(step, job.path)
        if job.through:
            measured = seen_from_outside(measured, job.through)
        for warning in measured.warnings:
            console.say("%s %s: %s" % (step.tool, step.name, warning))
        if measured.execution.problem:
            failed += 1
            console.say(failure_of(step, measured))
        elif not this.is_warm_up:
            spool.save(document_of(this, step, place, measured, job))
    return failed


def document_of(
    this: Round, step: Step, place: int, measured: Measured, job: Job
) -> Dict[str, Any]:
    """Return the upload of one run, with its place in the order."""
    order = {
        "repetition": this.repetition,
        "repetitions": this.repetitions,
        "sequence": this.steps_before + place + 1,
        "step": step.name,
    }
    facts = dict(job.facts, order=order, **printable_all(measured.facts))
    given = dict(
        job.given,
        tool=step.tool,
        # The server takes 100 characters.
        tool_version=version_of(step.tool)[:100],
        started_at=measured.execution.started_at,
    )
    text = decoded(measured.execution.output)
    return upload(text, job.study, job.system, facts, given)


def failure_of(step: Step, measured: Measured) -> str:
    """Say why nothing of a run is sent, with the last lines it printed."""
    last = decoded(measured.execution.output).strip().splitlines()[-3:]
    problem = "%s %s %s" % (step.tool, step.name, measured.execution.problem)
    return "\n  ".join([problem + "; nothing of it is sent.", *last])
