"""The page of co-runs: summary, missing VMs, charts."""

import html

import pytest

from benchmarks.models import Run, Study
from benchmarks.studies import checking
from dashboard.charts.plotly_renderer import plotly_figure
from dashboard.wording import DASH

PAGE = "/studies/alpha-lab/study/co-runs/"
TOGETHER = {"scenario": "parallel", "vms": 2}


@pytest.fixture
def together(submit, run_document, xen):
    """Submit two VMs with a mismatched printed total, a single VM and native."""
    shared = {"system": xen, **TOGETHER}
    submit(
        run_document(30.0, slot="1", **shared),
        run_document(20.0, slot="2", **shared),
        run_document(60.0, slot="sum", **shared),
        run_document(40.0, system=xen),
        run_document(52.97),
    )


def drawing(page, slug):
    (wanted,) = (
        drawn for drawn in page.context["page"]["charts"] if drawn.slug == slug
    )
    return wanted


def answer_of(page):
    """Return the summary of the page's only component."""
    (part,) = page.context["page"]["parts"]
    assert part["summary"] in html.unescape(page.text)
    return part["summary"]


def test_shows_summary_sentence(client, together):
    answer = answer_of(client.get(PAGE))

    assert "With 2 VMs, total throughput is 125.0% of one VM" in answer
    assert "0.962 (Network throughput · write)" in answer


def test_mismatched_printed_total_is_reported(client, text, together):
    (part,) = client.get(PAGE).context["page"]["parts"]
    (remark,) = part["cases"][0]["rows"][0]["remarks"]

    assert all(number in remark for number in ("60", "50", "20% too high"))
    assert remark in text(PAGE)


def test_numbers_of_row_have_same_decimals(client, submit, run_document):
    submit(
        run_document(30.4, slot="1", **TOGETHER),
        run_document(30.85, slot="2", **TOGETHER),
        run_document(30.05, slot="1", scenario="parallel", vms=3),
        run_document(21.25, slot="2", scenario="parallel", vms=3),
        run_document(9.0, slot="3", scenario="parallel", vms=3),
    )

    (part,) = client.get(PAGE).context["page"]["parts"]
    two, three = part["cases"][0]["rows"]

    assert two["slots"] == "30.40 · 30.85"
    assert two["together"] == "61.25\N{NO-BREAK SPACE}MB/s"
    assert three["slots"] == "30.05 · 21.25 · 9.00"
    assert three["together"] == "60.30\N{NO-BREAK SPACE}MB/s"


def test_missing_vm_is_reported(text, submit, run_document, xen):
    submit(run_document(30.0, slot="2", system=xen, **TOGETHER))

    assert "No values were reported for VM 1" in text(PAGE)


def test_flagged_corun_has_no_summary(text, together):
    mark = {"code": "not_valid", "sentence": "It was too short."}
    Run.objects.filter(slot="2").update(warnings=[mark])
    checking.check_study(Study.objects.get())

    assert "Not assessed" in text(PAGE)


def test_vm_with_two_modes_has_no_summary(client, submit, run_document, xen, study):
    shared = {"system": xen, **TOGETHER}
    for value in (50, 51, 50, 100, 101, 100, 51):
        submit(run_document(value, slot="1", **shared))
    submit(run_document(40, slot="2", **shared), run_document(60, system=xen))
    checking.check_study(study)

    page = client.get(PAGE)
    (part,) = page.context["page"]["parts"]
    (row,) = part["cases"][0]["rows"]

    assert (row["slots"], row["together"]) == ("50 | 100 · 40", DASH)
    assert (row["to_single"], row["to_native"]) == (DASH, DASH)
    (remark,) = row["remarks"]
    assert "No single value describes VM 1" in remark
    assert "Not assessed" in part["summary"]
    assert page.context["page"]["charts"] == ()


def test_every_chart_has_table(client, together):
    page = client.get(PAGE)

    (row,) = drawing(page, "sums").rows
    assert row == (
        "2 VMs",
        "50\xa0MB/s",
        "60\xa0MB/s",
        "40\xa0MB/s",
        "52.97\xa0MB/s",
        "1.250",
        "0.944",
    )
    stacked = plotly_figure(drawing(page, "sums").chart)
    assert [trace["x"] for trace in stacked["data"]] == [
        [30],
        [20],
        [40, 40],
        [52.97, 52.97],
    ]
    assert stacked["layout"]["barmode"] == "stack"
    assert drawing(page, "slots").rows[0][-1] == "needs repeated co-runs"
    assert drawing(page, "curve").rows[-1][-1] == "limit not reached"
    assert plotly_figure(drawing(page, "curve").chart)["data"][-1]["x"] == [2]


def test_each_vm_is_compared_with_single_vm(client, together):
    slots = plotly_figure(drawing(client.get(PAGE), "slots").chart)["data"]

    assert [trace["x"] for trace in slots] == [[30], [20], [40, 40], [52.97, 52.97]]


def test_curve_states_end_and_ideal_scaling(client, together):
    curve = drawing(client.get(PAGE), "curve")

    assert "still rises at 2 VMs" in curve.note
    undisturbed = plotly_figure(curve.chart)["data"][1]
    assert undisturbed["line"]["dash"] == "dash"
    assert undisturbed["x"] == [1, pytest.approx(1.3 * 50 / 40)]  # cut above the curve
    assert undisturbed["y"] == [40, pytest.approx(65)]


def test_curve_ends_at_one_without_gain(client, submit, run_document, xen):
    shared = {"system": xen, **TOGETHER}
    submit(
        run_document(20.0, slot="1", **shared),
        run_document(19.0, slot="2", **shared),
        run_document(40.0, system=xen),
    )

    note = drawing(client.get(PAGE), "curve").note

    assert "Beyond 1 VM, more VMs add nothing (measured up to 2 VMs)" in note


def test_legend_names_only_drawn_lines(client, submit, run_document, xen):
    shared = {"system": xen, **TOGETHER}
    submit(*(run_document(value, slot=f"{value:g}", **shared) for value in (1.0, 2.0)))

    sums = drawing(client.get(PAGE), "sums")

    assert "The result of one VM alone is unknown" in sums.note
    assert len(plotly_figure(sums.chart)["data"]) == 2


def test_cpu_work_has_both_targets(client, load_study):
    load_study("lmu-2010-xen", lambda run: run["tool"] == "linpack")

    page = client.get("/studies/alpha-lab/lmu-2010-xen/co-runs/")

    (targets,) = page.context["page"]["charts"]
    assert targets.rows[1][1:] == (
        "429.5\xa0s",
        "321.3\xa0s",
        "1.337",
        "429.8\xa0s",
        "0.999",
    )
    assert [trace["type"] for trace in plotly_figure(targets.chart)["data"]] == [
        "bar"
    ] + ["scatter"] * 3
    assert "3 VMs together take 2.005 times as long" in answer_of(page)


def test_incomplete_total_is_not_drawn(client, load_study):
    load_study(
        "lmu-2010-esxi",
        lambda run: run["tool"] == "ramspeed" and run["scenario"] == "parallel",
    )
    address = "/studies/alpha-lab/lmu-2010-esxi/co-runs/"
    cases = [
        rows["case"]
        for part in client.get(address).context["page"]["parts"]
        for rows in part["cases"]
    ]
    (case,) = (case for case in cases if case.label == "Bandwidth · read · RAM")

    page = client.get(address, {"case": case.pk})

    bars = plotly_figure(drawing(page, "sums").chart)["data"]
    assert sum(bar["x"][0] or 0 for bar in bars) == pytest.approx(5452.74)


@pytest.mark.parametrize("case", ["0", "x", "99999999999999999999"])
def test_unknown_case_shows_first(client, together, case):
    assert client.get(PAGE, {"case": case}).context["page"]["chosen"] is not None


def test_tab_needs_coruns(text, pair, together):
    assert "co-runs/" in text("/studies/alpha-lab/study/")


def test_study_without_coruns_has_empty_page(text, pair):
    assert "co-runs/" not in text("/studies/alpha-lab/study/")
    assert 'class="empty"' in text(PAGE)


def test_private_study_is_404(client, private_study):
    assert client.get("/studies/alpha-lab/secret-study/co-runs/").status_code == 404


def test_query_count_is_constant(client, together, django_assert_num_queries):
    with django_assert_num_queries(10):
        client.get(PAGE)


def test_times_without_target_are_shown(client, load_study):
    """Two and four copies of partdiff took 200 s and 405 s, a single one 200 s."""
    load_study("heidelberg-2007-xen", lambda run: run["tool"] == "partdiff")

    page = client.get("/studies/alpha-lab/heidelberg-2007-xen/co-runs/")

    assert "4 VMs together take 2.025 times as long" in answer_of(page)
    assert "unknown" in answer_of(page)
    bars = plotly_figure(drawing(page, "times").chart)["data"]
    assert [bar["x"] for bar in bars] == [[200, 405], [200, 200]]


def test_first_case_has_direction(client, load_study):
    load_study("uoc-2012-kvm", lambda run: run["tool"] == "httperf")

    page = client.get("/studies/alpha-lab/uoc-2012-kvm/co-runs/").context["page"]

    assert page["chosen"].better == "lower"
