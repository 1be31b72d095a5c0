"""The energy page: published energies, and a power log."""

import pytest

from benchmarks.models import Run, System
from dashboard.charts import plotly_renderer

PAGE = "/studies/alpha-lab/study/energy/"
UOC = "/studies/alpha-lab/uoc-2012-kvm/energy/"
LOG = "timestamp,watts\n" + "".join(
    f"2026-11-20T21:00:{second:02}Z,{120 if 10 <= second < 40 else 80}.0\n"
    for second in range(60)
)


@pytest.fixture
def uoc(load_study):
    """Load the study of UOC with its reference, HDD and swap on HDD."""
    study = load_study("uoc-2012-kvm")
    study.reference_system = System.objects.get(
        options={"storage": "HDD", "swap": "HDD"}
    )
    study.save()


@pytest.fixture
def metered(submit, run_document):
    """Submit a power log of a minute with half a minute of work."""
    shared = {"session": "one evening"}
    meter = run_document(tool="power-csv", output=LOG, **shared)
    del meter["samples"]
    work = run_document(
        facts={"elapsed_s": 30}, started_at="2026-11-20T21:00:10Z", **shared
    )
    submit(meter, work)


def test_states_reversed_conclusion_and_condition(text, uoc):
    page = text(UOC)

    assert "ran 2.1% to 40% longer than" in page
    assert "totals say 15.3% more: the conclusion is reversed" in page
    assert "used less than 77.1 W" in page


def test_unknown_work_duration_is_reported(text, uoc):
    page = text(UOC)

    assert "The duration of the work is not reported" in page
    assert "3 more systems" in page


def test_measured_work_precedes_printed(client, uoc):
    works = client.get(UOC).context["page"]["workloads"]

    assert [work["name"].split()[0] for work in works] == [
        "sysbench",
        "httperf",
        "b_eff_io",
    ]
    titles = [work["charts"][0].title for work in works]
    assert titles[0] == "Printed total and energy of the work"
    assert titles[-1] == "Printed total"
    assert "The energy of the work alone is unknown" in works[-1]["charts"][0].note


def test_idle_power_of_query_is_subtracted(client, uoc):
    page = client.get(UOC, {"idle_w": "110"})

    sysbench = page.context["page"]["workloads"][0]["charts"][0]
    ssd = sysbench.rows[1]
    assert ssd[0] == "Storage HDD, Swap SSD"
    assert ssd[6:] == ("44,020\xa0J", "1.153", "0.842", "0.934", "reversed")
    assert [
        trace["name"] for trace in plotly_renderer.plotly_figure(sysbench.chart)["data"]
    ][-1] == ("total without idle power of 110 W")


@pytest.mark.parametrize("waiting", ["", "x", "-1", "1e3", "99999999999", "²"])
def test_invalid_idle_power_is_ignored(client, uoc, waiting):
    page = client.get(UOC, {"idle_w": waiting})

    assert page.status_code == 200
    assert page.context["page"]["waiting_w"] is None


def test_power_is_plotted_against_performance(client, uoc):
    drawing = client.get(UOC).context["page"]["workloads"][0]["charts"][1]

    assert drawing.slug == "performance"
    assert drawing.rows[0][1:4] == ("1,000", "3.791/s", "46.77\xa0J")


def test_power_log_shows_window_of_work(client, metered):
    page = client.get(PAGE).context["page"]

    (band,) = plotly_renderer.plotly_figure(page["power"].chart)["layout"]["shapes"]
    assert (band["x0"], band["x1"]) == (10, 40)
    row = page["power"].rows[0]
    assert row[1:3] == ("10 s to 40 s", "3,580\xa0J")
    assert row[5] == "80\xa0W"


def test_log_is_compared_with_mean_power(text, metered):
    page = text(PAGE)

    # 5920 J in 59 s: 100.34 W, of which 30 s are 3010.2 J.
    assert "97% longer" in page
    assert "3,580 J" in page
    assert "3,010 J (15.9% less)" in page


def test_meter_that_stopped_early_ran_shorter(text, submit, run_document):
    samples = [
        {"metric": "energy", "value": 1000, "unit": "J"},
        {"metric": "meter time", "value": 9, "unit": "s"},
    ]
    submit(
        run_document(tool="watts-up", samples=samples, corun="one"),
        run_document(facts={"elapsed_s": 10}, corun="one"),
    )

    assert "10% shorter" in text(PAGE)


def test_impossible_values_are_reported(text, metered):
    Run.objects.exclude(tool="power-csv").update(started_at=None)

    assert "start or duration of at least one run is not known" in text(PAGE)


def test_reading_without_energy_has_reason(client, submit, run_document):
    power = [{"metric": "power mean", "value": 90, "unit": "W"}]
    submit(run_document(tool="watts-up", samples=power))

    page = client.get(PAGE)
    (entry,) = page.context["page"]["not_assessed"]
    part = page.text.partition('id="not-assessed"')[2]
    assert f"/runs/{entry.reading.run.pk}/" in part
    assert "not energy" in part


def test_tab_needs_meter_readings(text, pair, uoc):
    assert "energy/" in text("/studies/alpha-lab/uoc-2012-kvm/")
    assert "energy/" not in text("/studies/alpha-lab/study/")
    assert 'class="empty"' in text(PAGE)


def test_query_count_is_constant(client, metered, django_assert_num_queries):
    with django_assert_num_queries(9):
        client.get(PAGE)
