"""The latencies of one test beside each other: mean and percentiles."""

import re
from datetime import timedelta
from html import unescape

import pytest

from benchmarks.models import Cell
from benchmarks.studies import checking
from tests.upload_documents import in_turn

SUMMARIES = {"mean": 1.0, "p50": 0.9, "p95": 2.0, "p99": 4.0, "p99.9": 9.0}


@pytest.fixture
def latencies(submit, run_document, xen):
    """Submit five fio runs per side, whose tail is twice as long in the guest."""

    def document(index, side):
        changes = {"system": xen} if side else {}
        made = run_document(1, tool="fio", **changes)
        # Different readings on both sides, without a drift.
        noise = 1 + (index * 2 % 5 + side / 2) / 1000
        made["samples"] = [
            {
                "metric": f"completion latency {name}",
                "value": value * noise * (1 + side if value > 1 else 1),
                "unit": "ms",
                "parameters": {"job": "j", "operation": "read"},
            }
            for name, value in SUMMARIES.items()
        ]
        return made

    orders = [(index, (0, 1) if index % 2 else (1, 0)) for index in range(5)]
    submit(*in_turn([document(i, side) for i, sides in orders for side in sides]))
    checking.check_due_studies(timedelta(0))

    def cell(metric):
        return Cell.objects.get(
            system__hypervisor="Xen", case__metric=f"completion latency {metric}"
        )

    return cell


def page_of(client, cell):
    study = cell.study
    url = f"/studies/{study.lab.slug}/{study.slug}/cells/{cell.pk}/"
    return client.get(url)


def test_value_of_a_percentile_is_called_the_mean_of_the_runs_percentile(
    client, latencies
):
    content = unescape(page_of(client, latencies("p99")).content.decode())

    assert "mean of 5 runs' p99" in content


def test_mean_and_percentiles_are_in_one_table_in_order(client, latencies):
    response = page_of(client, latencies("mean"))
    chart = response.context["page"]["latencies"]

    assert [row[0] for row in chart.rows] == ["mean", "p50", "p95", "p99", "p99.9"]
    ratios = {row[0]: float(row[3]) for row in chart.rows}
    assert ratios["mean"] == pytest.approx(1, abs=0.01)
    assert ratios["p99"] == pytest.approx(0.5, abs=0.01)
    links = re.findall(r"cells/(\d+)/\">(p[\d.]+)</a>", response.content.decode())
    assert (str(latencies("p99").pk), "p99") in links


def test_the_tail_has_a_verdict_of_its_own(client, latencies):
    verdicts = {
        metric: page_of(client, latencies(metric))
        .context["page"]["evidence"]
        .row.result.assessment.verdict
        for metric in ("mean", "p99")
    }

    assert verdicts == {"mean": "equivalent", "p99": "slower"}


def test_only_one_tail_counts_as_a_test(client, latencies):
    details = page_of(client, latencies("p99")).context["page"]["evidence"]

    # The mean, as no throughput was measured, and p99.
    assert details.tested_count == 2


def test_other_metrics_have_no_such_table(client, submit, run_document, xen):
    submit(run_document(50), run_document(40, system=xen))

    response = page_of(client, Cell.objects.get(system__hypervisor="Xen"))

    assert response.context["page"]["latencies"] is None
