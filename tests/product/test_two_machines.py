"""Two products on one PostgreSQL and one Valkey, as on two machines."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from agents.client import Client
from benchmarks.reference.study_documents import reference_study
from running.embedded_servers import EmbeddedServers
from running.product_launcher import Product, launch_product
from running.var_folder import VarFolder
from tests.compose_stack import wait_for

pytestmark = [pytest.mark.product, pytest.mark.slow, pytest.mark.timeout(300)]

STUDY = reference_study("lmu-2010-esxi")
MANY = 60
HELD = """
    SELECT pg_advisory_lock(lab.id::int, benchmark.id::int)
    FROM benchmarks_lab AS lab, benchmarks_case AS benchmark WHERE tool = %s
"""


@pytest.fixture
def pair(start_product: Any, tmp_path: Path) -> Iterator[tuple[Product, Product]]:
    """A product with servers, and a second one that uses them."""
    first = start_product("first")
    first.wait_until_ready()
    servers = EmbeddedServers(VarFolder(first.var)).environment()
    servers.pop("VIRTLAB_VAR")
    second = launch_product(tmp_path / "second", **servers)
    second.wait_until_ready()
    yield first, second
    second.stop()


def log(product: Product, name: str) -> str:
    return (product.var / "log" / f"{name}.log").read_text()


def other(product: Product, first: Product) -> Client:
    """Return a client of one product with the other's token."""
    return Client(product.url, (first.var / "upload-token").read_text().strip())


def settle(client: Client) -> None:
    wait_for(lambda: client.get("health/")["outbox"]["waiting"] == 0)


def test_second_sweeper_waits_until_the_first_is_gone(pair):
    first, second = pair
    wait_for(lambda: "Another sweeper is active" in log(second, "sweeper"))
    assert "This sweeper is active" in log(first, "sweeper")

    [sweeper] = first.processes_matching("manage.py", "sweep")
    sweeper.kill()

    # Either the sweeper of the other machine or the restarted one is first.
    wait_for(lambda: _works(first) != _works(second))


def _works(product: Product) -> bool:
    """Whether the last log line of a product's sweeper says that it works."""
    lines = [
        "This sweeper is active" in line
        for line in log(product, "sweeper").splitlines()
        if "sweeper is active" in line
    ]
    is_there = bool(product.processes_matching("manage.py", "sweep"))
    return bool(lines) and lines[-1] and is_there


def test_machines_share_data_and_stopping_one_loses_nothing(pair):
    first, second = pair
    writer = first.client()
    writer.create_study({**STUDY.document, "slug": "both"})
    runs = [{**run, "study": "both", "key": _key(run)} for run in STUDY.runs]

    half = len(runs) // 2
    for _ in other(second, first).upload(runs[:half]):
        pass
    assert second.stop() == []
    for _ in writer.upload(runs[half:]):
        pass
    settle(writer)

    stored = list(writer.get_all("runs/", study="both"))
    assert {run["status"] for run in stored} == {"parsed"}
    assert len(stored) == len(runs)


def _key(run: dict[str, Any]) -> str:
    """Return another key for the same run, the same every time."""
    return str(run["key"][:-4]) + f"{int(run['key'][-4:], 16) ^ 0xFFFF:04x}"


def test_single_upload_does_not_wait_behind_bulk_uploads(start_product):
    product = start_product("lanes")
    product.wait_until_ready()
    client, reader = product.client(), product.client("read-token")
    for slug in ("bulk", "single"):
        client.create_study({"slug": slug, "title": slug})
    [first, *_] = STUDY.runs
    other_tool = next(run for run in STUDY.runs if run["tool"] != first["tool"])
    bulk = [
        {**first, "study": "bulk", "key": str(UUID(int=number))}
        for number in range(1, MANY)
    ]
    single = {**other_tool, "study": "single", "key": str(UUID(int=MANY))}
    # The sweeper would take over the jobs of a stopped worker.
    for process in product.processes_matching("manage.py", "sweep"):
        process.suspend()
    with EmbeddedServers(VarFolder(product.var)).postgres.connect() as connection:
        # Every worker that processes bulk uploads blocks here.
        connection.execute(HELD, [first["tool"]])

        for _ in client.upload(bulk):
            pass
        time.sleep(3)
        for _ in client.upload([single]):
            pass

        wait_for(lambda: _statuses(reader, "single") == {"parsed"})
        assert _statuses(reader, "bulk") == {"received"}
    for process in product.processes_matching("manage.py", "sweep"):
        process.resume()
    settle(client)
    assert _statuses(reader, "bulk") == {"parsed"}


def _statuses(client: Client, study: str) -> set[str]:
    return {run["status"] for run in client.get_all("runs/", study=study)}
