"""Automatic progress of plans: barrier timeouts, time budgets, further rounds, the end.

Plans advance with each request of an agent and in the sweeper. If this fails, the plan
waits, and requests are still answered.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import connection, transaction
from django.db.models import F, Max, Q
from django.utils import timezone

from benchmarks.analysis.intervals import WELCH_RUNS
from benchmarks.analysis.plan_steps import (
    LOAD,
    MEASURED,
    further_round,
    overlap_fraction,
    start_spread_us,
)
from benchmarks.analysis.required_runs import (
    runs_for_mean,
    runs_for_width,
    width_sentence,
)
from benchmarks.comparison.study_verdicts import cell_statistics
from benchmarks.jobs import queue
from benchmarks.jobs.queue import JobKind, Jobs
from benchmarks.models import (
    Cell,
    Job,
    Plan,
    PlanPart,
    PlanSlot,
    PlanStep,
    Run,
)
from benchmarks.models.run import CELLS_OF_RUNS_SQL, cells_of_runs_sql
from benchmarks.plans.planning import add_steps, read_design, skip_waiting_steps
from benchmarks.sentences import Sentence, join_sentences, serialize

# Agents take their last stamp half a second before the start.
BASE_LEAD_S = 1.0
# Used until two requests of a slot have been measured; agents poll every 0.3 s.
TYPICAL_RESPONSE_S = 1.0
MAX_START_LEAD_S = 30.0
# Additional time to report, for reading clocks and for slow connections.
START_GRACE_S = 60.0

# Guests that sent no request for this time count as absent.
PRESENCE_TIMEOUT = timedelta(seconds=15)
# Agents that run a background load poll about every second.
SILENCE_TIMEOUT = timedelta(seconds=30)
# Starts may differ by this and by the errors of the slots' clocks; runs of other starts
# count if they overlap by this share.
MAX_START_SPREAD_US = 100_000
MIN_OVERLAP = 0.9

PartStatus, StepStatus = PlanPart.Status, PlanStep.Status

PLANNED_RUNS_SQL = "run.study_id = %s AND run.lab_id = %s AND run.key = ANY(%s::uuid[])"
PLANNED_CELLS_SQL = f"""
    {cells_of_runs_sql(PLANNED_RUNS_SQL)}
    SELECT DISTINCT cell.id, run_case.key::text {CELLS_OF_RUNS_SQL}
"""


@dataclass(frozen=True)
class IntervalWidth:
    """The widest interval of a treatment's results, and the runs that it needs.

    ``required_runs`` is 0 if the target width cannot be reached.
    """

    treatment: int
    case: str
    run_count: int
    required_runs: int
    message: Sentence

    @property
    def missing_runs(self) -> int:
        return max(0, self.required_runs - self.run_count)


def begin_attempt(plan: Plan, step: PlanStep, now: datetime) -> None:
    """Begin an attempt of a step; all slots must arrive before its deadline."""
    parts = list(step.parts.select_related("slot"))
    # A guest that has not joined may be booting.
    is_known = all(part.slot.joined_at for part in parts)
    timeout_s = (
        plan.barrier_timeout_s
        if is_known
        else max(plan.join_timeout_s, plan.barrier_timeout_s)
    )
    step.status, step.attempt = StepStatus.AT_BARRIER, step.attempt + 1
    step.deadline = now + timedelta(seconds=timeout_s)
    step.clock, step.starts_at_us, step.started_at = "", None, None
    if step.start_order is None:
        last = plan.steps.aggregate(last=Max("start_order"))["last"]
        step.start_order = (last or 0) + 1
    step.save()
    step.parts.update(
        status=PartStatus.WAITING,
        attempt=step.attempt,
        clock="",
        arrived_at=None,
        started_us=None,
        ended_us=None,
        clock_error_us=None,
        rounds=None,
        run_keys=[],
    )
    if plan.started_at is None:
        plan.started_at = now
        plan.save(update_fields=["started_at"])


def start_step(step: PlanStep, now_us: int | None, now: datetime) -> None:
    """Start a step: a single slot at once, several slots at a common time."""
    is_single = step.vms == 1
    lead_s = start_lead_s(step)
    limits = step.parts.aggregate(longest=Max("timeout_s"))
    allowed_s = (
        (limits["longest"] or 0.0) + START_GRACE_S + (0 if is_single else lead_s)
    )
    step.status, step.started_at = StepStatus.RUNNING, now
    step.deadline = now + timedelta(seconds=allowed_s)
    if not is_single and now_us is not None:
        step.starts_at_us = now_us + round(lead_s * 1e6)
    step.save()
    step.parts.update(status=PartStatus.STARTED, last_seen_at=now)


def start_lead_s(step: PlanStep) -> float:
    """Return the time from the last arrival to the start of a step.

    Within it, the slowest slot learns the start twice over, and starts as late as it
    did before. It doubles with each attempt.
    """
    slots = [part.slot for part in step.parts.select_related("slot")]
    response_s = max(slot.response_s or TYPICAL_RESPONSE_S for slot in slots)
    delay_s = max(slot.start_delay_s or 0.0 for slot in slots)
    lead_s = BASE_LEAD_S + 2 * response_s + delay_s
    doubled_s = lead_s * float(2 ** max(0, step.attempt - 1))
    return min(doubled_s, MAX_START_LEAD_S)


def record_start_delays(step: PlanStep, parts: list[PlanPart]) -> None:
    """Store how late the slots started, including the error of their clocks."""
    if step.starts_at_us is None:
        return
    for part in parts:
        if part.started_us is not None:
            late_us = max(0, part.started_us - step.starts_at_us)
            part.slot.start_delay_s = (late_us + (part.clock_error_us or 0)) / 1e6
            part.slot.save(update_fields=["start_delay_s"])


def limit_deadline(step: PlanStep, now: datetime) -> None:
    """Allow the other slots twice the time of the first one that ended.

    A slower slot would overlap less than half of its time.
    """
    if step.started_at is None or step.deadline is None:
        return
    deadline = now + (now - step.started_at) + timedelta(seconds=START_GRACE_S)
    if deadline < step.deadline:
        step.deadline = deadline
        step.save(update_fields=["deadline"])


def finish_step(plan: Plan, step: PlanStep, now: datetime) -> None:
    """End a step if all of its slots have ended; store spread and overlap.

    If the starts were too far apart, the runs overlapped too little and attempts
    remain, the attempt fails instead.
    """
    parts = list(step.parts.select_related("slot"))
    if any(part.status != PartStatus.DONE for part in parts):
        return
    record_start_delays(step, parts)
    windows = [
        [(part.started_us, part.ended_us) for part in parts if part.role == role]
        for role in (MEASURED, LOAD)
    ]
    spread = start_spread_us([part.started_us for part in parts]) or 0
    limit = MAX_START_SPREAD_US + sum(part.clock_error_us or 0 for part in parts)
    shared = overlap_fraction(*windows) or 0.0
    is_apart = spread > limit and shared < MIN_OVERLAP
    if is_apart and step.attempt < plan.max_attempts:
        reason = Sentence(
            "The slots started {apart:.0f} ms apart (limit {limit:.0f} ms), and ran "
            "together for {shared:.0f} % of their time; {least:.0f} % would count. "
            "Longer programs, or guests with less load before the start, help.",
            apart=spread / 1000,
            limit=limit / 1000,
            shared=100 * shared,
            least=100 * MIN_OVERLAP,
        )
        end_attempt(plan, step, reason, now)
        return
    step.status, step.ended_at, step.reason = StepStatus.DONE, now, ""
    step.start_spread_us = start_spread_us([part.started_us for part in parts])
    step.overlap = overlap_fraction(windows[0])
    step.deadline = None
    step.save()


def slot_name_capitalized(slot: PlanSlot) -> Sentence:
    if slot.name:
        return Sentence("Slot {n} ({name})", n=slot.number, name=slot.name)
    return Sentence("Slot {n}", n=slot.number)


def end_attempt(
    plan: Plan, step: PlanStep, reason: str, now: datetime, *, can_retry: bool = True
) -> None:
    """End a failed attempt; its step waits for a retry or fails."""
    is_last = not can_retry or step.attempt >= plan.max_attempts
    step.status = StepStatus.FAILED if is_last else StepStatus.WAITING
    step.reason, step.deadline = reason, None
    step.ended_at = now if is_last else None
    step.save()
    # The failed part keeps its status, because pages show which slot failed.
    step.parts.exclude(status=PartStatus.FAILED).update(status=PartStatus.WAITING)


def has_finished_measuring(step: PlanStep) -> bool:
    measured = step.parts.filter(role=MEASURED)
    return not measured.exclude(status=PartStatus.DONE).exists()


def longest_durations_s(plan: Plan) -> dict[int, float]:
    done = plan.steps.filter(status=StepStatus.DONE).order_by()
    took = Max(F("ended_at") - F("started_at"))
    rows = done.values_list("treatment").annotate(took=took)
    return {number: took.total_seconds() for number, took in rows if took}


def _add_rounds(plan: Plan, now: datetime) -> bool:
    """Add rounds of the treatments whose confidence intervals are wider than the plan's
    target.

    Return whether the plan continues: rounds were added, or must wait until all results
    are processed.
    """
    if plan.target_width_percent is None or (plan.ends_at and now >= plan.ends_at):
        return False
    # The results of warm-up rounds are not uploaded.
    parts = PlanPart.objects.filter(
        step__plan=plan,
        step__status=StepStatus.DONE,
        step__repetition__gt=0,
        role=MEASURED,
    )
    measured = parts.values_list("run_keys", "step__treatment")
    treatments = {key: number for keys, number in measured for key in keys}
    # An upload can have several runs with the same key.
    arrived = Run.objects.filter(
        lab=plan.lab_id, key__in=set(treatments), upload_position=1
    )
    # Adding rounds before all results are processed could add too many.
    if arrived.exclude(status=Run.Status.RECEIVED).count() != len(treatments):
        return True
    done = Counter(
        plan.steps.filter(repetition__gt=0).values_list("treatment", flat=True)
    )
    rounds_by_treatment: dict[int, int] = {}
    plan.advice = []
    for number, width in _widths_of(plan, treatments).items():
        rounds = min(width.missing_runs, (plan.max_repetitions or 0) - done[number])
        if rounds > 0:
            rounds_by_treatment[number] = rounds
        sentence = width.message
        if width.missing_runs > rounds_by_treatment.get(number, 0):
            limit = Sentence(
                "The plan ends after at most {n} repetitions.",
                n=plan.max_repetitions or 0,
            )
            sentence = join_sentences([sentence, limit])
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
                "runs": width.run_count,
                "wanted": width.required_runs,
                "sentence": sentence,
                "words": serialize(sentence),
            }
        )
    plan.save(update_fields=["advice"])
    design = read_design(plan.design, plan.seed)
    last_repetition = max(plan.steps.values_list("repetition", flat=True), default=0)
    # Add steps in rounds, so that a drift over hours affects all systems equally.
    for round_index in range(max(rounds_by_treatment.values(), default=0)):
        numbers = [
            number
            for number, rounds in rounds_by_treatment.items()
            if rounds > round_index
        ]
        add_steps(
            plan, further_round(design, numbers, last_repetition + 1 + round_index)
        )
    return bool(rounds_by_treatment)


def _widths_of(plan: Plan, keys: Mapping[str, int]) -> dict[int, IntervalWidth]:
    """Return the widest interval of each treatment, with two queries.

    It is the interval of the ratio to the baseline or, without one, of the mean.
    ``keys`` maps upload keys to treatments.
    """
    with connection.cursor() as cursor:
        cursor.execute(PLANNED_CELLS_SQL, [plan.study_id, plan.lab_id, list(keys)])
        treatments = {cell_id: keys[key] for cell_id, key in cursor.fetchall()}
    related = ("case", "system", "efficiency__baseline__case")
    directed = Cell.objects.filter(Q(pk__in=treatments), ~Q(case__better="neither"))
    pairs: list[tuple[Cell, Cell | None]] = []
    for cell in directed.select_related(*related):
        efficiency = getattr(cell, "efficiency", None)
        baseline = efficiency.baseline if efficiency else None
        pairs.append((cell, baseline))
    baseline_ids = {baseline.pk for _, baseline in pairs if baseline}
    half_width = (plan.target_width_percent or 0.0) / 100
    widths: dict[int, list[IntervalWidth]] = defaultdict(list)
    for cell, baseline in pairs:
        if baseline is None and cell.pk in baseline_ids:
            continue
        required = _required_runs(cell, baseline, half_width)
        for member in (cell, baseline):
            if member is not None and member.pk in treatments:
                number, side_count = treatments[member.pk], 2 if baseline else 1
                sentence = width_sentence(
                    member.n, required, half_width, side_count=side_count
                )
                width = IntervalWidth(
                    number, member.case.label, member.n, required, sentence
                )
                widths[number].append(width)
    return {
        # Cells that cannot reach the width count as the widest.
        number: max(
            candidates, key=lambda w: w.missing_runs if w.required_runs else 1_000_000
        )
        for number, candidates in sorted(widths.items())
    }


def _required_runs(cell: Cell, baseline: Cell | None, half_width: float) -> int:
    if cell.n < 2 or (baseline is not None and baseline.n < 2):
        return WELCH_RUNS
    if baseline is None:
        return int(runs_for_mean(cell_statistics([cell]), half_width)[0])
    statistics = cell_statistics([cell]), cell_statistics([baseline])
    return int(runs_for_width(*statistics, half_width)[0])


def advance_plans() -> int:
    queued = Job.objects.filter(kind=JobKind.PLAN).values("subject_id")
    opened = Plan.objects.filter(status=Plan.Status.OPEN).order_by("pk")
    queue.enqueue(_job_of(plan) for plan in opened.exclude(pk__in=queued))
    due = queue.due_job_groups(JobKind.PLAN)
    return sum(queue.run_due_jobs(JobKind.PLAN, unit.subject_id) for unit in due)


def _job_of(plan: Plan) -> Job:
    return Job(
        kind=JobKind.PLAN,
        subject_id=plan.pk,
        study_id=plan.study_id,
        lab_id=plan.lab_id,
    )


@queue.job_handler(JobKind.PLAN)
@transaction.atomic
def _advance_plan(jobs: Jobs) -> bool:
    # One transaction per plan, because agents wait for its lock.
    plans = Plan.objects.filter(status=Plan.Status.OPEN).select_for_update(
        skip_locked=True
    )
    plan = plans.filter(pk=jobs[0].subject_id).first()
    if plan is None:
        return False
    advance(plan, timezone.now())
    queue.finish(jobs)
    return True


def advance_or_record_error(plan: Plan, now: datetime) -> bool:
    """Advance a plan before answering an agent; return whether this succeeded.

    Plans with an earlier error are left to the sweeper. The caller holds the plan's
    lock.
    """
    jobs = Job.objects.filter(kind=JobKind.PLAN, subject_id=plan.pk)
    if jobs.filter(failures__gt=0).exists() and not queue.due_job_groups(
        JobKind.PLAN, subject_id=plan.pk
    ):
        return False
    try:
        with transaction.atomic():
            advance(plan, now)
    except Exception as error:
        if queue.is_transient_error(error):
            raise
        queue.record_error(
            JobKind.PLAN, list(jobs) or queue.enqueue([_job_of(plan)]), error
        )
        plan.refresh_from_db()
        return False
    return True


def advance(plan: Plan, now: datetime) -> None:
    """Apply deadlines and the time budget, then add rounds or end a completed plan.

    The caller holds the plan's lock.
    """
    # Check the budget first, so that steps at a barrier end for this reason.
    if plan.status == Plan.Status.OPEN and plan.ends_at and now >= plan.ends_at:
        skip_waiting_steps(
            plan,
            Sentence(
                "Skipped: the time budget of {budget:,} s is used up.",
                budget=plan.budget_s,
            ),
        )
    for step in plan.steps.filter(status__in=PlanStep.ACTIVE):
        if reason := _delay_reason(plan, step, now):
            end_attempt(plan, step, reason, now)
    unfinished = plan.steps.filter(status__in=PlanStep.UNFINISHED)
    if plan.status != Plan.Status.OPEN or unfinished.exists():
        return
    if not _add_rounds(plan, now):
        plan.status, plan.finished_at = Plan.Status.DONE, now
        plan.save(update_fields=["status", "finished_at"])


def _delay_reason(plan: Plan, step: PlanStep, now: datetime) -> str:
    parts = step.parts.select_related("slot").order_by("slot__number")
    loads = parts.filter(role=LOAD, status=PartStatus.STARTED)
    if silent := loads.filter(last_seen_at__lt=now - SILENCE_TIMEOUT):
        return Sentence(
            "No response from the load of {names} for {wait:.0f} s.",
            names=join_sentences([str(part.slot) for part in silent], ", "),
            wait=SILENCE_TIMEOUT.total_seconds(),
        )
    if not step.deadline or now <= step.deadline:
        return ""
    if step.status != StepStatus.AT_BARRIER:
        slots = [part.slot for part in parts if part.status == PartStatus.STARTED]
        return Sentence(
            "{slots} started but did not report an end in time.",
            slots=_slot_names(slots),
        )
    missing = [part.slot for part in parts if part.status != PartStatus.ARRIVED]
    if never := [slot for slot in missing if not slot.joined_at]:
        return Sentence(
            "{slots} did not join within {wait} s. Start an agent in each guest, or "
            "raise join_timeout_s.",
            slots=_slot_names(never),
            wait=plan.join_timeout_s,
        )
    if absent := [slot for slot in missing if is_absent(slot, now)]:
        return Sentence(
            "{slots} did not arrive within {wait} s, and sent no request for {silence} "
            "s. Start its agent again with the same name, or check its network.",
            slots=_slot_names(absent),
            wait=plan.barrier_timeout_s,
            silence=_silence_s(absent, now),
        )
    return Sentence(
        "{slots} did not arrive within {wait} s, but sent a request {silence} s ago. "
        "See the messages of its agent, reduce the load of its guest, or raise "
        "barrier_timeout_s.",
        slots=_slot_names(missing),
        wait=plan.barrier_timeout_s,
        silence=_silence_s(missing, now),
    )


def is_absent(slot: PlanSlot, now: datetime) -> bool:
    return slot.last_seen_at is None or slot.last_seen_at < now - PRESENCE_TIMEOUT


def _silence_s(slots: list[PlanSlot], now: datetime) -> int:
    seen = [slot.last_seen_at for slot in slots if slot.last_seen_at]
    return round((now - min(seen, default=now)).total_seconds())


def _slot_names(slots: list[PlanSlot]) -> str:
    first, *rest = slots
    return join_sentences([slot_name_capitalized(first), *map(str, rest)], ", ")
