"""Filters and orders of comparison rows."""

import pytest

from benchmarks.comparison.comparison_table import comparison_table, medians
from benchmarks.comparison.filters_and_order import (
    EVIDENCE_LEVELS,
    SORT_KEYS,
    ResultFilter,
    filter_rows,
    sort_keys,
)
from benchmarks.comparison.study_verdicts import CellVerdict
from tests.comparison_rows import MEASURED, NATIVE, XEN, changed


def case(number, ratio, **values):
    values = {"efficiency": ratio, "case": f"case {number}", **values}
    return changed(XEN, id=number, case_id=number, **values)


SLOW, FAST, EVEN = case(10, 0.5), case(11, 1.5), case(12, 1.01)
BARE = case(13, None, state="missing")
OTHER = changed(SLOW, id=20, system_id=3, efficiency=0.99)
ROWS = [SLOW, FAST, EVEN, BARE, OTHER]
MARKS = {
    SLOW.id: CellVerdict("slower", False, evidence_level="verdict"),
    FAST.id: CellVerdict("faster", False, evidence_level="ranking"),
    EVEN.id: CellVerdict("not_assessed", False, evidence_level="none"),
    BARE.id: CellVerdict("not_assessed", False, evidence_level="none"),
    OTHER.id: CellVerdict("equivalent", False, evidence_level="indicative"),
}


def ids(rows):
    return [row.id for row in rows]


def test_an_empty_filter_keeps_all_rows():
    assert filter_rows(ROWS, {}, ResultFilter()) == ROWS


@pytest.mark.parametrize(
    ("sieve", "found"),
    [
        (ResultFilter(verdict="faster"), [11]),
        # Rows are kept whole: another system of the case is next to the slow one.
        (ResultFilter(verdict="slower"), [10, 20]),
        (ResultFilter(verdict="equivalent"), [10, 20]),
        # A cell without a comparison has no effect.
        (ResultFilter(verdict="not_assessed"), [12]),
        (ResultFilter(evidence="verdict"), [10, 11, 20]),
        (ResultFilter(evidence="ranking"), [11]),
        (ResultFilter(effect_percent=5), [10, 11, 20]),
        (ResultFilter(effect_percent=100), [10, 20]),
        # Both conditions apply to the same cell.
        (ResultFilter(verdict="equivalent", effect_percent=5), []),
        (ResultFilter(verdict="nonsense"), []),
        (ResultFilter(evidence="nonsense"), []),
        (ResultFilter(effect_percent=float("inf")), []),
    ],
)
def test_rows_with_a_passing_cell_are_kept(sieve, found):
    assert ids(filter_rows(ROWS, MARKS, sieve)) == found


def test_half_as_fast_is_as_large_an_effect_as_twice_as_fast():
    rows = [case(1, 0.5), case(2, 2.0)]
    found = sort_keys(rows, {}, ResultFilter(), "effect")

    assert found[rows[0].key] == pytest.approx(found[rows[1].key])
    assert ids(filter_rows(rows, {}, ResultFilter(effect_percent=100))) == [1, 2]


def test_incomparable_cells_have_no_effect():
    assert (
        filter_rows(
            [changed(SLOW, comparability="none")], MARKS, ResultFilter(verdict="slower")
        )
        == []
    )


def test_a_range_counts_by_its_nearer_end():
    row = case(1, None, ratio_range=(0.5, 0.8))

    assert filter_rows([row], {}, ResultFilter(effect_percent=25)) == [row]
    assert filter_rows([row], {}, ResultFilter(effect_percent=50)) == []


def test_an_assessed_cell_needs_no_stored_verdict():
    assert ids(filter_rows([MEASURED], {}, ResultFilter(verdict="slower"))) == [
        MEASURED.id
    ]


@pytest.mark.parametrize(
    ("order", "found"),
    [
        ("effect", [10, 11, 12, 13]),
        (
            "-effect",
            [12, 10, 11, 13],
        ),  # the other system's 0.99 determines the rank of case 10
        ("slowest", [10, 12, 11, 13]),
        ("fastest", [11, 12, 10, 13]),
        ("verdict", [10, 11, 12, 13]),
        ("evidence", [11, 10, 12, 13]),
    ],
)
def test_rows_are_sorted_by_the_first_of_their_cells(order, found):
    ranked = sort_keys(ROWS, MARKS, ResultFilter(), order)
    (group,) = comparison_table(ROWS, ranks=ranked).groups

    assert [row.key[0] for row in group.rows] == found
    assert set(SORT_KEYS) >= {order}


def test_sorted_rows_state_their_tool_and_unit():
    (group,) = comparison_table([NATIVE, XEN], ranks={}).groups
    (row,) = group.rows

    assert (group.tool, group.unit, row.unit) == ("", "", "MB/s")
    assert row.label.startswith("Iometer")
    assert row.facts[0].value == "network"


def test_a_median_is_that_of_the_cells_given():
    found = medians([SLOW, FAST, EVEN, BARE, OTHER])

    assert (found[2].ratio, found[2].n) == (1.01, 3)
    assert (found[3].ratio, found[3].n) == (0.99, 1)
    assert medians([BARE, changed(SLOW, comparability="none")]) == {}


def test_levels_rise():
    assert EVIDENCE_LEVELS[0] == "none"
    assert EVIDENCE_LEVELS[-1] == "ranking"
