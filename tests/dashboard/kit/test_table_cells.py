"""One comparison row as one cell of the page."""

import pytest

from benchmarks.comparing.table import CaseGroup, CaseRow
from dashboard.kit.table_cells import (
    cell_view,
    in_legible_units,
    row_decimals,
    sentence,
)
from tests.comparison_rows import MEASURED, NATIVE, changed

ROW = changed(
    NATIVE,
    id=7,
    system_id=2,
    value=13.08,
    baseline_value=52.97,
    baseline_n=1,
    baseline_system_id=1,
    efficiency=13.08 / 52.97,
    state="paired",
)
ALONE = {"efficiency": None, "baseline_value": None, "baseline_n": None}


def test_a_pair_shows_its_efficiency_its_value_and_its_runs():
    view = cell_view(ROW)

    assert (view.main, view.sub, view.n) == ("0.247", "13.08", "n 1")
    assert (view.kind, view.shade, view.state) == ("ratio", "slow-5", "")
    assert sentence(ROW) == (
        "0.247 of native: 13.08\xa0MB/s against 52.97\xa0MB/s, "
        "single run against single run."
    )


def test_a_sentence_counts_runs():
    spoken = sentence(changed(ROW, n=5, baseline_n=3))

    assert spoken.endswith("5 runs against 3 runs.")


def test_a_native_cell_shows_its_value_and_no_shade():
    row = changed(ROW, **ALONE, state="native", value=52.97)
    view = cell_view(row)

    assert (view.main, view.sub, view.shade, view.kind) == (
        "52.97",
        "",
        "",
        "value",
    )
    assert view.state == ""
    assert "native" in sentence(row)


def test_a_relative_ratio_is_never_called_an_efficiency():
    row = changed(ROW, efficiency=None, relative=1.25, state="relative")
    view = cell_view(row)

    assert (view.main, view.state) == ("1.250", "relative")
    assert "of the reference" in sentence(row)
    assert "native" not in sentence(row)


@pytest.mark.parametrize(
    ("state", "word"),
    [
        ("missing", "no baseline"),
        ("ambiguous", "several baselines"),
        ("undirected", "no direction"),
        ("waiting", "waiting"),
        ("paired", "no ratio"),
    ],
)
def test_a_cell_without_a_ratio_says_why_in_words(state, word):
    row = changed(ROW, **ALONE, state=state, reason="It is so.")
    view = cell_view(row)

    assert (view.kind, view.shade, view.main) == ("plain", "", "13.08")
    assert view.state == word
    assert "It is so." in sentence(row)


@pytest.mark.parametrize("state", ["stale", "other_session"])
def test_a_doubtful_pair_says_so_beside_its_ratio(state):
    row = changed(ROW, state=state, reason="Ninety days apart.")
    view = cell_view(row)

    assert view.shade
    assert view.state
    assert sentence(row).endswith("Ninety days apart.")


def test_a_ratio_stands_above_its_interval_with_the_same_digits():
    view = cell_view(changed(MEASURED, efficiency=0.9612, interval=(0.9433, 0.9794)))

    assert (view.main, view.interval) == ("0.961", "0.943 to 0.979")
    lost = cell_view(
        changed(MEASURED, efficiency=0.9612, interval=(0.9433, 0.9794)), show="overhead"
    )
    assert (lost.main, lost.interval) == ("3.9\xa0%", "2.1\xa0% to 5.7\xa0%")


def test_single_runs_of_a_row_have_the_same_decimals():
    cells = [changed(ROW, value=value) for value in (13.8, 13.82)]

    views = [cell_view(it, decimals=row_decimals(cells)) for it in cells]
    assert [view.sub for view in views] == ["13.80", "13.82"]


def test_a_mean_has_the_digits_of_its_own_interval():
    mean = changed(ROW, value=13.8234, within=(11.8, 15.8))

    assert cell_view(mean, decimals=2).sub == "13.8"
    assert row_decimals([mean]) == 0


def test_a_row_of_times_has_one_unit_and_the_interval_stands_in_it_too():
    short = changed(ROW, unit="s", value=0.014396, within=(0.0143, 0.0145))
    long = changed(ROW, unit="s", value=0.703, within=(0.69, 0.72))
    row = CaseRow("", "Time", "", "", (), (short, None, long))
    other = CaseRow("", "Bandwidth", "", "", (), (changed(ROW, unit="s", value=20),))
    group = CaseGroup("CPU", "LINPACK", "", "s", "", (), (row, other))

    found = in_legible_units(group)

    assert (found.unit, [it.unit for it in found.rows]) == ("", ["ms", "s"])
    texts = [cell_view(it).sub for it in found.rows[0].cells if it]
    assert texts == ["14.40", "703"]
    assert found.rows[0].cells[1] is None


def test_a_group_of_one_unit_says_it_once():
    row = CaseRow("", "Time", "", "", (), (changed(ROW, unit="s", value=0.01),))
    found = in_legible_units(CaseGroup("CPU", "LINPACK", "", "s", "", (), (row, row)))

    assert (found.unit, [it.unit for it in found.rows]) == ("ms", ["", ""])
