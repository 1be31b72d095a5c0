"""The trend page: made runs with dates and versions, and studies without."""

import json
import re
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from benchmarks.comparing.trend import trend_of, trend_subjects
from benchmarks.models import Host, Study
from benchmarks.studies import checking
from benchmarks.viewer import ANYONE

PAGE = "/studies/alpha-lab/study/trend/"
BEGIN = datetime(2026, 3, 1, 8, tzinfo=UTC)


@pytest.fixture
def series(run_document, xen):
    """Make a run every twelve hours: ``levels`` one after the other."""

    def make(
        *levels, n=14, versions=("4.18", "4.19"), dated=True, system=None, **changes
    ):
        random = np.random.default_rng(11)
        documents = []
        for at, level in enumerate(level for level in levels for _ in range(n)):
            version = versions[min(at // n, len(versions) - 1)]
            began = BEGIN + timedelta(hours=12 * at)
            stated = {"started_at": began.isoformat()} if dated else {}
            documents.append(
                run_document(
                    round(level * (1 + random.normal(0, 0.005)), 3),
                    system={**xen, **(system or {}), "hypervisor_version": version},
                    **stated,
                    **changes,
                )
            )
        return documents

    return make


def figure(page):
    (source,) = re.findall(r'<script type="application/json">(.*?)</script>', page)
    return json.loads(source)


def findings(page):
    return re.findall(r'<p class="finding">(.*?)</p>', page)


def test_a_step_is_dated_and_named_with_its_version(text, submit, series):
    submit(*series(50, 45))

    (said,) = findings(text(PAGE))

    for fact in ("2026-03-08", "0.897 times", "4.18 to 4.19"):
        assert fact in said


def test_a_point_is_a_day_with_its_interval(text, submit, series):
    submit(*series(50, 45))

    drawn = figure(text(PAGE))

    (line,) = drawn["data"]
    assert len(line["x"]) == 14
    assert all(bar > 0 for bar in line["error_y"]["array"])
    assert drawn["layout"]["xaxis"]["type"] == "date"
    (change,) = drawn["layout"]["shapes"]
    assert change["label"]["text"] == "\xd7\xa00.897"


def test_many_points_are_folded_in_the_table(text, submit, series):
    submit(*series(50, n=84))

    page = text(PAGE)

    assert "Show all 42 points" in page
    assert page.count('<th scope="row">') == 42


def test_fewer_than_ten_runs_a_side_claim_nothing(text, submit, series):
    submit(*series(50, 25, n=9))

    (said,) = findings(text(PAGE))

    assert "(18 dated runs)" in said
    assert "10 before" in said
    assert not figure(text(PAGE))["layout"].get("shapes")


def test_what_holds_for_all_systems_is_said_once(text, submit, series):
    for n, vcpus in ((2, 2), (3, 4), (4, 8)):
        submit(*series(50, n=n, system={"vcpus": vcpus}))

    (said,) = findings(text(PAGE))

    assert said.startswith("All 3 systems (2 to 4 dated runs)")


def test_a_change_stands_before_what_the_others_share(text, submit, series):
    submit(*series(50, n=2))
    submit(*series(50, n=2, system={"vcpus": 4}))
    submit(*series(50, 45, system={"vcpus": 8}))

    changed, others = findings(text(PAGE))

    assert "times what it was before" in changed
    assert others.count("(2 dated runs)") == 2
    assert "8 vCPU" not in others


def test_readings_of_0_are_the_reason_where_they_are(text, submit, series):
    documents = series(50, 45, tool="iperf3")
    jitter = {"metric": "jitter", "parameters": {}, "unit": "ms"}
    for at, document in enumerate(documents):
        document["samples"] = [{**jitter, "value": at}]
    submit(*documents)

    (said,) = findings(text(PAGE))

    assert "(28 dated runs): readings of 0" in said


def test_of_many_changes_the_later_ones_are_folded(text, submit, series):
    for vcpus in range(1, 9):
        submit(*series(50, 45, n=10, system={"vcpus": vcpus}))

    page = text(PAGE)

    assert len(findings(page)) == 8
    assert "2 more findings" in page


def test_a_quiet_series_is_said_to_be_quiet(text, submit, series):
    submit(*series(50, 50))

    assert "(28 dated runs): no change beyond chance" in findings(text(PAGE))[0]


def test_versions_are_an_axis_of_their_own(text, submit, series):
    submit(*series(50, 45))

    page = text(f"{PAGE}?axis=version")

    assert figure(page)["layout"]["xaxis"]["ticktext"] == ["Xen 4.18", "Xen 4.19"]
    assert re.search(r"4.18 to 4.19: 0.897 times what it was \(95\xa0%", page)


@pytest.fixture
def bimodal(submit, run_document, xen, study):
    """Four days of four runs each at two speeds in turns, then four steady days."""
    random = np.random.default_rng(5)
    for at in range(32):
        level = 40.0 if at >= 16 else (50.0, 100.0)[at % 2]
        value = round(level + random.normal(0, 0.1), 2)
        began = BEGIN + timedelta(hours=6 * at - 8)
        version = {"hypervisor_version": "4.18" if at < 16 else "4.19"}
        document = run_document(
            value, system={**xen, **version}, started_at=began.isoformat()
        )
        submit(document)
    checking.check_study(study)


def test_days_of_two_speeds_show_their_range_and_no_mean(text, bimodal):
    page = text(PAGE)

    (line,) = figure(page)["data"]
    assert max(line["y"]) < 41
    assert re.search(r'<p class="note">\s*4 points', page)
    assert re.search(r"49\.\d+ to 100\.", page)
    assert "No single figure: two speeds, " in page


def test_no_factor_is_claimed_against_a_version_of_two_speeds(text, bimodal):
    page = text(f"{PAGE}?axis=version")

    said, *_others = findings(page)
    assert "no change is claimed" in said
    assert said.endswith("4.18.")
    assert "50 | 100" in page


def test_runs_without_dates_still_have_their_versions(text, submit, series):
    submit(*series(50, 45, n=4, dated=False))

    page = text(PAGE)

    assert "one point per version" in page
    assert "no change is claimed" in findings(page)[0]


def test_runs_without_a_date_are_counted_not_drawn(text, submit, series):
    submit(*series(50, 45), *series(50, n=3, dated=False))

    assert re.search(r'<p class="small muted">\s*3 runs', text(PAGE))


def test_the_same_host_and_case_of_another_study_belong_to_it(
    text, submit, series, lab
):
    Study.objects.create(lab=lab, slug="later", title="Later", visibility="public")
    submit(*series(50), *series(45, versions=("4.20",), study="later"))

    assert "4.20" in text(f"{PAGE}?axis=version")


def test_a_case_that_only_another_study_measured_on_a_host_is_none_of_its_own(
    submit, run_document, lab
):
    Study.objects.create(lab=lab, slug="later", title="Later", visibility="public")
    Host.objects.create(lab=lab, slug="beta")
    alpha = run_document()
    beta = {**alpha["system"], "host": "beta"}
    other = [{**alpha["samples"][0], "parameters": {"size": "other"}}]
    submit(alpha, run_document(system=beta, samples=other))
    submit(run_document(system=beta, study="later"))

    subjects = trend_subjects(ANYONE, Study.objects.get(slug="study"))

    assert len(subjects) == 2
    assert {subject.host: subject.case_id for subject in subjects} == {
        cell.system.host.slug: cell.case_id
        for cell in Study.objects.get(slug="study").cells.all()
    }


def test_what_is_private_elsewhere_stays_out(text, submit, series, private_study):
    submit(*series(50), *series(45, versions=("4.20",), study="secret-study"))

    assert "4.20" not in text(PAGE)
    (subject,) = trend_subjects(ANYONE, Study.objects.get(slug="study"))
    assert sum(len(it.runs) for it in trend_of(ANYONE, subject).series) == 14


def test_a_study_without_dates_and_versions_says_what_is_missing(
    text, submit, run_document
):
    submit(run_document())

    page = text(PAGE)

    assert "started_at" in page
    assert "<table" not in page
    assert "/study/trend/" not in text("/studies/alpha-lab/study/")


def test_the_tab_stands_where_there_is_a_trend(text, submit, series):
    submit(*series(50, n=2))

    assert "/study/trend/" in text("/studies/alpha-lab/study/")


def test_a_private_trend_is_not_there(client, private_study):
    answer = client.get("/studies/alpha-lab/secret-study/trend/")

    assert answer.status_code == 404


def test_nonsense_in_the_address_shows_the_first_subject(text, submit, series):
    submit(*series(50, n=2))

    assert "single" not in findings(text(f"{PAGE}?subject=1|%27|%00&axis=x"))


def test_of_a_long_trend_the_latest_runs_are_kept_and_it_says_so(
    text, submit, series, monkeypatch
):
    monkeypatch.setattr("benchmarks.comparing.trend.MOST_RUNS", 10)
    submit(*series(50, 45))

    page = text(PAGE)

    (line,) = figure(page)["data"]
    assert len(line["x"]) == 5
    assert "2026-03-14" in page
    assert "2026-03-09" not in page
    assert "18 older runs" in page


def test_runs_that_do_not_say_when_are_left_out_first(
    text, submit, series, monkeypatch
):
    monkeypatch.setattr("benchmarks.comparing.trend.MOST_RUNS", 4)
    submit(*series(50, n=4), *series(50, n=4, dated=False))

    page = text(PAGE)

    assert "4 older runs" in page
    assert "not drawn" not in page


def test_it_costs_a_fixed_number_of_queries(
    client, submit, series, django_assert_num_queries
):
    submit(*series(50, 45))

    with django_assert_num_queries(6):
        client.get(PAGE)
    submit(*series(40, 45, versions=("5.0", "5.1")))
    with django_assert_num_queries(6):
        client.get(PAGE)


@pytest.mark.parametrize("query", ["", "?axis=version"])
def test_what_has_no_speed_is_drawn_and_no_times_another(text, submit, series, query):
    share = {"metric": "CPU utilization (network)", "value": 20.0, "unit": "%"}
    shares = [
        {**document, "samples": [{**share, "value": document["samples"][0]["value"]}]}
        for document in series(50, 25)
    ]
    submit(*shares)

    page = text(PAGE + query)

    (said,) = findings(page)
    assert "own share" in said
    assert "times what it was" not in page
