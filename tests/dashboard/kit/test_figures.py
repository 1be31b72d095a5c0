"""Numbers as they are written, and the shade of a ratio."""

import pytest
from django.utils import translation

from dashboard.kit import figures


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
def test_it_writes_the_digits_that_are_stored(value, text):
    assert figures.exact(value) == text


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
def test_it_shortens_long_numbers_for_a_table(value, text):
    assert figures.brief(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        *((0.2469, "0.247"), (1, "1.000"), (0.00097, "0.00097")),
        *((13.824, "13.82"), (1234.5, "1,234"), (float("inf"), "inf")),
    ],
)
def test_a_ratio_has_three_decimals_and_four_digits_at_most(value, text):
    assert figures.ratio(value) == text


@pytest.mark.parametrize(
    ("value", "within", "texts"),
    [
        (0.9124, (0.8951, 0.9302), ("0.912", "0.895", "0.930")),
        (0.83, (0.61, 1.13), ("0.83", "0.61", "1.13")),
        # The interval justifies more digits than four.
        (1.000312, (1.000208, 1.000416), ("1.00031", "1.00021", "1.00042")),
        (13.8, (13.79, 13.81), ("13.800", "13.790", "13.810")),
        # Ends that are far apart have two digits each.
        (0.2, (0.0031, 12.4), ("0.20", "0.0031", "12")),
    ],
)
def test_digits_of_a_ratio_follow_its_interval(value, within, texts):
    assert (figures.ratio(value, within), *figures.ends(within)) == texts


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
def test_digits_of_a_value_follow_its_interval(value, within, text):
    assert figures.brief(value, within) == text


def test_values_beside_each_other_have_the_same_decimals():
    row = [13.8, 13.82, 20.0, None, 1234.5]
    decimals = figures.decimals_beside(row)

    texts = [figures.brief(value, decimals=decimals) for value in row if value]
    assert texts == ["13.80", "13.82", "20.00", "1,234"]
    assert figures.brief(20.0, decimals=figures.decimals_beside([20.0, 25.0])) == "20"


def test_an_overhead_has_as_many_digits_as_its_ratio():
    assert figures.overhead(0.9124, (0.8951, 0.9302)) == "8.8\xa0%"
    assert figures.overhead(0.83, (0.61, 1.13)) == "17\xa0%"
    assert figures.overhead(0.99969, (0.99959, 0.99979)) == "0.031\xa0%"


def test_a_quoted_ratio_never_changes_its_form():
    assert [figures.quoted_ratio(it) for it in (0.5, 0.0012, 1234.5)] == [
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
def test_it_shades_a_ratio(value, shade):
    assert figures.heat(value) == shade


@pytest.mark.parametrize("value", [0.01, 0.3, 0.6, 0.8, 0.95, 0.99])
def test_a_ratio_and_its_inverse_are_as_far_from_the_middle(value):
    slow, fast = figures.heat(value), figures.heat(1 / value)

    assert slow.replace("slow", "fast") == fast


def test_the_legend_has_every_shade_once_from_slow_to_fast():
    shades = [shade for shade, _edge in figures.steps()]

    assert shades[0] == "slow-5"
    assert shades[5] == "even"
    assert shades[-1] == "fast-5"
    assert len(set(shades)) == len(shades) == 11


def test_a_shade_begins_at_its_step():
    for shade, edge in figures.steps():
        assert figures.heat(edge) == shade


def test_it_places_ratios_on_a_log_axis_and_keeps_them_on_it():
    assert figures.place(1, 0.25, 4) == pytest.approx(0.5)
    assert figures.place(0.5, 0.25, 4) == pytest.approx(0.25)
    assert figures.place(0.001, 0.25, 4) == 0
    assert figures.place(99, 0.25, 4) == 1
    assert figures.place(0, 0.25, 4) == 0


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
def test_it_writes_amounts_of_memory(number, text):
    assert figures.amount_of_memory(number) == text


@pytest.mark.parametrize(
    ("ratio", "text", "whole"),
    [
        (0.75, "25.0", "25"),
        (1.25, "\N{MINUS SIGN}25.0", "\N{MINUS SIGN}25"),
        (1.0004, "0.0", "0"),  # never a minus before what is rounded to nothing
        (1, "0.0", "0"),
    ],
)
def test_it_writes_an_overhead_with_its_sign(ratio, text, whole):
    assert figures.overhead(ratio) == f"{text}\N{NO-BREAK SPACE}%"
    assert figures.whole_overhead(ratio) == f"{whole}\N{NO-BREAK SPACE}%"


def test_the_language_is_asked_for_once_and_then_again():
    with figures.asked_once(), translation.override("de"):
        assert figures.number(1.5) == "1.5"
        with figures.for_files():
            assert figures.number(2.5) == "2.5"
    with translation.override("de"):
        assert figures.number(1.5) == "1,5"
        with figures.asked_once():
            assert figures.number(1.5) == "1,5"


@pytest.mark.parametrize(
    ("unit", "values", "told"),
    [
        ("s", [0.00054881], (1e6, "\N{MICRO SIGN}s")),
        ("s", [0.0144, 0.703], (1e3, "ms")),
        # The greatest would have more digits than are read.
        ("s", [0.00002, 3], (1e3, "ms")),
        ("s", [0, None], (1, "s")),
        ("us", [12.5], (1, "\N{MICRO SIGN}s")),
        ("MB/s", [0.01], (1, "MB/s")),
    ],
)
def test_times_are_told_in_the_unit_in_which_they_are_read(unit, values, told):
    assert figures.legible(unit, values) == told
    with figures.for_files():
        assert figures.legible(unit, values) == (1, unit)


def test_a_percentage_stands_in_one_line_of_a_page_and_as_it_is_in_files():
    assert figures.unbroken("below 2 %, at 5 % of 3") == "below 2\xa0%, at 5\xa0% of 3"
    with figures.for_files():
        assert figures.unbroken("below 2 %") == "below 2 %"
