"""Rounds added for a target interval width, up to the maximum and the budget."""

import uuid

import pytest

from benchmarks.models import Host, System
from benchmarks.sentences import sentence_from_json
from benchmarks.uploads import intake, processing
from tests.benchmarks.plans.simulated_guests import Guest, Hour, planned


@pytest.fixture
def hour(monkeypatch):
    return Hour(monkeypatch)


@pytest.fixture
def measure(study, agent, hour, db):
    """Follow a plan; each repetition of a system prints its next value."""

    def upload(system, value):
        sample = {"metric": "time", "value": value, "unit": "s"}
        sample["parameters"] = {"mode": "process", "groups": 4}
        key = str(uuid.uuid4())
        document = {
            "key": key,
            "study": study.slug,
            "system": system.pk,
            "tool": "hackbench",
            "samples": [sample],
        }
        intake.submit_runs(agent=agent, documents=[document])
        return key

    def follow(plan, values, process=processing.process_due_uploads):
        guests = {pk: Guest(plan, agent, pk, "vm", hour) for pk in values}
        left = {pk: iter(item) for pk, item in values.items()}
        for _ in range(100):
            states = set()
            for pk, guest in guests.items():
                answer = guest.next()
                states.add(answer.action)
                if answer.action == "run":
                    guest.arrive(answer)
                    hour.passes(5)
                    key = upload(System.objects.get(pk=pk), next(left[pk]))
                    guest.finish(answer, run_keys=[key])
            process()
            if states == {"finished"} or states == {"wait"}:
                return
        raise AssertionError("it never ended")

    return follow


@pytest.fixture
def system(lab, host):
    return System.objects.create(
        lab=lab, host=host, hypervisor="KVM", fingerprint="kvm-on-alpha"
    )


CALM = [1.0, 1.001, 0.999, 1.0005, 0.9995] * 10
WILD = [1.0, 1.05, 0.95, 1.03, 0.97] * 10
WIDTH = {"target_width_percent": 1.0, "max_repetitions": 12}


def rounds(plan, system):
    return plan.steps.filter(system=system, status="done").count()


def test_a_narrow_interval_ends_the_plan_as_planned(measure, study, system):
    plan = planned(study, system, repetitions=5, limits=WIDTH)

    measure(plan, {system.pk: CALM})

    plan.refresh_from_db()
    assert (plan.status, rounds(plan, system)) == ("done", 5)
    assert plan.advice[0]["sentence"] == "The confidence interval is within ±1%."


def test_required_rounds_are_added(measure, study, system):
    plan = planned(study, system, repetitions=3, limits=WIDTH)

    measure(plan, {system.pk: [1.0, 1.004, 0.996] * 10})

    plan.refresh_from_db()
    assert plan.status == "done"
    assert 3 < rounds(plan, system) < 12
    assert plan.advice[0]["sentence"] == "The confidence interval is within ±1%."


def test_rounds_stop_at_the_maximum_with_advice(measure, study, system):
    plan = planned(study, system, repetitions=5, limits=WIDTH)

    measure(plan, {system.pk: WILD})

    plan.refresh_from_db()
    assert rounds(plan, system) == 12
    sentence = plan.advice[0]["sentence"]
    assert "more runs bring the confidence interval within ±1%." in sentence
    assert sentence.endswith("The plan ends after at most 12 repetitions.")
    # Stored with its parts, so that both sentences can be translated.
    words = sentence_from_json(plan.advice[0])
    assert words == sentence
    assert [part.template for part in words.parameters.values()][-1] == (
        "The plan ends after at most {n} repetitions."
    )


def test_no_rounds_are_added_after_the_budget(measure, study, system):
    plan = planned(study, system, repetitions=5, limits={**WIDTH, "budget_s": 25})

    measure(plan, {system.pk: WILD})

    plan.refresh_from_db()
    assert (plan.status, rounds(plan, system)) == ("done", 5)


def test_plan_waits_for_missing_results(measure, study, system):
    plan = planned(study, system, repetitions=2, limits=WIDTH)

    measure(plan, {system.pk: CALM}, process=lambda: None)

    plan.refresh_from_db()
    assert (plan.status, plan.advice) == ("open", [])


def test_cell_and_baseline_get_more_runs(measure, study, system, lab):
    other = Host.objects.get(pk=system.host_id)
    native = System.objects.create(
        lab=lab, host=other, hypervisor="native", fingerprint="native-on-alpha"
    )
    systems = [{"system": system.pk}, {"system": native.pk}]
    plan = planned(study, system, systems=systems, repetitions=3, limits=WIDTH)

    measure(plan, {system.pk: [1.2, 1.206, 1.194] * 10, native.pk: CALM})

    plan.refresh_from_db()
    assert plan.status == "done"
    assert rounds(plan, system) == rounds(plan, native) > 3
    assert len(plan.advice) == 2
