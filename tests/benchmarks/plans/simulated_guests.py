"""A plan with simulated guests and a controllable clock."""

from datetime import timedelta

from django.utils import timezone

from benchmarks.plans import coordination
from benchmarks.plans.planning import create_plan

CLOCK = "9c2b7a01d4e5f607"


class Hour:
    """The current time of the services; it advances only on request."""

    def __init__(self, monkeypatch):
        self.now = timezone.now()
        monkeypatch.setattr(timezone, "now", lambda: self.now)

    def passes(self, seconds):
        self.now += timedelta(seconds=seconds)

    @property
    def us(self):
        return int(self.now.timestamp() * 1e6)


class Guest:
    """A guest with its slot, which sends the requests of an agent."""

    def __init__(self, plan, agent, system, name, hour):
        self.plan, self.agent, self.hour = plan, agent, hour
        self.slot = coordination.join_plan(
            plan_id=plan.pk, agent=agent, name=name, system=system
        )

    def next(self):
        return coordination.next_part(
            lab=self.agent.lab, plan_id=self.plan.pk, slot_id=self.slot.pk
        )

    def arrive(self, answer, clock=CLOCK):
        return coordination.arrive_at_barrier(
            lab=self.agent.lab,
            part_id=answer.part.pk,
            attempt=answer.part.step.attempt,
            timeout_s=90.0,
            clock_id=clock,
            now_us=self.hour.us,
        )

    def finish(self, answer, outcome="done", started_us=0, took_us=1_000_000, **report):
        said = {"started_us": started_us, "ended_us": started_us + took_us, **report}
        return coordination.finish_part(
            lab=self.agent.lab,
            part_id=answer.part.pk,
            attempt=answer.part.step.attempt,
            outcome=outcome,
            report=said,
        )

    def alone(self, seconds=5, **report):
        """Run a step of a single slot from start to end."""
        answer = self.next()
        self.arrive(answer)
        self.hour.passes(seconds)
        return self.finish(answer, **report)


def planned(study, system, slots=1, limits=None, **design):
    """Create a plan of hackbench on one system, with given changes."""
    asked = {
        "systems": [{"system": system.pk, "slots": slots}],
        "tools": [{"tool": "hackbench"}],
        "warm_up_rounds": 0,
        "repetitions": 2,
        "order": "listed",
        **design,
    }
    return create_plan(
        study=study,
        actor="alice",
        title="A plan",
        design=asked,
        **{"budget_s": 3600, **(limits or {})},
    )


def parallel(slots):
    return {"slots": slots, "scenarios": [{"kind": "parallel", "vms": slots}]}
