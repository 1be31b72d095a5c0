"""Numbers as they are written, and the shade of a ratio."""

import pytest

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
        (97.36363636363636, "97.3636"),
        (108837.962, "108,838"),
        (36831.66, "36,831.7"),
        (3108035.0, "3,108,035"),
        (0.000123456789, "0.000123457"),
        (0.0, "0"),
    ],
)
def test_it_shortens_long_numbers_for_a_table(value, text):
    assert figures.brief(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.2469, "0.247"), (1, "1.000"), (0.00097, "0.00097"), (1234.5, "1,234.500")],
)
def test_it_writes_a_ratio_with_three_decimals(value, text):
    assert figures.ratio(value) == text


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
