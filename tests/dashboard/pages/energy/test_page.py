"""The page of energy: what the study did, what the work took, a log over time."""

import pytest

from benchmarks.models import Run, System
from dashboard.charts import plotly

PAGE = "/studies/alpha-lab/study/energy/"
UOC = "/studies/alpha-lab/uoc-2012-kvm/energy/"
LOG = "timestamp,watts\n" + "".join(
    f"2026-11-20T21:00:{second:02}Z,{120 if 10 <= second < 40 else 80}.0\n"
    for second in range(60)
)


@pytest.fixture
def uoc(load_study):
    """The study of UOC with its reference, HDD and swap on HDD."""
    study = load_study("uoc-2012-kvm")
    study.reference_system = System.objects.get(
        options={"storage": "HDD", "swap": "HDD"}
    )
    study.save()


@pytest.fixture
def metered(submit, run_document):
    """A power log of a minute with half a minute of work in it."""
    shared = {"session": "one evening"}
    meter = run_document(tool="power-csv", output=LOG, **shared)
    del meter["samples"]
    work = run_document(
        facts={"elapsed_s": 30}, started_at="2026-11-20T21:00:10Z", **shared
    )
    submit(meter, work)


def test_it_says_which_conclusion_is_reversed_and_what_it_hangs_on(text, uoc):
    page = text(UOC)

    assert "ran 2.1\N{EN DASH}40\xa0% longer than" in page
    assert "15.3\xa0% more" in page
    assert "15.8\xa0% less: the conclusion is reversed" in page
    assert "below 77.1 W" in page


def test_work_of_unknown_length_is_said(text, uoc):
    page = text(UOC)

    assert "How long the work took is not stated" in page
    assert "3 further systems" in page


def test_what_is_known_stands_before_what_is_only_printed(client, uoc):
    works = client.get(UOC).context["page"]["workloads"]

    assert [work["name"].split()[0] for work in works] == [
        "sysbench",
        "httperf",
        "b_eff_io",
    ]
    titles = [work["drawings"][0].title for work in works]
    assert titles[0] == "Printed total and energy of the work"
    assert titles[-1] == "Printed total"
    assert "the work's own is not known" in works[-1]["drawings"][0].note


def test_the_wait_is_taken_off_at_the_power_in_the_address(client, uoc):
    page = client.get(UOC, {"waiting": "110"})

    sysbench = page.context["page"]["workloads"][0]["drawings"][0]
    ssd = sysbench.rows[1]
    assert ssd[0] == "Storage HDD, Swap SSD"
    assert ssd[6:] == ("44,020\xa0J", "1.153", "0.842", "0.934", "reversed")
    assert [trace["name"] for trace in plotly.figure(sysbench.figure)["data"]][-1] == (
        "total without idle power at 110 W"
    )


@pytest.mark.parametrize("waiting", ["", "x", "-1", "1e3", "99999999999", "²"])
def test_nonsense_in_the_address_takes_nothing_off(client, uoc, waiting):
    page = client.get(UOC, {"waiting": waiting})

    assert page.status_code == 200
    assert page.context["page"]["waiting_w"] is None


def test_power_stands_against_performance(client, uoc):
    drawing = client.get(UOC).context["page"]["workloads"][0]["drawings"][1]

    assert drawing.slug == "performance"
    assert drawing.rows[0][1:4] == ("1,000", "3.791/s", "46.77\xa0J")


def test_a_log_is_drawn_with_the_window_of_its_work(client, metered):
    page = client.get(PAGE).context["page"]

    (band,) = plotly.figure(page["power"].figure)["layout"]["shapes"]
    assert (band["x0"], band["x1"]) == (10, 40)
    row = page["power"].rows[0]
    assert row[1:3] == ("10 s to 40 s", "3,580\xa0J")
    assert row[5] == "80\xa0W"


def test_the_log_is_set_beside_the_figure_at_mean_power(text, metered):
    page = text(PAGE)

    # 5920 J in 59 s: 100.34 W, of which 30 s are 3010.2 J.
    assert "97\xa0% longer" in page
    assert "3,580 J" in page
    assert "3,010 J, 15.9\xa0% less" in page


def test_a_meter_that_stopped_too_early_ran_shorter(text, submit, run_document):
    samples = [
        {"metric": "energy", "value": 1000, "unit": "J"},
        {"metric": "meter time", "value": 9, "unit": "s"},
    ]
    submit(
        run_document(tool="watts-up", samples=samples, corun="one"),
        run_document(facts={"elapsed_s": 10}, corun="one"),
    )

    assert "10\xa0% shorter" in text(PAGE)


def test_what_is_not_possible_is_said(text, metered):
    Run.objects.exclude(tool="power-csv").update(started_at=None)

    assert "not known when it began" in text(PAGE)


def test_a_reading_without_energy_is_not_assessed_with_its_reason(
    client, submit, run_document
):
    power = [{"metric": "power mean", "value": 90, "unit": "W"}]
    submit(run_document(tool="watts-up", samples=power))

    page = client.get(PAGE)
    (entry,) = page.context["page"]["not_assessed"]
    part = page.text.partition('id="not-assessed"')[2]
    assert f"/runs/{entry.reading.run.pk}/" in part
    assert "no energy" in part


def test_the_tab_stands_only_where_a_meter_was_read(text, pair, uoc):
    assert "energy/" in text("/studies/alpha-lab/uoc-2012-kvm/")
    assert "energy/" not in text("/studies/alpha-lab/study/")
    assert 'class="empty"' in text(PAGE)


def test_its_queries_are_fixed(client, metered, django_assert_num_queries):
    with django_assert_num_queries(9):
        client.get(PAGE)
