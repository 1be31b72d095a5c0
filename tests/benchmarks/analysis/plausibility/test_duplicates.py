import numpy as np
import pytest

from tests.benchmarks.analysis.plausibility.cast import cell, findings

VALUES = [3108.04, 2446.68, 14554.83, 17146.53, 6608.65]


def column(system, values, **facts):
    return [
        cell(
            *(value if isinstance(value, tuple) else (value,)),
            **{"system": system, "case": f"case {row}", "is_native": False, **facts},
        )
        for row, value in enumerate(values)
    ]


def other(values, factor=0.987):
    return [round(value * factor, 2) for value in values]


def severities(cells, **facts):
    return [each.severity for each in findings("pasted-values", *cells, **facts)]


def test_a_column_copied_into_another_system_is_one_flag_that_names_both():
    cells = [*column("xen", VALUES), *column("esxi", VALUES)]

    [found] = findings("pasted-values", *cells)

    assert found.evidence["equal"] == 5
    assert {each.id for each in found.subjects} == {each.id for each in cells}


def test_a_part_of_a_column_is_found_too():
    copied = [*VALUES[:3], *other(VALUES[3:])]

    assert severities([*column("xen", VALUES), *column("esxi", copied)]) == ["error"]


def test_different_readings_are_silent():
    assert severities([*column("xen", VALUES), *column("esxi", other(VALUES))]) == []


def test_a_single_equal_reading_is_chance():
    copied = [VALUES[0], *other(VALUES[1:])]

    assert severities([*column("xen", VALUES), *column("esxi", copied)]) == []


def test_coarse_readings_agree_by_chance():
    coarse = [62.0, 67.0, 70.0, 97.0]
    facts = {"component": "disk"}
    cells = [*column("xen", coarse, **facts), *column("esxi", coarse, **facts)]

    assert severities(cells) == []


def test_equal_runs_in_one_cell_are_enough():
    runs = (3108.04, 3122.15, 3124.96, 3105.91)

    assert severities([*column("a", [runs]), *column("b", [runs])]) == ["error"]


def test_a_copy_from_another_campaign_names_it():
    copy = column("xen", VALUES, campaign="there", campaign_label="the Xen study")

    [found] = findings("pasted-values", *column("esxi", VALUES), others=copy)

    assert "of the Xen study" in found.sentence
    assert len(found.subjects) == 5


def test_one_native_machine_in_two_campaigns_is_a_notice():
    native = {"is_native": True}
    copy = column("again", VALUES, campaign="there", **native)

    assert severities(column("native", VALUES, **native), others=copy) == ["notice"]


def test_counts_and_full_processors_are_equal_without_a_copy():
    counts = {"metric": "requests", "unit": "", "better": "neither"}
    cells = [*column("a", VALUES, **counts), *column("b", VALUES, **counts)]

    assert severities(cells) == []


def distinct(values, **facts):
    return len(findings("few-distinct-readings", cell(*values, **facts)))


def test_ten_runs_of_two_values_are_flagged():
    assert distinct([41.72, 44.18, 41.72, 41.72, 44.18] * 2) == 1


def test_ten_different_runs_are_silent():
    rng = np.random.default_rng(5)

    assert distinct([round(each, 2) for each in rng.normal(42, 1, 10)]) == 0


def test_a_coarse_clock_reads_few_values():
    assert distinct([0.2, 0.2, 0.3, 0.2, 0.3, 0.2], unit="s", better="lower") == 0


@pytest.mark.parametrize("better", ["neither"])
def test_a_count_may_repeat(better):
    assert distinct([1000.0] * 10, better=better, unit="") == 0
