"""Comparison rows as table cells."""

import pytest

from benchmarks.comparison.comparison_table import CaseGroup, CaseRow
from dashboard.kit.table_cells import (
    cell_sentence,
    cell_view,
    row_decimals,
    with_readable_units,
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


def test_a_paired_cell_shows_ratio_value_and_runs():
    view = cell_view(ROW)

    assert (view.main, view.subtext, view.n) == ("0.247", "13.08", "n 1")
    assert (view.kind, view.shade, view.state) == ("ratio", "slow-5", "")
    assert cell_sentence(ROW) == (
        "24.7% of native performance: 13.08\xa0MB/s vs. 52.97\xa0MB/s, single run vs. "
        "single run."
    )


def test_sentences_contain_the_number_of_runs():
    spoken = cell_sentence(changed(ROW, n=5, baseline_n=3))

    assert spoken.endswith("5 runs vs. 3 runs.")


def test_native_cells_show_values_without_shades():
    row = changed(ROW, **ALONE, state="native", value=52.97)
    view = cell_view(row)

    assert (view.main, view.subtext, view.shade, view.kind) == (
        "52.97",
        "",
        "",
        "value",
    )
    assert view.state == ""
    assert "native" in cell_sentence(row)


def test_relative_ratios_are_described_as_relative_to_the_reference():
    row = changed(ROW, efficiency=None, relative=1.25, state="relative")
    view = cell_view(row)

    assert (view.main, view.state) == ("1.250", "relative")
    assert "of the reference" in cell_sentence(row)
    assert "native" not in cell_sentence(row)


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
def test_cells_without_a_ratio_state_the_reason(state, word):
    row = changed(ROW, **ALONE, state=state, reason="It is so.")
    view = cell_view(row)

    assert (view.kind, view.shade, view.main) == ("plain", "", "13.08")
    assert view.state == word
    assert "It is so." in cell_sentence(row)


@pytest.mark.parametrize("state", ["stale", "other_session"])
def test_doubtful_baselines_are_stated_with_the_ratio(state):
    row = changed(ROW, state=state, reason="Ninety days apart.")
    view = cell_view(row)

    assert view.shade
    assert view.state
    assert cell_sentence(row).endswith("Ninety days apart.")


def test_ratios_and_intervals_have_the_same_precision():
    view = cell_view(changed(MEASURED, efficiency=0.9612, interval=(0.9433, 0.9794)))

    assert (view.main, view.interval) == ("0.961", "0.943 to 0.979")
    lost = cell_view(
        changed(MEASURED, efficiency=0.9612, interval=(0.9433, 0.9794)), show="overhead"
    )
    assert (lost.main, lost.interval) == ("3.9%", "2.1% to 5.7%")


def test_single_runs_of_a_row_share_their_decimals():
    cells = [changed(ROW, value=value) for value in (13.8, 13.82)]

    views = [cell_view(cell, decimals=row_decimals(cells)) for cell in cells]
    assert [view.subtext for view in views] == ["13.80", "13.82"]


def test_means_have_the_precision_of_their_interval():
    mean = changed(ROW, value=13.8234, value_interval=(11.8, 15.8))

    assert cell_view(mean, decimals=2).subtext == "13.8"
    assert row_decimals([mean]) == 0


def test_times_of_a_row_and_their_intervals_share_a_unit():
    short = changed(ROW, unit="s", value=0.014396, value_interval=(0.0143, 0.0145))
    long = changed(ROW, unit="s", value=0.703, value_interval=(0.69, 0.72))
    row = CaseRow("", "Time", "", "", (), (short, None, long))
    other = CaseRow("", "Bandwidth", "", "", (), (changed(ROW, unit="s", value=20),))
    group = CaseGroup("CPU", "LINPACK", "", "s", "", (), (row, other))

    found = with_readable_units(group)

    assert (found.unit, [row.unit for row in found.rows]) == ("", ["ms", "s"])
    texts = [cell_view(cell).subtext for cell in found.rows[0].cells if cell]
    assert texts == ["14.40", "703"]
    assert found.rows[0].cells[1] is None


def test_a_shared_unit_is_stated_once_per_group():
    row = CaseRow("", "Time", "", "", (), (changed(ROW, unit="s", value=0.01),))
    found = with_readable_units(
        CaseGroup("CPU", "LINPACK", "", "s", "", (), (row, row))
    )

    assert (found.unit, [row.unit for row in found.rows]) == ("ms", ["", ""])
