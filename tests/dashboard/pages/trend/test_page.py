"""The trend page: synthetic runs with dates and versions, and studies without."""

import json
import re
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from benchmarks.comparison.trend import read_trend, trend_subjects
from benchmarks.models import Host, Study
from benchmarks.studies import checking
from benchmarks.viewer import ANYONE

PAGE = "/studies/alpha-lab/study/trend/"
BEGIN = datetime(2026, 3, 1, 8, tzinfo=UTC)


@pytest.fixture
def series(run_document, xen):
    """Return a run every twelve hours with these ``levels``."""

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
    return re.findall(r'<p class="summary-sentence">(.*?)</p>', page)


def test_change_has_date_and_version(text, submit, series):
    submit(*series(50, 45))

    (said,) = findings(text(PAGE))

    assert "slower by 10." in said
    assert "since Xen 4.19, first measured on 2026-03-08" in said


def test_point_is_day_with_interval(text, submit, series):
    submit(*series(50, 45))

    drawn = figure(text(PAGE))

    line, before, after = drawn["data"]
    assert len(line["x"]) == 14
    assert (before["y"][0], after["y"][0]) == pytest.approx((50, 45), abs=0.2)
    assert all(bar > 0 for bar in line["error_y"]["array"])
    assert drawn["layout"]["xaxis"]["type"] == "date"
    (change,) = drawn["layout"]["shapes"]
    assert change["label"]["text"].startswith("\xd7\xa00.89")


def test_many_points_are_folded_in_table(text, submit, series):
    submit(*series(50, n=84))

    page = text(PAGE)

    assert "Show all 42 points" in page
    assert page.count('<th scope="row">') == 42


def test_fewer_than_ten_days_have_no_change(text, submit, series):
    submit(*series(50, 25, n=8))

    (said,) = findings(text(PAGE))

    assert "(8 points)" in said
    assert "needs 10" in said
    assert not figure(text(PAGE))["layout"].get("shapes")


def test_common_result_is_stated_once(text, submit, series):
    for n, vcpus in ((2, 2), (3, 4), (4, 8)):
        submit(*series(50, n=n, system={"vcpus": vcpus}))

    (said,) = findings(text(PAGE))

    assert "all 3 systems (1 to 2 points each)" in said


def test_changes_precede_common_result(text, submit, series):
    submit(*series(50, n=2))
    submit(*series(50, n=2, system={"vcpus": 4}))
    submit(*series(50, 45, system={"vcpus": 8}))

    changed, others = findings(text(PAGE))

    assert "slower by 10." in changed
    assert others.count("(1 point)") == 2
    assert "8 vCPU" not in others


def test_zero_values_are_given_as_reason(text, submit, series):
    documents = series(50, 45, tool="iperf3")
    jitter = {"metric": "jitter", "parameters": {}, "unit": "ms"}
    for at, document in enumerate(documents):
        document["samples"] = [{**jitter, "value": max(at - 4, 0)}]
    submit(*documents)

    (said,) = findings(text(PAGE))

    assert "some values are 0" in said
    assert "(14 points)" in said


def test_later_changes_are_folded(text, submit, series):
    for vcpus in range(1, 9):
        submit(*series(50, 45, n=10, system={"vcpus": vcpus}))

    page = text(PAGE)

    assert len(findings(page)) == 8
    assert "2 more findings" in page


def test_series_without_change_is_reported(text, submit, series):
    submit(*series(50, 50))

    (said,) = findings(text(PAGE))
    assert said.startswith("No significant change:")
    assert "(14 points)" in said


def test_versions_are_axis(text, submit, series):
    submit(*series(50, 45))

    page = text(f"{PAGE}?axis=version")

    assert figure(page)["layout"]["xaxis"]["ticktext"] == ["Xen 4.18", "Xen 4.19"]
    assert re.search(r"4.18 to 4.19: changed by .10.3% \(confidence", page)


@pytest.fixture
def bimodal(submit, run_document, xen, study):
    """Submit four days of four runs each in two modes, then four steady days."""
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


def test_days_with_two_modes_show_range(text, bimodal):
    page = text(PAGE)

    (line,) = figure(page)["data"]
    assert max(line["y"]) < 41
    assert re.search(r'<p class="note">\s*4 points', page)
    assert re.search(r"49\.\d+ to 100\.", page)
    assert "No single value: two speeds, " in page


def test_version_with_two_modes_has_no_factor(text, bimodal):
    page = text(f"{PAGE}?axis=version")

    said, *_others = findings(page)
    assert "the change is not assessed" in said
    assert "4.18 have no single value" in said
    assert "50 | 100" in page


def test_runs_without_dates_have_versions(text, submit, series):
    submit(*series(50, 45, n=4, dated=False))

    page = text(PAGE)

    assert "one point per version" in page
    assert "is not assessed" in findings(page)[0]


def test_runs_without_date_are_counted_not_drawn(text, submit, series):
    submit(*series(50, 45), *series(50, n=3, dated=False))

    assert re.search(r'<p class="small muted">\s*3 runs', text(PAGE))


def test_other_study_on_same_host_is_included(text, submit, series, lab):
    Study.objects.create(lab=lab, slug="later", title="Later", visibility="public")
    submit(*series(50), *series(45, versions=("4.20",), study="later"))

    assert "4.20" in text(f"{PAGE}?axis=version")


def test_case_of_other_study_only_is_excluded(submit, run_document, lab):
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


def test_private_results_of_other_studies_are_excluded(
    text, submit, series, private_study
):
    submit(*series(50), *series(45, versions=("4.20",), study="secret-study"))

    assert "4.20" not in text(PAGE)
    (subject,) = trend_subjects(ANYONE, Study.objects.get(slug="study"))
    assert sum(len(it.runs) for it in read_trend(ANYONE, subject).series) == 14


def test_missing_dates_and_versions_are_reported(text, submit, run_document):
    submit(run_document())

    page = text(PAGE)

    assert "started_at" in page
    assert "<table" not in page
    assert "/study/trend/" not in text("/studies/alpha-lab/study/")


def test_tab_needs_trend(text, submit, series):
    submit(*series(50, n=2))

    assert "/study/trend/" in text("/studies/alpha-lab/study/")


def test_private_study_is_404(client, private_study):
    answer = client.get("/studies/alpha-lab/secret-study/trend/")

    assert answer.status_code == 404


def test_invalid_query_shows_first_subject(text, submit, series):
    submit(*series(50, n=2))

    assert "single" not in findings(text(f"{PAGE}?subject=1|%27|%00&axis=x"))


def test_long_trend_is_limited_to_latest_runs(text, submit, series, monkeypatch):
    monkeypatch.setattr("benchmarks.comparison.trend.MAX_RUNS", 10)
    submit(*series(50, 45))

    page = text(PAGE)

    (line,) = figure(page)["data"]
    assert len(line["x"]) == 5
    assert "2026-03-14" in page
    assert "2026-03-09" not in page
    assert "18 older runs" in page


def test_runs_without_date_are_dropped_first(text, submit, series, monkeypatch):
    monkeypatch.setattr("benchmarks.comparison.trend.MAX_RUNS", 4)
    submit(*series(50, n=4), *series(51, n=4, dated=False))

    page = text(PAGE)

    assert "4 older runs" in page
    assert "not shown" not in page


def test_query_count_is_constant(client, submit, series, django_assert_num_queries):
    submit(*series(50, 45))

    with django_assert_num_queries(6):
        client.get(PAGE)
    submit(*series(40, 45, versions=("5.0", "5.1")))
    with django_assert_num_queries(6):
        client.get(PAGE)


@pytest.mark.parametrize("query", ["", "?axis=version"])
def test_metric_without_speed_has_no_factor(text, submit, series, query):
    share = {"metric": "CPU utilization (network)", "value": 20.0, "unit": "%"}
    shares = [
        {**document, "samples": [{**share, "value": document["samples"][0]["value"]}]}
        for document in series(50, 25)
    ]
    submit(*shares)

    page = text(PAGE + query)

    (said,) = findings(page)
    assert "covers only the guest" in said
    assert "changed by" not in page


def test_day_effects_are_not_changes_between_versions(text, submit, series):
    # Fourteen runs of each version, but all on one day.
    documents = series(50, 45)
    for index, document in enumerate(documents):
        moment = BEGIN + timedelta(days=index // 14, minutes=5 * index)
        document["started_at"] = moment.isoformat()
    submit(*documents)

    (said,) = findings(text(f"{PAGE}?axis=version"))

    assert "is not assessed" in said
    assert "at least 3 days" in said


def test_lower_times_are_faster(text, submit, series):
    documents = series(50, 45, tool="iperf3")
    jitter = {"metric": "jitter", "parameters": {}, "unit": "ms"}
    for index, document in enumerate(documents):
        value = (50 if index < 14 else 45) + index % 5 / 10
        document["samples"] = [{**jitter, "value": value}]
    submit(*documents)

    (said,) = findings(text(PAGE))

    assert "faster by 11" in said


def test_a_drift_is_said_to_be_gradual(text, submit, series):
    submit(*series(*range(60, 40, -1), n=2, versions=("4.18",)))

    (said,) = findings(text(PAGE))

    assert "gradually" in said
