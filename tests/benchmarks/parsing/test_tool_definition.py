import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks import tools
from benchmarks.errors import InvalidError
from benchmarks.parsing.tool import MAX_SAMPLE_VALUE, check_value

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
def test_a_value_is_converted_to_the_metrics_unit(metric, value, unit, expected):
    assert check_value(metric, value, unit) == expected


@given(st.floats(min_value=1e-300, max_value=MAX_SAMPLE_VALUE))
def test_a_value_in_the_metrics_own_unit_is_exact(value):
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
        (THROUGHPUT, 0, "cannot be 0.0: a working run never measures zero; leave the "),
        (TIME, -0.0, "cannot be -0.0: a working run never measures zero"),
        (ENERGY, 0.0, "a working run never measures zero"),
        (THROUGHPUT, 1e-320, "it is too small for calculations"),
        (UTILIZATION, 5e-324, "it is too small for calculations"),
        (THROUGHPUT, 1e200, "cannot be 1e+200: it is too large for calculations"),
        (THROUGHPUT, 10**400, "cannot be a number: it is too large."),
    ],
)
def test_invalid_values_are_rejected(metric, value, sentence):
    with pytest.raises(InvalidError) as refused:
        check_value(metric, value, metric.unit)

    assert sentence in str(refused.value)


def test_values_that_overflow_in_the_metrics_unit_are_rejected():
    with pytest.raises(InvalidError, match="too small"):
        check_value(TIME, 1e-307, "ns")
    with pytest.raises(InvalidError, match="too large"):
        check_value(ENERGY, MAX_SAMPLE_VALUE, "kWh")


def test_a_unit_of_another_dimension_is_rejected():
    with pytest.raises(InvalidError, match="cannot be converted to"):
        check_value(THROUGHPUT, 1, "s")


@given(st.floats(), st.sampled_from([THROUGHPUT, UTILIZATION, TIME, ENERGY]))
def test_an_accepted_value_is_always_valid(value, metric):
    try:
        reading = check_value(metric, value, metric.unit)
    except InvalidError:
        return
    assert math.isfinite(reading)
    assert reading > 0 or (reading == 0 and metric.allows_zero)
