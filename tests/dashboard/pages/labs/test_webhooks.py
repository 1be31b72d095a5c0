"""The page of a lab's webhooks."""

import re

import pytest

from benchmarks.collaboration.webhooks import webhook_secret
from benchmarks.models import AuditEntry, Delivery, Webhook

PAGE = "/labs/alpha-lab/webhooks/"
MADE = {"url": "https://hooks.example/a?b=<c>", "kinds": ["runs", "flags"]}


@pytest.fixture
def carol(client, person):
    client.force_login(person)
    return client


def test_secret_is_shown_once(carol, text):
    answer = carol.post(PAGE, MADE)

    assert answer.status_code == 201
    webhook = Webhook.objects.get()
    assert webhook_secret(webhook) in answer.content.decode()
    assert (webhook.kinds, webhook.study) == (["flags", "runs"], None)
    page = text(PAGE)
    assert "whs_" not in page
    assert "https://hooks.example/a?b=&lt;c&gt;" in page


@pytest.mark.parametrize(
    "changed",
    [
        {"url": "http://127.0.0.1:5432/"},
        {"url": "https://user:pass@hooks.example/"},
        {"kinds": []},
        {"kinds": ["everything"]},
        {"study": "missing"},
        {"study": "beta-lab/theirs"},
    ],
)
def test_errors_are_shown(carol, other_lab, changed):
    other_lab.studies.create(slug="theirs", title="Theirs")

    assert carol.post(PAGE, {**MADE, **changed}).status_code == 422
    assert not Webhook.objects.exists()


def test_webhook_is_tested_logged_and_deleted(carol, text):
    carol.post(PAGE, MADE)
    pk = Webhook.objects.get().pk

    carol.post(f"{PAGE}{pk}/test/")
    assert Delivery.objects.get().event is None
    Delivery.objects.update(
        attempts=1, http_status=503, state="failed", problem="<away>"
    )
    page = text(PAGE)
    assert "&lt;away&gt;" in page
    assert re.search(r"503\s", page)

    carol.post(f"{PAGE}{pk}/delete/")
    assert not Webhook.objects.exists()
    kinds = AuditEntry.objects.values_list("kind", flat=True)
    assert {"created_webhook", "deleted_webhook"} <= set(kinds)
    assert "hooks.example" in text("/labs/alpha-lab/audit-log/")
