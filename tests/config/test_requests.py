"""Ids of requests, what is counted of them, and who reads it."""

import io
import json
import logging

import pytest
from django.db import OperationalError
from django.db.models import QuerySet
from prometheus_client import REGISTRY
from prometheus_client.parser import text_string_to_metric_families

from benchmarks.monitoring.tracing import JsonLines, Traced
from benchmarks.uploads import processing
from tests import jobs

TOKEN = "a-token-for-the-tests"


@pytest.fixture
def metrics(client, settings, db):
    """Return what a reader with the token sees, as name and labels -> value."""
    settings.METRICS_TOKEN = TOKEN

    def read():
        answer = client.get("/metrics", headers={"Authorization": f"Bearer {TOKEN}"})
        assert answer.status_code == 200, answer.content
        return {
            (sample.name, *sorted(sample.labels.items())): sample.value
            for family in text_string_to_metric_families(answer.content.decode())
            for sample in family.samples
        }

    return read


@pytest.fixture
def upload(client, token):
    """Send a document as an agent does."""

    def send(document, request_id=""):
        answer = client.post(
            "/api/v1/runs/",
            document,
            content_type="application/json",
            headers={"Authorization": f"Token {token}", "X-Request-ID": request_id},
        )
        assert answer.status_code in {200, 202}, answer.content

    return send


@pytest.fixture
def log():
    """Everything that is logged, as objects."""
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.addFilter(Traced())
    handler.setFormatter(JsonLines())
    root = logging.getLogger()
    level = root.level
    root.setLevel(logging.INFO)
    root.addHandler(handler)
    yield lambda: [json.loads(line) for line in stream.getvalue().splitlines()]
    root.removeHandler(handler)
    root.setLevel(level)


def counted(name: str, **labels: str) -> float:
    return REGISTRY.get_sample_value(name, labels) or 0.0


def test_an_answer_carries_the_id_that_was_sent_or_a_new_one(client, db):
    sent = client.get("/api/v1/time/", headers={"X-Request-ID": "from-the-proxy"})
    drawn = client.get("/api/v1/time/", headers={"X-Request-ID": "<script>"})

    assert sent.headers["X-Request-ID"] == "from-the-proxy"
    assert len(drawn.headers["X-Request-ID"]) == 32


def test_the_id_of_an_upload_comes_back_in_the_workers_log(upload, run_document, log):
    upload(run_document(), "upload-of-today")
    run_id = jobs.waiting("upload").get().subject_id

    processing.drain()

    [done] = [line for line in log() if line["logger"].endswith("uploads.processing")]
    assert (done["request"], done["runs"]) == ("upload-of-today", [run_id])


def test_what_django_says_of_an_answer_has_the_id_too(client, log, db):
    client.get("/nowhere/", headers={"X-Request-ID": "lost-and-not-found"})

    [said] = [line for line in log() if line["logger"] == "django.request"]
    assert said["request"] == "lost-and-not-found"


def test_requests_are_counted_by_the_name_of_their_address(client, db):
    labels = {"route": "api:time", "method": "GET", "status": "200"}
    before = counted("virtlab_requests_total", **labels)

    client.get("/api/v1/time/?nonce=1")
    client.get("/api/v1/time/?nonce=2")

    assert counted("virtlab_requests_total", **labels) == before + 2


def test_what_somebody_invents_makes_no_counter(client, db):
    for number in range(3):
        client.get(f"/nowhere/{number}/")
        client.generic(f"M{number}", "/api/v1/time/")

    names = {
        value
        for family in REGISTRY.collect()
        for sample in family.samples
        for value in sample.labels.values()
    }
    assert not [name for name in names if "nowhere" in name or name in {"M0", "M1"}]


def test_uploads_are_counted_when_they_are_committed(
    upload, run_document, django_capture_on_commit_callbacks
):
    def outcome(name: str) -> float:
        return counted("virtlab_uploads_total", outcome=name)

    names = ("accepted", "repeated", "processed")
    before = {name: outcome(name) for name in names}
    document = run_document()

    with django_capture_on_commit_callbacks(execute=True):
        upload(document)
        upload(document)
    processing.drain()

    assert {name: outcome(name) - before[name] for name in names} == {
        "accepted": 1,
        "repeated": 1,
        "processed": 1,
    }


def test_metrics_say_what_waits_and_what_is_up(metrics, upload, run_document):
    upload(run_document())

    said = metrics()

    assert said["virtlab_database_up",] == said["virtlab_broker_up",] == 1
    assert said["virtlab_outbox_waiting",] == 1
    assert said["virtlab_work_due", ("kind", "check")] == 0
    assert said["virtlab_database_size_bytes",] > 1e6
    assert said["virtlab_disk_free_bytes",] > 0


def test_without_postgresql_metrics_say_so(metrics, monkeypatch):
    def no_answer(*args, **kwargs):
        raise OperationalError("the database does not answer")

    monkeypatch.setattr(QuerySet, "aggregate", no_answer)

    said = metrics()

    assert said["virtlab_database_up",] == 0
    assert ("virtlab_outbox_waiting",) not in said


@pytest.mark.parametrize(
    "shown", ["", "Bearer", "Bearer ", "Bearer wrong", f"Token {TOKEN}", "Bearer é"]
)
def test_others_see_no_metrics(client, settings, db, shown):
    settings.METRICS_TOKEN = TOKEN

    answer = client.get("/metrics", headers={"Authorization": shown})

    assert answer.status_code == 404
    assert b"virtlab_" not in answer.content


def test_without_a_token_nobody_reads_metrics(client, settings, db):
    settings.METRICS_TOKEN = ""

    for shown in ("Bearer ", "Bearer", ""):
        answer = client.get("/metrics", headers={"Authorization": shown})
        assert answer.status_code == 404


def test_counters_without_room_make_no_failure(client, db, monkeypatch, caplog):
    def full(*_labels: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("config.middleware.REQUESTS.labels", full)

    assert client.get("/api/v1/time/").status_code == 200
    assert "not counted: [Errno 28]" in caplog.text
