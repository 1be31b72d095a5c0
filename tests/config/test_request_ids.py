"""Request ids, request metrics, and who may read them."""

import io
import json
import logging

import pytest
from django.db import OperationalError
from django.db.models import QuerySet
from prometheus_client import REGISTRY
from prometheus_client.parser import text_string_to_metric_families

from benchmarks.monitoring.json_logs import JsonFormatter
from benchmarks.monitoring.request_ids import RequestIdFilter
from benchmarks.uploads import processing
from tests import job_queue

TOKEN = "a-token-for-the-tests"


@pytest.fixture
def metrics(client, settings, db):
    """Return the metrics as a reader with the token gets them: name and labels ->
    value.
    """
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
    """All log records as objects."""
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.addFilter(RequestIdFilter())
    handler.setFormatter(JsonFormatter())
    root = logging.getLogger()
    level = root.level
    root.setLevel(logging.INFO)
    root.addHandler(handler)
    yield lambda: [json.loads(line) for line in stream.getvalue().splitlines()]
    root.removeHandler(handler)
    root.setLevel(level)


def counted(name: str, **labels: str) -> float:
    return REGISTRY.get_sample_value(name, labels) or 0.0


def test_response_has_the_sent_or_a_new_id(client, db):
    sent = client.get("/api/v1/time/", headers={"X-Request-ID": "from-the-proxy"})
    drawn = client.get("/api/v1/time/", headers={"X-Request-ID": "<script>"})

    assert sent.headers["X-Request-ID"] == "from-the-proxy"
    assert len(drawn.headers["X-Request-ID"]) == 32


def test_upload_id_is_in_the_workers_log(upload, run_document, log):
    upload(run_document(), "upload-of-today")
    run_id = job_queue.waiting("upload").get().subject_id

    processing.process_due_uploads()

    [done] = [line for line in log() if line["logger"].endswith("uploads.processing")]
    assert (done["request"], done["runs"]) == ("upload-of-today", [run_id])


def test_django_logs_responses_with_the_id(client, log, db):
    client.get("/nowhere/", headers={"X-Request-ID": "lost-and-not-found"})

    [record] = [line for line in log() if line["logger"] == "django.request"]
    assert record["request"] == "lost-and-not-found"


def test_requests_are_counted_by_view_name(client, db):
    labels = {"route": "api:time", "method": "GET", "status": "200"}
    before = counted("virtlab_requests_total", **labels)

    client.get("/api/v1/time/?nonce=1")
    client.get("/api/v1/time/?nonce=2")

    assert counted("virtlab_requests_total", **labels) == before + 2


def test_invented_methods_and_paths_add_no_labels(client, db):
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


def test_uploads_are_counted_on_commit(
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
    processing.process_due_uploads()

    assert {name: outcome(name) - before[name] for name in names} == {
        "accepted": 1,
        "repeated": 1,
        "processed": 1,
    }


def test_metrics_show_waiting_work_and_services(metrics, upload, run_document):
    upload(run_document())

    values = metrics()

    assert values["virtlab_database_up",] == values["virtlab_broker_up",] == 1
    assert values["virtlab_outbox_waiting",] == 1
    assert values["virtlab_work_due", ("kind", "check")] == 0
    assert values["virtlab_database_size_bytes",] > 1e6
    assert values["virtlab_disk_free_bytes",] > 0


def test_metrics_report_a_missing_postgresql(metrics, monkeypatch):
    def no_answer(*args, **kwargs):
        raise OperationalError("the database does not answer")

    monkeypatch.setattr(QuerySet, "aggregate", no_answer)

    values = metrics()

    assert values["virtlab_database_up",] == 0
    assert ("virtlab_outbox_waiting",) not in values


@pytest.mark.parametrize(
    "shown", ["", "Bearer", "Bearer ", "Bearer wrong", f"Token {TOKEN}", "Bearer é"]
)
def test_metrics_need_the_token(client, settings, db, shown):
    settings.METRICS_TOKEN = TOKEN

    answer = client.get("/metrics", headers={"Authorization": shown})

    assert answer.status_code == 404
    assert b"virtlab_" not in answer.content


def test_metrics_are_404_without_a_configured_token(client, settings, db):
    settings.METRICS_TOKEN = ""

    for shown in ("Bearer ", "Bearer", ""):
        answer = client.get("/metrics", headers={"Authorization": shown})
        assert answer.status_code == 404


def test_full_disk_for_counters_is_no_failure(client, db, monkeypatch, caplog):
    def full(*_labels: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("config.middleware.REQUESTS.labels", full)

    assert client.get("/api/v1/time/").status_code == 200
    assert "not counted: [Errno 28]" in caplog.text
