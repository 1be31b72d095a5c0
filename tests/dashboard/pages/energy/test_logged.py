"""The energy page with logged power meters."""

from datetime import timedelta

import pytest
from django.utils.html import escape

from benchmarks.models import Run, RunEnergy, Session, Study
from benchmarks.power.meter_logs import integrate_due, store_power_chunk
from dashboard.charts import plotly_renderer
from tests.power_logs import chunk, clock_of

PAGE = "/studies/alpha-lab/study/energy/"
RAPL = {"name": "rapl at alpha", "kind": "rapl"}
# Two native runs of 30 s at 120 W, then two of Xen at 150 W.
WINDOWS = ((100, 130), (200, 230), (300, 330), (400, 430))
READINGS = [
    (
        second,
        next(
            (
                120.0 + 30 * (at > 1)
                for at, (begin, end) in enumerate(WINDOWS)
                if begin <= second <= end
            ),
            80.0,
        ),
    )
    for second in range(500)
]


@pytest.fixture
def upload(agent, host):
    def take(*documents):
        for document in documents:
            store_power_chunk(agent=agent, document=document)
        integrate_due(timedelta(0))

    return take


def events(count):
    return [{"metric": "events", "value": count, "unit": ""}]


@pytest.fixture
def works(submit, run_document, xen):
    """Submit four runs with operation counts, in the windows above."""
    submissions = submit(
        *(
            run_document(
                tool="sysbench",
                samples=events(1000 + 10 * (at % 2)),
                system=xen if at > 1 else {},
                facts=clock_of(*window) | {"order": {"step": "cpu"}},
            )
            for at, window in enumerate(WINDOWS)
        )
    )
    return [submission.run_id for submission in submissions]


def test_states_which_system_needs_more_energy(text, works, upload):
    upload(chunk(READINGS))

    page = text(PAGE)

    assert "sysbench, cpu" in page
    # 4500 J against 3600 J for the same operations.
    assert "25% more energy per operation" in page
    assert "(1.25 [1.14, 1.37]" in page


def test_every_chart_has_table_of_same_numbers(client, works, upload):
    upload(chunk(READINGS))

    (workload,) = client.get(PAGE).context["page"]["logged"]["workloads"]
    drawing, performance = workload["charts"]

    native, xen = drawing.rows
    assert native[1] == "2"
    assert native[5:7] == ("3,600\xa0J", "1,200\xa0J")
    assert native[7:10] == ("30\xa0s", "120\xa0W", "80\xa0W")
    assert xen[3] == "1.250"
    assert native[12] == "lab meter 2"
    assert [
        trace["name"] for trace in plotly_renderer.plotly_figure(drawing.chart)["data"]
    ] == [
        "Energy per operation",
        "above idle",
    ]
    assert performance.slug == "performance"


def test_power_chart_shows_window_of_chosen_work(client, works, upload):
    upload(chunk(READINGS))
    meter = RunEnergy.objects.values_list("meter", flat=True)[0]

    page = client.get(PAGE, {"work": f"{works[2]}-{meter}"}).context["page"]["logged"]

    (band,) = plotly_renderer.plotly_figure(page["power"].chart)["layout"]["shapes"]
    assert (band["x0"], band["x1"]) == (10, 40)
    assert page["power"].rows[0][2] == "4,500\xa0J"
    assert page["chosen"]["run_id"] == works[2]


@pytest.mark.parametrize("work", ["", "x", "1-x", "999999-1", "-", "²-1"])
def test_invalid_query_shows_first_work(client, works, upload, work):
    upload(chunk(READINGS))

    page = client.get(PAGE, {"work": work}).context["page"]["logged"]

    assert page["chosen"]["run_id"] == works[0]


def test_processor_counter_is_marked(text, client, works, upload):
    joules, counts = 0.0, []
    for second, watts in READINGS:
        counts.append((second, joules))
        joules += watts / 2
    upload(chunk(counts, meter=RAPL, measures="energy", channels=["package-0"]))

    (workload,) = client.get(PAGE).context["page"]["logged"]["workloads"]
    assert "RAPL" in workload["note"]
    assert escape(workload["note"]) in text(PAGE)


def test_wall_and_processor_have_separate_tables(client, works, upload):
    upload(
        chunk(READINGS),
        chunk(READINGS, meter=RAPL, log="9d7b9f3a-6b2e-4a38-9a0c-5f6b7c8d9e0f"),
    )

    workloads = client.get(PAGE).context["page"]["logged"]["workloads"]

    assert [workload["is_cpu_only"] for workload in workloads] == [False, True]


def test_unmeasured_runs_are_reported_and_excluded(text, client, works, upload):
    upload(chunk([each for each in READINGS if not 205 < each[0] < 225]))

    page = text(PAGE)

    assert (
        "1 run is excluded because its power was recorded for too small a part of it"
        in page
    )
    assert "20 s of the 30 s of the work (67%) were not measured" in page
    drawing = client.get(PAGE).context["page"]["logged"]["workloads"][0]["charts"][0]
    assert drawing.rows[0][1] == "1 of 2"


def test_gap_interrupts_power_line(client, works, upload):
    upload(chunk([each for each in READINGS if not 131 < each[0] < 137]))

    power = client.get(PAGE).context["page"]["logged"]["power"]
    line = plotly_renderer.plotly_figure(power.chart)["data"][0]

    assert line["y"].count(None) == 1


def test_overlapping_runs_are_excluded(text, client, submit, run_document, upload):
    submit(*(run_document(facts=clock_of(*each)) for each in ((100, 130), (101, 129))))
    upload(chunk(READINGS))

    page = text(PAGE)

    assert "2 runs overlapped" in page
    assert "share one energy" in page
    assert client.get(PAGE).context["page"]["logged"]["workloads"] == []


def test_ratio_across_days_has_note(text, works, upload):
    """Each side was metered on its own day, so days may explain the ratio."""
    upload(chunk(READINGS))
    study = Study.objects.get()
    for number, platform in enumerate(("native", "Xen")):
        sitting = Session.objects.create(
            lab=study.lab, study=study, name=f"day {number}"
        )
        Run.objects.filter(system__hypervisor=platform).update(session=sitting)

    page = text(PAGE)

    assert "in different sessions" in page
    assert "the variation between these sessions is unknown" in page


def test_two_meters_are_not_combined(text, submit, run_document, upload):
    near = [(second, 120.5 if watts == 150 else watts) for second, watts in READINGS]
    shared = {"tool": "sysbench", "samples": events(1000)}
    systems = ({}, {"hypervisor": "Xen"})
    for at, window in enumerate(WINDOWS):
        facts = clock_of(*window)
        submit(run_document(**shared, system=systems[at > 1], facts=facts))
    other = {"name": "lab meter 3", "kind": "watts-up", "gain_error": 0.015}
    upload(
        chunk(near[:250]),
        chunk(near[250:], meter=other, log="9d7b9f3a-6b2e-4a38-9a0c-5f6b7c8d9e0f"),
    )

    assert (
        "The difference is small enough to be explained by the inaccuracy of the two "
        "power meters."
    ) in text(PAGE)


def test_tab_needs_integrated_log(text, works, upload):
    assert "energy/" not in text("/studies/alpha-lab/study/")

    upload(chunk(READINGS))

    assert "energy/" in text("/studies/alpha-lab/study/")


def test_query_count_is_constant(client, works, upload, django_assert_num_queries):
    upload(chunk(READINGS))

    with django_assert_num_queries(7):
        client.get(PAGE)
