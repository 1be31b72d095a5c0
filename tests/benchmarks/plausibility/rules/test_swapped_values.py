from dataclasses import replace

import pytest

from tests.benchmarks.plausibility.small_studies import cell, findings, run, sample

NATIVE = [2711.4, 1880.2, 3544.9, 5121.7, 4410.3, 2933.8]
SPEEDS = {"native": 1.0, "xen": 0.62, "kvm": 0.93, "docker": 0.99}
UNEVEN = [1.004, 0.997, 1.006, 0.995, 1.002, 0.998]


def table(exchanged=(), *, pair=("xen", "kvm"), values=NATIVE, **facts):
    """Return four systems; in the ``exchanged`` cases, a pair has each
    other's values.
    """
    partner = {**dict(zip(pair, pair[::-1], strict=True))}
    return [
        cell(
            round(value * SPEEDS[where] * UNEVEN[row - index], 2),
            **{"system": system, "system_label": system, "case": f"case {row}"},
            **{"is_native": system == "native", **facts},
        )
        for row, value in enumerate(values)
        for index, system in enumerate(SPEEDS)
        for where in [partner.get(system, system) if row in exchanged else system]
    ]


@pytest.mark.parametrize("exchanged", [{0}, {1, 4}])
def test_two_systems_swapped_in_some_cases_are_named(exchanged):
    [finding] = findings("exchanged-values", *table(exchanged))

    assert "xen and kvm look swapped" in finding.sentence
    assert len(finding.subjects) == 2 * len(exchanged)


def test_two_nearly_equal_systems_cannot_be_distinguished():
    assert findings("exchanged-values", *table({0}, pair=("kvm", "docker"))) == []


def test_a_clean_table_is_not_flagged():
    for rule in ("exchanged-values", "rate-as-time"):
        assert findings(rule, *table()) == []


def times(*wrong):
    """Return times of 60 to 200 s, one of them a rate."""
    facts = {"metric": "time", "unit": "s", "better": "lower", "component": "CPU"}
    made = table(values=[value / 30 for value in NATIVE], **facts)
    return [
        cell(
            1 / member.mean,
            system=member.system,
            case=member.case,
            is_native=False,
            **facts,
        )
        if (member.system, member.case) in wrong
        else member
        for member in made
    ]


def test_a_rate_used_as_a_time_is_named():
    members = times(("kvm", "case 2"))

    [finding] = findings("rate-as-time", *members)

    assert finding.evidence["expected"] == [pytest.approx(112, rel=0.1)]


def test_a_frame_rate_is_found_with_two_close_systems():
    """11.1 ms per frame are 90 frames per second: no factor of 40, and no
    third system.
    """
    facts = {"metric": "time", "unit": "ms", "better": "lower", "component": "CPU"}
    read = {case: [10.0 + case, 10.2 + 1.03 * case] for case in range(1, 6)}
    read[1][1] = round(1000 / read[1][1], 1)
    members = [
        cell(value, system=system, case=f"model {case}", is_native=False, **facts)
        for case, values in read.items()
        for system, value in zip(("host", "guest"), values, strict=True)
    ]

    [finding] = findings("rate-as-time", *members)

    assert len(finding.subjects) == 2
    assert "In one of the two" in finding.sentence
    assert finding.evidence["expected"] == [pytest.approx(88, rel=0.05)]


def test_the_digits_of_a_reciprocal_identify_one_of_two_systems():
    """30.11 and 29.93 ms: their reciprocals are close, with twelve digits."""
    facts = {"metric": "time", "unit": "ms", "better": "lower", "component": "CPU"}
    read = {"one": [30.11, 29.93], "two": [8.14, 8.32], "three": [121.7, 119.05]}
    read["one"][1] = 1000 / 29.93
    host, guest, *_ = members = [
        cell(value, system=system, case=case, is_native=False, **facts)
        for case, values in read.items()
        for system, value in zip(("host", "guest"), values, strict=True)
    ]

    [finding] = findings("rate-as-time", *members)

    assert [subject.id for subject in finding.subjects] == [guest.id]
    assert finding.evidence["expected"] == [pytest.approx(host.mean, rel=0.01)]


def test_a_reading_with_more_digits_near_its_expectation_is_not_flagged():
    facts = {"metric": "time", "unit": "ms", "better": "lower", "component": "CPU"}
    members = [
        cell(value, system=system, case=case, is_native=False, **facts)
        for case, first in {"one": 31.62, "two": 8.14, "three": 121.7}.items()
        for system, value in {"host": first, "guest": 1000 / (1000 / first)}.items()
    ]
    members[1] = replace(members[1], mean=1000 / 31.6, run_means=(1000 / 31.6,))

    assert findings("rate-as-time", *members) == []


def test_a_whole_system_of_rates_is_one_finding():
    wrong = [("kvm", f"case {row}") for row in range(len(NATIVE))]

    [finding] = findings("rate-as-time", *times(*wrong))

    assert len(finding.subjects) == len(NATIVE)


def test_values_of_all_magnitudes_raise_no_error():
    wild = [5e-324, 1e308, 1.0, 1e-300, 1e300, 2.0]

    for rule in ("exchanged-values", "rate-as-time"):
        assert isinstance(findings(rule, *table({0}, values=wild)), list)


def test_a_reciprocal_is_not_also_a_unit_error():
    members = times(("kvm", "case 2"))

    assert findings("unit-slip", *members) == []


def emulated(*exchanged, reads=None):
    """Return native, KVM and QEMU TCG in three CPU cases, the last two
    swapped in some.
    """
    speeds = {"native": 1.0, "kvm": 0.96, "tcg": 0.06}
    partner = {"kvm": "tcg", "tcg": "kvm"}
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
        for where in [partner.get(system, system) if case in exchanged else system]
    ]


@pytest.mark.parametrize("cases", [{1}, {1, 2, 3}])
def test_an_emulated_system_with_the_value_of_kvm_is_named_with_kvm(cases):
    [finding] = findings("exchanged-values", *emulated(*cases))

    assert finding.sentence.startswith("tcg and kvm look swapped")
    assert len(finding.subjects) == 2 * len(cases)


def test_an_emulated_system_with_its_own_values_is_not_flagged():
    assert findings("exchanged-values", *emulated()) == []


def test_an_emulated_system_in_another_unit_is_not_swapped():
    too_fast = {("tcg", 2): 8000 * 10}

    assert findings("exchanged-values", *emulated(reads=too_fast)) == []


def test_a_kvm_as_slow_as_emulation_is_not_swapped():
    slow = {("kvm", case): 4000 * case * 0.05 for case in (1, 2, 3)}

    assert findings("exchanged-values", *emulated(reads=slow)) == []


def of_two_machines(*exchanged):
    """Return two native machines of one host, one twice as fast, and a guest
    of each.
    """
    facts = {"tool": "linpack", "metric": "time", "component": "CPU"}
    facts |= {"unit": "s", "better": "lower"}
    made = []
    for case, slow, fast in (("n=2000", 44.5, 20.9), ("n=4000", 352.1, 171.3)):
        reads = {"Windows": slow * 1.03, "Ubuntu": fast * 1.02}
        if case in exchanged:
            reads = dict(zip(reads, reversed(reads.values()), strict=True))
        for system, value in (("Windows", slow), ("Ubuntu", fast)):
            native = cell(
                value, case=case, system=f"native {system}", is_native=True, **facts
            )
            guest = {"system": f"xen {system}", "system_label": f"xen {system}"}
            guest |= {"baseline": native.id, "is_native": False}
            made += [native, cell(reads[system], case=case, **guest, **facts)]
    return made


@pytest.mark.parametrize("exchanged", [{"n=2000"}, {"n=2000", "n=4000"}])
def test_guests_near_each_others_native_machine_are_swapped(exchanged):
    [finding] = findings("exchanged-values", *of_two_machines(*exchanged))

    assert finding.sentence.startswith("xen Windows and xen Ubuntu look swapped")
    assert len(finding.subjects) == 2 * len(exchanged)


def test_guests_near_their_own_native_machines_are_not_swapped():
    assert findings("exchanged-values", *of_two_machines()) == []


def three_tests(systems, exchanged=(), unlike=()):
    """Return three tests of two cases each on systems of these speeds.

    One test has the values of ``exchanged`` swapped, and the speed ``unlike``.
    """
    made = []
    for test, base in (("a", 100.0), ("b", 7.0), ("c", 1900.0)):
        for case in (1, 2):
            for system in systems:
                partner = dict(zip(exchanged, reversed(exchanged), strict=True))
                name = partner.get(system, system) if test == "c" else system
                speed = dict(unlike).get(system, systems[name])
                speed = speed if test == "c" else systems[name]
                made.append(
                    cell(
                        base * case * speed,
                        **{"tool": test, "case": f"{test}{case}", "system": system},
                        **{"system_label": system, "is_native": system == "native"},
                    )
                )
    return made


@pytest.mark.parametrize("others", [{}, {"docker": 0.98}])
def test_a_whole_swapped_test_is_found_by_the_other_tests(others):
    systems = {"native": 1.0, "kvm": 0.7, **others}

    [finding] = findings("exchanged-values", *three_tests(systems, ("native", "kvm")))

    assert "native and kvm look swapped in c1 and 1 more benchmark" in finding.sentence
    assert "in other benchmarks kvm is slower" in finding.sentence


def test_a_test_that_only_one_system_does_faster_is_not_swapped():
    systems = {"native": 1.0, "kvm": 0.7, "docker": 0.98}
    cached = three_tests(systems, unlike={"kvm": 1.4})

    assert findings("exchanged-values", *three_tests(systems)) == []
    assert findings("exchanged-values", *cached) == []


def two_systems(*exchanged, cases=6, on="guest"):
    """Return a machine and a guest at 0.9 of its speed; two cases of one are
    swapped.
    """
    read = {
        system: [
            round(value * part, 2) for value, part in zip(row, UNEVEN, strict=True)
        ]
        for system, row in (
            ("machine", NATIVE),
            ("guest", [0.9 * value for value in NATIVE]),
        )
    }
    if exchanged:
        first, second = exchanged
        row = read[on]
        row[first], row[second] = row[second], row[first]
    return [
        cell(value, system=system, case=f"case {index}", is_native=system == "machine")
        for system, row in read.items()
        for index, value in enumerate(row[:cases])
    ]


@pytest.mark.parametrize("on", ["guest", "machine"])
def test_two_cases_swapped_compared_with_one_system_are_named_on_both(on):
    members = two_systems(1, 3, on=on)

    flagged = findings("exchanged-values", *members)

    [named] = [
        finding for finding in flagged if "case 1 and case 3" in finding.sentence
    ]
    assert len(named.subjects) == 4


def test_two_cases_of_two_systems_with_their_own_values_are_not_flagged():
    assert findings("exchanged-values", *two_systems()) == []


def test_four_cases_do_not_show_which_two_were_swapped():
    assert findings("exchanged-values", *two_systems(1, 3, cases=4)) == []


def netperf(system, rate, demand, case="send", to="node6"):
    """Return a run whose consistent numbers imply two CPUs at 50 %."""
    cells = [
        cell(rate, system=system, case=f"rate {case}", tool="netperf"),
        cell(demand, system=system, case=f"demand {case}", tool="netperf"),
    ]
    read = [
        sample("throughput", rate, "MiB/s", cell=cells[0].id),
        sample("CPU utilization remote", 50.0, "%"),
        sample("service demand remote", demand, "us/KB", cell=cells[1].id),
    ]
    parameters = {"to": to}
    samples = tuple(replace(each, parameters=parameters) for each in read)
    return [*cells, run(system=system, host="alpha", samples=samples)]


def demand_of(rate):
    """Two CPUs at 50 % use a second of CPU time per second."""
    return 1e6 / (rate * 1024)


def test_runs_that_contradict_themselves_until_a_swap_are_named():
    members = [
        *netperf("xen", 112.0, demand_of(41.3)),
        *netperf("kvm", 41.3, demand_of(112.0)),
    ]

    [finding] = findings("exchanged-in-runs", *members)

    assert "look swapped between xen and kvm" in finding.sentence
    assert "service demand remote or throughput" in finding.sentence
    assert len(finding.subjects) == 4


def test_runs_that_contradict_themselves_after_any_swap_are_not_swapped():
    members = [*netperf("xen", 112.0, 6.5), *netperf("kvm", 41.3, 17.1)]

    assert findings("exchanged-in-runs", *members) == []


def of_another_study(read, **facts):
    """Return a native machine of this host in another study, in three cases."""
    return [
        cell(value, **{"study": "there", "system": "its", "is_native": True}, **facts)
        for value in read
    ]


def test_a_guest_swapped_with_native_is_found_by_another_study():
    """Windows and Linux run natively at 100 and 160, also in the other study."""
    windows = {"guest_os": "Windows", "case": "write"}
    linux = {"guest_os": "Linux", "case": "write"}
    native = cell(158.0, system="windows", is_native=True, **windows)
    linux_native = cell(160.0, system="linux", is_native=True, **linux)
    guest = cell(100.0, system="kvm", baseline=linux_native.id, **linux)
    own = cell(99.0, system="xen", baseline=native.id, **windows)
    members = [native, linux_native, guest, own]
    others = [
        *of_another_study([100.0], **windows),
        *of_another_study([160.0], **linux),
    ]

    [finding] = findings("exchanged-values", *members, others=others)

    assert {subject.id for subject in finding.subjects} == {native.id, guest.id}
    assert finding.quoted_studies == ("there",)
    assert findings("exchanged-values", *members) == []
