import json
from dataclasses import replace

import pytest

from benchmarks.plausibility.facts import StudyFacts
from benchmarks.plausibility.findings import Finding, Subject, rule, subjects
from benchmarks.plausibility.rules import RULES, check
from tests.benchmarks.plausibility.cast import cell, run, sample
from tests.every import for_each

DOUBT = Finding(
    "a-rule", "impossible", "It cannot be.", subjects("cell", [1, 2]), {}, (1.5,)
)


def test_the_fingerprint_outlives_order_wording_and_evidence():
    reworded = replace(DOUBT, sentence="No.", evidence={"more": 1}, severity="check")

    assert reworded.fingerprint == DOUBT.fingerprint
    turned = replace(DOUBT, subjects=DOUBT.subjects[::-1])
    assert turned.fingerprint == DOUBT.fingerprint


def test_a_mean_summed_in_another_order_is_the_same_doubt():
    summed = replace(DOUBT, values=(0.1 + 0.2,))

    assert summed.fingerprint == replace(DOUBT, values=(0.3,)).fingerprint


@pytest.mark.parametrize(
    "other",
    [
        {"values": (1.6,)},
        {"rule": "another-rule"},
        {"subjects": (Subject("cell", "1"),)},
        {"subjects": subjects("run", [1, 2])},
    ],
)
def test_a_changed_value_subject_or_rule_is_another_doubt(other):
    assert replace(DOUBT, **other).fingerprint != DOUBT.fingerprint


def test_what_was_decided_of_a_rule_outlives_its_new_name():
    doubt = replace(DOUBT, rule="slots-do-not-add-up", values=(3350.7, 1124.97))

    # As it was stored for "seats-do-not-add-up".
    assert doubt.fingerprint == (
        "b4611fab3fa132f1db540b007da66e5541d87d701d5830488bd137b740930cdc"
    )


def test_subjects_are_named_once():
    assert subjects("cell", [3, 1, 3]) == (Subject("cell", "3"), Subject("cell", "1"))


@for_each("tested", RULES.values())
def test_a_rule_says_what_it_does_why_and_what_to_do(tested):
    assert tested.title
    assert tested.documentation.count("\n\n") == 2
    assert "\n\nWhy: " in tested.documentation
    assert "\n\nWhat to do: " in tested.documentation


def test_two_rules_of_one_id_are_refused():
    with pytest.raises(ValueError, match='two rules are called "tool-mark"'):
        rule("tool-mark", "Again", "check")(lambda study: iter(()))


@for_each("tested", RULES.values())
def test_an_empty_study_has_no_findings(tested):
    assert list(tested.findings(StudyFacts(id="here"))) == []


ODD = ["", "0", "²", "9" * 400, "-1", "1e999", "4 parsecs", "nan", "a,b,c", "0,0,0"]
TOOLS = ["sysbench", "intel-linpack", "httperf", "netperf", "tiotest", "watts-up"]


@pytest.mark.parametrize("odd", ODD)
@for_each("tool", TOOLS)
def test_whatever_a_lab_uploads_as_text_no_rule_breaks(tool, odd):
    keys = ("n", "threads", "wsess", "size", "block", "seconds", "iterations")
    parameters = dict.fromkeys(keys, odd)
    metrics = {"time", "performance", "events", "total time", "test duration"}
    metrics |= {"request latency mean", "rate", "throughput", "meter time", "energy"}
    metrics |= {"service demand local", "CPU utilization local", "power mean"}
    samples = tuple(
        sample(metric, value, parameters=parameters)
        for metric in metrics
        for value in (0, 1)
    )
    facts = {"elapsed_s": odd, "seconds": odd}
    runs = [run(tool, samples, facts=facts, corun=odd, slot=odd) for _ in range(4)]
    cells = [cell(0.0, slot=odd, parameters=parameters, vms=2), cell(1.0, unit=odd)]

    doubts = check(StudyFacts(id="here", cells=tuple(cells), runs=tuple(runs)))

    assert all(json.dumps(finding.evidence) for finding in doubts)


def test_errors_come_first_and_evidence_is_plain_json():
    share = {"metric": "CPU utilization (disk)", "unit": "%", "component": "disk"}
    cells = (cell(99.5, **share), cell(40.0, **share), cell(0.0, **share))

    doubts = check(StudyFacts(id="here", cells=cells))

    assert [finding.rule for finding in doubts] == ["zero-reading", "saturated-reading"]
    assert json.loads(json.dumps(doubts[0].evidence)) == {
        "reading": 0,
        "elsewhere": [99.5, 40.0],
    }


def test_a_rule_is_not_changed_by_the_order_of_the_cells():
    share = {"metric": "CPU utilization (disk)", "unit": "%", "component": "disk"}
    cells = (cell(0.0, **share), cell(40.0, **share))

    one = check(StudyFacts(id="here", cells=cells))
    other = check(StudyFacts(id="here", cells=cells[::-1]))

    assert [finding.fingerprint for finding in one] == [
        finding.fingerprint for finding in other
    ]
