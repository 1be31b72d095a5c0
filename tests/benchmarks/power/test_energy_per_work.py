"""Comparison rows with energy per work."""

from dataclasses import replace

import pytest

from benchmarks.analysis.energy_ratio import EnergyRatio, MeterFacts
from benchmarks.comparison.comparison_row import CellEnergy
from benchmarks.power.energy_per_work import energy_row, energy_rows
from tests.comparison_rows import NATIVE, XEN, changed

WALL = MeterFacts("meter 1", 0.015)
ENERGY = CellEnergy(
    "J/MB",
    (2.9, 3.1),
    WALL,
    baseline_mean=2.0,
    baseline_n=2,
    ratio=EnergyRatio(1.5, 1.4, 1.6),
)


def test_relative_performance_is_work_per_joule():
    row = energy_row(XEN, ENERGY)

    assert (row.result.value, row.result.unit, row.result.n) == (3.0, "J/MB", 2)
    assert row.result.energy_ratio.ratio == 1.5
    assert row.result.ratio == pytest.approx(1 / 1.5)
    assert (row.result.state, row.result.reason) == ("metered", "")


def test_without_power_the_speed_is_not_shown():
    row = energy_row(XEN, None, unit="J/MB")

    assert (
        row.result.state,
        row.result.value,
        row.result.n,
        row.result.baseline_value,
    ) == (
        "unmetered",
        None,
        0,
        None,
    )
    assert row.result.ratio is None


def test_two_speeds_have_no_single_energy():
    doubted = changed(
        XEN,
        shape_codes=("bimodal",),
        mode_medians=(10.0, 20.0),
        reason="No single value: two speeds.",
    )

    row = energy_row(doubted, ENERGY)

    assert (row.result.value, row.result.ratio, row.result.energy_ratio) == (
        None,
        None,
        None,
    )
    assert (row.result.range, row.result.mode_medians) == ((2.9, 3.1), ())
    assert row.result.reason == "No single value: two speeds."


def test_a_baseline_without_power_is_reported():
    row = energy_row(XEN, replace(ENERGY, baseline_mean=None, baseline_n=0, ratio=None))

    assert (row.result.state, row.result.value) == ("missing", 3.0)
    assert row.result.reason.startswith("The power of the baseline was not measured")


def test_a_cpu_counter_is_not_compared_with_a_wall_meter():
    row = energy_row(XEN, replace(ENERGY, ratio=None))

    assert row.result.reason.endswith("are never compared.")


def test_a_ratio_without_an_interval_has_a_reason():
    row = energy_row(XEN, replace(ENERGY, ratio=EnergyRatio(1.5, reason="single_run")))

    assert row.result.reason == "A single run has no confidence interval."


def test_unmetered_cases_and_systems_are_removed():
    other = changed(XEN, id=3, case_id=2)
    rows = energy_rows([NATIVE, XEN, other], {XEN.id: ENERGY})

    assert [row.id for row in rows] == [XEN.id]
