"""Two documents that give different values for one result."""

import pytest

from tests.benchmarks.plausibility.small_studies import cell, findings

RULE = "documents-disagree"
PAPER, BOOK = {"statistic": "mean in paper"}, {"statistic": "mean in workbook"}


def printed(value, statistic, **facts):
    parameters = {**statistic, "message": "512"}
    return cell(value, case=str(statistic), parameters=parameters, **facts)


def test_a_paper_and_its_workbook_disagree():
    # neu-2021-vmware-workstation, netperf -a 512 in the VM.
    paper, book = printed(129.355, PAPER), printed(862.0025, BOOK)

    (found,) = findings(RULE, paper, book)

    assert {subject.id for subject in found.subjects} == {paper.id, book.id}
    assert "factor of 6.66" in found.sentence
    assert "mean in paper" in found.sentence


def test_a_printed_mean_disagrees_with_the_runs():
    runs = cell(9000, 9200, 9100, parameters={"message": "512"})

    assert len(findings(RULE, runs, printed(10656, PAPER))) == 1
    assert findings(RULE, runs, printed(9101, PAPER)) == []


@pytest.mark.parametrize(
    "facts", [{"system": "xen"}, {"vms": 2}, {"metric": "latency"}, {"tool": "stream"}]
)
def test_other_results_are_not_compared(facts):
    assert findings(RULE, printed(100, PAPER), printed(200, BOOK, **facts)) == []


def test_runs_of_different_benchmarks_are_not_documents():
    members = [cell(value, parameters={}) for value in (100, 200)]

    assert findings(RULE, *members) == []
