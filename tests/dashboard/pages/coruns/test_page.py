"""The page of co-runs: answers in a sentence, what is missing, what is drawn."""

from datetime import timedelta

import pytest

from benchmarks.models import Run
from benchmarks.studies import checking
from dashboard.charts.plotly import figure
from dashboard.wording import NONE

PAGE = "/studies/alpha-lab/study/co-runs/"
TOGETHER = {"scenario": "parallel", "vms": 2}


@pytest.fixture
def together(submit, run_document, xen):
    """Two VMs, a printed sum that is not theirs, one VM alone and native."""
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
        drawn for drawn in page.context["page"]["drawings"] if drawn.slug == slug
    )
    return wanted


def answer_of(page):
    """Return what the page says in one sentence of its only component."""
    (part,) = page.context["page"]["parts"]
    assert part["answer"] in page.text
    return part["answer"]


def test_it_answers_in_a_sentence(client, together):
    answer = answer_of(client.get(PAGE))

    assert "2 VMs together reach 1.250 times one VM alone" in answer
    assert "0.962 (Network throughput · write)" in answer


def test_a_printed_sum_that_does_not_match_is_said(client, text, together):
    (part,) = client.get(PAGE).context["page"]["parts"]
    (remark,) = part["cases"][0]["rows"][0]["remarks"]

    assert all(number in remark for number in ("60", "50", "20 % more"))
    assert remark in text(PAGE)


def test_numbers_beside_each_other_have_the_same_decimals(client, submit, run_document):
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


def test_a_missing_vm_is_said(text, submit, run_document, xen):
    submit(run_document(30.0, slot="2", system=xen, **TOGETHER))

    assert "Not reported: VM 1" in text(PAGE)


def test_a_doubted_co_run_gives_no_answer(text, together):
    mark = {"code": "not_valid", "sentence": "It was too short."}
    Run.objects.filter(slot="2").update(warnings=[mark])
    checking.check_due_studies(timedelta(0))

    assert "Not assessed" in text(PAGE)


def test_a_vm_of_two_speeds_shows_both_and_gives_no_answer(
    client, submit, run_document, xen, study
):
    shared = {"system": xen, **TOGETHER}
    for value in (50, 51, 50, 100, 101, 100, 51):
        submit(run_document(value, slot="1", **shared))
    submit(run_document(40, slot="2", **shared), run_document(60, system=xen))
    checking.check_study(study)

    page = client.get(PAGE)
    (part,) = page.context["page"]["parts"]
    (row,) = part["cases"][0]["rows"]

    assert (row["slots"], row["together"]) == ("50 | 100 · 40", NONE)
    assert (row["to_single"], row["to_native"]) == (NONE, NONE)
    (remark,) = row["remarks"]
    assert "No single figure describes VM 1" in remark
    assert "Not assessed" in part["answer"]
    assert page.context["page"]["drawings"] == ()


def test_every_chart_has_its_table(client, together):
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
    stacked = figure(drawing(page, "sums").figure)
    assert [trace["x"] for trace in stacked["data"]] == [
        [30],
        [20],
        [40, 40],
        [52.97, 52.97],
    ]
    assert stacked["layout"]["barmode"] == "stack"
    assert drawing(page, "slots").rows[0][-1] == "needs repeated co-runs"
    assert drawing(page, "curve").rows[-1][-1] == "the end is not reached"
    assert figure(drawing(page, "curve").figure)["data"][-1]["x"] == [2]


def test_each_vm_is_seen_against_one_alone(client, together):
    slots = figure(drawing(client.get(PAGE), "slots").figure)["data"]

    assert [trace["x"] for trace in slots] == [[30], [20], [40, 40], [52.97, 52.97]]


def test_the_curve_says_where_it_ends_and_what_undisturbed_vms_would_do(
    client, together
):
    curve = drawing(client.get(PAGE), "curve")

    assert "still rises at 2 VMs" in curve.note
    undisturbed = figure(curve.figure)["data"][1]
    assert undisturbed["line"]["dash"] == "dash"
    assert undisturbed["x"] == [1, pytest.approx(1.3 * 50 / 40)]  # cut above the curve
    assert undisturbed["y"] == [40, pytest.approx(65)]


def test_a_second_vm_that_adds_nothing_ends_the_curve_at_one(
    client, submit, run_document, xen
):
    shared = {"system": xen, **TOGETHER}
    submit(
        run_document(20.0, slot="1", **shared),
        run_document(19.0, slot="2", **shared),
        run_document(40.0, system=xen),
    )

    note = drawing(client.get(PAGE), "curve").note

    assert "From 1 VM on, more add nothing (up to 2 were measured)" in note


def test_lines_are_promised_only_where_there_are_some(
    client, submit, run_document, xen
):
    shared = {"system": xen, **TOGETHER}
    submit(*(run_document(value, slot=f"{value:g}", **shared) for value in (1.0, 2.0)))

    sums = drawing(client.get(PAGE), "sums")

    assert "what one alone does is not known" in sums.note
    assert len(figure(sums.figure)["data"]) == 2


def test_work_for_the_cpu_is_drawn_against_both_targets(client, load_study):
    load_study("lmu-2010-xen", lambda run: run["tool"] == "linpack")

    page = client.get("/studies/alpha-lab/lmu-2010-xen/co-runs/")

    (targets,) = page.context["page"]["drawings"]
    assert targets.rows[1][1:] == (
        "429.5\xa0s",
        "321.3\xa0s",
        "1.337",
        "429.8\xa0s",
        "0.999",
    )
    assert [trace["type"] for trace in figure(targets.figure)["data"]] == ["bar"] + [
        "scatter"
    ] * 3
    assert "3 VMs at once take 2.005 times as long" in answer_of(page)


def test_a_sum_without_its_slots_is_not_drawn_as_a_small_one(client, load_study):
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

    bars = figure(drawing(page, "sums").figure)["data"]
    assert sum(bar["x"][0] or 0 for bar in bars) == pytest.approx(5452.74)


@pytest.mark.parametrize("case", ["0", "x", "99999999999999999999"])
def test_an_unknown_case_shows_the_first(client, together, case):
    assert client.get(PAGE, {"case": case}).context["page"]["chosen"] is not None


def test_the_tab_stands_only_where_there_is_something(text, pair, together):
    assert "co-runs/" in text("/studies/alpha-lab/study/")


def test_a_study_without_co_runs_has_no_tab_but_an_empty_page(text, pair):
    assert "co-runs/" not in text("/studies/alpha-lab/study/")
    assert 'class="empty"' in text(PAGE)


def test_a_private_study_is_not_there(client, private_study):
    assert client.get("/studies/alpha-lab/secret-study/co-runs/").status_code == 404


def test_its_queries_are_fixed(client, together, django_assert_num_queries):
    with django_assert_num_queries(10):
        client.get(PAGE)


def test_times_without_a_known_target_are_still_said_and_drawn(client, load_study):
    """Two and four copies of partdiff took 200 s and 405 s, one 200 s."""
    load_study("heidelberg-2007-xen", lambda run: run["tool"] == "partdiff")

    page = client.get("/studies/alpha-lab/heidelberg-2007-xen/co-runs/")

    assert "4 VMs at once take 2.025 times as long" in answer_of(page)
    assert "not known" in answer_of(page)
    bars = figure(drawing(page, "times").figure)["data"]
    assert [bar["x"] for bar in bars] == [[200, 405], [200, 200]]


def test_the_first_case_drawn_has_a_direction(client, load_study):
    load_study("uoc-2012-kvm", lambda run: run["tool"] == "httperf")

    page = client.get("/studies/alpha-lab/uoc-2012-kvm/co-runs/").context["page"]

    assert page["chosen"].better == "lower"
