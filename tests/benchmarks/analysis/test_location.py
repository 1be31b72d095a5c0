import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.analysis.location import hodges_lehmann, hodges_lehmann_ratio, median

RUNS = [10.0, 10.2, 9.9, 10.1, 10.0, 9.8, 10.3, 10.1, 9.9, 10.0]


def by_hand(values):
    pairs = sorted(
        (one + other) / 2
        for place, one in enumerate(values)
        for other in values[place:]
    )
    middle = len(pairs) // 2
    if len(pairs) % 2:
        return pairs[middle]
    return (pairs[middle - 1] + pairs[middle]) / 2


def test_the_median_is_the_middle():
    assert median([*range(1, 10), 1000]) == 5.5


def test_one_odd_run_hardly_moves_it():
    assert hodges_lehmann(RUNS) == pytest.approx(10.0, abs=0.05)
    assert hodges_lehmann([*RUNS[:-1], 1000.0]) == pytest.approx(10.1, abs=0.1)


@given(st.lists(st.floats(1, 100), min_size=10, max_size=14))
def test_it_is_the_median_of_all_pairs(values):
    assert hodges_lehmann(values) == pytest.approx(by_hand(values))


def test_a_ratio_is_the_median_of_all_ratios():
    slow = [each * 0.8 for each in RUNS]

    assert hodges_lehmann_ratio(slow, RUNS, higher_is_better=True) == pytest.approx(0.8)
    assert hodges_lehmann_ratio(slow, RUNS, higher_is_better=False) == pytest.approx(
        1.25
    )


@pytest.mark.parametrize("estimate", [median, hodges_lehmann])
def test_nine_runs_are_too_few(estimate):
    with pytest.raises(ValueError, match="9 runs: this estimate needs 10"):
        estimate(RUNS[:9])


def test_both_sides_of_a_ratio_need_their_runs():
    for sides in [(RUNS, RUNS[:9]), (RUNS[:9], RUNS)]:
        with pytest.raises(ValueError, match="needs 10"):
            hodges_lehmann_ratio(*sides, higher_is_better=True)


def test_a_ratio_needs_readings_above_zero():
    with pytest.raises(ValueError, match="above 0"):
        hodges_lehmann_ratio([*RUNS[:9], 0.0], RUNS, higher_is_better=True)
