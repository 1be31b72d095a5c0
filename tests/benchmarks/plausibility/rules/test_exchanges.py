import pytest

from tests.benchmarks.plausibility.cast import cell, findings

NATIVE = [2711.4, 1880.2, 3544.9, 5121.7, 4410.3, 2933.8]
SPEEDS = {"native": 1.0, "xen": 0.62, "kvm": 0.93, "docker": 0.99}
UNEVEN = [1.004, 0.997, 1.006, 0.995, 1.002, 0.998]


def table(exchanged=(), *, pair=("xen", "kvm"), values=NATIVE, **facts):
    """Four systems; in the ``exchanged`` cases a pair of them has the other's value."""
    other = {**dict(zip(pair, pair[::-1], strict=True))}
    return [
        cell(
            round(value * SPEEDS[where] * UNEVEN[row - place], 2),
            **{"system": system, "system_label": system, "case": f"case {row}"},
            **{"is_native": system == "native", **facts},
        )
        for row, value in enumerate(values)
        for place, system in enumerate(SPEEDS)
        for where in [other.get(system, system) if row in exchanged else system]
    ]


@pytest.mark.parametrize("exchanged", [{0}, {1, 4}])
def test_two_systems_exchanged_in_some_cases_are_named(exchanged):
    [finding] = findings("exchanged-values", *table(exchanged))

    assert "xen and kvm look exchanged" in finding.sentence
    assert len(finding.subjects) == 2 * len(exchanged)


def test_two_systems_that_are_nearly_equal_are_not_told_apart():
    assert findings("exchanged-values", *table({0}, pair=("kvm", "docker"))) == []


def test_a_clean_table_is_silent():
    for rule in ("exchanged-values", "rate-as-time"):
        assert findings(rule, *table()) == []


def times(*wrong):
    """Times of 60 to 200 s, one of them a rate."""
    facts = {"metric": "time", "unit": "s", "better": "lower", "component": "CPU"}
    made = table(values=[value / 30 for value in NATIVE], **facts)
    return [
        cell(
            1 / each.mean, system=each.system, case=each.case, is_native=False, **facts
        )
        if (each.system, each.case) in wrong
        else each
        for each in made
    ]


def test_a_rate_that_was_taken_for_a_time_is_named():
    members = times(("kvm", "case 2"))

    [finding] = findings("rate-as-time", *members)

    assert finding.evidence["expected"] == [pytest.approx(112, rel=0.1)]


def test_a_whole_system_of_rates_is_one_doubt():
    wrong = [("kvm", f"case {row}") for row in range(len(NATIVE))]

    [finding] = findings("rate-as-time", *times(*wrong))

    assert len(finding.subjects) == len(NATIVE)


def test_values_of_all_magnitudes_are_no_error():
    wild = [5e-324, 1e308, 1.0, 1e-300, 1e300, 2.0]

    for rule in ("exchanged-values", "rate-as-time"):
        assert isinstance(findings(rule, *table({0}, values=wild)), list)


def imitated(*exchanged, reads=None):
    """Native, KVM and QEMU TCG in three CPU cases, the two exchanged in some."""
    speeds = {"native": 1.0, "kvm": 0.96, "tcg": 0.06}
    other = {"kvm": "tcg", "tcg": "kvm"}
    facts = {"tool": "ramspeed", "metric": "bandwidth", "component": "CPU"}
    return [
        cell(
            (reads or {}).get((system, case), 4000.0 * case * speeds[where]),
            **{"system": system, "system_label": system, "case": f"case {case}"},
            **{"is_native": system == "native", "is_emulated": system == "tcg"},
            **facts,
        )
        for case in (1, 2, 3)
        for system in speeds
        for where in [other.get(system, system) if case in exchanged else system]
    ]


@pytest.mark.parametrize("cases", [{1}, {1, 2, 3}])
def test_an_emulated_system_that_reads_what_kvm_should_is_named_with_it(cases):
    [finding] = findings("exchanged-values", *imitated(*cases))

    assert finding.sentence.startswith("tcg and kvm look exchanged")
    assert len(finding.subjects) == 2 * len(cases)


def test_an_emulated_system_in_its_place_is_silent():
    assert findings("exchanged-values", *imitated()) == []


def test_an_emulated_system_in_another_unit_is_exchanged_with_nobody():
    too_fast = {("tcg", 2): 8000 * 10}

    assert findings("exchanged-values", *imitated(reads=too_fast)) == []


def test_a_kvm_that_is_as_slow_as_emulation_is_not_exchanged_with_it():
    slow = {("kvm", case): 4000 * case * 0.05 for case in (1, 2, 3)}

    assert findings("exchanged-values", *imitated(reads=slow)) == []
