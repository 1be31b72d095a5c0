import json
import re
from dataclasses import replace

import pytest

from benchmarks.plausibility.findings import RuleFinding, Subject, rule, unique_subjects
from benchmarks.plausibility.rules import RULES, apply_rules
from benchmarks.plausibility.study_facts import StudyFacts
from tests.benchmarks.plausibility.small_studies import cell, run, sample
from tests.for_each import for_each

DOUBT = RuleFinding(
    "a-rule", "impossible", "It cannot be.", unique_subjects("cell", [1, 2]), {}, (1.5,)
)


def test_the_fingerprint_ignores_order_wording_and_evidence():
    reworded = replace(DOUBT, sentence="No.", evidence={"more": 1}, severity="check")

    assert reworded.fingerprint == DOUBT.fingerprint
    turned = replace(DOUBT, subjects=DOUBT.subjects[::-1])
    assert turned.fingerprint == DOUBT.fingerprint


def test_a_mean_summed_in_another_order_has_the_same_fingerprint():
    summed = replace(DOUBT, values=(0.1 + 0.2,))

    assert summed.fingerprint == replace(DOUBT, values=(0.3,)).fingerprint


@pytest.mark.parametrize(
    "other",
    [
        {"values": (1.6,)},
        {"rule": "another-rule"},
        {"subjects": (Subject("cell", "1"),)},
        {"subjects": unique_subjects("run", [1, 2])},
    ],
)
def test_another_value_subject_or_rule_has_another_fingerprint(other):
    assert replace(DOUBT, **other).fingerprint != DOUBT.fingerprint


def test_decisions_survive_the_renaming_of_a_rule():
    renamed = replace(DOUBT, rule="slots-do-not-add-up", values=(3350.7, 1124.97))

    # As stored for "seats-do-not-add-up".
    assert renamed.fingerprint == (
        "b4611fab3fa132f1db540b007da66e5541d87d701d5830488bd137b740930cdc"
    )


def test_subjects_are_named_once():
    assert unique_subjects("cell", [3, 1, 3]) == (
        Subject("cell", "3"),
        Subject("cell", "1"),
    )


@for_each("tested", RULES.values())
def test_a_rule_documents_its_check_reason_and_remedy(tested):
    assert tested.title
    what, why, remedy = re.split("\n\n(?:Why|Remedy): ", tested.documentation)
    assert what.startswith("Flags ")
    assert "\n\n" not in why + remedy


def test_two_rules_with_the_same_id_are_rejected():
    with pytest.raises(ValueError, match='two rules are called "tool-mark"'):
        rule("tool-mark", "Again", "check")(lambda study: iter(()))


@for_each("tested", RULES.values())
def test_an_empty_study_has_no_findings(tested):
    assert list(tested.findings(StudyFacts(id="here"))) == []


ODD = ["", "0", "²", "9" * 400, "-1", "1e999", "4 parsecs", "nan", "a,b,c", "0,0,0"]
TOOLS = ["sysbench", "intel-linpack", "httperf", "netperf", "tiotest", "watts-up"]


@pytest.mark.parametrize("odd", ODD)
@for_each("tool", TOOLS)
def test_no_rule_fails_for_any_uploaded_text(tool, odd):
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

    findings = apply_rules(StudyFacts(id="here", cells=tuple(cells), runs=tuple(runs)))

    assert all(json.dumps(finding.evidence) for finding in findings)


def test_findings_are_sorted_by_severity_and_evidence_is_json():
    utilization = {"metric": "CPU utilization (disk)", "unit": "%", "component": "disk"}
    cells = (
        cell(99.5, **utilization),
        cell(40.0, **utilization),
        cell(0.0, **utilization),
    )

    findings = apply_rules(StudyFacts(id="here", cells=cells))

    assert [finding.rule for finding in findings] == [
        "zero-reading",
        "saturated-reading",
    ]
    assert json.loads(json.dumps(findings[0].evidence)) == {
        "reading": 0,
        "elsewhere": [99.5, 40.0],
    }


def test_findings_do_not_depend_on_the_order_of_cells():
    utilization = {"metric": "CPU utilization (disk)", "unit": "%", "component": "disk"}
    cells = (cell(0.0, **utilization), cell(40.0, **utilization))

    first = apply_rules(StudyFacts(id="here", cells=cells))
    second = apply_rules(StudyFacts(id="here", cells=cells[::-1]))

    assert [finding.fingerprint for finding in first] == [
        finding.fingerprint for finding in second
    ]
