"""Plans: list, live page and form."""

import re
from html import unescape

import pytest

from benchmarks.models import Membership, Plan, PlanStep, System
from benchmarks.plans.planning import stop_plan
from benchmarks.sentences import Sentence
from tests.benchmarks.plans.simulated_guests import Guest, Hour, parallel, planned
from tests.dashboard.marked_language import translated

LIST = "/studies/alpha-lab/study/plans/"
NEW = f"{LIST}new/"
FILLED = {
    "title": "Three guests",
    "tool": ["hackbench", "sysbench"],
    "option-seconds": "5",
    "single": "on",
    "parallel": "on",
    "vms": "3",
    "repetitions": "2",
    "warm_up_rounds": "0",
    "order": "abba",
    "budget_min": "30",
    "barrier_timeout_s": "45",
}


@pytest.fixture
def system(lab, host):
    return System.objects.create(
        lab=lab, host=host, hypervisor="KVM", fingerprint="kvm-on-alpha"
    )


@pytest.fixture
def plan(study, system):
    return planned(study, system, **parallel(3))


@pytest.fixture
def guests(plan, agent, system, monkeypatch):
    hour = Hour(monkeypatch)
    return [Guest(plan, agent, system.pk, f"vm-{one}", hour) for one in "abc"]


@pytest.fixture
def keeper(client, person):
    client.force_login(person)
    return client


def page_of(plan):
    return f"/plans/{plan.pk}/"


def test_study_without_plans_explains_plans(text, study):
    page = text(LIST)

    assert "has no plan yet" in page
    assert "Create the first plan" not in page


def test_list_shows_progress(text, plan):
    stop_plan(plan=plan)

    page = text(LIST)

    assert "A plan" in page
    assert "<b>2</b> skipped" in page


def test_study_links_to_plans(text, plan):
    assert f'href="{LIST}"' in text("/studies/alpha-lab/study/")


def test_plan_without_agents_explains_joining(keeper, plan, system):
    page = keeper.get(page_of(plan)).content.decode()

    assert f"python3 virtlab-agent.pyz plan {plan.pk} --system {system.pk}" in page
    assert "Agents have to join first" in page
    assert page.count("not joined") == 3


def test_shows_slots_waiting_at_barrier(text, plan, guests):
    answers = [guest.next() for guest in guests]
    guests[0].arrive(answers[0])

    page = text(page_of(plan))

    assert '<li class="slot-arrived">slot 1 (vm-a)' in page
    assert '<li class="slot-awaited">slot 3 (vm-c)' in page
    assert "1 of 3 have arrived" in page
    assert 'hx-trigger="every 2s"' in page


def test_shows_spread_of_starts(text, plan, guests):
    answers = [guest.next() for guest in guests]
    for guest, answer in zip(guests, answers, strict=True):
        guest.arrive(answer)
    for place, guest in enumerate(guests):
        guest.finish(answers[place], started_us=4000 * place, took_us=40_000)

    page = text(page_of(plan))

    assert "its slots started 8.0 ms apart" in page
    assert "In 1 co-run, the overlap was less than 90%." in page


def test_failed_step_shows_reason(text, plan):
    plan.steps.filter(position=0).update(
        status=PlanStep.Status.FAILED, attempt=3, reason="Slot 2 (vm-b) did not arrive."
    )

    page = text(page_of(plan) + "?state=failed")

    assert "Slot 2 (vm-b) did not arrive." in page
    assert page.count('class="badge step-badge') == 1


def test_reason_follows_language_of_page(text, plan, tmp_path):
    apart = Sentence("The slots began {apart:.1f} ms apart.", apart=120.5)
    plan.steps.filter(position=0).update(status=PlanStep.Status.FAILED, reason=apart)

    with translated("de", tmp_path):
        page = text(page_of(plan), headers={"accept-language": "de"})

    assert "The slots began 120,5 ms apart." in page


def test_ended_plan_stops_polling(text, plan):
    stop_plan(plan=plan)

    page = text(page_of(plan))

    assert "The plan has ended." in page
    assert "hx-get" not in page


def test_advice_is_shown_as_sentence(text, plan):
    Plan.objects.update(
        target_width_percent=1.0,
        max_repetitions=9,
        advice=[
            {
                "system": "KVM",
                "tool": "hackbench",
                "program": "process",
                "scenario": "single",
                "case": "Time",
                "runs": 5,
                "sentence": "3 more runs bring the confidence interval within ±1%.",
            }
        ],
    )

    assert "3 more runs bring the confidence interval within ±1%." in text(
        page_of(plan)
    )


def test_query_count_is_independent_of_plan_length(
    client, study, system, django_assert_max_num_queries
):
    longest = planned(study, system, repetitions=200)

    with django_assert_max_num_queries(15):
        assert client.get(page_of(longest)).status_code == 200


def test_plan_of_private_study_is_404(client, private_study, system):
    plan = planned(private_study, system)

    assert client.get(page_of(plan)).status_code == 404
    assert client.get("/studies/alpha-lab/secret-study/plans/").status_code == 404


def test_editor_creates_plan(keeper, study, system):
    chosen = {**FILLED, "system": [system.pk], f"slots-{system.pk}": "3"}

    made = keeper.post(NEW, chosen)

    plan = Plan.objects.get()
    assert made["Location"] == page_of(plan)
    assert (plan.budget_s, plan.barrier_timeout_s, plan.created_by) == (
        1800,
        45,
        "carol",
    )
    assert plan.steps.count() == (1 + 3) * 2 * 2
    assert plan.design["tools"][0]["options"] == {"seconds": 5}


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"system": []}, "Choose at least one system."),
        ({"single": "", "parallel": ""}, "Choose at least one scenario."),
        ({"tool": []}, "Name at least one tool"),
        ({"vms": "9"}, "needs 9 slots"),
        ({"option-peer": "--rm"}, "text such as 192.168.1.7"),
        ({"repetitions": "0"}, "Repetitions"),
        ({"target_width_percent": "1"}, "needs a maximum"),
    ],
)
def test_invalid_plan_is_reported_and_input_is_kept(
    keeper, study, system, changes, sentence
):
    chosen = {**FILLED, "system": [system.pk], f"slots-{system.pk}": "3", **changes}

    answer = keeper.post(NEW, chosen)

    page = answer.content.decode()
    assert (answer.status_code, Plan.objects.count()) == (422, 0)
    assert sentence in page
    assert 'value="Three guests"' in page


def test_viewer_cannot_create_or_stop_plans(keeper, study, plan):
    Membership.objects.update(role=Membership.Role.VIEWER)

    assert keeper.get(NEW).status_code == 404
    assert keeper.post(NEW, FILLED).status_code == 404
    assert keeper.post(f"/plans/{plan.pk}/stop/").status_code == 404
    assert "New plan" not in keeper.get(LIST).content.decode()


def test_editor_stops_plan_once(keeper, plan):
    first = keeper.post(f"/plans/{plan.pk}/stop/", follow=True).content.decode()
    again = keeper.post(f"/plans/{plan.pk}/stop/", follow=True).content.decode()

    assert "Plan stopped" in first
    assert "has already ended" in again
    assert ("data-submit-failed" in first, "data-submit-failed" in again) == (
        False,
        True,
    )


def test_settings_to_compare_are_systems_of_the_plan(keeper, study, system):
    form = keeper.get(NEW).content.decode()
    link = re.findall(r'href="(\?setting=[^"]+)"', form)[0]
    assert keeper.get(NEW + unescape(link)).content.count(b"checked") > 5

    chosen = {"system": [system.pk], "setting": ["pinning", "x"]}
    keeper.post(NEW, {**FILLED, **chosen, f"slots-{system.pk}": "3"})

    slots = Plan.objects.get().slots.filter(number=1)
    options = [slot.system.options for slot in slots]
    assert sorted(options, key=str) == [{"pinning": "off"}, {"pinning": "on"}]
