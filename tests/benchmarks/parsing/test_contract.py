import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks import tools
from benchmarks.errors import InvalidError
from benchmarks.parsing.contract import LARGEST, check_value

THROUGHPUT = tools.get("netperf").metric("throughput")
UTILIZATION = tools.get("netperf").metric("CPU utilization local")
ERRORS = tools.get("httperf").metric("errors")
ENERGY = tools.get("watts-up").metric("energy")
TIME = tools.get("linpack").metric("time")


@pytest.mark.parametrize(
    ("metric", "value", "unit", "expected"),
    [
        (THROUGHPUT, 112.19, "MB/s", 112.19),
        (THROUGHPUT, 870, "Mbit/s", 108.75),
        (THROUGHPUT, 100, "MiB/s", 104.8576),
        (UTILIZATION, 0, "%", 0.0),
        (UTILIZATION, 124.9, "%", 124.9),
        (UTILIZATION, 0.5, "1", 50.0),
        (ERRORS, 0, "", 0.0),
        (ENERGY, 1, "Wh", 3600.0),
        (TIME, 1500, "ms", 1.5),
    ],
)
def test_it_returns_the_value_in_the_metrics_unit(metric, value, unit, expected):
    assert check_value(metric, value, unit) == expected


@given(st.floats(min_value=1e-300, max_value=LARGEST))
def test_it_keeps_a_value_in_the_metrics_own_unit_to_the_bit(value):
    assert check_value(THROUGHPUT, value, "MB/s") == value


@pytest.mark.parametrize(
    ("metric", "value", "sentence"),
    [
        (
            THROUGHPUT,
            math.nan,
            '"throughput" cannot be nan: it is not a finite number.',
        ),
        (THROUGHPUT, math.inf, "cannot be inf: it is not a finite number."),
        (THROUGHPUT, -math.inf, "cannot be -inf: it is not a finite number."),
        (THROUGHPUT, True, "cannot be True: it is not a number."),
        (THROUGHPUT, -5, "cannot be -5.0: it cannot be negative."),
        (UTILIZATION, -1.0, "cannot be -1.0: it cannot be negative."),
        (THROUGHPUT, 0, "cannot be 0.0: a working run never reads zero; leave the "),
        (TIME, -0.0, "cannot be -0.0: a working run never reads zero"),
        (ENERGY, 0.0, "a working run never reads zero"),
        (THROUGHPUT, 1e-320, "it is too small to be computed with."),
        (UTILIZATION, 5e-324, "it is too small to be computed with."),
        (THROUGHPUT, 1e200, "cannot be 1e+200: it is too large to be computed with."),
        (THROUGHPUT, 10**400, "cannot be a number: it is too large."),
    ],
)
def test_it_refuses_what_is_no_reading(metric, value, sentence):
    with pytest.raises(InvalidError) as refused:
        check_value(metric, value, metric.unit)

    assert sentence in str(refused.value)


def test_it_refuses_what_vanishes_or_explodes_in_the_metrics_unit():
    with pytest.raises(InvalidError, match="too small"):
        check_value(TIME, 1e-307, "ns")
    with pytest.raises(InvalidError, match="too large"):
        check_value(ENERGY, LARGEST, "kWh")


def test_it_refuses_a_unit_of_another_dimension():
    with pytest.raises(InvalidError, match="cannot be turned into"):
        check_value(THROUGHPUT, 1, "s")


@given(st.floats(), st.sampled_from([THROUGHPUT, UTILIZATION, TIME, ENERGY]))
def test_what_it_returns_is_always_a_reading(value, metric):
    try:
        reading = check_value(metric, value, metric.unit)
    except InvalidError:
        return
    assert math.isfinite(reading)
    assert reading > 0 or (reading == 0 and metric.zero_allowed)
