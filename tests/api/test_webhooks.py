"""/webhooks/: webhooks can be created, read, changed, tested and deleted."""

import pytest

from benchmarks.collaboration.webhooks import webhook_secret
from benchmarks.models import AuditEntry, Delivery, Membership, Webhook

HOOK = {"target_url": "https://example.org/hook?key=hidden", "kinds": ["runs", "flags"]}


@pytest.fixture
def created_webhook(api, token):
    answer = api.post("webhooks/", HOOK, token=token)
    assert answer.status_code == 201, answer.json()
    return answer.json()


def test_secrets_are_shown_once(api, token, created_webhook):
    webhook = Webhook.objects.get()
    assert created_webhook["secret"] == webhook_secret(webhook)
    assert (created_webhook["target_url"], created_webhook["created_by"]) == (
        HOOK["target_url"],
        "alice",
    )

    read = api.get(f"webhooks/{webhook.pk}/", token=token).json()

    assert "secret" not in read
    [entry] = AuditEntry.objects.filter(kind="created_webhook")
    assert (entry.actor, entry.about) == ("alice", "example.org")


def test_webhooks_can_be_changed_tested_and_deleted(api, token, created_webhook, study):
    url = f"webhooks/{created_webhook['id']}/"
    changed = api.patch(
        url, {"kinds": ["verdicts"], "study": "study"}, token=token
    ).json()
    assert changed["kinds"] == ["verdicts"]
    assert changed["study"] == "alpha-lab/study"
    assert api.patch(url, {"study": ""}, token=token).json()["study"] is None

    assert api.post(f"{url}test/", {}, token=token).status_code == 202
    log = api.get(f"{url}deliveries/", token=token).json()["results"]
    assert [(row["state"], row["event"]) for row in log] == [("waiting", None)]

    assert api.send("delete", url, {}, token).status_code == 204
    assert not Webhook.objects.exists()
    assert not Delivery.objects.exists()


def test_other_clients_cannot_see_or_change_webhooks(
    api, created_webhook, read_token, other_token, other_read_token, client, person
):
    url = f"webhooks/{created_webhook['id']}/"
    for token in (read_token, other_token, other_read_token, ""):
        assert api.get("webhooks/", token=token).json()["results"] == []
        assert api.get(url, token=token).status_code == 404
        assert api.get(f"{url}deliveries/", token=token).status_code == 404
    for act in (
        api.patch(url, {"kinds": ["runs"]}, token=other_token),
        api.send("delete", url, {}, other_token),
        api.post(f"{url}test/", {}, token=other_token),
    ):
        assert act.status_code == 404
    # Editors of the lab can read it, but viewers cannot.
    client.force_login(person)
    assert client.get(f"/api/v1/{url}").status_code == 200
    Membership.objects.update(role="viewer")
    assert client.get(f"/api/v1/{url}").status_code == 404


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
def test_invalid_webhooks_get_a_message(api, token, change, status):
    answer = api.post("webhooks/", change, token=token)

    assert answer.status_code == status
    assert not Webhook.objects.exists()
