"""The product on a Citus cluster: where its rows lie, what it says without a worker."""

import json
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from benchmarks.reference.documents import reference_study
from running import embedded
from running.embedded import Services
from running.folders import VarFolder
from running.processes import ROOT
from running.product import Product, environment, start
from tests.citus import Cluster, cluster_of
from tests.stack import wait_for

pytestmark = [pytest.mark.citus, pytest.mark.product]

LARGE = ("benchmarks_sample", "benchmarks_runmean", "benchmarks_runoutput")
STUDY = reference_study("lmu-2010-esxi")
SHARD_OF_FIRST_LAB = """
    SELECT nodename FROM citus_shards WHERE shardid =
        get_shard_id_for_distribution_column(
            'benchmarks_sample', (SELECT min(id) FROM benchmarks_lab)
        )
"""
COUNTS = " UNION ALL ".join(f"SELECT count(*) FROM {table}" for table in LARGE)


def asked(services: Services, statement: str) -> list[tuple[Any, ...]]:
    with services.postgres.connect(user="postgres") as connection:
        return connection.execute(statement.encode()).fetchall()


def manage(services: Services, *command: str) -> str:
    ended = subprocess.run(
        [sys.executable, "manage.py", *command],
        cwd=ROOT,
        env={**environment(), **services.environment(), **services.owner()},
        capture_output=True,
        text=True,
        check=False,
    )
    return ended.stdout + ended.stderr


@contextmanager
def stopped(product: Product) -> Iterator[tuple[Services, Cluster]]:
    """Stop a product, and start its servers alone."""
    assert product.stop() == []
    cluster = Cluster(product.var)
    cluster.start()
    try:
        with embedded.services(product.var) as services:
            yield services, cluster
    finally:
        cluster.stop()


def test_the_large_tables_lie_on_both_workers_and_no_other_does(product):
    services = Services(VarFolder(product.var))

    rows = asked(
        services,
        "SELECT table_name::text, count(*), count(DISTINCT nodename)"
        " FROM citus_shards GROUP BY 1 ORDER BY 1",
    )

    assert rows == [(table, 32, 2) for table in sorted(LARGE)]


def test_it_distributes_once_and_not_beside_a_running_product(product):
    services = Services(VarFolder(product.var))

    assert "nothing to do" in manage(services, "distribute")
    assert "nothing to do" in manage(services, "distribute", "--dry-run")


def test_a_filled_database_is_distributed_whole(start_product):
    filled = start_product("filled")
    filled.wait_until_ready()
    slug = STUDY.document["slug"]
    before = list(filled.client().get_all("comparisons/", study=slug))
    with stopped(filled) as (services, _):
        for table in LARGE:
            asked(services, f"SELECT undistribute_table('{table}')")
        counts = asked(services, COUNTS)
        assert asked(services, "SELECT count(*) FROM citus_shards") == [(0,)]

        would = manage(services, "distribute", "--dry-run")
        assert asked(services, "SELECT count(*) FROM citus_shards") == [(0,)]
        done = manage(services, "distribute")

        assert asked(services, COUNTS) == counts
        assert [row[0] > 0 for row in counts] == [True, True, True]
    for table in LARGE:
        assert f"would distribute {table}" in would
        assert f"distribute {table}" in done
        assert f"remove the coordinator's own copy of {table}" in done

    again = start(filled.var)
    again.wait_until_ready()
    try:
        after = list(again.client().get_all("comparisons/", study=slug))
        again.client().create_study({**STUDY.document, "slug": "after"})
        for _ in again.client().upload([_run("after")]):
            pass
        wait_for(lambda: again.client().get("health/")["outbox"]["waiting"] == 0)
    finally:
        again.stop()
    assert after == before


def _run(study: str) -> dict[str, Any]:
    run = STUDY.runs[0]
    return {**run, "study": study, "key": f"{run['key'][:-4]}beef"}


def test_a_worker_that_is_away_is_said_and_nothing_is_lost(start_product):
    product = start_product("hurt")
    product.wait_until_ready()
    client = product.client()
    client.create_study({**STUDY.document, "slug": "hurt"})
    services, cluster = Services(VarFolder(product.var)), cluster_of(product)
    [(host,)] = asked(services, SHARD_OF_FIRST_LAB)
    [worker] = [it for it in cluster.workers if str(it.socket_folder) == host]
    cell = next(iter(client.get_all("cells/", study=STUDY.document["slug"])))
    worker.stop()

    refused = _posted(product, _run("hurt"))
    page = f"/studies/first-lab/{STUDY.document['slug']}/cells/{cell['id']}/"
    shown = _opened(f"{product.url}{page}")
    overview, health = _opened(f"{product.url}/"), client.get("health/")
    worker.start()

    assert refused[0] == 503
    assert json.loads(refused[1])["detail"]
    assert shown[0] == 503
    assert "database" in shown[1]
    assert overview[0] == 200
    assert health["database"]
    assert _posted(product, _run("hurt"))[0] == 202
    wait_for(lambda: client.get("health/")["outbox"]["waiting"] == 0)
    assert [run["status"] for run in client.get_all("runs/", study="hurt")] == [
        "parsed"
    ]
    assert _opened(f"{product.url}{page}")[0] == 200


def _posted(product: Product, run: dict[str, Any]) -> tuple[int, str]:
    token = (product.var / "upload-token").read_text().strip()
    headers = {"Authorization": f"Token {token}", "Content-Type": "application/json"}
    address, body = f"{product.url}/api/v1/runs/", json.dumps(run).encode()
    return _opened(urllib.request.Request(address, body, headers))


def _opened(request: Any) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(request, timeout=120) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()
