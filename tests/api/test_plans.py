"""/plans/: creation and progress of plans, and the agents that follow them."""

import pytest

from benchmarks.models import Plan, PlanPart, System


@pytest.fixture
def system(lab, host):
    return System.objects.create(
        lab=lab, host=host, hypervisor="KVM", fingerprint="kvm-on-alpha"
    )


@pytest.fixture
def document(study, system):
    return {
        "study": study.slug,
        "title": "Two guests",
        "systems": [{"system": system.pk, "slots": 2}],
        "tools": [{"tool": "hackbench"}],
        "scenarios": [{"kind": "parallel", "vms": 2}],
        "repetitions": 1,
        "warm_up_rounds": 0,
        "budget_s": 600,
    }


@pytest.fixture
def plan(api, document):
    answer = api.post("plans/", document)
    assert answer.status_code == 201, answer.content
    return answer.json()


def test_plans_can_be_created_and_read(anyone, plan):
    shown = anyone.get(f"plans/{plan['id']}/").json()

    assert shown["steps"]["waiting"] == 1
    assert [slot["number"] for slot in shown["slots"]] == [1, 2]
    assert (shown["barriers"], shown["start_spreads_us"]) == ([], [])


def test_plans_are_listed_by_study_and_status(anyone, plan):
    found = anyone.get("plans/", study="study", status="open").json()["results"]

    assert [item["id"] for item in found] == [plan["id"]]
    assert anyone.get("plans/", status="done").json()["results"] == []


@pytest.mark.parametrize(
    ("change", "status", "code"),
    [
        ({"tools": [{"tool": "hackbrench"}]}, 422, "unknown_tool"),
        ({"tools": [{"tool": "fio", "options": {"peer": "-x"}}]}, 422, "invalid_plan"),
        ({"scenarios": [{"kind": "parallel", "vms": 3}]}, 422, "invalid_plan"),
        ({"systems": [{"system": 999_999}]}, 422, "unknown_system"),
        ({"order": "shuffled"}, 400, "invalid"),
        ({"budget": 60}, 400, "invalid"),
        ({"study": "missing"}, 422, "unknown_study"),
    ],
)
def test_invalid_plans_get_a_message(api, document, change, status, code):
    answer = api.post("plans/", {**document, **change})

    assert (answer.status_code, answer.json()["code"]) == (status, code)
    assert not Plan.objects.exists()


def test_other_labs_cannot_change_or_follow_plans(stranger, system, plan):
    part = PlanPart.objects.first().pk
    url = f"plans/{plan['id']}/"
    asked = [
        stranger.patch(url, {"status": "stopped"}),
        stranger.post(f"{url}slots/", {"name": "vm-a", "system": system.pk}),
        stranger.post(f"{url}next/", {"slot": 1}),
        stranger.post(f"plan-parts/{part}/arrive/", {"attempt": 1}),
        stranger.post(f"plan-parts/{part}/finish/", {"attempt": 1, "outcome": "done"}),
    ]

    assert [answer.status_code for answer in asked][1:] == [404] * 4
    assert asked[0].status_code == 404
    assert Plan.objects.get().status == "open"


def test_read_tokens_cannot_create_plans(reader, anyone, document):
    assert reader.post("plans/", document).status_code == 403
    assert anyone.post("plans/", document).status_code == 401


def test_plans_can_be_stopped_once(api, plan):
    first = api.patch(f"plans/{plan['id']}/", {"status": "stopped"})
    again = api.patch(f"plans/{plan['id']}/", {"status": "stopped"})

    assert first.json()["steps"]["skipped"] == 1
    assert (again.status_code, again.json()["code"]) == (409, "plan_finished")


def test_two_guests_run_a_step(api, anyone, system, plan):
    url = f"plans/{plan['id']}/"
    said = [{"name": name, "system": system.pk} for name in ("vm-a", "vm-b")]
    slots = [api.post(f"{url}slots/", item).json() for item in said]
    parts = [
        api.post(f"{url}next/", {"slot": item["id"]}).json()["part"] for item in slots
    ]
    for part in parts:
        arrived = {"attempt": 1, "clock_id": "c", "now_us": 1_000, "timeout_s": 9.5}
        met = api.post(f"plan-parts/{part['id']}/arrive/", arrived).json()
    for number, part in enumerate(parts):
        ended = {"attempt": 1, "outcome": "done", "started_us": 10 + number}
        ended |= {"ended_us": 1_000_010 + number, "run_keys": []}
        kept = api.post(f"plan-parts/{part['id']}/finish/", ended).json()

    assert slots[0]["tools"] == [{"tool": "hackbench", "options": {}}]
    assert [part["slot"] for part in parts] == ["1", "2"]
    assert (parts[0]["corun"], parts[0]["session"]) == (
        f"plan {plan['id']}, step 1",
        f"plan {plan['id']}",
    )
    assert (met["action"], met["starts_at_us"], kept["action"]) == (
        "start",
        3_001_000,
        "keep",
    )
    (step,) = anyone.get(f"{url}steps/", status="done").json()["results"]
    assert (step["start_spread_us"], step["parts"][1]["started_us"]) == (1, 11)
    assert anyone.get(url).json()["status"] == "done"


def test_joining_guests_can_describe_their_system(api, host, document):
    described = {"host": host.slug, "hypervisor": "Xen", "guest_bits": 64}
    document["systems"] = [{"system": described, "slots": 2}]
    plan = api.post("plans/", document).json()

    joined = api.post(
        f"plans/{plan['id']}/slots/", {"name": "vm-a", "system": described}
    )
    other = {**described, "guest_bits": 32}
    refused = api.post(f"plans/{plan['id']}/slots/", {"name": "vm-b", "system": other})

    assert joined.json()["number"] == 1
    assert (refused.status_code, refused.json()["code"]) == (422, "invalid_plan")


def test_unknown_machine_joins_as_native_only_if_it_is_confirmed(api, host, document):
    native = {"host": host.slug, "hypervisor": "native"}
    document["systems"] = [{"system": native, "slots": 2}]
    url = f"plans/{api.post('plans/', document).json()['id']}/slots/"
    platform = {"layers": ["unknown"], "conflict": False}
    guest = {"name": "vm-a", "system": native, "platform": platform}

    refused = api.post(url, guest)

    assert (refused.status_code, refused.json()["code"]) == (
        422,
        "native_not_confirmed",
    )
    platform["confirmed"] = "native"
    assert api.post(url, guest).json()["number"] == 1
