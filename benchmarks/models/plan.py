"""Measurement plans: steps in order, participating guests, and progress."""

from datetime import datetime, timedelta

from django.db import models
from django.utils import timezone

from benchmarks.models.lab import Agent, Lab
from benchmarks.models.sentence import SentenceField
from benchmarks.models.study import Study, StudyScopedQuerySet, System
from benchmarks.sentences import Sentence


class Plan(models.Model):
    """A measurement plan of a study. Agents fetch its steps one by one.

    ``budget_s`` counts from the start of the first step. If ``target_width_percent`` is
    set, rounds are added until confidence intervals have this half-width, but at most
    ``max_repetitions`` rounds.
    """

    class Status(models.TextChoices):
        OPEN = "open"
        DONE = "done"
        STOPPED = "stopped"

    lab = models.ForeignKey(Lab, models.CASCADE, related_name="plans")
    study = models.ForeignKey(Study, models.CASCADE, related_name="plans")
    title = models.CharField(max_length=200)
    design = models.JSONField()
    seed = models.PositiveBigIntegerField()
    budget_s = models.PositiveIntegerField()
    barrier_timeout_s = models.PositiveIntegerField(default=60)
    join_timeout_s = models.PositiveIntegerField(default=600)
    max_attempts = models.PositiveSmallIntegerField(default=3)
    target_width_percent = models.FloatField(null=True)
    max_repetitions = models.PositiveSmallIntegerField(null=True)
    created_by = models.CharField(max_length=200)
    status = models.CharField(max_length=20, choices=Status, default=Status.OPEN)
    advice = models.JSONField(default=list)
    created_at = models.DateTimeField(default=timezone.now)
    started_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)

    objects = StudyScopedQuerySet.as_manager()

    def __str__(self) -> str:
        return self.title

    @property
    def session_name(self) -> str:
        return f"plan {self.pk}"

    @property
    def repetitions(self) -> int:
        """The planned number of rounds, without those added for precision."""
        return int(self.design.get("repetitions", 5))

    @property
    def ends_at(self) -> datetime | None:
        return self.started_at and self.started_at + timedelta(seconds=self.budget_s)


class PlanSlot(models.Model):
    """A slot for one guest of a system in a plan; free if ``name`` is empty."""

    plan = models.ForeignKey(Plan, models.CASCADE, related_name="slots")
    system = models.ForeignKey(System, models.PROTECT, related_name="+")
    number = models.PositiveSmallIntegerField()
    name = models.CharField(max_length=100, blank=True)
    agent = models.ForeignKey(Agent, models.SET_NULL, null=True, related_name="+")
    instance_id = models.CharField(max_length=64, blank=True)
    """Distinguishes cloned guests, which have the same name."""
    joined_at = models.DateTimeField(null=True)
    last_seen_at = models.DateTimeField(null=True)
    response_s = models.FloatField(null=True)
    """The time between two requests at a barrier: how late it may learn of a start."""
    start_delay_s = models.FloatField(null=True)
    """How late its last program started, plus the error of its clock."""

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["plan", "system", "number"],
                name="slot_number_is_unique_in_a_plan",
            ),
            models.UniqueConstraint(
                fields=["plan", "system", "name"],
                condition=~models.Q(name=""),
                name="guest_has_one_slot_of_a_system",
            ),
        ]

    def __str__(self) -> str:
        if self.name:
            return Sentence("slot {n} ({name})", n=self.number, name=self.name)
        return Sentence("slot {n}", n=self.number)


class ProgramStart(models.Model):
    tool = models.SlugField(max_length=50)
    program = models.CharField(max_length=100)
    attempt = models.PositiveSmallIntegerField(default=0)
    clock = models.CharField(max_length=64, blank=True)

    class Meta:
        abstract = True


class PlanStep(ProgramStart):
    """One run of a program on a system, in one or several slots at the same time.

    ``starts_at_us`` is the start time agreed for all slots, in microseconds of the time
    server's ``clock``. ``start_spread_us`` is the time between the first and the last
    actual start. ``overlap`` is the time in which all slots ran, divided by the time of
    the slot that ran longest.
    """

    class Status(models.TextChoices):
        WAITING = "waiting"
        AT_BARRIER = "at_barrier"
        RUNNING = "running"
        DONE = "done"
        FAILED = "failed"
        SKIPPED = "skipped"

    ACTIVE = (Status.AT_BARRIER, Status.RUNNING)
    UNFINISHED = (Status.WAITING, *ACTIVE)

    plan = models.ForeignKey(Plan, models.CASCADE, related_name="steps")
    position = models.PositiveIntegerField()
    repetition = models.IntegerField()
    system = models.ForeignKey(System, models.PROTECT, related_name="+")
    treatment = models.PositiveIntegerField()
    scenario = models.CharField(max_length=50)
    vms = models.PositiveSmallIntegerField()
    load = models.CharField(max_length=200, blank=True)
    status = models.CharField(max_length=20, choices=Status, default=Status.WAITING)
    reason = SentenceField(blank=True)
    deadline = models.DateTimeField(null=True)
    starts_at_us = models.BigIntegerField(null=True)
    start_order = models.PositiveIntegerField(null=True)
    started_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)
    start_spread_us = models.BigIntegerField(null=True)
    overlap = models.FloatField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["plan", "position"], name="step_position_is_unique_in_a_plan"
            )
        ]
        indexes = [models.Index(fields=["plan", "status"], name="step_by_plan_status")]

    def __str__(self) -> str:
        return f"{self.tool} {self.program}"

    @property
    def is_warm_up(self) -> bool:
        return self.repetition < 1

    @property
    def corun_name(self) -> str:
        """The name of the step's co-run, different for each attempt; empty for one
        VM.
        """
        if self.vms < 2:
            return ""
        attempt = f", attempt {self.attempt}" if self.attempt > 1 else ""
        return f"plan {self.plan_id}, step {self.position + 1}{attempt}"


class PlanPart(ProgramStart):
    """The work of one slot in a step, with the state of the last attempt.

    Times are in microseconds of the time server's clock.
    """

    class Status(models.TextChoices):
        WAITING = "waiting"
        ASSIGNED = "assigned"
        ARRIVED = "arrived"
        STARTED = "started"
        DONE = "done"
        FAILED = "failed"

    IN_PROGRESS = (Status.ASSIGNED, Status.ARRIVED, Status.STARTED)

    step = models.ForeignKey(PlanStep, models.CASCADE, related_name="parts")
    slot = models.ForeignKey(PlanSlot, models.CASCADE, related_name="parts")
    role = models.CharField(max_length=20)
    options = models.JSONField(default=dict)
    status = models.CharField(max_length=20, choices=Status, default=Status.WAITING)
    timeout_s = models.FloatField(null=True)
    arrived_at = models.DateTimeField(null=True)
    last_seen_at = models.DateTimeField(null=True)
    started_us = models.BigIntegerField(null=True)
    ended_us = models.BigIntegerField(null=True)
    clock_error_us = models.PositiveBigIntegerField(null=True)
    rounds = models.PositiveIntegerField(null=True)
    """How often the program of a background load ran to its end."""
    run_keys = models.JSONField(default=list)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["step", "slot"], name="slot_has_one_part_in_a_step"
            )
        ]

    def __str__(self) -> str:
        return f"{self.slot}: {self.tool} {self.program}"
