"""What happens to a plan by itself: barriers time out, budgets end, plans are done.

Done by every agent's question and, for plans nobody asks about, by the sweeper. Where
it fails the plan waits, and its agents are answered all the same (`unattended`).
"""

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import connection, transaction
from django.db.models import F, Max, Q
from django.utils import timezone

from benchmarks.analysis.gates import runs_for_mean, runs_for_width, width_sentence
from benchmarks.analysis.intervals import WELCH_RUNS
from benchmarks.analysis.planning import (
    LOAD,
    MEASURED,
    further_round,
    shared_part,
    spread_us,
)
from benchmarks.comparing.verdicts import rollups_of
from benchmarks.models import (
    Cell,
    Job,
    Plan,
    PlanPart,
    PlanSlot,
    PlanStep,
    Run,
)
from benchmarks.models.run import CELLS_OF_RUNS, cells_of
from benchmarks.plans.planning import add_steps, leave_undone, read_design
from benchmarks.sentences import Sentence, joined, stored
from benchmarks.unattended import queue
from benchmarks.unattended.queue import Jobs, Kind

# From the last arrival to the start: every agent asks several times in it.
LEAD_S = 3.0
# What a program may take beyond its own limit, for stamps and a slow connection.
GRACE_S = 60.0

# Load companions ask every second or so while they run.
SILENT_AFTER = timedelta(seconds=30)
# Who begins farther apart did not start together.
MOST_SPREAD_US = 100_000

Part, Step = PlanPart.Status, PlanStep.Status

PLANNED_CELLS = f"""
    {cells_of("run.study_id = %s AND run.lab_id = %s AND run.key = ANY(%s::uuid[])")}
    SELECT DISTINCT cell.id, said.key::text {CELLS_OF_RUNS}
"""


@dataclass(frozen=True)
class Width:
    """The widest interval of a treatment; ``wanted`` runs are needed, 0: impossible."""

    treatment: int
    case: str
    runs: int
    wanted: int
    sentence: Sentence

    @property
    def more(self) -> int:
        return max(0, self.wanted - self.runs)


def gather(plan: Plan, step: PlanStep, now: datetime) -> None:
    """Begin an attempt: every slot is to arrive until the deadline."""
    parts = list(step.parts.select_related("slot"))
    # A guest that was never here may still be booting.
    is_known = all(part.slot.joined_at for part in parts)
    patience_s = plan.barrier_s if is_known else max(plan.join_s, plan.barrier_s)
    step.status, step.attempt = Step.GATHERING, step.attempt + 1
    step.deadline = now + timedelta(seconds=patience_s)
    step.clock, step.starts_at_us, step.began_at = "", None, None
    # A step keeps its place in the order of beginnings, however often it is tried.
    if step.sequence is None:
        last = plan.steps.aggregate(last=Max("sequence"))["last"]
        step.sequence = (last or 0) + 1
    step.save()
    step.parts.update(
        status=Part.WAITING,
        attempt=step.attempt,
        clock="",
        arrived_at=None,
        began_us=None,
        ended_us=None,
        bound_us=None,
        rounds=None,
        keys=[],
    )
    if plan.started_at is None:
        plan.started_at = now
        plan.save(update_fields=["started_at"])


def start(step: PlanStep, now_us: int | None, now: datetime) -> None:
    """Start all slots at one time, and a single slot at once.

    ``now_us`` is the time server's clock now.
    """
    alone = step.vms == 1
    limits = step.parts.aggregate(longest=Max("limit_s"))
    allowed_s = (limits["longest"] or 0.0) + GRACE_S + (0 if alone else LEAD_S)
    step.status, step.began_at = Step.RUNNING, now
    step.deadline = now + timedelta(seconds=allowed_s)
    if not alone and now_us is not None:
        step.starts_at_us = now_us + round(LEAD_S * 1e6)
    step.save()
    step.parts.update(status=Part.STARTED, seen_at=now)


def expect_others(step: PlanStep, now: datetime) -> None:
    """Give the other slots as long again as the first slot took.

    A slower slot would share less than half of the time.
    """
    if step.began_at is None or step.deadline is None:
        return
    again = now + (now - step.began_at) + timedelta(seconds=GRACE_S)
    if again < step.deadline:
        step.deadline = again
        step.save(update_fields=["deadline"])


def settle(plan: Plan, step: PlanStep, now: datetime) -> None:
    """End a step when all its slots have ended, and store the spread of their starts.

    Slots that began too far apart are tried again, except for the last attempt.
    """
    parts = list(step.parts.all())
    if any(part.status != Part.DONE for part in parts):
        return
    measured = [part for part in parts if part.role == MEASURED]
    spread = spread_us([part.began_us for part in parts])
    if (spread or 0) > MOST_SPREAD_US and step.attempt < plan.most_attempts:
        reason = Sentence(
            "The slots began {apart:.0f} ms apart; {limit:.0f} ms are allowed.",
            apart=(spread or 0) / 1000,
            limit=MOST_SPREAD_US / 1000,
        )
        break_attempt(plan, step, reason, now)
        return
    step.status, step.ended_at, step.reason = Step.DONE, now, ""
    step.spread_us = spread
    step.overlap = shared_part([(part.began_us, part.ended_us) for part in measured])
    step.deadline = None
    step.save()


def capital(slot: PlanSlot) -> Sentence:
    """Name a slot where a sentence begins."""
    if slot.name:
        return Sentence("Slot {n} ({name})", n=slot.number, name=slot.name)
    return Sentence("Slot {n}", n=slot.number)


def break_attempt(
    plan: Plan, step: PlanStep, reason: str, now: datetime, *, hopeless: bool = False
) -> None:
    """End an attempt that came to nothing; the step waits again, or has failed."""
    is_last = hopeless or step.attempt >= plan.most_attempts
    step.status = Step.FAILED if is_last else Step.WAITING
    step.reason, step.deadline = reason, None
    step.ended_at = now if is_last else None
    step.save()
    # A failed part stays failed: pages name the slot that it was.
    step.parts.exclude(status=Part.FAILED).update(status=Part.WAITING)


def is_measured(step: PlanStep) -> bool:
    """Whether all that is measured has ended: the load beside it may stop."""
    measured = step.parts.filter(role=MEASURED)
    return not measured.exclude(status=Part.DONE).exists()


def longest_s(plan: Plan) -> dict[int, float]:
    """Return how long each treatment took at most until now, in seconds."""
    done = plan.steps.filter(status=Step.DONE).order_by()
    took = Max(F("ended_at") - F("began_at"))
    rows = done.values_list("treatment").annotate(took=took)
    return {number: took.total_seconds() for number, took in rows if took}


def _add_rounds(plan: Plan, now: datetime) -> bool:
    """Add the rounds that the widths need; return whether the plan goes on.

    It goes on while results are missing.
    """
    if plan.width_percent is None or (plan.ends_at and now >= plan.ends_at):
        return False
    # Warm-ups are run and not kept: no result of theirs is awaited.
    parts = PlanPart.objects.filter(
        step__plan=plan, step__status=Step.DONE, step__repetition__gt=0, role=MEASURED
    )
    measured = parts.values_list("keys", "step__treatment")
    treatments = {key: number for keys, number in measured for key in keys}
    # Part 1 alone: further results of one output repeat its key.
    arrived = Run.objects.filter(lab=plan.lab_id, key__in=set(treatments), part=1)
    # Judged on half of the results, a plan would add rounds that nobody needs.
    if arrived.exclude(status=Run.Status.RECEIVED).count() != len(treatments):
        return True
    done = Counter(
        plan.steps.filter(repetition__gt=0).values_list("treatment", flat=True)
    )
    more: dict[int, int] = {}
    plan.advice = []
    for number, width in _widths_of(plan, treatments).items():
        rounds = min(width.more, (plan.most_repetitions or 0) - done[number])
        if rounds > 0:
            more[number] = rounds
        sentence = width.sentence
        if width.more > more.get(number, 0):
            limit = Sentence(
                "The plan ends at {n} repetitions.", n=plan.most_repetitions or 0
            )
            sentence = joined([sentence, limit])
        step = plan.steps.filter(treatment=number).select_related("system")[0]
        plan.advice.append(
            {
                "system_id": step.system_id,
                "system": step.system.label,
                "tool": step.tool,
                "program": step.program,
                "scenario": step.scenario,
                "vms": step.vms,
                "case": width.case,
                "runs": width.runs,
                "wanted": width.wanted,
                "sentence": sentence,
                "words": stored(sentence),
            }
        )
    plan.save(update_fields=["advice"])
    design = read_design(plan.design, plan.seed)
    last = max(plan.steps.values_list("repetition", flat=True), default=0)
    # Round by round, so that a drift over hours meets all systems alike.
    for further in range(max(more.values(), default=0)):
        numbers = [number for number, rounds in more.items() if rounds > further]
        add_steps(plan, further_round(design, numbers, last + 1 + further))
    return bool(more)


def _widths_of(plan: Plan, keys: Mapping[str, int]) -> dict[int, Width]:
    """Return the widest interval of each treatment, in two queries.

    The interval is of the ratio to a baseline, else of the mean. ``keys`` are of
    uploads, with their treatments.
    """
    with connection.cursor() as cursor:
        cursor.execute(PLANNED_CELLS, [plan.study_id, plan.lab_id, list(keys)])
        treatments = {cell_id: keys[key] for cell_id, key in cursor.fetchall()}
    related = ("case", "system", "efficiency__baseline__case")
    directed = Cell.objects.filter(Q(pk__in=treatments), ~Q(case__better="neither"))
    pairs: list[tuple[Cell, Cell | None]] = []
    for cell in directed.select_related(*related):
        efficiency = getattr(cell, "efficiency", None)
        baseline = efficiency.baseline if efficiency else None
        pairs.append((cell, baseline))
    leaned_on = {baseline.pk for _, baseline in pairs if baseline}
    half_width = (plan.width_percent or 0.0) / 100
    widths: dict[int, list[Width]] = defaultdict(list)
    for cell, baseline in pairs:
        if baseline is None and cell.pk in leaned_on:
            continue
        wanted = _wanted_runs(cell, baseline, half_width)
        for side in (cell, baseline):
            if side is not None and side.pk in treatments:
                number, sides = treatments[side.pk], 2 if baseline else 1
                sentence = width_sentence(side.n, wanted, half_width, sides=sides)
                width = Width(number, side.case.label, side.n, wanted, sentence)
                widths[number].append(width)
    return {
        # One that no number of runs makes narrow enough needs the most.
        number: max(several, key=lambda w: w.more if w.wanted else 1_000_000)
        for number, several in sorted(widths.items())
    }


def _wanted_runs(cell: Cell, baseline: Cell | None, half_width: float) -> int:
    """Return how many runs are needed; a spread that is not known needs some first."""
    if cell.n < 2 or (baseline is not None and baseline.n < 2):
        return WELCH_RUNS
    if baseline is None:
        return int(runs_for_mean(rollups_of([cell]), half_width)[0])
    sides = rollups_of([cell]), rollups_of([baseline])
    return int(runs_for_width(*sides, half_width)[0])


def proceed_plans() -> int:
    """Bring every open plan up to date that nobody has in hand; return how many."""
    known = Job.objects.filter(kind=Kind.PLAN).values("subject_id")
    opened = Plan.objects.filter(status=Plan.Status.OPEN).order_by("pk")
    queue.put(_job_of(plan) for plan in opened.exclude(pk__in=known))
    due = queue.units(Kind.PLAN)
    return sum(queue.run(Kind.PLAN, unit.subject_id) for unit in due)


def _job_of(plan: Plan) -> Job:
    return Job(
        kind=Kind.PLAN, subject_id=plan.pk, study_id=plan.study_id, lab_id=plan.lab_id
    )


@queue.job(Kind.PLAN)
@transaction.atomic
def _proceed(jobs: Jobs) -> bool:
    """Bring one plan up to date unless somebody has it in hand."""
    # One transaction a plan: agents that ask wait for its lock.
    locked = Plan.objects.filter(status=Plan.Status.OPEN).select_for_update(
        skip_locked=True
    )
    plan = locked.filter(pk=jobs[0].subject_id).first()
    if plan is None:
        return False
    advance(plan, timezone.now())
    queue.finish(jobs)
    return True


def try_to_advance(plan: Plan, now: datetime) -> bool:
    """Do what is due before an agent is answered; the caller holds the plan's lock.

    Errors are stored with the plan and return False. A plan that failed before is left
    to the sweeper.
    """
    jobs = Job.objects.filter(kind=Kind.PLAN, subject_id=plan.pk)
    if jobs.filter(failures__gt=0).exists() and not queue.units(
        Kind.PLAN, subject_id=plan.pk
    ):
        return False
    try:
        with transaction.atomic():
            advance(plan, now)
    except Exception as error:
        if queue.is_nobodys_fault(error):
            raise
        queue.note_error(Kind.PLAN, list(jobs) or queue.put([_job_of(plan)]), error)
        # What was changed of it in memory was not stored.
        plan.refresh_from_db()
        return False
    return True


def advance(plan: Plan, now: datetime) -> None:
    """Do what is due; the caller holds the plan's lock."""
    # The budget first: a step that waits at its barrier ends with it, not as late.
    if plan.status == Plan.Status.OPEN and plan.ends_at and now >= plan.ends_at:
        leave_undone(
            plan,
            Sentence(
                "Skipped: the time budget of {budget:,} s is used up.",
                budget=plan.budget_s,
            ),
        )
    for step in plan.steps.filter(status__in=PlanStep.BUSY):
        if reason := _late_reason(plan, step, now):
            break_attempt(plan, step, reason, now)
    unfinished = plan.steps.filter(status__in=PlanStep.UNFINISHED)
    if plan.status != Plan.Status.OPEN or unfinished.exists():
        return
    # Nothing is left, unless the widths ask for more rounds.
    if not _add_rounds(plan, now):
        plan.status, plan.finished_at = Plan.Status.DONE, now
        plan.save(update_fields=["status", "finished_at"])


def _late_reason(plan: Plan, step: PlanStep, now: datetime) -> str:
    """Say who keeps a step from going on; nothing while it is in time."""
    parts = step.parts.select_related("slot").order_by("slot__number")
    loads = parts.filter(role=LOAD, status=Part.STARTED)
    if silent := loads.filter(seen_at__lt=now - SILENT_AFTER):
        return Sentence(
            "No sign of the load of {names} for {wait:.0f} s.",
            names=joined([str(part.slot) for part in silent], ", "),
            wait=SILENT_AFTER.total_seconds(),
        )
    if not step.deadline or now <= step.deadline:
        return ""
    if step.status != Step.GATHERING:
        slots = [part.slot for part in parts if part.status == Part.STARTED]
        return Sentence(
            "{slots} began and did not report an end in time.", slots=_listed(slots)
        )
    missing = [part.slot for part in parts if part.status != Part.ARRIVED]
    if never := [slot for slot in missing if not slot.joined_at]:
        return Sentence(
            "{slots} never joined, for {wait} s.",
            slots=_listed(never),
            wait=plan.join_s,
        )
    return Sentence(
        "{slots} did not arrive within {wait} s.",
        slots=_listed(missing),
        wait=plan.barrier_s,
    )


def _listed(slots: list[PlanSlot]) -> str:
    first, *others = slots
    return joined([capital(first), *map(str, others)], ", ")
