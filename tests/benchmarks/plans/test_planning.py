"""Creation and stopping of plans."""

import pytest

from benchmarks.errors import ConflictError, InvalidError, UnknownNameError
from benchmarks.models import Plan, PlanPart, PlanSlot, PlanStep, System
from benchmarks.plans.planning import create_plan, stop_plan
from tests.benchmarks.plans.simulated_guests import parallel, planned


@pytest.fixture
def system(lab, host):
    return System.objects.create(
        lab=lab, host=host, hypervisor="KVM", fingerprint="kvm-on-alpha"
    )


def test_steps_are_stored_in_order_with_parts(study, system):
    plan = planned(study, system, **parallel(3), warm_up_rounds=1)

    steps = list(plan.steps.order_by("position"))
    assert [step.repetition for step in steps] == [0, 1, 2]
    assert [step.position for step in steps] == [0, 1, 2]
    assert PlanPart.objects.filter(step=steps[0]).count() == 3
    assert [slot.number for slot in plan.slots.order_by("number")] == [1, 2, 3]


def test_random_seed_is_stored(study, system):
    first, second = (planned(study, system, order="random") for _ in range(2))

    assert first.seed != second.seed
    assert Plan.objects.get(pk=first.pk).seed == first.seed


def test_system_can_be_given_by_description(study, host):
    described = {"host": host.slug, "hypervisor": "Xen"}

    plan = create_plan(
        study=study,
        actor="alice",
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
        ({"scenarios": [{"kind": "under load", "vms": 2}]}, {}, 'requires "load"'),
        ({"scenarios": [{"kind": "combined"}]}, {}, 'requires its own "tools"'),
        ({"tools": [{"tool": "mbw", "options": {"x": 1}}]}, {}, "Unknown option"),
        ({}, {"target_width_percent": 1.0}, "needs a maximum"),
        ({}, {"target_width_percent": 1.0, "max_repetitions": 1}, "less than the 2"),
    ],
)
def test_infeasible_plan_is_not_stored(study, system, design, limits, sentence):
    with pytest.raises(InvalidError, match=sentence):
        planned(study, system, limits=limits, **design)

    assert not Plan.objects.exists()
    assert not PlanSlot.objects.exists()


def test_duplicate_systems_are_rejected(study, system):
    with pytest.raises(InvalidError, match="is in the plan twice"):
        planned(study, system, systems=[{"system": system.pk}] * 2)


def test_stopping_skips_waiting_steps(study, system):
    plan = planned(study, system)

    stopped = stop_plan(plan=plan)

    assert stopped.status == Plan.Status.STOPPED
    assert {step.status for step in plan.steps.all()} == {PlanStep.Status.SKIPPED}
    with pytest.raises(ConflictError):
        stop_plan(plan=plan)


def test_settings_give_systems_that_differ_in_one_setting(study, system):
    System.objects.update(options={"aio": "native"})
    asked = [{"system": system.pk, "settings": ["disk_io", "iothreads"], "slots": 2}]

    plan = planned(study, system, systems=asked)

    options = [slot.system.options for slot in plan.slots.filter(number=2)]
    assert sorted(options, key=str) == [
        {"aio": "io_uring", "iothreads": "0"},
        {"aio": "native", "iothreads": "0"},
        {"aio": "native", "iothreads": "1"},
        {"aio": "threads", "iothreads": "0"},
    ]
    assert plan.slots.count() == 8
    assert {slot.system.host for slot in plan.slots.all()} == {system.host}


def test_bare_metal_has_no_settings(study, system):
    System.objects.update(hypervisor="native")

    with pytest.raises(InvalidError, match="Choose a guest"):
        planned(study, system, systems=[{"system": system.pk, "settings": ["pinning"]}])
