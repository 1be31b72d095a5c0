"""Any finite input gives finite results or the documented ValueError."""

import math
from dataclasses import fields, is_dataclass

import numpy as np
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from benchmarks.analysis import (
    assessment,
    change_points,
    clock_reliability,
    corun_statistics,
    energy_ratio,
    intervals,
    power_trace,
    sessions,
)
from benchmarks.analysis.cell_statistics import last_digit_step, summarize
from benchmarks.analysis.factor_effects.factors_and_responses import log_m2
from benchmarks.analysis.overall_performance import overall_performance

LARGEST = 1.7e308
EXTREMES = [5e-324, 2e-308, 1e-160, 1e-9, 1.0, 1.0000000000000002, 1e160, LARGEST]
above_0 = st.sampled_from(EXTREMES) | st.floats(5e-324, LARGEST)
number = above_0 | above_0.map(lambda each: -each) | st.just(0.0)
usual = st.integers(1, 40).map(lambda each: each / 8)


def many(values, least=1, most=24):
    """Strategy: lists of a few, many or one such number, with ties."""
    few = st.lists(values, min_size=1, max_size=3)
    return st.lists(values, min_size=least, max_size=most) | few.flatmap(
        lambda each: st.lists(st.sampled_from(each), min_size=least, max_size=most)
    )


def is_finite(found):
    """Return whether all numbers in a result are finite; None means unknown."""
    if is_dataclass(found):
        return all(is_finite(getattr(found, field.name)) for field in fields(found))
    if isinstance(found, np.ndarray):
        return bool(np.isfinite(found).all())
    if isinstance(found, (tuple, list)):
        return all(map(is_finite, found))
    return not isinstance(found, float) or math.isfinite(found)


def assert_answers(question, *values, **options):
    """Call a function; a ValueError with a message is a valid answer."""
    try:
        found = question(*values, **options)
    except ValueError:
        return None
    assert is_finite(found), found
    return found


quickly = settings(max_examples=60, phases=[Phase.generate])


@quickly
@given(many(number))
def test_summaries(values):
    found = assert_answers(summarize, values)

    if found is not None:
        ends = (found.minimum, found.q1, found.median, found.q3, found.maximum)
        assert list(ends) == sorted(ends)
        assert found.minimum <= found.mean <= found.maximum


@quickly
@given(number)
def test_last_places(value):
    assert 0 <= last_digit_step(value) <= 1


@quickly
@given(many(number, least=10))
def test_middles(values):
    found = assert_answers(intervals.hodges_lehmann, values)
    slack = 1e-300 + 1e-9 * abs(found)
    assert min(values) - slack <= found <= max(values) + slack


@quickly
@given(many(above_0, least=10), many(above_0, least=10), st.booleans())
def test_middle_ratios(own, other, higher):
    assert_answers(intervals.hodges_lehmann_ratio, own, other, higher_is_better=higher)


@quickly
@given(st.integers(1, 40), number, above_0, st.none() | above_0)
def test_intervals_of_a_mean(n, mean, m2, resolution):
    assert_answers(intervals.mean_interval, n, mean, m2, resolution)


@quickly
@given(
    many(above_0, most=6), many(st.floats(0, 1) | st.just(math.nan), least=6, most=6)
)
def test_means_over_cases(ratios, variances):
    cases = [str(place) for place in range(len(ratios))]

    for found in overall_performance([ratios], [variances[: len(ratios)]], cases):
        assert found.minimum <= found.maximum
        assert math.isfinite(found.mean)


@settings(max_examples=8, phases=[Phase.generate])
@given(many(above_0, least=20, most=24), st.booleans())
def test_changes_of_a_level(values, is_step):
    later = [value * 1e-3 for value in values] if is_step else values

    found = change_points.find_changes(values + later)

    for change in found.changes if found else ():
        assert is_finite(change)
        factor = change.factor
        assert factor is None or math.isfinite(factor)


@quickly
@given(many(number, least=2))
def test_dependence(values):
    rho = assert_answers(sessions.lag_one_autocorrelation, values)

    assert rho is None or -2 < rho < 1


@quickly
@given(
    st.lists(st.lists(above_0 | st.just(0.0), min_size=2, max_size=2), max_size=6),
    many(above_0 | st.just(0.0), most=1),
    number,
)
def test_coruns(pairs, single, printed):
    assert_answers(corun_statistics.fairness, pairs)
    assert_answers(corun_statistics.consolidation, {1: [single], 2: pairs})
    for slots in pairs:
        assert_answers(corun_statistics.scaling, slots, single[0])
        assert_answers(corun_statistics.slowdown, slots, single[0])
        assert_answers(corun_statistics.interference, slots[0], single[0])
        check = assert_answers(corun_statistics.check_sum, slots, printed)
        if check is not None:
            assert str(check.sentence)


@quickly
@given(number, number, st.none() | number, st.integers(0, 9), st.integers(0, 9))
def test_targets(measured, single, full, virtual, cores):
    assert_answers(
        corun_statistics.cpu_target,
        measured,
        single_s=single,
        virtual=virtual,
        cores=cores,
        full_s=full,
    )


@quickly
@given(
    many(number, least=2, most=14).map(sorted),
    many(above_0 | st.just(0.0), least=14, most=14),
    st.tuples(number, number),
)
def test_energy_of_samples(times, readings, window):
    readings = readings[: len(times)]
    for trace_of in (power_trace.trace_of_power, power_trace.trace_of_counter):
        trace = assert_answers(trace_of, times, readings)
        if trace is None:
            continue
        work = assert_answers(power_trace.energy_within, trace, window)
        if work is not None:
            assert 0 < work.coverage <= 1 + 1e-9
            assert math.isfinite(work.energy_j)
        assert is_finite(power_trace.idle_power_w(trace, [window]))


@quickly
@given(number, number, st.none() | number)
def test_energy_per_work(joules, seconds, operations):
    assert_answers(energy_ratio.per_work, joules, seconds, operations)


@quickly
@given(many(number, most=6), many(number, most=6), st.booleans())
def test_ratios_of_energy(own, base, is_same):
    one = energy_ratio.MeterFacts("one", 0.015, is_cpu_only=False)
    other = (
        one if is_same else energy_ratio.MeterFacts("other", 0.03, is_cpu_only=False)
    )

    assert_answers(assessment.energy_ratio, own, base, (one, other))


@quickly
@given(number, number, number, st.none() | st.tuples(above_0, above_0))
def test_clocks(took, start, end, external):
    outside = clock_reliability.TimedDuration(*external) if external else None
    trust = assert_answers(
        clock_reliability.trust_guest,
        clock_reliability.GuestClock(took, start, end),
        outside,
    )

    assert trust is None or (trust.duration_s > 0 and str(trust.sentence))


@quickly
@given(above_0, above_0)
def test_scatter_of_logarithms(m2, mean):
    assert_answers(log_m2, m2, mean)
