"""Widths on paper, against those of the fonts themselves."""

import pytest

from dashboard.exports.latex_widths import (
    ITALIC,
    PAPER_PT,
    PLAIN,
    SMALL,
    SMALL_ITALIC,
    breakable,
    parts_that_fit,
    table_pt,
    width_pt,
)

# Parts of the size as the metrics of ecrm0800, ecti0800, ecrm0600 and ecti0600 have
# them (tftopl), for "0", ".", "[", "-", "%", "M" and "m".
SIGNS = "0.[-%Mm"
METRICS = {
    (PLAIN, 8): (0.5312, 0.2951, 0.2951, 0.3541, 0.8853, 0.9727, 0.8853),
    (ITALIC, 8): (0.5485, 0.3291, 0.3291, 0.3840, 0.8776, 0.9609, 0.8776),
    (SMALL, 6): (0.6110, 0.3518, 0.3518, 0.4166, 0.9998, 1.0905, 0.9998),
    (SMALL_ITALIC, 6): (0.6689, 0.4142, 0.4142, 0.4779, 1.0510, 1.1417, 1.0510),
}


@pytest.mark.parametrize(("style", "size"), METRICS)
def test_no_letter_is_wider_than_it_is_taken_for(style, size):
    for sign, part in zip(SIGNS, METRICS[style, size], strict=True):
        assert width_pt(sign, style) >= part * size, sign


def test_a_bound_is_near_enough_to_use_the_page():
    true_pt = 6 * (8 * 0.611 + 4 * 0.3518 + 2 * 0.3518)

    assert true_pt <= width_pt("[0.940, 0.980]", SMALL) <= 1.15 * true_pt


def test_columns_are_parted_where_the_page_is_full():
    widths = [44.0] * 7 + [200.0, 300.0, 44.0]

    parts = parts_that_fit(widths)

    assert parts == [slice(0, 5), slice(5, 7), slice(7, 8), slice(8, 9), slice(9, 10)]
    assert all(table_pt(widths[part]) <= PAPER_PT for part in (parts[0], parts[2]))
    assert parts_that_fit([]) == []


def test_the_gap_of_the_last_heading_counts_too():
    fits = [44.0] * 4 + [PAPER_PT - table_pt([44.0] * 4) - 6.0 - 3.0]

    assert parts_that_fit(fits) == [slice(0, 5)]
    assert parts_that_fit([*fits[:4], fits[4] + 1]) == [slice(0, 4), slice(4, 5)]


@pytest.mark.parametrize(
    ("text", "broken"),
    [
        ("short words fit", "short words fit"),
        (
            "a/very-long_path",
            r"a/\allowbreak{}very-\allowbreak{}long\_\allowbreak{}path",
        ),
        ("iiiiiiiiiiiiiiiiiiiii", r"iiiiiiiiiiiiiiii\allowbreak{}iiiii"),
    ],
)
def test_a_word_breaks_only_where_there_is_no_room(text, broken):
    assert breakable(text, 40.0) == broken
