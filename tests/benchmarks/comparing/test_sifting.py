"""Rows of a comparison filtered and sorted by what is said of them."""

import pytest

from benchmarks.comparing.sifting import LEVELS, RANKS, Sieve, ranks, sifted
from benchmarks.comparing.table import comparison_table, medians
from benchmarks.comparing.verdicts import VerdictMark
from tests.comparison_rows import MEASURED, NATIVE, XEN, changed


def case(number, ratio, **values):
    values = {"efficiency": ratio, "case": f"case {number}", **values}
    return changed(XEN, id=number, case_id=number, **values)


SLOW, FAST, EVEN = case(10, 0.5), case(11, 1.5), case(12, 1.01)
BARE = case(13, None, state="missing")
OTHER = changed(SLOW, id=20, system_id=3, efficiency=0.99)
ROWS = [SLOW, FAST, EVEN, BARE, OTHER]
MARKS = {
    SLOW.id: VerdictMark("slower", False, evidence="verdict"),
    FAST.id: VerdictMark("faster", False, evidence="ranking"),
    EVEN.id: VerdictMark("not_assessed", False, evidence="none"),
    BARE.id: VerdictMark("not_assessed", False, evidence="none"),
    OTHER.id: VerdictMark("equivalent", False, evidence="indicative"),
}


def ids(rows):
    return [row.id for row in rows]


def test_nothing_asked_for_lets_all_through():
    assert sifted(ROWS, {}, Sieve()) == ROWS


@pytest.mark.parametrize(
    ("sieve", "found"),
    [
        (Sieve(verdict="faster"), [11]),
        # A row is shown whole: another system of the case stands beside the slow one.
        (Sieve(verdict="slower"), [10, 20]),
        (Sieve(verdict="equivalent"), [10, 20]),
        # What has nothing beside it is no effect, whatever is said of it.
        (Sieve(verdict="not_assessed"), [12]),
        (Sieve(evidence="verdict"), [10, 11, 20]),
        (Sieve(evidence="ranking"), [11]),
        (Sieve(effect_percent=5), [10, 11, 20]),
        (Sieve(effect_percent=100), [10, 20]),
        # Both are asked of one cell.
        (Sieve(verdict="equivalent", effect_percent=5), []),
        (Sieve(verdict="nonsense"), []),
        (Sieve(evidence="nonsense"), []),
        (Sieve(effect_percent=float("inf")), []),
    ],
)
def test_rows_are_those_of_which_a_cell_passes(sieve, found):
    assert ids(sifted(ROWS, MARKS, sieve)) == found


def test_half_as_fast_is_as_large_an_effect_as_twice_as_fast():
    rows = [case(1, 0.5), case(2, 2.0)]
    found = ranks(rows, {}, Sieve(), "effect")

    assert found[rows[0].place] == pytest.approx(found[rows[1].place])
    assert ids(sifted(rows, {}, Sieve(effect_percent=100))) == [1, 2]


def test_what_may_not_be_compared_has_no_effect():
    assert sifted([changed(SLOW, light="red")], MARKS, Sieve(verdict="slower")) == []


def test_a_range_counts_by_its_nearer_end():
    row = case(1, None, ratio_range=(0.5, 0.8))

    assert sifted([row], {}, Sieve(effect_percent=25)) == [row]
    assert sifted([row], {}, Sieve(effect_percent=50)) == []


def test_a_cell_judged_in_words_needs_no_mark():
    assert ids(sifted([MEASURED], {}, Sieve(verdict="slower"))) == [MEASURED.id]


@pytest.mark.parametrize(
    ("order", "found"),
    [
        ("effect", [10, 11, 12, 13]),
        ("-effect", [12, 10, 11, 13]),  # of 10 the other system's 0.99 counts
        ("slowest", [10, 12, 11, 13]),
        ("fastest", [11, 12, 10, 13]),
        ("verdict", [10, 11, 12, 13]),
        ("evidence", [11, 10, 12, 13]),
    ],
)
def test_rows_are_sorted_by_the_first_of_their_cells(order, found):
    ranked = ranks(ROWS, MARKS, Sieve(), order)
    (group,) = comparison_table(ROWS, ranks=ranked).groups

    assert [row.key[0] for row in group.rows] == found
    assert set(RANKS) >= {order}


def test_sorted_rows_of_all_tools_say_their_tool_and_unit():
    (group,) = comparison_table([NATIVE, XEN], ranks={}).groups
    (row,) = group.rows

    assert (group.tool, group.unit, row.unit) == ("", "", "MB/s")
    assert row.label.startswith("Iometer")
    assert row.facts[0].value == "network"


def test_a_median_is_that_of_the_cells_given():
    found = medians([SLOW, FAST, EVEN, BARE, OTHER])

    assert (found[2].ratio, found[2].n) == (1.01, 3)
    assert (found[3].ratio, found[3].n) == (0.99, 1)
    assert medians([BARE, changed(SLOW, light="red")]) == {}


def test_levels_rise():
    assert LEVELS[0] == "none"
    assert LEVELS[-1] == "ranking"
