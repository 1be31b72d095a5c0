from dataclasses import replace

from tests.benchmarks.plausibility.cast import cell, findings

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
    return [finding.severity for finding in findings("pasted-values", *cells, **facts)]


def test_a_column_copied_into_another_system_is_one_flag_that_names_both():
    cells = [*column("xen", VALUES), *column("esxi", VALUES)]

    [finding] = findings("pasted-values", *cells)

    assert finding.evidence["equal"] == 5
    assert {subject.id for subject in finding.subjects} == {cell.id for cell in cells}


def test_a_part_of_a_column_is_found_too():
    copied = [*VALUES[:3], *other(VALUES[3:])]

    assert severities([*column("xen", VALUES), *column("esxi", copied)]) == [
        "impossible"
    ]


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

    assert severities([*column("a", [runs]), *column("b", [runs])]) == ["impossible"]


def test_a_copy_from_another_study_names_it():
    copy = column("xen", VALUES, study="there", study_label="the Xen study")

    [finding] = findings("pasted-values", *column("esxi", VALUES), others=copy)

    assert "of the Xen study" in finding.sentence
    assert len(finding.subjects) == 5


def test_one_native_machine_in_two_studies_is_a_notice():
    native = {"is_native": True}
    copy = column("again", VALUES, study="there", **native)

    assert severities(column("native", VALUES, **native), others=copy) == ["check"]


def test_counts_and_full_processors_are_equal_without_a_copy():
    counts = {"metric": "requests", "unit": "", "better": "neither"}
    cells = [*column("a", VALUES, **counts), *column("b", VALUES, **counts)]

    assert severities(cells) == []


def test_the_line_rate_in_many_cases_is_a_limit_and_no_copy():
    limit = [941.0, 941.0, 941.0, 941.0, 88.3]
    facts = {"component": "network", "unit": "Mbit/s"}
    cells = [*column("a", limit, **facts), *column("b", [*limit[:4], 71.6], **facts)]

    assert severities(cells) == []


def test_a_reading_that_many_systems_share_is_a_limit():
    cells = [c for s in "abcdefghijklm" for c in column(s, VALUES)]

    assert severities(cells) == []


def both_ways(*columns, copied):
    """Reading and writing on some systems; ``copied`` writes what was read."""
    for system, value in enumerate(columns):
        written = value if copied else round(value * 0.83, 2)
        place = {"system": f"vm-{system}", "is_native": False}
        yield cell(value, case="read", case_label="read", **place)
        yield cell(written, case="write", case_label="write", **place)


def test_a_case_copied_into_another_case_is_found():
    [finding] = findings("pasted-cases", *both_ways(*VALUES, copied=True))

    assert "read and write" in finding.sentence
    assert len(finding.subjects) == 10


def test_two_cases_that_differ_are_silent():
    assert findings("pasted-cases", *both_ways(*VALUES, copied=False)) == []


def test_two_metrics_may_be_equal():
    cells = list(both_ways(*VALUES, copied=True))
    named = [replace(cell, metric=str(cell.case)) for cell in cells]

    assert findings("pasted-cases", *named) == []


RUNS = (3108.04, 3122.15, 3124.96, 3105.91, 3116.48, 3111.27)
OTHERS = (2988.51, 3001.13, 2994.86, 2990.07, 3003.92, 2996.35)


def systems(*columns, **facts):
    return [
        cell(*runs, **{"system": f"vm-{place}", "is_native": False, **facts})
        for place, runs in enumerate(columns)
    ]


def test_half_of_a_cell_that_stands_in_another_system_is_found():
    pasted = (*RUNS[:3], *OTHERS[3:])

    [finding] = findings("pasted-runs", *systems(RUNS, pasted))

    assert finding.evidence["shared"] == 3
    assert finding.evidence["readings"] == list(RUNS[:3])


def test_half_of_a_case_that_stands_in_another_case_is_found():
    place = {"system": "vm", "is_native": False}
    read = cell(*RUNS, case="read", **place)
    write = cell(*RUNS[:3], *OTHERS[3:], case="write", **place)

    assert len(findings("pasted-runs", read, write)) == 1


def test_runs_of_their_own_are_silent():
    assert findings("pasted-runs", *systems(RUNS, OTHERS)) == []


def test_coarse_runs_of_two_systems_agree_by_chance():
    coarse = (31.0, 32.0, 31.0, 33.0, 32.0, 31.0)
    other = (32.0, 31.0, 33.0, 31.0, 30.0, 32.0)

    assert findings("pasted-runs", *systems(coarse, other)) == []


def test_a_whole_cell_is_left_to_pasted_values():
    assert findings("pasted-runs", *systems(RUNS, RUNS)) == []


def test_pasted_runs_whose_sum_is_beyond_all_numbers_are_found():
    one, other = (tuple(run * 5.7e304 for run in runs) for runs in (RUNS, OTHERS))

    assert len(findings("pasted-runs", *systems(one, (*one[:3], *other[3:])))) == 1


def test_runs_of_other_hosts_and_of_all_magnitudes_are_no_error():
    wild = (5e-324, 1e100, 1.0, 2.0)

    assert findings("pasted-runs", *systems(wild, (5e-324, 1e100, 3.0, 4.0))) == []
    [one, other] = systems(RUNS, (*RUNS[:3], *OTHERS[3:]))
    assert findings("pasted-runs", one, replace(other, host="beta")) == []
