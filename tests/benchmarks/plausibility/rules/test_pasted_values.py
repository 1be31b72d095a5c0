from dataclasses import replace

from tests.benchmarks.plausibility.small_studies import cell, findings

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


def test_a_copied_column_is_one_flag_for_both_systems():
    cells = [*column("xen", VALUES), *column("esxi", VALUES)]

    [finding] = findings("pasted-values", *cells)

    assert finding.evidence["equal"] == 5
    assert {subject.id for subject in finding.subjects} == {cell.id for cell in cells}


def test_a_copied_part_of_a_column_is_found():
    copied = [*VALUES[:3], *other(VALUES[3:])]

    assert severities([*column("xen", VALUES), *column("esxi", copied)]) == [
        "impossible"
    ]


def test_different_readings_are_not_flagged():
    assert severities([*column("xen", VALUES), *column("esxi", other(VALUES))]) == []


def test_a_single_equal_reading_is_chance():
    copied = [VALUES[0], *other(VALUES[1:])]

    assert severities([*column("xen", VALUES), *column("esxi", copied)]) == []


def test_coarse_readings_agree_by_chance():
    coarse = [62.0, 67.0, 70.0, 97.0]
    facts = {"component": "disk"}
    cells = [*column("xen", coarse, **facts), *column("esxi", coarse, **facts)]

    assert severities(cells) == []


def test_equal_runs_in_one_cell_are_sufficient():
    runs = (3108.04, 3122.15, 3124.96, 3105.91)

    assert severities([*column("a", [runs]), *column("b", [runs])]) == ["impossible"]


def test_a_copy_from_another_study_names_the_study():
    copy = column("xen", VALUES, study="there", study_label="the Xen study")

    [finding] = findings("pasted-values", *column("esxi", VALUES), others=copy)

    assert "in the Xen study" in finding.sentence
    assert len(finding.subjects) == 5


def test_one_native_machine_in_two_studies_is_a_check():
    native = {"is_native": True}
    copy = column("again", VALUES, study="there", **native)

    assert severities(column("native", VALUES, **native), others=copy) == ["check"]


def test_counts_and_full_cpus_are_equal_without_a_copy():
    counts = {"metric": "requests", "unit": "", "better": "neither"}
    cells = [*column("a", VALUES, **counts), *column("b", VALUES, **counts)]

    assert severities(cells) == []


def test_the_line_rate_in_many_cases_is_a_limit_not_a_copy():
    limit = [941.0, 941.0, 941.0, 941.0, 88.3]
    facts = {"component": "network", "unit": "Mbit/s"}
    cells = [*column("a", limit, **facts), *column("b", [*limit[:4], 71.6], **facts)]

    assert severities(cells) == []


def test_a_reading_shared_by_many_systems_is_a_limit():
    cells = [c for s in "abcdefghijklm" for c in column(s, VALUES)]

    assert severities(cells) == []


def both_ways(*columns, copied):
    """Reading and writing on some systems; ``copied`` systems write what was read."""
    for system, value in enumerate(columns):
        written = value if copied else round(value * 0.83, 2)
        facts = {"system": f"vm-{system}", "is_native": False}
        yield cell(value, case="read", case_label="read", **facts)
        yield cell(written, case="write", case_label="write", **facts)


def test_a_case_copied_to_another_case_is_found():
    [finding] = findings("pasted-cases", *both_ways(*VALUES, copied=True))

    assert "read and write" in finding.sentence
    assert len(finding.subjects) == 10


def test_two_different_cases_are_not_flagged():
    assert findings("pasted-cases", *both_ways(*VALUES, copied=False)) == []


def test_two_metrics_may_be_equal():
    cells = list(both_ways(*VALUES, copied=True))
    metrics = [replace(cell, metric=str(cell.case)) for cell in cells]

    assert findings("pasted-cases", *metrics) == []


RUNS = (3108.04, 3122.15, 3124.96, 3105.91, 3116.48, 3111.27)
OTHERS = (2988.51, 3001.13, 2994.86, 2990.07, 3003.92, 2996.35)


def systems(*columns, **facts):
    return [
        cell(*runs, **{"system": f"vm-{index}", "is_native": False, **facts})
        for index, runs in enumerate(columns)
    ]


def test_half_of_a_cell_copied_to_another_system_is_found():
    pasted = (*RUNS[:3], *OTHERS[3:])

    [finding] = findings("pasted-runs", *systems(RUNS, pasted))

    assert finding.evidence["shared"] == 3
    assert finding.evidence["readings"] == list(RUNS[:3])


def test_half_of_a_case_copied_to_another_case_is_found():
    facts = {"system": "vm", "is_native": False}
    read = cell(*RUNS, case="read", **facts)
    write = cell(*RUNS[:3], *OTHERS[3:], case="write", **facts)

    assert len(findings("pasted-runs", read, write)) == 1


def test_different_runs_are_not_flagged():
    assert findings("pasted-runs", *systems(RUNS, OTHERS)) == []


def test_coarse_runs_of_two_systems_agree_by_chance():
    coarse = (31.0, 32.0, 31.0, 33.0, 32.0, 31.0)
    readings = (32.0, 31.0, 33.0, 31.0, 30.0, 32.0)

    assert findings("pasted-runs", *systems(coarse, readings)) == []


def test_a_whole_cell_is_left_to_pasted_values():
    assert findings("pasted-runs", *systems(RUNS, RUNS)) == []


def test_pasted_runs_whose_sum_overflows_are_found():
    first, second = (tuple(run * 5.7e304 for run in runs) for runs in (RUNS, OTHERS))

    assert len(findings("pasted-runs", *systems(first, (*first[:3], *second[3:])))) == 1


def test_other_hosts_and_all_magnitudes_raise_no_error():
    wild = (5e-324, 1e100, 1.0, 2.0)

    assert findings("pasted-runs", *systems(wild, (5e-324, 1e100, 3.0, 4.0))) == []
    [first, second] = systems(RUNS, (*RUNS[:3], *OTHERS[3:]))
    assert findings("pasted-runs", first, replace(second, host="beta")) == []


def test_equal_sizes_in_memory_are_not_copies():
    size = {"tool": "ps", "metric": "resident set", "unit": "MiB", "better": "lower"}
    sizes = [129.78, 144.74, 273.91, 531.12, 1047.66]

    cells = [
        cell(value, system=host, host=host, case=f"{number}", **size)
        for host in ("alpha", "beta")
        for number, value in enumerate(sizes)
    ]

    assert not findings("pasted-values", *cells)
