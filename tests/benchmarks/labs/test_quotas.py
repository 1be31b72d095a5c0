"""What a lab and a network may send at a time, counted in the real Valkey."""

import uuid
from functools import partial

import pytest
import redis

from benchmarks.broker import connection
from benchmarks.errors import TooFastError
from benchmarks.labs import quotas
from benchmarks.labs.quotas import (
    admit_lab_previews,
    admit_preview,
    admit_uploads,
    stored_bytes,
)
from benchmarks.models import Run
from benchmarks.uploads import intake


@pytest.fixture(autouse=True)
def fresh(valkey):
    for key in connection().scan_iter("quota:*"):
        connection().delete(key)
    quotas._untold.clear()
    quotas._full.clear()


def test_what_is_little_beside_a_quota_is_told_together(settings):
    settings.LAB_RUNS_PER_MINUTE = 10_000
    for _ in range(9):
        admit_uploads(1, runs=1, size=1)
    assert connection().get("quota:runs:1") is None

    admit_uploads(1, runs=1, size=1)

    assert connection().get("quota:runs:1") == b"10"


def test_a_quota_that_was_full_is_asked_for_each_time(settings):
    settings.LAB_RUNS_PER_MINUTE = 10_000
    admit_uploads(1, runs=10_000, size=1)
    for _ in range(3):
        with pytest.raises(TooFastError, match="10,000 runs a minute"):
            admit_uploads(1, runs=10, size=1)
    with pytest.raises(TooFastError, match="10,000 runs a minute"):
        admit_uploads(1, runs=1, size=1)


def test_a_lab_that_sends_too_much_waits_and_others_do_not(settings):
    settings.LAB_RUNS_PER_MINUTE = 10
    admit_uploads(1, runs=9, size=100)

    with pytest.raises(TooFastError, match="more than 10 runs a minute") as refused:
        admit_uploads(1, runs=2, size=100)
    admit_uploads(2, runs=9, size=100)

    assert 0 < refused.value.wait_s <= 60
    admit_uploads(1, runs=1, size=100)  # what was refused does not count


def test_one_upload_is_taken_however_large(settings):
    settings.LAB_BYTES_PER_DAY = 1000
    admit_uploads(1, runs=1, size=5000)

    with pytest.raises(TooFastError, match="1,000 bytes a day"):
        admit_uploads(1, runs=1, size=1)


def test_a_full_lab_says_so_and_stores_nothing(settings, agent, run_document, submit):
    submit(run_document())
    held = stored_bytes(agent.lab_id)
    assert held > 100
    settings.LAB_BYTES_STORED = held + 10

    with pytest.raises(TooFastError, match="LAB_BYTES_STORED"):
        intake.submit_runs(agent=agent, documents=[run_document()])
    assert Run.objects.count() == 1


def test_an_agent_is_told_when_to_come_again(settings, token, client, run_document):
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
    here, there = (f"network-{uuid.uuid4()}" for _ in range(2))
    for _ in range(2):
        admit_preview(here)

    with pytest.raises(TooFastError, match="2 previews a minute"):
        admit_preview(here)
    admit_preview(there)


def test_without_redis_nobody_is_refused_and_the_log_says_so(
    settings, monkeypatch, caplog
):
    settings.LAB_RUNS_PER_MINUTE = 1
    away = redis.Redis.from_url("redis://127.0.0.1:1/0")
    monkeypatch.setattr(quotas, "connection", lambda: away)

    for _ in range(3):
        admit_uploads(1, runs=1, size=1)

    assert "Uploads are not counted" in caplog.text


def test_previews_of_a_lab_are_counted_beside_its_uploads(settings):
    settings.LAB_PREVIEWS_PER_MINUTE = 3
    settings.LAB_BYTES_PER_DAY = 1000
    admit_lab_previews(1, files=2, size=100)

    with pytest.raises(TooFastError, match="previews more than 3 files a minute"):
        admit_lab_previews(1, files=2, size=100)
    admit_lab_previews(2, files=3, size=100)
    admit_uploads(1, runs=1, size=850)
    with pytest.raises(TooFastError, match="1,000 bytes a day"):
        admit_lab_previews(1, files=1, size=100)
