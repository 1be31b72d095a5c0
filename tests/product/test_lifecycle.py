"""The whole product: it starts, survives faults, and leaves nothing behind."""

import signal
import stat
import time
from collections import Counter

import psutil
import pytest
import redis

from agents.client import Client, RefusedError
from benchmarks.reference.study_documents import reference_studies

pytestmark = [pytest.mark.product, pytest.mark.timeout(300)]

SETTLED_S = 60


def settle(client: Client) -> None:
    """Wait until the outbox is empty."""
    deadline = time.monotonic() + SETTLED_S
    while client.get("health/")["outbox"]["waiting"]:
        assert time.monotonic() < deadline, "the outbox does not empty"
        time.sleep(0.2)


def wait_for_checks(client: Client, slugs: list[str]) -> None:
    """Wait until all cells are checked: some have no single figure."""
    deadline = time.monotonic() + SETTLED_S
    while any(
        client.get(f"studies/{slug}/")["counts"]["unchecked_runs"] for slug in slugs
    ):
        assert time.monotonic() < deadline, "the studies are not checked"
        time.sleep(0.2)


def cell_key(row):
    """Return what identifies a cell."""
    names = ("study", "system_id", "case_id", "scenario", "vms", "slot", "load")
    return tuple(row[name] for name in names)


def test_secrets_are_private(product):
    for name in ("first-sign-in", "upload-token", "read-token"):
        mode = (product.var / name).stat().st_mode
        assert stat.S_IMODE(mode) == 0o600, name


def test_upload_token_cannot_read_private_data(product):
    writer, reader = product.client(), product.client("read-token")
    writer.create_study({"slug": "only-ours", "title": "Only ours"})

    with pytest.raises(RefusedError) as refused:
        writer.get("studies/only-ours/")
    assert refused.value.status == 404
    assert reader.get("studies/only-ours/")["slug"] == "only-ours"


@pytest.mark.parametrize(
    "most_runs", [100, pytest.param(10_000, marks=pytest.mark.slow)]
)
def test_killed_workers_and_emptied_redis_lose_nothing(product, most_runs):
    """Upload studies again with other names, while workers are killed and Redis
    emptied.
    """
    writer = product.client()
    chosen = [study for study in reference_studies() if len(study.runs) <= most_runs]
    expected = 0
    for number, study in enumerate(chosen):
        slug = f"again-{study.document['slug']}"
        writer.create_study({**study.document, "slug": slug})
        runs = [{**run, "study": slug, "key": _other(run)} for run in study.runs]
        expected += len(runs)
        for _ in writer.upload(runs):
            _hurt(product, number)
    settle(writer)

    studies = [f"again-{study.document['slug']}" for study in chosen]
    wait_for_checks(writer, studies)
    runs = [run for slug in studies for run in writer.get_all("runs/", study=slug)]
    assert Counter(run["status"] for run in runs) == {"parsed": expected}
    for slug in studies:
        repeated = list(writer.get_all("comparisons/", study=slug))
        first = list(writer.get_all("comparisons/", study=slug[len("again-") :]))
        assert len(repeated) == len({cell_key(row) for row in repeated}) == len(first)
        values = ("case_id", "system_id", "scenario", "slot", "value", "n")
        assert _several(repeated, values) == _several(first, values)


def _other(run):
    """Return another key for the same run, the same every time."""
    return run["key"][:-4] + f"{int(run['key'][-4:], 16) ^ 0xFFFF:04x}"


def _several(rows, names):
    return Counter(tuple(row[name] for name in names) for row in rows)


def _hurt(product, number):
    """Kill the worker with all its children, and empty Redis."""
    for process in product.processes_matching("celery", "worker"):
        process.kill()
    flush(product)


def flush(product):
    """Empty the product's Valkey."""
    socket_path = next(
        connection.laddr
        for process in product.processes_matching("valkey-server")
        for connection in process.net_connections("unix")
        if connection.laddr
    )
    redis.Redis(unix_socket_path=socket_path).flushall()


@pytest.mark.slow
def test_two_products_run_at_once(product, start_product):
    other = start_product("other-var")
    other.wait_until_ready()

    product.client().create_study({"slug": "only-here", "title": "x"})

    with pytest.raises(RefusedError):
        other.client("read-token").get("studies/only-here/")


@pytest.mark.parametrize(
    "number",
    [
        signal.SIGKILL,
        pytest.param(signal.SIGINT, marks=pytest.mark.slow),
        pytest.param(signal.SIGTERM, marks=pytest.mark.slow),
    ],
)
def test_second_start_uploads_nothing_and_leaves_no_process(start_product, number):
    second = start_product()
    output = second.wait_until_ready()
    for study in reference_studies():
        slug = study.document["slug"]
        counts = second.client().get(f"studies/{slug}/")["counts"]
        assert counts["runs"] == len(study.runs)
    assert "uploading" not in output
    assert len(second.descendants()) > 5

    left = second.stop(number)

    assert [process for process in left if psutil.pid_exists(process.pid)] == []
