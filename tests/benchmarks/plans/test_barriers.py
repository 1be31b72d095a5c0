"""Coordination of agents: turns, barriers, ends, and silent agents."""

from datetime import timedelta

import pytest

from benchmarks.errors import ConflictError, InvalidError, NotFoundError
from benchmarks.models import Plan, PlanPart, PlanSlot, PlanStep, System
from benchmarks.plans import automatic_progress, coordination
from benchmarks.plans.automatic_progress import advance_plans
from tests import job_queue
from tests.benchmarks.plans.simulated_guests import Guest, Hour, parallel, planned


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
    """Join guests to a plan: vm-a, vm-b, ..."""

    def join(plan, number):
        names = [f"vm-{email}" for email in "abcdef"[:number]]
        return [Guest(plan, agent, system.pk, name, hour) for name in names]

    return join


@pytest.fixture
def three(study, system, guests):
    """Three guests of a plan of two co-runs."""
    return guests(planned(study, system, **parallel(3)), 3)


def call(guests):
    return [guest.next() for guest in guests]


def arrive(guests, answers):
    return [guest.arrive(item) for guest, item in zip(guests, answers, strict=True)]


def steps(plan):
    return list(plan.steps.order_by("position"))


def test_failing_plan_does_not_stop_others(study, system, monkeypatch, caplog):
    bad, good = (planned(study, system, **parallel(2)) for _ in range(2))
    reached = []

    def advance_good(plan, now):
        if plan == bad:
            raise KeyError("no such step")
        reached.append(plan)

    monkeypatch.setattr(automatic_progress, "advance", advance_good)

    assert advance_plans() == 1
    assert reached == [good]
    work = job_queue.failed().get()
    assert (work.subject_id, work.error) == (bad.pk, "KeyError: 'no such step'")
    # The failed plan waits, and the other one continues.
    assert advance_plans() == 1
    assert job_queue.failed().get().failures == 1


def test_agents_get_answers_if_their_plan_fails(three, hour, monkeypatch):
    def fail(plan, step, now):
        step.deadline = None
        step.save()
        raise ZeroDivisionError("division by zero")

    monkeypatch.setattr(automatic_progress, "_delay_reason", fail)
    answers = call(three)

    arrive(three, answers)
    hour.passes(5)
    three[0].arrive(answers[0])

    work = job_queue.failed().get()
    assert (work.subject_id, work.failures) == (three[0].plan.pk, 1)
    assert work.error == "ZeroDivisionError: division by zero"
    # Changes of the failed attempt are rolled back.
    [busy] = PlanStep.objects.filter(status=PlanStep.Status.RUNNING)
    assert busy.deadline is not None
    ends = [guest.finish(its) for guest, its in zip(three, answers, strict=True)]
    assert [end.action for end in ends] == ["pending", "pending", "keep"]


def test_answer_states_that_the_plan_is_stuck(study, system, guests, monkeypatch):
    plan = planned(
        study, system, limits={"target_width_percent": 5, "max_repetitions": 9}
    )
    (guest,) = guests(plan, 1)
    PlanStep.objects.update(status=PlanStep.Status.DONE)

    def fail(plan, now):
        raise OverflowError("int too large to convert to float")

    monkeypatch.setattr(automatic_progress, "_add_rounds", fail)

    answer = guest.next()

    assert (answer.action, answer.message) == ("wait", coordination.PLAN_IS_STUCK)
    assert job_queue.failed().get().failures == 1


def test_guest_always_gets_the_same_slot(study, system, guests):
    plan = planned(study, system, **parallel(2))

    (first,), (repeated, other) = guests(plan, 1), guests(plan, 2)

    assert first.slot.pk == repeated.slot.pk
    assert (first.slot.number, other.slot.number) == (1, 2)


def test_number_of_slots_is_limited(study, system, guests):
    plan = planned(study, system, **parallel(2))

    with pytest.raises(ConflictError, match="taken, by vm-a, vm-b"):
        guests(plan, 3)


def test_clone_with_the_same_name_is_rejected_while_the_first_is_active(
    study, system, agent, hour
):
    plan = planned(study, system, **parallel(2))
    same = {
        "plan_id": plan.pk,
        "agent": agent,
        "name": "debian",
        "system": system.pk,
    }
    first = coordination.join_plan(**same, instance_id="a")

    with pytest.raises(ConflictError, match="--as NAME"):
        coordination.join_plan(**same, instance_id="b")

    assert coordination.join_plan(**same, instance_id="a").pk == first.pk
    hour.passes(16)
    assert coordination.join_plan(**same, instance_id="b").pk == first.pk


def test_guest_of_another_system_gets_the_list_of_systems(
    study, system, agent, host, hour
):
    plan = planned(study, system)
    described = {"host": host.slug, "hypervisor": "Xen"}

    with pytest.raises(InvalidError, match=rf"measures: {system.pk} \(KVM\)"):
        Guest(plan, agent, described, "vm-a", hour)


def test_plan_of_another_lab_is_not_found(study, system, other_agent, hour):
    plan = planned(study, system)

    with pytest.raises(NotFoundError):
        Guest(plan, other_agent, system.pk, "vm-a", hour)


def test_single_slot_starts_at_once(study, system, guests):
    plan = planned(study, system)
    (guest,) = guests(plan, 1)

    answer = guest.next()
    started = guest.arrive(answer)
    ended = guest.finish(answer)

    assert (started.action, started.starts_at_us) == ("start", None)
    assert ended.action == "keep"
    assert [step.status for step in steps(plan)] == ["done", "waiting"]


def test_requesting_a_part_again_returns_the_same_part(study, system, guests):
    (guest,) = guests(planned(study, system), 1)

    first, repeated = guest.next(), guest.next()

    assert first.part.pk == repeated.part.pk
    assert repeated.part.step.attempt == 1


def test_all_slots_start_together_after_the_last_arrival(three, hour):
    answers = call(three)

    waiting = [three[0].arrive(answers[0]), three[1].arrive(answers[1])]
    last = three[2].arrive(answers[2])
    rest = arrive(three[:2], answers[:2])

    assert [item.action for item in waiting] == ["wait", "wait"]
    assert waiting[1].message == "Waiting for slot 3 (vm-c)."
    assert last.starts_at_us == hour.us + 3_000_000
    assert {item.starts_at_us for item in rest} == {last.starts_at_us}


def test_results_of_a_corun_count_after_all_ended(three):
    answers = call(three)
    arrive(three, answers)

    held = [three[n].finish(answers[n], started_us=10 * n) for n in (0, 1)]
    last = three[2].finish(answers[2], started_us=2000)
    repeated = three[0].finish(answers[0], started_us=0)

    assert [item.action for item in held] == ["pending", "pending"]
    assert (last.action, repeated.action) == ("keep", "keep")
    step = steps(three[0].plan)[0]
    assert (step.start_spread_us, round(step.overlap, 4)) == (2000, 0.998)


def test_missing_slot_is_reported_and_others_are_released(three, hour):
    answers = call(three)
    for guest in three:
        guest.next()
    arrive([three[0], three[2]], [answers[0], answers[2]])

    hour.passes(61)
    released = three[0].arrive(answers[0])

    assert released.action == "cancelled"
    assert released.message.startswith(
        "Slot 2 (vm-b) did not arrive within 60 s, and sent no request for 61 s. Start"
    )
    assert steps(three[0].plan)[0].status == "waiting"


def test_slot_whose_agent_runs_gets_other_advice(three, hour):
    answers = call(three)
    three[0].arrive(answers[0])
    hour.passes(61)
    PlanSlot.objects.update(last_seen_at=hour.now - timedelta(seconds=4))

    released = three[0].arrive(answers[0])

    assert "sent a request 4 s ago" in released.message


def test_waiting_slots_learn_which_agent_is_silent(three, hour):
    answers = call(three)
    hour.passes(16)
    three[0].arrive(answers[0])
    three[1].next()

    waiting = three[0].arrive(answers[0])

    assert waiting.message == (
        "Waiting for slot 2 (vm-b), slot 3 (vm-c). No agent is running in slot 3 "
        "(vm-c)."
    )


def test_lead_follows_the_slowest_response(three, hour):
    answers = call(three)
    three[0].arrive(answers[0])
    hour.passes(4)
    three[0].arrive(answers[0])
    three[1].arrive(answers[1])

    started = three[2].arrive(answers[2])

    assert started.starts_at_us - hour.us == 9_000_000


def test_lead_is_shorter_for_quick_responses(three, hour):
    answers = call(three)
    for _ in range(2):
        arrive(three[:2], answers[:2])
        hour.passes(0.4)
    arrive(three[:2], answers[:2])
    PlanSlot.objects.filter(name="vm-c").update(response_s=0.3)

    started = three[2].arrive(answers[2])

    assert started.starts_at_us - hour.us == 1_800_000


def test_lead_follows_the_latest_start(three, hour):
    answers = call(three)
    started = arrive(three, answers)[-1].starts_at_us
    for guest, answer, late_us in zip(three, answers, (0, 0, 900_000), strict=True):
        guest.finish(
            answer,
            started_us=started + late_us,
            took_us=60_000_000,
            clock_error_us=100_000,
        )

    later = arrive(three, call(three))[-1].starts_at_us

    assert later - hour.us == 4_000_000


def test_barrier_times_out_without_requests(three, hour):
    arrive(three[:1], call(three)[:1])

    hour.passes(61)
    advance_plans()

    assert "did not arrive" in steps(three[0].plan)[0].reason


def test_step_fails_after_three_attempts(three, hour):
    for _ in range(6):
        answer = three[0].next()
        three[0].arrive(answer)
        hour.passes(61)
        three[0].arrive(answer)

    plan = Plan.objects.get()
    assert [(step.status, step.attempt) for step in steps(plan)] == [("failed", 3)] * 2
    assert three[0].next().action == "finished"
    assert plan.status == "open" or Plan.objects.get().status == "done"


def test_new_guest_has_a_longer_timeout(study, system, guests, hour):
    plan = planned(study, system, **parallel(2))
    (first,) = guests(plan, 1)
    answer = first.next()

    hour.passes(300)
    assert first.arrive(answer).action == "wait"
    hour.passes(301)
    message = first.arrive(answer).message
    assert str(message).startswith("Slot 2 did not join within 600 s.")


def test_steps_with_present_guests_go_first(study, system, guests, hour):
    scenarios = [{"kind": "parallel", "vms": 2}, {"kind": "single"}]
    plan = planned(study, system, slots=2, scenarios=scenarios)
    first, second = guests(plan, 2)

    hour.passes(20)  # vm-b is not heard of any more
    alone = first.next()

    assert alone.part.step.scenario == "single"
    assert second.next().action == "wait"


def test_host_runs_one_step_at_a_time(study, system, guests):
    scenarios = [{"kind": "single"}, {"kind": "parallel", "vms": 2}]
    first, second = guests(planned(study, system, slots=2, scenarios=scenarios), 2)

    assert first.next().action == "run"
    assert second.next().message == "Others are at step 1."


def test_request_during_a_run_ends_the_attempt(study, system, guests):
    plan = planned(study, system)
    (guest,) = guests(plan, 1)
    first = guest.next()
    guest.arrive(first)

    repeated = guest.next()

    assert repeated.part.step.attempt == 2
    assert guest.finish(first).action == "discard"
    guest.arrive(repeated)
    assert guest.finish(repeated).action == "keep"


def test_request_at_the_barrier_resets_arrival(three):
    answers = call(three)
    arrive(three[:1], answers[:1])
    three[0].next()

    arrive(three[1:], answers[1:])

    assert steps(three[0].plan)[0].status == "at_barrier"


def test_late_result_of_a_single_slot_counts(study, system, guests, hour):
    plan = planned(study, system)
    (guest,) = guests(plan, 1)
    answer = guest.next()
    guest.arrive(answer)

    hour.passes(90 + 61)
    advance_plans()
    assert "did not report an end" in steps(plan)[0].reason
    assert guest.finish(answer).action == "keep"
    assert steps(plan)[0].status == "done"


def test_much_slower_slot_times_out(three, hour):
    answers = call(three)
    arrive(three, answers)
    hour.passes(10)
    three[0].finish(answers[0])
    three[1].finish(answers[1])

    hour.passes(71)

    answer = three[0].finish(answers[0])
    assert answer.message == (
        "Slot 3 (vm-c) started but did not report an end in time."
    )


def test_a_late_result_of_a_corun_does_not_count(three, hour):
    answers = call(three)
    arrive(three, answers)
    three[0].finish(answers[0])

    hour.passes(200)

    assert three[0].finish(answers[0]).action == "discard"
    assert three[1].finish(answers[1]).action == "discard"


def test_slot_that_missed_the_start_fails_the_attempt(three):
    answers = call(three)
    arrive(three, answers)
    three[0].finish(answers[0])

    three[1].finish(answers[1], outcome="late", reason="learnt of it late")
    discarded = three[0].finish(answers[0])

    assert discarded.action == "discard"
    assert discarded.message == "Slot 2 (vm-b): learnt of it late"


def test_unsupported_program_is_not_retried(study, system, guests):
    plan = planned(study, system)
    (guest,) = guests(plan, 1)

    guest.finish(guest.next(), outcome="unsupported", reason="apt install rt-tests")

    first = steps(plan)[0]
    assert (first.status, first.attempt) == ("failed", 1)
    assert first.reason == "Slot 1 (vm-a): apt install rt-tests"
    assert first.reason.template == "{slot}: {why}"


def test_attempt_with_large_start_spread_is_repeated(three):
    answers = call(three)
    arrive(three, answers)

    for place, guest in enumerate(three):
        guest.finish(answers[place], started_us=60_000 * place)

    step = steps(three[0].plan)[0]
    assert str(step.reason).startswith("The slots started 120 ms apart (limit 100 ms)")
    assert step.status == "waiting"


def test_late_start_counts_if_the_runs_overlap_by_90_percent(three):
    answers = call(three)
    arrive(three, answers)

    for place, guest in enumerate(three):
        guest.finish(answers[place], started_us=400_000 * place, took_us=10_000_000)

    step = steps(three[0].plan)[0]
    assert (step.status, step.start_spread_us) == ("done", 800_000)
    assert step.overlap == pytest.approx(0.92)


def test_lead_doubles_with_each_attempt(three):
    PlanStep.objects.update(attempt=1)

    answers = arrive(three, call(three))

    assert steps(three[0].plan)[0].attempt == 2
    assert answers[-1].starts_at_us - three[-1].hour.us == 6_000_000


def test_last_attempt_is_kept_with_its_spread(three):
    PlanStep.objects.update(attempt=2)
    answers = call(three)
    arrive(three, answers)

    for place, guest in enumerate(three):
        guest.finish(answers[place], started_us=60_000 * place)

    step = steps(three[0].plan)[0]
    assert (step.status, step.start_spread_us) == ("done", 120_000)


def test_slots_with_different_time_servers_fail(three):
    answers = call(three)
    arrive(three[:2], answers[:2])

    refused = three[2].arrive(answers[2], clock="another")

    assert refused.action == "cancelled"
    assert "slot 3 (vm-c): another" in refused.message
    assert steps(three[0].plan)[0].status == "failed"


@pytest.fixture
def loaded(study, system, guests):
    load = {"kind": "under load", "vms": 3, "load": {"tool": "virtlab-linpack"}}
    return guests(planned(study, system, slots=3, scenarios=[load]), 3)


def test_load_is_stopped_after_the_measured_slot(loaded):
    answers = call(loaded)
    arrive(loaded, answers)
    assert loaded[1].arrive(answers[1]).action == "start"

    held = loaded[0].finish(answers[0])
    stopped = arrive(loaded[1:], answers[1:])
    for guest, answer in zip(loaded[1:], answers[1:], strict=True):
        guest.finish(answer, rounds=4)

    assert held.action == "pending"
    assert [item.action for item in stopped] == ["stop", "stop"]
    assert loaded[0].finish(answers[0]).action == "keep"
    assert set(PlanPart.objects.filter(rounds=4).values_list("role", flat=True)) == {
        "load"
    }


def test_silent_load_fails_the_attempt(loaded, hour):
    answers = call(loaded)
    arrive(loaded, answers)

    for _ in range(4):
        hour.passes(10)
        loaded[2].arrive(answers[2])

    spoilt = loaded[0].finish(answers[0])
    assert spoilt.action == "discard"
    assert "No response from the load of slot 2 (vm-b) for 30 s" in spoilt.message


def test_remaining_steps_are_skipped_after_the_budget(study, system, guests, hour):
    plan = planned(study, system, repetitions=3, limits={"budget_s": 100})
    (guest,) = guests(plan, 1)
    guest.alone(seconds=10)
    answer = guest.next()
    guest.arrive(answer)

    hour.passes(95)
    ended = guest.finish(answer)

    plan.refresh_from_db()
    assert ended.action == "keep"
    assert [step.status for step in steps(plan)] == ["done", "done", "skipped"]
    assert steps(plan)[2].reason.startswith("Skipped: ")
    assert plan.status == "done"


def test_steps_that_exceed_the_budget_are_skipped(study, system, guests, hour):
    plan = planned(study, system, limits={"budget_s": 100})
    (guest,) = guests(plan, 1)
    guest.alone(seconds=60)

    assert guest.next().action == "finished"

    last = steps(plan)[1]
    assert last.status == "skipped"
    assert (
        last.reason
        == "Skipped: it needs about 60 s, but only 40 s of the time budget were left."
    )


def test_end_of_budget_releases_the_barrier(three, hour):
    Plan.objects.update(budget_s=30)
    answers = call(three)
    three[0].arrive(answers[0])

    hour.passes(31)

    assert "budget" in three[0].arrive(answers[0]).message
    assert three[0].next().action == "finished"


def test_actual_order_of_starts_is_stored(study, system, guests):
    plan = planned(study, system, order="abba", repetitions=2)
    (guest,) = guests(plan, 1)

    guest.alone()
    guest.alone()

    assert [step.start_order for step in steps(plan)] == [1, 2]
    assert {step.status for step in steps(plan)} == {PlanStep.Status.DONE}
    assert coordination.AGENT_POLL_S < 5


def test_number_of_queries_does_not_depend_on_the_length_of_a_plan(
    study, system, guests, django_assert_max_num_queries
):
    (guest,) = guests(planned(study, system, repetitions=200), 1)

    with django_assert_max_num_queries(25):
        guest.next()
