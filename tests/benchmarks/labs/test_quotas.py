"""Quotas of labs and networks, counted in a real Valkey."""

import uuid
from functools import partial

import pytest
import redis

from benchmarks.errors import RateLimitError
from benchmarks.labs import quotas
from benchmarks.labs.quotas import (
    admit_lab_previews,
    admit_preview,
    admit_uploads,
    preview_cpu_budget,
    stored_bytes,
)
from benchmarks.models import Run
from benchmarks.redis_connection import connection
from benchmarks.uploads import intake


@pytest.fixture(autouse=True)
def fresh(valkey):
    for key in connection().scan_iter("quota:*"):
        connection().delete(key)
    quotas._local_counts.clear()
    quotas._exceeded_keys.clear()


def test_small_counts_are_sent_together(settings):
    settings.LAB_RUNS_PER_MINUTE = 10_000
    for _ in range(9):
        admit_uploads(1, runs=1, size=1)
    assert connection().get("quota:runs:1") is None

    admit_uploads(1, runs=1, size=1)

    assert connection().get("quota:runs:1") == b"10"


def test_exceeded_quota_is_checked_each_time(settings):
    settings.LAB_RUNS_PER_MINUTE = 10_000
    admit_uploads(1, runs=10_000, size=1)
    for _ in range(3):
        with pytest.raises(RateLimitError, match="10,000 uploaded runs per minute"):
            admit_uploads(1, runs=10, size=1)
    with pytest.raises(RateLimitError, match="10,000 uploaded runs per minute"):
        admit_uploads(1, runs=1, size=1)


def test_quota_limits_only_its_lab(settings):
    settings.LAB_RUNS_PER_MINUTE = 10
    admit_uploads(1, runs=9, size=100)

    with pytest.raises(RateLimitError, match="10 uploaded runs per minute") as refused:
        admit_uploads(1, runs=2, size=100)
    admit_uploads(2, runs=9, size=100)

    assert 0 < refused.value.retry_after_s <= 60
    admit_uploads(1, runs=1, size=100)  # what was refused does not count


def test_first_upload_is_accepted_regardless_of_size(settings):
    settings.LAB_BYTES_PER_DAY = 1000
    admit_uploads(1, runs=1, size=5000)

    with pytest.raises(RateLimitError, match="1,000 uploaded bytes per day"):
        admit_uploads(1, runs=1, size=1)


def test_upload_to_full_lab_is_rejected(settings, agent, run_document, submit):
    submit(run_document())
    held = stored_bytes(agent.lab_id)
    assert held > 100
    settings.LAB_BYTES_STORED = held + 10

    with pytest.raises(RateLimitError, match="LAB_BYTES_STORED"):
        intake.submit_runs(agent=agent, documents=[run_document()])
    assert Run.objects.count() == 1


def test_rejection_contains_retry_time(settings, token, client, run_document):
    settings.LAB_RUNS_PER_MINUTE = 1
    send = partial(
        client.post,
        "/api/v1/runs/",
        content_type="application/json",
        headers={"authorization": f"Token {token}"},
    )
    assert send(run_document()).status_code == 202

    answer = send(run_document())

    assert answer.status_code == 429, answer.text
    assert answer.json()["code"] == "too_fast"
    assert 0 < int(answer["Retry-After"]) <= 60
    assert Run.objects.count() == 1


def test_previews_are_counted_by_network(settings):
    settings.PREVIEWS_PER_MINUTE = 2
    source, target = (f"network-{uuid.uuid4()}" for _ in range(2))
    for _ in range(2):
        admit_preview(source)

    with pytest.raises(RateLimitError, match="2 previews per minute"):
        admit_preview(source)
    admit_preview(target)


def test_computing_time_of_previews_is_limited_by_network(settings):
    settings.PREVIEW_CPU_S_PER_MINUTE = 1
    source, target = (f"network-{uuid.uuid4()}" for _ in range(2))
    with preview_cpu_budget(source):
        connection().incrby(f"quota:preview-cpu:{source}", 1_000)

    with (
        pytest.raises(RateLimitError, match="1 s of computing time") as refused,
        preview_cpu_budget(source),
    ):
        raise AssertionError
    assert 0 < refused.value.retry_after_s <= 60
    with preview_cpu_budget(target):
        sum(range(1_000_000))
    assert int(connection().get(f"quota:preview-cpu:{target}")) > 0


def test_without_redis_nothing_is_rejected_but_logged(settings, monkeypatch, caplog):
    settings.LAB_RUNS_PER_MINUTE = 1
    away = redis.Redis.from_url("redis://127.0.0.1:1/0")
    monkeypatch.setattr(quotas, "connection", lambda: away)

    for _ in range(3):
        admit_uploads(1, runs=1, size=1)

    assert "Uploads are not counted" in caplog.text


def test_previews_of_a_lab_count_bytes_of_uploads(settings):
    settings.LAB_PREVIEWS_PER_MINUTE = 3
    settings.LAB_BYTES_PER_DAY = 1000
    admit_lab_previews(1, files=2, size=100)

    with pytest.raises(RateLimitError, match="3 previewed files per minute"):
        admit_lab_previews(1, files=2, size=100)
    admit_lab_previews(2, files=3, size=100)
    admit_uploads(1, runs=1, size=850)
    with pytest.raises(RateLimitError, match="1,000 uploaded bytes per day"):
        admit_lab_previews(1, files=1, size=100)
