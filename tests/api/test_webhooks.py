"""Webhooks through the API: made, read, changed, tested, deleted."""

import pytest

from benchmarks.collaboration.webhooks import webhook_secret
from benchmarks.models import AuditEntry, Delivery, Membership, Webhook

HOOK = {"target_url": "https://example.org/hook?key=hidden", "kinds": ["runs", "flags"]}


@pytest.fixture
def made(api, token):
    answer = api.post("webhooks/", HOOK, token=token)
    assert answer.status_code == 201, answer.json()
    return answer.json()


def test_its_secret_is_shown_once(api, token, made):
    webhook = Webhook.objects.get()
    assert made["secret"] == webhook_secret(webhook)
    assert (made["target_url"], made["created_by"]) == (HOOK["target_url"], "alice")

    read = api.get(f"webhooks/{webhook.pk}/", token=token).json()

    assert "secret" not in read
    [entry] = AuditEntry.objects.filter(kind="created_webhook")
    assert (entry.actor, entry.about) == ("alice", "example.org")


def test_it_is_changed_tested_and_deleted(api, token, made, study):
    place = f"webhooks/{made['id']}/"
    changed = api.patch(
        place, {"kinds": ["verdicts"], "study": "study"}, token=token
    ).json()
    assert changed["kinds"] == ["verdicts"]
    assert changed["study"] == "alpha-lab/study"
    assert api.patch(place, {"study": ""}, token=token).json()["study"] is None

    assert api.post(f"{place}test/", {}, token=token).status_code == 202
    log = api.get(f"{place}deliveries/", token=token).json()["results"]
    assert [(it["state"], it["event"]) for it in log] == [("waiting", None)]

    assert api.send("delete", place, {}, token).status_code == 204
    assert not Webhook.objects.exists()
    assert not Delivery.objects.exists()


def test_nobody_else_sees_or_touches_it(
    api, made, read_token, other_token, other_read_token, client, person
):
    place = f"webhooks/{made['id']}/"
    for token in (read_token, other_token, other_read_token, ""):
        assert api.get("webhooks/", token=token).json()["results"] == []
        assert api.get(place, token=token).status_code == 404
        assert api.get(f"{place}deliveries/", token=token).status_code == 404
    for act in (
        api.patch(place, {"kinds": ["runs"]}, token=other_token),
        api.send("delete", place, {}, other_token),
        api.post(f"{place}test/", {}, token=other_token),
    ):
        assert act.status_code == 404
    # People who keep the lab read it; its viewers do not.
    client.force_login(person)
    assert client.get(f"/api/v1/{place}").status_code == 200
    Membership.objects.update(role="viewer")
    assert client.get(f"/api/v1/{place}").status_code == 404


@pytest.mark.parametrize(
    ("change", "status"),
    [
        ({"target_url": "http://127.0.0.1/hook", "kinds": ["runs"]}, 422),
        ({"target_url": "ftp://example.org/", "kinds": ["runs"]}, 422),
        ({"target_url": "https://example.org/", "kinds": []}, 400),
        ({"target_url": "https://example.org/", "kinds": ["everything"]}, 400),
        ({"target_url": "https://example.org/", "kinds": ["runs"], "study": "no"}, 404),
        ({"kinds": ["runs"]}, 400),
    ],
)
def test_what_makes_no_webhook_is_said(api, token, change, status):
    answer = api.post("webhooks/", change, token=token)

    assert answer.status_code == status
    assert not Webhook.objects.exists()
