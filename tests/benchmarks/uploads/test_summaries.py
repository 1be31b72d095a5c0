"""Samples that are the mean of several runs."""

from datetime import timedelta

import pytest

from benchmarks.comparison.study_verdicts import study_verdicts
from benchmarks.errors import BatchRejectedError
from benchmarks.models import Cell, Run, RunMean, Sample
from benchmarks.studies.checking import check_due_studies
from benchmarks.uploads.intake import submit_runs
from tests.upload_documents import published_mean


@pytest.fixture
def summary(run_document):
    """Return a run of one sample that is the mean of ``runs`` runs."""

    def summary(value=100.0, runs=30, deviation=None, **changes):
        return published_mean(run_document(value, **changes), runs, deviation)

    return summary


def refusal(agent, document):
    with pytest.raises(BatchRejectedError) as caught:
        submit_runs(agent=agent, documents=[document])
    (error,) = caught.value.problems.values()
    return error.field, error.code


def assessed(study):
    check_due_studies(timedelta(0))
    cell = Cell.objects.get(system__hypervisor="Xen")
    return study_verdicts(study).assessment(cell.pk)


def test_a_summary_counts_as_its_runs(submit, summary):
    submit(summary(100.0, 30, 2.0))

    cell = Cell.objects.get()
    assert (cell.n, cell.summarized_runs, cell.sample_count) == (30, 30, 1)
    assert (cell.mean, cell.m2) == (100.0, 29 * 4.0)
    assert (cell.minimum, cell.median, cell.maximum) == (None, None, None)


def test_a_deviation_is_stored_in_the_unit_of_the_metric(submit, summary):
    document = summary(100.0, 30, 2.0)
    document["samples"][0]["unit"] = "kB/s"
    submit(document)

    assert Sample.objects.get().standard_deviation == pytest.approx(0.002)
    assert RunMean.objects.get().standard_deviation == pytest.approx(0.002)


def test_a_mean_without_deviation_has_runs_but_no_variance(submit, summary):
    submit(summary(100.0, 10))

    cell = Cell.objects.get()
    assert (cell.n, cell.mean, cell.m2) == (10, 100.0, None)


def test_summaries_and_measured_runs_are_pooled(submit, summary, run_document):
    submit(summary(100.0, 2, 1.0), run_document(103.0))

    cell = Cell.objects.get()
    assert (cell.n, cell.summarized_runs) == (3, 2)
    assert cell.mean == 101.0
    assert cell.m2 == pytest.approx(1.0 + 2 * 1 + 4)


def test_the_mean_of_one_run_is_a_measured_run(submit, summary):
    submit(summary(100.0, 1))

    cell = Cell.objects.get()
    assert (cell.n, cell.summarized_runs, cell.minimum) == (1, 0, 100.0)


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"runs": 1, "standard_deviation": 0.5}, "deviation_without_runs"),
        ({"runs": 10, "standard_deviation": -0.5}, "deviation_rejected"),
    ],
)
def test_contradictory_summaries_are_refused(agent, run_document, change, code):
    document = run_document()
    document["samples"][0] |= change

    assert refusal(agent, document) == ("samples[0]", code)
    assert not Run.objects.exists()


def test_a_deviation_needs_the_number_of_runs(agent, run_document):
    document = run_document()
    document["samples"][0]["standard_deviation"] = 1.0

    assert refusal(agent, document) == ("samples[0]", "deviation_without_runs")


def test_a_benchmark_has_no_other_samples_beside_a_summary(agent, summary):
    document = summary()
    document["samples"].append({**document["samples"][0], "repetition": 2})

    assert refusal(agent, document) == ("samples[0]", "summary_not_alone")


def test_close_summaries_have_an_interval_but_no_verdict(submit, summary, xen, study):
    submit(summary(100.0, 30, 2.0), summary(95.0, 30, 2.0, system=xen))

    result = assessed(study)

    assert result.verdict == "not_assessed"
    assert "summarized" in result.reason_codes
    assert 0.93 < result.low < 0.95 < result.high < 0.97


def test_summaries_whose_runs_cannot_overlap_have_a_verdict(
    submit, summary, xen, study
):
    submit(summary(100.0, 30, 0.5), summary(40.0, 30, 0.5, system=xen))

    assert assessed(study).verdict == "slower"


def test_a_missing_deviation_is_the_reason_for_no_interval(submit, summary, xen, study):
    submit(summary(100.0, 30, 0.5), summary(60.0, 10, system=xen))

    result = assessed(study)

    assert (result.verdict, result.low) == ("not_assessed", None)
    assert {"no_deviation", "summarized"} <= {*result.reason_codes}
    assert "no_spread" not in result.reason_codes
