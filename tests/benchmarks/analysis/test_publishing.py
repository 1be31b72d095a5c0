"""Rule set 1: what a study may be published as."""

from benchmarks.analysis.disclosure import DISCLOSURE
from benchmarks.analysis.publishing import MeasuredCell, assess

EVERYTHING = {
    group: frozenset(thing.facts[0] for thing in things)
    for group, things in DISCLOSURE.items()
}


def cell(n=5, mean=100.0, variance=1.0, component="CPU"):
    return MeasuredCell(
        id=1, label="LINPACK", component=component, n=n, mean=mean, variance=variance
    )


def test_enough_quiet_and_disclosed_runs_are_a_labs():
    found = assess([cell()], EVERYTHING)

    assert (found.level, found.rule_set) == ("lab", 1)
    assert (found.few_runs, found.dispersed, found.undisclosed) == ((), (), {})


def test_another_lab_verifies_what_is_a_labs_only():
    assert assess([cell()], EVERYTHING, verified_by=["beta"]).level == "verified"
    assert assess([cell(n=1)], EVERYTHING, verified_by=["beta"]).level == "draft"


def test_few_runs_are_a_draft():
    found = assess([cell(n=4), cell()], EVERYTHING)

    assert (found.level, len(found.few_runs)) == ("draft", 1)


def test_each_component_may_vary_by_its_own_limit():
    noisy = 2.5**2  # 2.5 % of 100

    assert len(assess([cell(variance=noisy)], EVERYTHING).dispersed) == 1
    disk = cell(variance=noisy, component="disk")
    assert assess([disk], EVERYTHING).level == "lab"


def test_one_fact_that_nobody_states_is_named():
    stated = {**EVERYTHING, "host": EVERYTHING["host"] - {"turbo"}}

    found = assess([cell()], stated)

    assert (found.level, found.undisclosed) == ("draft", {"host": ("turbo",)})


def test_nothing_measured_is_a_draft():
    assert assess([], EVERYTHING).level == "draft"
    assert cell(n=1, variance=None).dispersion is None
