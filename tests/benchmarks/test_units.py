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
    quantity_of,
    unit,
)
from tests.every import for_each

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
def test_it_converts_as_by_hand(value, from_, to, expected):
    assert convert(value, from_, to) == expected


@given(finite, st.sampled_from(sorted(UNITS)))
def test_the_same_unit_returns_the_very_same_number(value, symbol):
    assert convert(value, symbol, symbol) is value


def test_megabytes_and_mebibytes_are_never_equal():
    assert unit("MB") != unit("MiB")
    assert convert(100, "MB", "B") != convert(100, "MiB", "B")


@given(readings, pairs)
def test_there_and_back_is_where_it_began(value, pair):
    there, back = pair
    again = convert(convert(value, there, back), back, there)
    assert math.isclose(again, value, rel_tol=4e-16)


@given(readings, readings, pairs)
def test_more_stays_more(one, other, pair):
    low, high = sorted((one, other))
    assert convert(low, *pair) <= convert(high, *pair)


@given(st.integers(min_value=0, max_value=2**33))
def test_whole_binary_amounts_are_exact(count):
    assert convert(count, "MiB", "B") == count * 2**20


@for_each("alias", ALIASES)
def test_every_alias_is_a_unit_and_hides_none(alias):
    assert unit(alias).symbol == ALIASES[alias]
    assert alias not in UNITS


@for_each("symbol", AMBIGUOUS)
def test_it_refuses_a_spelling_with_two_meanings(symbol):
    assert symbol not in UNITS.keys() | ALIASES.keys()
    with pytest.raises(InvalidError, match="has several meanings: write "):
        unit(symbol)


def test_it_says_what_to_write_instead_of_an_ambiguous_unit():
    with pytest.raises(InvalidError) as refused:
        unit("KB")

    assert str(refused.value) == (
        'The unit "KB" has several meanings: write kB (1000 B) or KiB (1024 B).'
    )


def test_it_names_the_closest_units_to_an_unknown_one():
    with pytest.raises(InvalidError) as refused:
        unit("mib/s")

    assert 'The unit "mib/s" is unknown. Did you mean MiB/s' in str(refused.value)


def test_case_matters():
    assert unit("mW").factor * 1000 == unit("W").factor
    with pytest.raises(InvalidError):
        unit("S")


@pytest.mark.parametrize(
    ("from_", "to", "sentence"),
    [
        ("s", "MB/s", '"s" (time) cannot be turned into "MB/s" (data rate).'),
        ("", "1", 'no unit (count) cannot be turned into "1" (ratio).'),
        ("Hz", "1/s", '"Hz" (frequency) cannot be turned into "1/s" (rate).'),
        ("J", "W", '"J" (energy) cannot be turned into "W" (power).'),
        ("MB", "MB/s", '"MB" (data) cannot be turned into "MB/s" (data rate).'),
    ],
)
def test_it_refuses_another_dimension(from_, to, sentence):
    with pytest.raises(InvalidError) as refused:
        convert(1, from_, to)

    assert str(refused.value) == sentence


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_it_converts_only_finite_numbers(value):
    with pytest.raises(InvalidError, match="is not a finite number"):
        convert(value, "s", "ms")


def test_it_refuses_a_number_that_outgrows_its_type():
    with pytest.raises(
        InvalidError, match="1e\\+308 h is too large to be written in ns"
    ):
        convert(1e308, "h", "ns")


def test_the_table_cannot_be_changed():
    with pytest.raises(TypeError):
        UNITS["furlong"] = unit("s")
    with pytest.raises(FrozenInstanceError):
        unit("s").factor = 2


@pytest.mark.parametrize("symbol", ["MiB/s", "Mbps", "KB", "", "furlong"])
def test_finding_is_asking_without_being_refused(symbol):
    try:
        assert units.find(symbol) == unit(symbol)
    except InvalidError:
        assert units.find(symbol) is None


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
def test_a_quantity_is_a_number_of_a_known_unit_and_never_guessed(text, quantity):
    assert quantity_of(canonical_parameters({"size": text})["size"]) == quantity
