"""The product on a Citus cluster: distribution of rows, and errors without a worker."""

import json
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from benchmarks.reference.study_documents import reference_study
from running import embedded_servers
from running.embedded_servers import EmbeddedServers
from running.processes import ROOT
from running.product_launcher import Product, launch_product, product_environment
from running.var_folder import VarFolder
from tests.citus_plugin import Cluster, cluster_of
from tests.compose_stack import wait_for

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


def query(services: EmbeddedServers, statement: str) -> list[tuple[Any, ...]]:
    with services.postgres.connect(user="postgres") as connection:
        return connection.execute(statement.encode()).fetchall()


def manage(services: EmbeddedServers, *command: str) -> str:
    ended = subprocess.run(
        [sys.executable, "manage.py", *command],
        cwd=ROOT,
        env={
            **product_environment(),
            **services.environment(),
            **services.owner_environment(),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    return ended.stdout + ended.stderr


@contextmanager
def stopped(product: Product) -> Iterator[tuple[EmbeddedServers, Cluster]]:
    """Stop a product, and start only its servers."""
    assert product.stop() == []
    cluster = Cluster(product.var)
    cluster.start()
    try:
        with embedded_servers.embedded_servers(product.var) as services:
            yield services, cluster
    finally:
        cluster.stop()


def test_only_large_tables_are_on_both_workers(product):
    services = EmbeddedServers(VarFolder(product.var))

    rows = query(
        services,
        "SELECT table_name::text, count(*), count(DISTINCT nodename)"
        " FROM citus_shards GROUP BY 1 ORDER BY 1",
    )

    assert rows == [(table, 32, 2) for table in sorted(LARGE)]


def test_distribution_happens_once_and_not_beside_a_running_product(product):
    services = EmbeddedServers(VarFolder(product.var))

    assert "Nothing to do" in manage(services, "distribute")
    assert "Nothing to do" in manage(services, "distribute", "--dry-run")


def test_filled_database_is_distributed_completely(start_product):
    filled = start_product("filled")
    filled.wait_until_ready()
    slug = STUDY.document["slug"]
    before = list(filled.client().get_all("comparisons/", study=slug))
    with stopped(filled) as (services, _):
        for table in LARGE:
            query(services, f"SELECT undistribute_table('{table}')")
        counts = query(services, COUNTS)
        assert query(services, "SELECT count(*) FROM citus_shards") == [(0,)]

        would = manage(services, "distribute", "--dry-run")
        assert query(services, "SELECT count(*) FROM citus_shards") == [(0,)]
        done = manage(services, "distribute")

        assert query(services, COUNTS) == counts
        assert [row[0] > 0 for row in counts] == [True, True, True]
    for table in LARGE:
        assert f"would distribute {table}" in would
        assert f"distribute {table}" in done
        assert f"remove the coordinator's own copy of {table}" in done

    relaunched = launch_product(filled.var, LOAD_REFERENCE="small")
    relaunched.wait_until_ready()
    try:
        after = list(relaunched.client().get_all("comparisons/", study=slug))
        relaunched.client().create_study({**STUDY.document, "slug": "after"})
        for _ in relaunched.client().upload([_run("after")]):
            pass
        wait_for(lambda: relaunched.client().get("health/")["outbox"]["waiting"] == 0)
    finally:
        relaunched.stop()
    assert after == before


def _run(study: str) -> dict[str, Any]:
    run = STUDY.runs[0]
    return {**run, "study": study, "key": f"{run['key'][:-4]}beef"}


def test_lost_worker_is_reported_and_loses_nothing(start_product):
    product = start_product("hurt")
    product.wait_until_ready()
    client = product.client()
    client.create_study({**STUDY.document, "slug": "hurt"})
    services, cluster = EmbeddedServers(VarFolder(product.var)), cluster_of(product)
    [(host,)] = query(services, SHARD_OF_FIRST_LAB)
    [worker] = [
        worker for worker in cluster.workers if str(worker.socket_folder) == host
    ]
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
