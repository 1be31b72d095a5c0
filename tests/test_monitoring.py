"""Alert rules and the dashboard query existing metrics."""

import json
import re

import pytest
import yaml
from prometheus_client.metrics import MetricWrapperBase

from benchmarks.health import ReplicaStatus
from benchmarks.maintenance.doctor import BACKUP_STAMP
from benchmarks.monitoring import counters, gauges
from running.processes import ROOT

RULES = yaml.safe_load((ROOT / "monitoring/alerts.yml").read_text())
DASHBOARD = json.loads((ROOT / "monitoring/grafana-dashboard.json").read_text())
ALERTS = [rule for group in RULES["groups"] for rule in group["rules"]]
PANELS = DASHBOARD["panels"]


def expressions() -> list[str]:
    expressions = [target["expr"] for panel in PANELS for target in panel["targets"]]
    return [*expressions, *(rule["expr"] for rule in ALERTS)]


def asked_for() -> set[str]:
    return set(re.findall(r"virtlab_\w+", " ".join(expressions())))


@pytest.fixture
def names(db, settings, tmp_path) -> set[str]:
    """Return the names of all exported metrics."""
    settings.VAR_DIR = tmp_path
    (tmp_path / BACKUP_STAMP).touch()
    metrics_told = {family.name for family in gauges.InstallationCollector().collect()}
    standby = ReplicaStatus(is_in_use=True, lag_s=0.1, lag_bytes=1)
    metrics_told |= {family.name for family in gauges.replica_gauges(standby)}
    metrics = [
        value
        for value in vars(counters).values()
        if isinstance(value, MetricWrapperBase)
    ]
    for metric in metrics:
        for family in metric.collect():
            is_histogram = family.type == "histogram"
            ending = "_bucket" if is_histogram else "_total"
            metrics_told.add(family.name + ending)
    return metrics_told


def test_queries_use_existing_metrics(names):
    assert asked_for() - names == set()


def test_every_metric_is_shown_or_watched(names):
    assert names - asked_for() == {"virtlab_info"}


@pytest.mark.parametrize("alert", ALERTS, ids=[rule["alert"] for rule in ALERTS])
def test_every_alert_has_a_description(alert):
    assert alert["labels"]["severity"] in {"page", "ticket"}
    assert alert["annotations"]["summary"]


def test_dashboard_panels_do_not_overlap():
    occupied = set()
    for panel in PANELS:
        position = panel["gridPos"]
        squares = {
            (x, y)
            for x in range(position["x"], position["x"] + position["w"])
            for y in range(position["y"], position["y"] + position["h"])
        }
        assert not squares & occupied, panel["title"]
        assert max(x for x, _ in squares) < 24
        occupied |= squares
    assert len({panel["id"] for panel in PANELS}) == len(PANELS)
