"""What agents are told: turns, barriers, ends; and what is done about the dead."""

import pytest

from benchmarks.errors import ConflictError, InvalidError, NotFoundError
from benchmarks.models import Plan, PlanPart, PlanStep, System
from benchmarks.plans import progress, turns
from benchmarks.plans.progress import proceed_plans
from tests import jobs
from tests.benchmarks.plans.planning import Guest, Hour, parallel, planned


@pytest.fixture
def system(lab, host):
    return System.objects.create(
        lab=lab, host=host, hypervisor="KVM", fingerprint="kvm-on-alpha"
    )


@pytest.fixture
def hour(monkeypatch):
    return Hour(monkeypatch)


@pytest.fixture
def guests(agent, system, hour):
    """Give a plan as many guests: vm-a, vm-b, ..."""

    def join(plan, number):
        names = [f"vm-{letter}" for letter in "abcdef"[:number]]
        return [Guest(plan, agent, system.pk, name, hour) for name in names]

    return join


@pytest.fixture
def three(study, system, guests):
    """Three guests of a plan of two co-runs."""
    return guests(planned(study, system, **parallel(3)), 3)


def call(guests):
    return [guest.next() for guest in guests]


def arrive(guests, answers):
    return [guest.meet(each) for guest, each in zip(guests, answers, strict=True)]


def steps(plan):
    return list(plan.steps.order_by("position"))


def test_a_plan_that_cannot_go_on_keeps_no_other_from_it(
    study, system, monkeypatch, caplog
):
    bad, good = (planned(study, system, **parallel(2)) for _ in range(2))
    reached = []

    def advance_good(plan, now):
        if plan == bad:
            raise KeyError("no such step")
        reached.append(plan)

    monkeypatch.setattr(progress, "advance", advance_good)

    assert proceed_plans() == 1
    assert reached == [good]
    work = jobs.failed().get()
    assert (work.subject_id, work.error) == (bad.pk, "KeyError: 'no such step'")
    # It waits, and the other one goes on.
    assert proceed_plans() == 1
    assert jobs.failed().get().failures == 1


def test_agents_are_answered_though_their_plan_fails(three, hour, monkeypatch):
    def fail(plan, step, now):
        step.deadline = None
        step.save()
        raise ZeroDivisionError("division by zero")

    monkeypatch.setattr(progress, "_late_reason", fail)
    answers = call(three)

    arrive(three, answers)
    hour.passes(5)
    three[0].meet(answers[0])

    work = jobs.failed().get()
    assert (work.subject_id, work.failures) == (three[0].plan.pk, 1)
    assert work.error == "ZeroDivisionError: division by zero"
    # Nothing of what failed is left.
    [busy] = PlanStep.objects.filter(status=PlanStep.Status.RUNNING)
    assert busy.deadline is not None
    ends = [guest.finish(its) for guest, its in zip(three, answers, strict=True)]
    assert [end.state for end in ends] == ["held", "held", "keep"]


def test_an_agent_is_told_that_its_plan_is_stuck(study, system, guests, monkeypatch):
    plan = planned(study, system, limits={"width_percent": 5, "most_repetitions": 9})
    (guest,) = guests(plan, 1)
    PlanStep.objects.update(status=PlanStep.Status.DONE)

    def fail(plan, now):
        raise OverflowError("int too large to convert to float")

    monkeypatch.setattr(progress, "_add_rounds", fail)

    answer = guest.next()

    assert (answer.state, answer.sentence) == ("wait", turns.STUCK)
    assert jobs.failed().get().failures == 1


def test_a_guest_has_the_same_slot_whenever_it_asks(study, system, guests):
    plan = planned(study, system, **parallel(2))

    (first,), (again, other) = guests(plan, 1), guests(plan, 2)

    assert first.slot.pk == again.slot.pk
    assert (first.slot.number, other.slot.number) == (1, 2)


def test_there_are_no_more_slots_than_planned(study, system, guests):
    plan = planned(study, system, **parallel(2))

    with pytest.raises(ConflictError, match="taken, by vm-a, vm-b"):
        guests(plan, 3)


def test_a_clone_with_the_same_name_is_refused_while_the_first_is_there(
    study, system, agent, hour
):
    plan = planned(study, system, **parallel(2))
    same = {
        "plan_id": plan.pk,
        "agent": agent,
        "name": "debian",
        "system": system.pk,
    }
    first = turns.join_plan(**same, instance="a")

    with pytest.raises(ConflictError, match="--as NAME"):
        turns.join_plan(**same, instance="b")

    assert turns.join_plan(**same, instance="a").pk == first.pk
    hour.passes(16)
    assert turns.join_plan(**same, instance="b").pk == first.pk


def test_a_guest_of_another_system_is_told_which_are_measured(
    study, system, agent, host, hour
):
    plan = planned(study, system)
    described = {"host": host.slug, "hypervisor": "Xen"}

    with pytest.raises(InvalidError, match=rf"measures: {system.pk} \(KVM\)"):
        Guest(plan, agent, described, "vm-a", hour)


def test_another_labs_plan_is_not_there(study, system, other_agent, hour):
    plan = planned(study, system)

    with pytest.raises(NotFoundError):
        Guest(plan, other_agent, system.pk, "vm-a", hour)


def test_a_slot_alone_starts_at_once_and_its_end_counts(study, system, guests):
    plan = planned(study, system)
    (guest,) = guests(plan, 1)

    answer = guest.next()
    started = guest.meet(answer)
    ended = guest.finish(answer)

    assert (started.state, started.starts_at_us) == ("start", None)
    assert ended.state == "keep"
    assert [step.status for step in steps(plan)] == ["done", "waiting"]


def test_the_same_step_claimed_twice_is_one(study, system, guests):
    (guest,) = guests(planned(study, system), 1)

    first, again = guest.next(), guest.next()

    assert first.part.pk == again.part.pk
    assert again.part.step.attempt == 1


def test_all_start_at_one_moment_when_the_last_has_arrived(three, hour):
    answers = call(three)

    waiting = [three[0].meet(answers[0]), three[1].meet(answers[1])]
    last = three[2].meet(answers[2])
    others = arrive(three[:2], answers[:2])

    assert [each.state for each in waiting] == ["wait", "wait"]
    assert waiting[1].sentence == "Waiting for slot 3 (vm-c)."
    assert last.starts_at_us == hour.us + 3_000_000
    assert {each.starts_at_us for each in others} == {last.starts_at_us}


def test_what_a_co_run_measured_is_kept_when_all_have_ended(three):
    answers = call(three)
    arrive(three, answers)

    held = [three[n].finish(answers[n], began_us=10 * n) for n in (0, 1)]
    last = three[2].finish(answers[2], began_us=2000)
    again = three[0].finish(answers[0], began_us=0)

    assert [each.state for each in held] == ["held", "held"]
    assert (last.state, again.state) == ("keep", "keep")
    step = steps(three[0].plan)[0]
    assert (step.spread_us, round(step.overlap, 4)) == (2000, 0.998)


def test_a_slot_that_does_not_come_is_named_and_the_others_are_released(three, hour):
    answers = call(three)
    for guest in three:
        guest.next()
    arrive([three[0], three[2]], [answers[0], answers[2]])

    hour.passes(61)
    released = three[0].meet(answers[0])

    assert released.state == "released"
    assert released.sentence == "Slot 2 (vm-b) did not arrive within 60 s."
    assert steps(three[0].plan)[0].status == "waiting"


def test_nobody_has_to_ask_for_a_barrier_to_time_out(three, hour):
    arrive(three[:1], call(three)[:1])

    hour.passes(61)
    proceed_plans()

    assert "did not arrive" in steps(three[0].plan)[0].reason


def test_after_three_attempts_a_step_has_failed(three, hour):
    for _ in range(6):
        answer = three[0].next()
        three[0].meet(answer)
        hour.passes(61)
        three[0].meet(answer)

    plan = Plan.objects.get()
    assert [(step.status, step.attempt) for step in steps(plan)] == [("failed", 3)] * 2
    assert three[0].next().state == "over"
    assert plan.status == "open" or Plan.objects.get().status == "done"


def test_a_guest_that_never_joined_is_awaited_longer(study, system, guests, hour):
    plan = planned(study, system, **parallel(2))
    (first,) = guests(plan, 1)
    answer = first.next()

    hour.passes(300)
    assert first.meet(answer).state == "wait"
    hour.passes(301)
    assert first.meet(answer).sentence == "Slot 2 never joined, for 600 s."


def test_steps_whose_slots_are_there_go_first(study, system, guests, hour):
    scenarios = [{"kind": "parallel", "vms": 2}, {"kind": "single"}]
    plan = planned(study, system, slots=2, scenarios=scenarios)
    first, second = guests(plan, 2)

    hour.passes(20)  # vm-b is not heard of any more
    alone = first.next()

    assert alone.part.step.scenario == "single"
    assert second.next().state == "wait"


def test_one_step_at_a_time_runs_on_a_host(study, system, guests):
    scenarios = [{"kind": "single"}, {"kind": "parallel", "vms": 2}]
    first, second = guests(planned(study, system, slots=2, scenarios=scenarios), 2)

    assert first.next().state == "run"
    assert second.next().sentence == "Others are at step 1."


def test_a_slot_that_asks_anew_has_lost_its_program(study, system, guests):
    plan = planned(study, system)
    (guest,) = guests(plan, 1)
    first = guest.next()
    guest.meet(first)

    again = guest.next()

    assert again.part.step.attempt == 2
    assert guest.finish(first).state == "discard"
    guest.meet(again)
    assert guest.finish(again).state == "keep"


def test_a_slot_that_asks_anew_at_the_barrier_has_not_arrived(three):
    answers = call(three)
    arrive(three[:1], answers[:1])
    three[0].next()

    arrive(three[1:], answers[1:])

    assert steps(three[0].plan)[0].status == "gathering"


def test_a_late_result_of_a_slot_alone_counts(study, system, guests, hour):
    plan = planned(study, system)
    (guest,) = guests(plan, 1)
    answer = guest.next()
    guest.meet(answer)

    hour.passes(90 + 61)
    proceed_plans()
    assert "did not report an end" in steps(plan)[0].reason
    assert guest.finish(answer).state == "keep"
    assert steps(plan)[0].status == "done"


def test_who_takes_far_longer_than_the_first_to_end_is_not_awaited(three, hour):
    answers = call(three)
    arrive(three, answers)
    hour.passes(10)
    three[0].finish(answers[0])
    three[1].finish(answers[1])

    hour.passes(71)

    answer = three[0].finish(answers[0])
    assert answer.sentence == "Slot 3 (vm-c) began and did not report an end in time."


def test_a_late_result_of_a_co_run_does_not_count(three, hour):
    answers = call(three)
    arrive(three, answers)
    three[0].finish(answers[0])

    hour.passes(200)

    assert three[0].finish(answers[0]).state == "discard"
    assert three[1].finish(answers[1]).state == "discard"


def test_a_slot_that_missed_the_start_spoils_the_attempt_for_all(three):
    answers = call(three)
    arrive(three, answers)
    three[0].finish(answers[0])

    three[1].finish(answers[1], outcome="missed", reason="learnt of it late")
    discarded = three[0].finish(answers[0])

    assert discarded.state == "discard"
    assert discarded.sentence == "Slot 2 (vm-b): learnt of it late"


def test_what_cannot_be_run_is_not_tried_again(study, system, guests):
    plan = planned(study, system)
    (guest,) = guests(plan, 1)

    guest.finish(guest.next(), outcome="hopeless", reason="apt install rt-tests")

    first = steps(plan)[0]
    assert (first.status, first.attempt) == ("failed", 1)
    assert first.reason == "Slot 1 (vm-a): apt install rt-tests"
    assert first.reason.template == "{slot}: {why}"


def test_slots_that_began_too_far_apart_try_again(three):
    answers = call(three)
    arrive(three, answers)

    for place, guest in enumerate(three):
        guest.finish(answers[place], began_us=60_000 * place)

    step = steps(three[0].plan)[0]
    assert step.reason == "The slots began 120 ms apart; 100 ms are allowed."
    assert step.status == "waiting"


def test_the_last_attempt_is_kept_with_the_spread_it_has(three):
    PlanStep.objects.update(attempt=2)
    answers = call(three)
    arrive(three, answers)

    for place, guest in enumerate(three):
        guest.finish(answers[place], began_us=60_000 * place)

    step = steps(three[0].plan)[0]
    assert (step.status, step.spread_us) == ("done", 120_000)


def test_slots_of_different_time_servers_cannot_meet(three):
    answers = call(three)
    arrive(three[:2], answers[:2])

    refused = three[2].meet(answers[2], clock="another")

    assert refused.state == "released"
    assert "slot 3 (vm-c): another" in refused.sentence
    assert steps(three[0].plan)[0].status == "failed"


@pytest.fixture
def loaded(study, system, guests):
    load = {"kind": "under load", "vms": 3, "load": {"tool": "virtlab-linpack"}}
    return guests(planned(study, system, slots=3, scenarios=[load]), 3)


def test_the_load_is_told_to_stop_when_the_measured_slot_has_ended(loaded):
    answers = call(loaded)
    arrive(loaded, answers)
    assert loaded[1].meet(answers[1]).state == "start"

    held = loaded[0].finish(answers[0])
    stopped = arrive(loaded[1:], answers[1:])
    for guest, answer in zip(loaded[1:], answers[1:], strict=True):
        guest.finish(answer, rounds=4)

    assert held.state == "held"
    assert [each.state for each in stopped] == ["stop", "stop"]
    assert loaded[0].finish(answers[0]).state == "keep"
    assert set(PlanPart.objects.filter(rounds=4).values_list("role", flat=True)) == {
        "load"
    }


def test_a_load_that_is_not_heard_of_spoils_the_attempt(loaded, hour):
    answers = call(loaded)
    arrive(loaded, answers)

    for _ in range(4):
        hour.passes(10)
        loaded[2].meet(answers[2])

    spoilt = loaded[0].finish(answers[0])
    assert spoilt.state == "discard"
    assert "No sign of the load of slot 2 (vm-b) for 30 s" in spoilt.sentence


def test_when_the_budget_is_used_up_the_rest_is_not_done(study, system, guests, hour):
    plan = planned(study, system, repetitions=3, limits={"budget_s": 100})
    (guest,) = guests(plan, 1)
    guest.alone(seconds=10)
    answer = guest.next()
    guest.meet(answer)

    hour.passes(95)
    ended = guest.finish(answer)

    plan.refresh_from_db()
    assert ended.state == "keep"
    assert [step.status for step in steps(plan)] == ["done", "done", "not done"]
    assert steps(plan)[2].reason.startswith("Skipped: ")
    assert plan.status == "done"


def test_what_would_not_fit_into_the_budget_is_not_begun(study, system, guests, hour):
    plan = planned(study, system, limits={"budget_s": 100})
    (guest,) = guests(plan, 1)
    guest.alone(seconds=60)

    assert guest.next().state == "over"

    last = steps(plan)[1]
    assert last.status == "not done"
    assert (
        last.reason
        == "Skipped: it needs about 60 s, and 40 s of the time budget were left."
    )


def test_the_budget_frees_who_waits_at_a_barrier(three, hour):
    Plan.objects.update(budget_s=30)
    answers = call(three)
    three[0].meet(answers[0])

    hour.passes(31)

    assert "budget" in three[0].meet(answers[0]).sentence
    assert three[0].next().state == "over"


def test_steps_say_in_which_order_they_were_really_begun(study, system, guests):
    plan = planned(study, system, order="abba", repetitions=2)
    (guest,) = guests(plan, 1)

    guest.alone()
    guest.alone()

    assert [step.sequence for step in steps(plan)] == [1, 2]
    assert {step.status for step in steps(plan)} == {PlanStep.Status.DONE}
    assert turns.LOOK_AGAIN_S < 5


def test_a_turn_costs_the_same_however_long_the_plan(
    study, system, guests, django_assert_max_num_queries
):
    (guest,) = guests(planned(study, system, repetitions=200), 1)

    with django_assert_max_num_queries(25):
        guest.next()
