import math
from dataclasses import FrozenInstanceError

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks import units
from benchmarks.errors import InvalidError
from benchmarks.fingerprints import canonical_parameters
from benchmarks.units import (
    ALIASES,
    AMBIGUOUS,
    UNITS,
    Quantity,
    convert,
    get_unit,
    parse_quantity,
)
from tests.for_each import for_each

finite = st.floats(allow_nan=False, allow_infinity=False)
readings = st.floats(min_value=1e-100, max_value=1e100)
pairs = st.sampled_from(
    [
        (a.symbol, b.symbol)
        for a in UNITS.values()
        for b in UNITS.values()
        if a.dimension == b.dimension
    ]
)


@pytest.mark.parametrize(
    ("value", "from_", "to", "expected"),
    [
        (1, "MiB", "B", 1048576.0),
        (100, "MiB", "KiB", 102400.0),
        (1, "MB", "MiB", 0.95367431640625),
        (1, "Gbit/s", "MB/s", 125.0),
        (870, "Mbit/s", "MB/s", 108.75),
        (1, "KiB/s", "B/s", 1024.0),
        (1, "Wh", "J", 3600.0),
        (0.1, "s", "ms", 100.0),
        (3, "min", "s", 180.0),
        (97.2, "W", "kW", 0.0972),
        (50, "%", "1", 0.5),
        (1630594.203, "kflop/s", "Mflop/s", 1630.594203),
        (0.497, "us/KB", "us/KiB", 0.497),
        (2.4, "GHz", "MHz", 2400.0),
    ],
)
def test_conversions_match_manual_results(value, from_, to, expected):
    assert convert(value, from_, to) == expected


@given(finite, st.sampled_from(sorted(UNITS)))
def test_conversion_to_the_same_unit_is_exact(value, symbol):
    assert convert(value, symbol, symbol) is value


def test_megabytes_and_mebibytes_are_never_equal():
    assert get_unit("MB") != get_unit("MiB")
    assert convert(100, "MB", "B") != convert(100, "MiB", "B")


@given(readings, pairs)
def test_conversion_is_reversible(value, pair):
    target, back = pair
    repeated = convert(convert(value, target, back), back, target)
    assert math.isclose(repeated, value, rel_tol=4e-16)


@given(readings, readings, pairs)
def test_conversion_is_monotonic(one, other, pair):
    low, high = sorted((one, other))
    assert convert(low, *pair) <= convert(high, *pair)


@given(st.integers(min_value=0, max_value=2**33))
def test_whole_binary_amounts_are_exact(count):
    assert convert(count, "MiB", "B") == count * 2**20


@for_each("alias", ALIASES)
def test_aliases_refer_to_units_and_hide_none(alias):
    assert get_unit(alias).symbol == ALIASES[alias]
    assert alias not in UNITS


@for_each("symbol", AMBIGUOUS)
def test_ambiguous_spelling_is_rejected(symbol):
    assert symbol not in UNITS.keys() | ALIASES.keys()
    with pytest.raises(InvalidError, match=r"is ambiguous\. Use "):
        get_unit(symbol)


def test_error_suggests_unambiguous_units():
    with pytest.raises(InvalidError) as refused:
        get_unit("KB")

    assert str(refused.value) == (
        'The unit "KB" is ambiguous. Use kB (1000 B) or KiB (1024 B).'
    )


def test_error_suggests_the_closest_units():
    with pytest.raises(InvalidError) as refused:
        get_unit("mib/s")

    assert 'The unit "mib/s" is unknown. Did you mean MiB/s' in str(refused.value)


def test_case_matters():
    assert get_unit("mW").factor * 1000 == get_unit("W").factor
    with pytest.raises(InvalidError):
        get_unit("S")


@pytest.mark.parametrize(
    ("from_", "to", "sentence"),
    [
        ("s", "MB/s", '"s" (time) cannot be converted to "MB/s" (data rate).'),
        ("", "1", 'no unit (count) cannot be converted to "1" (ratio).'),
        ("Hz", "1/s", '"Hz" (frequency) cannot be converted to "1/s" (rate).'),
        ("J", "W", '"J" (energy) cannot be converted to "W" (power).'),
        ("MB", "MB/s", '"MB" (data) cannot be converted to "MB/s" (data rate).'),
    ],
)
def test_conversion_to_another_dimension_is_rejected(from_, to, sentence):
    with pytest.raises(InvalidError) as refused:
        convert(1, from_, to)

    assert str(refused.value) == sentence


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_only_finite_numbers_are_converted(value):
    with pytest.raises(InvalidError, match="is not a finite number"):
        convert(value, "s", "ms")


def test_overflow_is_rejected():
    with pytest.raises(InvalidError, match="1e\\+308 h is too large to convert to ns"):
        convert(1e308, "h", "ns")


def test_the_table_cannot_be_changed():
    with pytest.raises(TypeError):
        UNITS["furlong"] = get_unit("s")
    with pytest.raises(FrozenInstanceError):
        get_unit("s").factor = 2


@pytest.mark.parametrize("symbol", ["MiB/s", "Mbps", "KB", "", "furlong"])
def test_find_unit_returns_none_for_unknown_units(symbol):
    try:
        assert units.find_unit(symbol) == get_unit(symbol)
    except InvalidError:
        assert units.find_unit(symbol) is None


@pytest.mark.parametrize(
    ("text", "quantity"),
    [
        ("4 KiB", Quantity(4096, "B")),
        ("4096 B", Quantity(4096, "B")),
        ("1MiB", Quantity(1048576, "B")),
        ("2000", Quantity(2000)),
        ("0.5 s", Quantity(0.5, "s")),
        ("1E+40", Quantity(1e40)),
        ("4k", None),
        ("4k,32k mean", None),
        ("L1", None),
        ("600,MT=4096", None),
        ("1.2.3", None),
    ],
)
def test_quantity_needs_a_known_unit(text, quantity):
    assert parse_quantity(canonical_parameters({"size": text})["size"]) == quantity
