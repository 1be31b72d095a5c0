"""A real Prometheus that loads `monitoring/` and scrapes a running product."""

import json
import shutil
import subprocess
import time
from urllib.parse import urlencode
from urllib.request import urlopen

import pytest
import yaml

from running.processes import ROOT
from running.product_launcher import free_port

pytestmark = [
    pytest.mark.product,
    pytest.mark.prometheus,
    pytest.mark.timeout(300),
]

PATIENCE_S = 90
RULES = ROOT / "monitoring/alerts.yml"
DASHBOARD = json.loads((ROOT / "monitoring/grafana-dashboard.json").read_text())


class Prometheus:
    """A client for Prometheus's query API."""

    def __init__(self, port: int) -> None:
        self.url = f"http://127.0.0.1:{port}"

    def ask(self, path: str, **query: str):
        with urlopen(f"{self.url}/api/v1/{path}?{urlencode(query)}") as answer:
            document = json.load(answer)
        assert document["status"] == "success"
        return document["data"]

    def value(self, expression: str) -> float | None:
        rows = self.ask("query", query=expression)["result"]
        return float(rows[0]["value"][1]) if rows else None

    def wait_for(self, expression: str) -> float:
        """Wait until the value of a query is not zero."""
        end = time.monotonic() + PATIENCE_S
        while time.monotonic() < end:
            try:
                if value := self.value(expression):
                    return value
            except OSError:  # not started yet
                pass
            time.sleep(0.5)
        raise AssertionError(f"{expression} has no value")


@pytest.fixture
def prometheus(product, tmp_path):
    """Start Prometheus with our configuration, and this product's address and token."""
    text = (ROOT / "monitoring/prometheus.yml").read_text()
    configuration = yaml.safe_load(text)
    configuration["global"]["scrape_interval"] = "1s"
    configuration["rule_files"] = [str(RULES)]
    [scrape] = configuration["scrape_configs"]
    token = product.var / "secrets/metrics-token"
    scrape["authorization"]["credentials_file"] = str(token)
    scrape["static_configs"][0]["targets"] = [f"127.0.0.1:{product.port}"]
    (tmp_path / "prometheus.yml").write_text(yaml.safe_dump(configuration))
    port = free_port()
    process = subprocess.Popen(
        [
            shutil.which("prometheus") or "prometheus",
            f"--config.file={tmp_path}/prometheus.yml",
            f"--storage.tsdb.path={tmp_path}/data",
            f"--web.listen-address=127.0.0.1:{port}",
        ],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    yield Prometheus(port)
    process.terminate()
    process.wait()


def test_prometheus_scrapes_and_answers_every_expression(prometheus, product):
    product.client().create_study({"slug": "watched", "title": "Watched"})

    assert prometheus.wait_for('up{job="virtlab"}') == 1
    assert prometheus.wait_for("virtlab_requests_total") >= 1
    assert prometheus.value("virtlab_database_up") == 1
    # Metrics of the worker and the sweeper are exported together with those of web.
    assert prometheus.wait_for("virtlab_sweep_seconds_count")
    expressions = [t["expr"] for p in DASHBOARD["panels"] for t in p["targets"]]
    for expression in expressions:
        prometheus.ask("query", query=expression)
    groups = prometheus.ask("rules")["groups"]
    rules = [rule for group in groups for rule in group["rules"]]
    assert len(rules) == RULES.read_text().count("alert:")
    assert {rule["health"] for rule in rules} <= {"ok", "unknown"}


def test_alerts_fire_when_they_should():
    tested = subprocess.run(
        ["promtool", "test", "rules", "alerts_test.yml"],
        cwd=ROOT / "monitoring",
        capture_output=True,
        text=True,
        check=False,
    )

    assert tested.returncode == 0, tested.stdout + tested.stderr


def test_metrics_need_the_token(product):
    with pytest.raises(OSError, match="404"):
        urlopen(f"{product.url}/metrics")
