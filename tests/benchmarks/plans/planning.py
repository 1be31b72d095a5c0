"""A plan and guests that follow it, one question at a time, at any hour."""

from datetime import timedelta

from django.utils import timezone

from benchmarks.plans import turns
from benchmarks.plans.planning import create_plan

CLOCK = "9c2b7a01d4e5f607"


class Hour:
    """The time that the services see; it goes on only when told."""

    def __init__(self, monkeypatch):
        self.now = timezone.now()
        monkeypatch.setattr(timezone, "now", lambda: self.now)

    def passes(self, seconds):
        self.now += timedelta(seconds=seconds)

    @property
    def us(self):
        return int(self.now.timestamp() * 1e6)


class Guest:
    """A guest with its slot; asks what an agent would ask."""

    def __init__(self, plan, agent, system, name, hour):
        self.plan, self.agent, self.hour = plan, agent, hour
        self.slot = turns.join_plan(
            plan_id=plan.pk, agent=agent, name=name, system=system
        )

    def next(self):
        return turns.next_part(
            lab=self.agent.lab, plan_id=self.plan.pk, slot_id=self.slot.pk
        )

    def meet(self, answer, clock=CLOCK):
        return turns.meet(
            lab=self.agent.lab,
            part_id=answer.part.pk,
            attempt=answer.part.step.attempt,
            limit_s=90.0,
            clock=clock,
            now_us=self.hour.us,
        )

    def finish(self, answer, outcome="done", began_us=0, took_us=1_000_000, **report):
        said = {"began_us": began_us, "ended_us": began_us + took_us, **report}
        return turns.finish(
            lab=self.agent.lab,
            part_id=answer.part.pk,
            attempt=answer.part.step.attempt,
            outcome=outcome,
            report=said,
        )

    def alone(self, seconds=5, **report):
        """Do a step of one slot from its call to its end."""
        answer = self.next()
        self.meet(answer)
        self.hour.passes(seconds)
        return self.finish(answer, **report)


def planned(study, system, slots=1, limits=None, **design):
    """Make a plan of hackbench on one system, changed by what is given."""
    asked = {
        "systems": [{"system": system.pk, "slots": slots}],
        "tools": [{"tool": "hackbench"}],
        "warm_up": 0,
        "repetitions": 2,
        "order": "listed",
        **design,
    }
    return create_plan(
        study=study,
        who="alice",
        title="A plan",
        design=asked,
        **{"budget_s": 3600, **(limits or {})},
    )


def parallel(slots):
    return {"slots": slots, "scenarios": [{"kind": "parallel", "vms": slots}]}
