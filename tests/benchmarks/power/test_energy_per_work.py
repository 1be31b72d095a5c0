"""Comparison rows that tell energy per work."""

from dataclasses import replace

import pytest

from benchmarks.analysis.energy import EnergyRatio, MeterFacts
from benchmarks.comparing.row import CellEnergy
from benchmarks.power.energy_per_work import energy_row, energy_rows
from tests.comparison_rows import NATIVE, XEN, changed

WALL = MeterFacts("meter 1", 0.015)
ENERGY = CellEnergy(
    "J/MB",
    (2.9, 3.1),
    WALL,
    base=2.0,
    base_n=2,
    ratio=EnergyRatio(1.5, 1.4, 1.6),
)


def test_its_efficiency_is_the_work_for_a_joule():
    row = energy_row(XEN, ENERGY)

    assert (row.shown.value, row.shown.unit, row.shown.n) == (3.0, "J/MB", 2)
    assert row.shown.joules.ratio == 1.5
    assert row.shown.ratio == pytest.approx(1 / 1.5)
    assert (row.shown.state, row.shown.reason) == ("metered", "")


def test_without_power_nothing_is_told_of_the_speed_either():
    row = energy_row(XEN, None, unit="J/MB")

    assert (
        row.shown.state,
        row.shown.value,
        row.shown.n,
        row.shown.baseline_value,
    ) == (
        "unmetered",
        None,
        0,
        None,
    )
    assert row.shown.ratio is None


def test_two_speeds_have_no_single_energy():
    doubted = changed(
        XEN,
        doubts=("bimodal",),
        speeds=(10.0, 20.0),
        reason="No single figure: two speeds.",
    )

    row = energy_row(doubted, ENERGY)

    assert (row.shown.value, row.shown.ratio, row.shown.joules) == (
        None,
        None,
        None,
    )
    assert (row.shown.range, row.shown.speeds) == ((2.9, 3.1), ())
    assert row.shown.reason == "No single figure: two speeds."


def test_a_baseline_without_power_is_said():
    row = energy_row(XEN, replace(ENERGY, base=None, base_n=0, ratio=None))

    assert (row.shown.state, row.shown.value) == ("missing", 3.0)
    assert row.shown.reason.startswith("No power was measured for its baseline")


def test_a_counter_is_not_set_against_the_wall_and_says_so():
    row = energy_row(XEN, replace(ENERGY, ratio=None))

    assert row.shown.reason.endswith("the two are never compared.")


def test_a_ratio_without_an_interval_says_why():
    row = energy_row(XEN, replace(ENERGY, ratio=EnergyRatio(1.5, reason="single_run")))

    assert row.shown.reason == "A single run has no interval."


def test_cases_and_systems_that_nobody_metered_go():
    other = changed(XEN, id=3, case_id=2)
    rows = energy_rows([NATIVE, XEN, other], {XEN.id: ENERGY})

    assert [row.id for row in rows] == [XEN.id]
