"""A plan is made whole or not at all, and stopped once."""

import pytest

from benchmarks.errors import ConflictError, InvalidError, UnknownNameError
from benchmarks.models import Plan, PlanPart, PlanSlot, PlanStep, System
from benchmarks.plans.planning import create_plan, stop_plan
from tests.benchmarks.plans.planning import parallel, planned


@pytest.fixture
def system(lab, host):
    return System.objects.create(
        lab=lab, host=host, hypervisor="KVM", fingerprint="kvm-on-alpha"
    )


def test_it_stores_every_step_in_order_with_a_part_for_each_slot(study, system):
    plan = planned(study, system, **parallel(3), warm_up=1)

    steps = list(plan.steps.order_by("position"))
    assert [step.repetition for step in steps] == [0, 1, 2]
    assert [step.position for step in steps] == [0, 1, 2]
    assert PlanPart.objects.filter(step=steps[0]).count() == 3
    assert [slot.number for slot in plan.slots.order_by("number")] == [1, 2, 3]


def test_it_draws_a_seed_and_keeps_it(study, system):
    first, second = (planned(study, system, order="random") for _ in range(2))

    assert first.seed != second.seed
    assert Plan.objects.get(pk=first.pk).seed == first.seed


def test_a_system_may_be_described(study, host):
    described = {"host": host.slug, "hypervisor": "Xen"}

    plan = create_plan(
        study=study,
        who="alice",
        title="A plan",
        design={"systems": [{"system": described}], "tools": [{"tool": "mbw"}]},
        budget_s=60,
    )

    assert plan.slots.get().system.hypervisor == "Xen"


def test_a_system_of_another_lab_is_unknown(study, system, other_lab):
    System.objects.update(lab=other_lab)

    with pytest.raises(UnknownNameError):
        planned(study, system)


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
    study, system, design, limits, sentence
):
    with pytest.raises(InvalidError, match=sentence):
        planned(study, system, limits=limits, **design)

    assert not Plan.objects.exists()
    assert not PlanSlot.objects.exists()


def test_a_system_is_named_once(study, system):
    with pytest.raises(InvalidError, match="is in the plan twice"):
        planned(study, system, systems=[{"system": system.pk}] * 2)


def test_stopping_leaves_what_waits_undone(study, system):
    plan = planned(study, system)

    stopped = stop_plan(plan=plan)

    assert stopped.status == Plan.Status.STOPPED
    assert {step.status for step in plan.steps.all()} == {PlanStep.Status.NOT_DONE}
    with pytest.raises(ConflictError):
        stop_plan(plan=plan)
