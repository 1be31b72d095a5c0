"""Confirmations and contradictions of a study's findings."""

from itertools import permutations
from math import log
from statistics import stdev

import pytest

from benchmarks.evidence.replication import (
    BenchmarkEffect,
    replications,
    reproducing_labs,
)

BENCHMARK = ("sysbench", "CPU event rate")
OWN = "own"


def found(study, ratio, sd=0.005, **changes):
    values = {"lab": f"lab of {study}", "hypervisor": "Xen", "benchmark": BENCHMARK}
    return BenchmarkEffect(
        study=study, log_ratio=log(ratio), standard_error=sd, **{**values, **changes}
    )


@pytest.mark.parametrize(
    ("own", "other", "outcome"),
    [
        (found(OWN, 0.8), found("other", 0.7), "confirmed"),
        (found(OWN, 1.2), found("other", 1.1), "confirmed"),
        (found(OWN, 1.0), found("other", 1.005, sd=0.001), "confirmed"),
        (found(OWN, 0.8), found("other", 1.2), "contradicted"),
        (found(OWN, 0.8), found("other", 1.0), "contradicted"),
        (found(OWN, 0.8), found("other", 0.97, sd=0.05), "undecided"),
        (found(OWN, 0.97, sd=0.05), found("other", 0.8), "undecided"),
        (found(OWN, 0.8), found("other", 0.8, sd=None), "single_runs"),
        (found(OWN, 0.8, sd=None), found("other", 0.8), "single_runs"),
    ],
)
def test_an_outcome_follows_from_both_directions(own, other, outcome):
    (one,) = replications(OWN, [own, other])

    assert one.outcome == one.results[0].outcome == outcome


@pytest.mark.parametrize(
    "other",
    [
        found("other", 0.8, lab="lab of own"),
        found("other", 0.8, hypervisor="KVM"),
        found("other", 0.8, benchmark=("sysbench", "events")),
    ],
)
def test_only_the_same_benchmark_of_another_lab_is_a_replication(other):
    assert replications(OWN, [found(OWN, 0.8), other]) == ()


def test_findings_without_a_counterpart_are_not_replications():
    assert replications(OWN, [found("one", 0.8), found("two", 0.8)]) == ()


def test_one_contradiction_is_not_outvoted():
    findings = [found(OWN, 0.8), found("a", 0.8), found("b", 0.7), found("c", 1.2)]
    (one,) = replications(OWN, findings)

    assert one.outcome == "contradicted"
    assert one.labs("confirmed") == ("lab of a", "lab of b")
    assert reproducing_labs([one]) == ()


def test_labs_reproduce_a_study_with_repeated_runs():
    findings = [found(OWN, 0.8), found("a", 0.79), found("b", 0.8, sd=None)]

    assert reproducing_labs(replications(OWN, findings)) == ("lab of a",)
    assert reproducing_labs(replications(OWN, [findings[0], findings[2]])) == ()
    assert reproducing_labs(()) == ()


def test_a_contradiction_anywhere_withholds_the_level():
    disk = {"benchmark": ("fio", "read")}
    findings = [found(OWN, 0.8), found("a", 0.8)]
    findings += [found(OWN, 0.8, **disk), found("b", 1.2, **disk)]

    assert reproducing_labs(replications(OWN, findings)) == ()


def test_between_and_within_lab_spread_are_reported():
    # Two studies of one lab count as one lab.
    findings = [found(OWN, 0.8, sd=0.01), found("a", 0.6, sd=0.02)]
    findings += [found("b", 0.6, sd=0.04, lab="lab of a")]
    (one,) = replications(OWN, findings)

    assert one.between_sd == pytest.approx(stdev([log(0.8), log(0.6)]))
    assert one.within_sd == pytest.approx((0.01 + 0.03) / 2)


def test_without_repeated_runs_the_spread_within_labs_is_unknown():
    (one,) = replications(OWN, [found(OWN, 0.8, sd=None), found("a", 0.6, sd=None)])

    assert one.within_sd is None
    assert one.between_sd > 0


def test_repeated_cells_override_single_runs():
    findings = [found(OWN, 0.8), found("a", 0.9, sd=None, cell_count=9)]
    findings += [found("a", 0.8, cell_count=3), found("a", 0.6, cell_count=1)]
    (one,) = replications(OWN, findings)

    finding = one.results[0].effect
    assert finding.log_ratio == pytest.approx((3 * log(0.8) + log(0.6)) / 4)
    assert finding.cell_count == 4


def test_the_order_of_rows_does_not_matter():
    findings = [found(OWN, 0.8), found("a", 0.7), found("b", 1.3), found("c", 1.0)]

    assert len({replications(OWN, each) for each in permutations(findings)}) == 1
