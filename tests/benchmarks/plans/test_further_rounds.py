"""Rounds are added by width, up to the maximum and the budget, not by a difference."""

import uuid

import pytest

from benchmarks.models import Host, System
from benchmarks.sentences import kept_words
from benchmarks.uploads import intake, processing
from tests.benchmarks.plans.planning import Guest, Hour, planned


@pytest.fixture
def hour(monkeypatch):
    return Hour(monkeypatch)


@pytest.fixture
def measure(study, agent, hour, db):
    """Follow a plan; each repetition of a system prints the next of its values."""

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

    def follow(plan, values, process=processing.drain):
        guests = {pk: Guest(plan, agent, pk, "vm", hour) for pk in values}
        left = {pk: iter(each) for pk, each in values.items()}
        for _ in range(100):
            states = set()
            for pk, guest in guests.items():
                answer = guest.next()
                states.add(answer.state)
                if answer.state == "run":
                    guest.meet(answer)
                    hour.passes(5)
                    key = upload(System.objects.get(pk=pk), next(left[pk]))
                    guest.finish(answer, keys=[key])
            process()
            if states == {"over"} or states == {"wait"}:
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
WIDTH = {"width_percent": 1.0, "most_repetitions": 12}


def rounds(plan, system):
    return plan.steps.filter(system=system, status="done").count()


def test_a_narrow_interval_ends_the_plan_as_planned(measure, study, system):
    plan = planned(study, system, repetitions=5, limits=WIDTH)

    measure(plan, {system.pk: CALM})

    plan.refresh_from_db()
    assert (plan.status, rounds(plan, system)) == ("done", 5)
    assert plan.advice[0]["sentence"] == "The interval is below 1 %."


def test_it_adds_as_many_rounds_as_the_width_asks_for(measure, study, system):
    plan = planned(study, system, repetitions=3, limits=WIDTH)

    measure(plan, {system.pk: [1.0, 1.004, 0.996] * 10})

    plan.refresh_from_db()
    assert plan.status == "done"
    assert 3 < rounds(plan, system) < 12
    assert plan.advice[0]["sentence"] == "The interval is below 1 %."


def test_it_stops_at_the_maximum_and_says_so(measure, study, system):
    plan = planned(study, system, repetitions=5, limits=WIDTH)

    measure(plan, {system.pk: WILD})

    plan.refresh_from_db()
    assert rounds(plan, system) == 12
    sentence = plan.advice[0]["sentence"]
    assert "more runs bring the interval below 1 %." in sentence
    assert sentence.endswith("The plan ends at 12 repetitions.")
    # Kept with its parts: a translator sees both sentences.
    words = kept_words(plan.advice[0])
    assert words == sentence
    assert [part.template for part in words.parameters.values()][-1] == (
        "The plan ends at {n} repetitions."
    )


def test_it_adds_nothing_when_the_budget_is_used_up(measure, study, system):
    plan = planned(study, system, repetitions=5, limits={**WIDTH, "budget_s": 25})

    measure(plan, {system.pk: WILD})

    plan.refresh_from_db()
    assert (plan.status, rounds(plan, system)) == ("done", 5)


def test_it_waits_for_results_that_are_on_their_way(measure, study, system):
    plan = planned(study, system, repetitions=2, limits=WIDTH)

    measure(plan, {system.pk: CALM}, process=lambda: None)

    plan.refresh_from_db()
    assert (plan.status, plan.advice) == ("open", [])


def test_both_sides_of_a_ratio_get_more_runs(measure, study, system, lab):
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
