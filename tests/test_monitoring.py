"""Rules and dashboard ask for metrics that there are."""

import json
import re

import pytest
import yaml
from prometheus_client.metrics import MetricWrapperBase

from benchmarks.health import Standby
from benchmarks.keeping.doctor import BACKUP_STAMP
from benchmarks.monitoring import counters, gauges
from running.processes import ROOT

RULES = yaml.safe_load((ROOT / "monitoring/alerts.yml").read_text())
DASHBOARD = json.loads((ROOT / "monitoring/grafana-dashboard.json").read_text())
ALERTS = [rule for group in RULES["groups"] for rule in group["rules"]]
PANELS = DASHBOARD["panels"]


def expressions() -> list[str]:
    asked = [target["expr"] for panel in PANELS for target in panel["targets"]]
    return [*asked, *(rule["expr"] for rule in ALERTS)]


def asked_for() -> set[str]:
    return set(re.findall(r"virtlab_\w+", " ".join(expressions())))


@pytest.fixture
def names(db, settings, tmp_path) -> set[str]:
    """Every name under which something is told."""
    settings.VAR = tmp_path
    (tmp_path / BACKUP_STAMP).touch()
    told = {family.name for family in gauges.State().collect()}
    standby = Standby(is_read=True, lag_s=0.1, lag_bytes=1)
    told |= {family.name for family in gauges.of_standby(standby)}
    metrics = [
        it for it in vars(counters).values() if isinstance(it, MetricWrapperBase)
    ]
    for metric in metrics:
        for family in metric.collect():
            is_histogram = family.type == "histogram"
            ending = "_bucket" if is_histogram else "_total"
            told.add(family.name + ending)
    return told


def test_they_ask_only_for_what_is_told(names):
    assert asked_for() - names == set()


def test_all_that_is_told_is_shown_or_watched(names):
    assert names - asked_for() == {"virtlab_info"}


@pytest.mark.parametrize("alert", ALERTS, ids=[rule["alert"] for rule in ALERTS])
def test_an_alert_says_what_it_means(alert):
    assert alert["labels"]["severity"] in {"page", "ticket"}
    assert alert["annotations"]["summary"]


def test_the_dashboards_panels_lie_side_by_side():
    taken = set()
    for panel in PANELS:
        place = panel["gridPos"]
        squares = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert not squares & taken, panel["title"]
        assert max(x for x, _ in squares) < 24
        taken |= squares
    assert len({panel["id"] for panel in PANELS}) == len(PANELS)
