"""Formatting of numbers, and shades of ratios."""

import pytest
from django.utils import translation

from dashboard.kit import formatting


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (13.08, "13.08"),
        (0.1, "0.1"),
        (20.0, "20"),
        (0, "0"),
        (6608.65, "6,608.65"),
        (108837.962, "108,837.962"),
        (-1234.5, "-1,234.5"),
        (1e-5, "0.00001"),
        (1.5e17, "150,000,000,000,000,000"),
        (1e300, "1e+300"),
        (1e-300, "1e-300"),
        (float("inf"), "inf"),
    ],
)
def test_exact_keeps_all_stored_digits(value, text):
    assert formatting.exact(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (13.08, "13.08"),
        (97.36363636363636, "97.36"),
        (108837.962, "108,800"),
        (3108035.0, "3,108,000"),
        (0.000123456789, "0.0001235"),
        (20.0, "20"),
        (0.0, "0"),
    ],
)
def test_measurements_are_rounded_for_tables(value, text):
    assert formatting.measurement(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        *((0.2469, "0.247"), (1, "1.000"), (0.00097, "0.00097")),
        *((13.824, "13.82"), (1234.5, "1,234"), (float("inf"), "inf")),
    ],
)
def test_ratios_have_at_most_three_decimals_and_four_digits(value, text):
    assert formatting.ratio(value) == text


@pytest.mark.parametrize(
    ("value", "within", "texts"),
    [
        (0.9124, (0.8951, 0.9302), ("0.912", "0.895", "0.930")),
        (0.83, (0.61, 1.13), ("0.83", "0.61", "1.13")),
        # The interval justifies more digits than four.
        (1.000312, (1.000208, 1.000416), ("1.00031", "1.00021", "1.00042")),
        (13.8, (13.79, 13.81), ("13.800", "13.790", "13.810")),
        # If the ends are far apart, each has two significant digits.
        (0.2, (0.0031, 12.4), ("0.20", "0.0031", "12")),
    ],
)
def test_ratio_precision_follows_the_interval(value, within, texts):
    assert (formatting.ratio(value, within), *formatting.ratio_ends(within)) == texts


@pytest.mark.parametrize(
    ("value", "within", "text"),
    [
        (13.8, (11.8, 15.8), "13.8"),
        (13.8, (13.75, 13.85), "13.800"),
        (25684.31, (25424.0, 25944.0), "25,680"),
        (25684.31, (25684.2, 25684.4), "25,684.3"),  # six digits at most
        (25684.31, (25684.31, 25684.31), "25,680"),
    ],
)
def test_value_precision_follows_the_interval(value, within, text):
    assert formatting.measurement(value, within) == text


def test_values_of_a_row_share_their_decimals():
    row = [13.8, 13.82, 20.0, None, 1234.5]
    decimals = formatting.shared_decimals(row)

    texts = [formatting.measurement(value, decimals=decimals) for value in row if value]
    assert texts == ["13.80", "13.82", "20.00", "1,234"]
    assert (
        formatting.measurement(20.0, decimals=formatting.shared_decimals([20.0, 25.0]))
        == "20"
    )


def test_overheads_have_the_precision_of_the_ratio():
    assert formatting.overhead(0.9124, (0.8951, 0.9302)) == "8.8%"
    assert formatting.overhead(0.83, (0.61, 1.13)) == "17%"
    assert formatting.overhead(0.99969, (0.99959, 0.99979)) == "0.031%"


def test_quoted_ratios_have_a_fixed_format():
    assert [formatting.quoted_ratio(ratio) for ratio in (0.5, 0.0012, 1234.5)] == [
        "0.500",
        "0.0012",
        "1,234.500",
    ]


@pytest.mark.parametrize(
    ("value", "shade"),
    [
        (0.0, "slow-5"),
        (0.25, "slow-5"),
        (0.26, "slow-4"),
        (0.75, "slow-3"),
        (0.9, "slow-2"),
        (0.98, "slow-1"),
        (0.981, "even"),
        (1.0, "even"),
        (1.02, "even"),
        (1.03, "fast-1"),
        (1.2, "fast-2"),
        (1.5, "fast-3"),
        (3.0, "fast-4"),
        (5.0, "fast-5"),
    ],
)
def test_ratios_have_shades(value, shade):
    assert formatting.ratio_shade(value) == shade


@pytest.mark.parametrize("value", [0.01, 0.3, 0.6, 0.8, 0.95, 0.99])
def test_inverse_ratios_have_opposite_shades(value):
    slow, fast = formatting.ratio_shade(value), formatting.ratio_shade(1 / value)

    assert slow.replace("slow", "fast") == fast


def test_shade_steps_are_complete_and_ordered():
    shades = [shade for shade, _edge in formatting.shade_steps()]

    assert shades[0] == "slow-5"
    assert shades[5] == "even"
    assert shades[-1] == "fast-5"
    assert len(set(shades)) == len(shades) == 11


def test_shades_start_at_their_steps():
    for shade, edge in formatting.shade_steps():
        assert formatting.ratio_shade(edge) == shade


def test_axis_positions_are_logarithmic_and_clamped():
    assert formatting.axis_position(1, 0.25, 4) == pytest.approx(0.5)
    assert formatting.axis_position(0.5, 0.25, 4) == pytest.approx(0.25)
    assert formatting.axis_position(0.001, 0.25, 4) == 0
    assert formatting.axis_position(99, 0.25, 4) == 1
    assert formatting.axis_position(0, 0.25, 4) == 0


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (2**30, "1 GiB"),
        (1000 * 2**20, "1000 MiB"),
        (5 * 2**40, "5 TiB"),
        (1023, "1,023 B"),
        (0, "0 B"),
    ],
)
def test_memory_sizes_are_readable(number, text):
    assert formatting.memory_size(number) == text


@pytest.mark.parametrize(
    ("ratio", "text", "whole"),
    [
        (0.75, "25.0", "25"),
        (1.25, "\N{MINUS SIGN}25.0", "\N{MINUS SIGN}25"),
        (1.0004, "0.0", "0"),  # no minus sign before a rounded 0
        (1, "0.0", "0"),
    ],
)
def test_overheads_have_a_sign(ratio, text, whole):
    assert formatting.overhead(ratio) == f"{text}%"
    assert formatting.rounded_overhead(ratio) == f"{whole}%"


@pytest.mark.parametrize(
    ("ratio", "text"),
    [
        (0.005, "\N{MINUS SIGN}99.5%"),
        (1, "0.0%"),
        (1.5, "+50.0%"),
        (150, "+14,900%"),
        (1500, "+149,900%"),
        (15000, "+1,499,900%"),
    ],
)
def test_changes_have_the_precision_of_the_ratio(ratio, text):
    assert formatting.percent_change(ratio) == text


def test_the_number_format_is_cached_only_within_the_context():
    with formatting.cached_number_format(), translation.override("de"):
        assert formatting.number(1.5) == "1.5"
        with formatting.number_format_for_files():
            assert formatting.number(2.5) == "2.5"
    with translation.override("de"):
        assert formatting.number(1.5) == "1,5"
        with formatting.cached_number_format():
            assert formatting.number(1.5) == "1,5"


@pytest.mark.parametrize(
    ("unit", "values", "told"),
    [
        ("s", [0.00054881], (1e6, "\N{MICRO SIGN}s")),
        ("s", [0.0144, 0.703], (1e3, "ms")),
        # In a finer unit the greatest would have too many digits.
        ("s", [0.00002, 3], (1e3, "ms")),
        ("s", [0, None], (1, "s")),
        ("us", [12.5], (1, "\N{MICRO SIGN}s")),
        ("MB/s", [0.01], (1, "MB/s")),
    ],
)
def test_times_have_readable_units(unit, values, told):
    assert formatting.readable_unit(unit, values) == told
    with formatting.number_format_for_files():
        assert formatting.readable_unit(unit, values) == (1, unit)


def test_units_are_joined_by_a_nonbreaking_space():
    assert formatting.with_unit("2", "%") == "2%"
    assert formatting.with_unit("2", "MB/s") == "2\xa0MB/s"
    assert formatting.with_unit("2", "") == "2"
