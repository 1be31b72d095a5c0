"""Plans: what is to be measured in which order, who takes part, and how far it is."""

from datetime import datetime, timedelta

from django.db import models
from django.utils import timezone

from benchmarks.models.lab import Agent, Lab
from benchmarks.models.sentence import SentenceField
from benchmarks.models.study import OfStudyQuerySet, Study, System
from benchmarks.sentences import Sentence


class Plan(models.Model):
    """A study's plan: agents pull its steps one after the other.

    The budget begins with the first step. With ``width_percent`` rounds are added, up
    to ``most_repetitions``.
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
    barrier_s = models.PositiveIntegerField(default=60)
    join_s = models.PositiveIntegerField(default=600)
    most_attempts = models.PositiveSmallIntegerField(default=3)
    width_percent = models.FloatField(null=True)
    most_repetitions = models.PositiveSmallIntegerField(null=True)
    who = models.CharField(max_length=200)
    status = models.CharField(max_length=20, choices=Status, default=Status.OPEN)
    advice = models.JSONField(default=list)
    """What the widths of its cells said when they were last looked at, by group."""
    created_at = models.DateTimeField(default=timezone.now)
    started_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)

    objects = OfStudyQuerySet.as_manager()

    def __str__(self) -> str:
        return self.title

    @property
    def session(self) -> str:
        """The name of the session that all its runs belong to."""
        return f"plan {self.pk}"

    @property
    def repetitions(self) -> int:
        """How many rounds were planned; its width may have added more."""
        return int(self.design.get("repetitions", 5))

    @property
    def ends_at(self) -> datetime | None:
        """When its budget is used up; None before the first step."""
        return self.started_at and self.started_at + timedelta(seconds=self.budget_s)


class PlanSlot(models.Model):
    """A place on a system that one guest's agent takes, under the guest's name."""

    plan = models.ForeignKey(Plan, models.CASCADE, related_name="slots")
    system = models.ForeignKey(System, models.PROTECT, related_name="+")
    number = models.PositiveSmallIntegerField()
    name = models.CharField(max_length=100, blank=True)
    agent = models.ForeignKey(Agent, models.SET_NULL, null=True, related_name="+")
    instance = models.CharField(max_length=64, blank=True)
    """Which guest it is, whatever it is called: clones have one name."""
    joined_at = models.DateTimeField(null=True)
    seen_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["plan", "system", "number"], name="slot_is_there_once_in_a_plan"
            ),
            models.UniqueConstraint(
                fields=["plan", "system", "name"],
                # A free slot has no name.
                condition=~models.Q(name=""),
                name="guest_has_one_slot_of_a_system",
            ),
        ]

    def __str__(self) -> str:
        if self.name:
            return Sentence("slot {n} ({name})", n=self.number, name=self.name)
        return Sentence("slot {n}", n=self.number)


class Start(models.Model):
    """A program that is started once, and again while attempts are left."""

    tool = models.SlugField(max_length=50)
    program = models.CharField(max_length=100)
    attempt = models.PositiveSmallIntegerField(default=0)
    clock = models.CharField(max_length=64, blank=True)

    class Meta:
        abstract = True


class PlanStep(Start):
    """One start of one program on one system, on one or several slots.

    ``starts_at_us`` is on the time server's ``clock``.
    """

    class Status(models.TextChoices):
        WAITING = "waiting"
        GATHERING = "gathering"
        RUNNING = "running"
        DONE = "done"
        FAILED = "failed"
        NOT_DONE = "not done"

    BUSY = (Status.GATHERING, Status.RUNNING)
    UNFINISHED = (Status.WAITING, *BUSY)

    plan = models.ForeignKey(Plan, models.CASCADE, related_name="steps")
    position = models.PositiveIntegerField()
    repetition = models.IntegerField()
    system = models.ForeignKey(System, models.PROTECT, related_name="+")
    treatment = models.PositiveIntegerField()
    """Which of the plan's treatments it repeats."""
    scenario = models.CharField(max_length=50)
    vms = models.PositiveSmallIntegerField()
    load = models.CharField(max_length=200, blank=True)
    status = models.CharField(max_length=20, choices=Status, default=Status.WAITING)
    reason = SentenceField(blank=True)
    deadline = models.DateTimeField(null=True)
    starts_at_us = models.BigIntegerField(null=True)
    sequence = models.PositiveIntegerField(null=True)
    """Its place in the order in which steps were really begun."""
    began_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)
    spread_us = models.BigIntegerField(null=True)
    overlap = models.FloatField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["plan", "position"], name="step_has_one_place_in_a_plan"
            )
        ]
        indexes = [models.Index(fields=["plan", "status"], name="step_by_plan_status")]

    def __str__(self) -> str:
        return f"{self.tool} {self.program}"

    @property
    def is_warm_up(self) -> bool:
        return self.repetition < 1

    @property
    def corun(self) -> str:
        """The name of what ran together; a further attempt is another co-run."""
        if self.vms < 2:
            return ""
        again = f", attempt {self.attempt}" if self.attempt > 1 else ""
        return f"plan {self.plan_id}, step {self.position + 1}{again}"


class PlanPart(Start):
    """One slot's part in a step, and the state of its last attempt.

    ``began_us`` and ``ended_us`` are on the time server's clock; ``keys`` are of its
    uploads.
    """

    class Status(models.TextChoices):
        WAITING = "waiting"
        CALLED = "called"
        ARRIVED = "arrived"
        STARTED = "started"
        DONE = "done"
        FAILED = "failed"

    AT_WORK = (Status.CALLED, Status.ARRIVED, Status.STARTED)

    step = models.ForeignKey(PlanStep, models.CASCADE, related_name="parts")
    slot = models.ForeignKey(PlanSlot, models.CASCADE, related_name="parts")
    role = models.CharField(max_length=20)
    options = models.JSONField(default=dict)
    status = models.CharField(max_length=20, choices=Status, default=Status.WAITING)
    limit_s = models.FloatField(null=True)
    arrived_at = models.DateTimeField(null=True)
    seen_at = models.DateTimeField(null=True)
    began_us = models.BigIntegerField(null=True)
    ended_us = models.BigIntegerField(null=True)
    bound_us = models.PositiveBigIntegerField(null=True)
    rounds = models.PositiveIntegerField(null=True)
    """How often a load companion went through its program."""
    keys = models.JSONField(default=list)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["step", "slot"], name="slot_has_one_part_in_a_step"
            )
        ]

    def __str__(self) -> str:
        return f"{self.slot}: {self.tool} {self.program}"
