"""A plan is made whole or not at all, and stopped once."""

import pytest

from benchmarks.analysis.planning import PlanError
from benchmarks.errors import UnknownSystemError
from benchmarks.models import Plan, PlanPart, PlanSeat, PlanStep, System
from benchmarks.plans.planning import PlanOverError, create_plan, stop_plan
from tests.benchmarks.plans.planning import parallel, planned


@pytest.fixture
def system(lab, host):
    return System.objects.create(
        lab=lab, host=host, hypervisor="KVM", fingerprint="kvm-on-alpha"
    )


def test_it_stores_every_step_in_order_with_a_part_for_each_seat(campaign, system):
    plan = planned(campaign, system, **parallel(3), warm_up=1)

    steps = list(plan.steps.order_by("position"))
    assert [step.repetition for step in steps] == [0, 1, 2]
    assert [step.position for step in steps] == [0, 1, 2]
    assert PlanPart.objects.filter(step=steps[0]).count() == 3
    assert [seat.number for seat in plan.seats.order_by("number")] == [1, 2, 3]


def test_it_draws_a_seed_and_keeps_it(campaign, system):
    first, second = (planned(campaign, system, order="random") for _ in range(2))

    assert first.seed != second.seed
    assert Plan.objects.get(pk=first.pk).seed == first.seed


def test_a_system_may_be_described(campaign, host):
    described = {"host": host.slug, "hypervisor": "Xen"}

    plan = create_plan(
        campaign=campaign,
        who="alice",
        title="A plan",
        design={"systems": [{"system": described}], "tools": [{"tool": "mbw"}]},
        budget_s=60,
    )

    assert plan.seats.get().system.hypervisor == "Xen"


def test_a_system_of_another_lab_is_unknown(campaign, system, other_lab):
    System.objects.update(lab=other_lab)

    with pytest.raises(UnknownSystemError):
        planned(campaign, system)


@pytest.mark.parametrize(
    ("design", "limits", "sentence"),
    [
        ({"scenarios": [{"kind": "parallel"}]}, {}, 'needs "vms"'),
        ({"scenarios": [{"kind": "under load", "vms": 2}]}, {}, '"load" belongs'),
        ({"scenarios": [{"kind": "combined"}]}, {}, 'needs at least 2 "tools"'),
        ({"tools": [{"tool": "mbw", "options": {"x": 1}}]}, {}, "no option"),
        ({}, {"width_percent": 1.0}, "belong together"),
        ({}, {"width_percent": 1.0, "most_repetitions": 1}, "less than the 2"),
    ],
)
def test_a_plan_nobody_could_follow_leaves_nothing(
    campaign, system, design, limits, sentence
):
    with pytest.raises(PlanError, match=sentence):
        planned(campaign, system, limits=limits, **design)

    assert not Plan.objects.exists()
    assert not PlanSeat.objects.exists()


def test_a_system_is_named_once(campaign, system):
    with pytest.raises(PlanError, match="stands twice"):
        planned(campaign, system, systems=[{"system": system.pk}] * 2)


def test_stopping_leaves_what_waits_undone(campaign, system):
    plan = planned(campaign, system)

    stopped = stop_plan(plan=plan)

    assert stopped.status == Plan.Status.STOPPED
    assert {step.status for step in plan.steps.all()} == {PlanStep.Status.NOT_DONE}
    with pytest.raises(PlanOverError):
        stop_plan(plan=plan)
