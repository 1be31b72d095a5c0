import numpy as np
import pytest
from scipy import stats

from benchmarks.analysis.energy_ratio import MeterFacts, energy_ratio

ONE = MeterFacts("meter 1", 0.015)
TWO = MeterFacts("meter 2", 0.015)
OWN = (55.1, 55.9, 54.8, 55.4, 55.6)
BASE = (50.2, 49.7, 50.4, 50.1, 49.9)


def test_it_is_the_ratio_of_the_means_with_the_interval_of_the_logs():
    found = energy_ratio(OWN, BASE, (ONE, ONE))

    own, base = np.array(OWN), np.array(BASE)
    parts = [x.var(ddof=1) / x.size / x.mean() ** 2 for x in (own, base)]
    df = sum(parts) ** 2 / sum(part**2 / 4 for part in parts)
    half = stats.t.ppf(0.975, df) * np.sqrt(sum(parts))
    ratio = own.mean() / base.mean()
    assert found.ratio == pytest.approx(ratio)
    assert found.low == pytest.approx(ratio * np.exp(-half))
    assert found.high == pytest.approx(ratio * np.exp(half))


def test_the_other_way_round_is_the_reciprocal():
    found = energy_ratio(OWN, BASE, (ONE, ONE))
    other = energy_ratio(BASE, OWN, (ONE, ONE))

    assert other.low == pytest.approx(1 / found.high)


def test_two_meters_widen_the_interval():
    one = energy_ratio(OWN, BASE, (ONE, ONE))
    two = energy_ratio(OWN, BASE, (ONE, TWO))

    assert two.low < one.low < one.high < two.high


def test_what_two_meters_could_make_alone_is_refused():
    near = tuple(1.02 * each for each in BASE)

    assert energy_ratio(near, BASE, (ONE, ONE)).has_interval
    refused = energy_ratio(near, BASE, (ONE, TWO))
    assert (refused.has_interval, refused.reason) == (
        False,
        "within_meters",
    )


def test_two_meters_of_unknown_accuracy_give_no_interval():
    unknown = MeterFacts("meter 3", None)

    found = energy_ratio(OWN, BASE, (ONE, unknown))

    assert (found.low, found.reason) == (None, "unknown_accuracy")
    assert energy_ratio(OWN, BASE, (unknown, unknown)).has_interval


def test_a_processors_counter_is_never_set_against_the_wall():
    assert energy_ratio(OWN, BASE, (ONE, MeterFacts("rapl", 0.0, True))) is None


@pytest.mark.parametrize(("own", "base"), [((5.0,), BASE), (OWN, (5.0,))])
def test_a_single_run_has_a_ratio_and_no_interval(own, base):
    found = energy_ratio(own, base, (ONE, ONE))

    assert (found.low, found.reason) == (None, "single_run")


@pytest.mark.parametrize(("own", "base"), [((), BASE), (OWN, ()), ((0.0, 1.0), BASE)])
def test_no_energy_has_no_ratio(own, base):
    assert energy_ratio(own, base, (ONE, ONE)) is None


def test_runs_that_are_all_equal_have_no_interval():
    found = energy_ratio((5.0, 5.0), (4.0, 4.0), (ONE, ONE))

    assert (found.low, found.ratio, found.reason) == (None, 1.25, "no_spread")
