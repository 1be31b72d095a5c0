import pytest

from tests.benchmarks.plausibility.small_studies import cell, findings

NETWORK = {"component": "network", "tool": "iometer", "metric": "throughput"}


def natives(system, *values, **facts):
    return [
        cell(
            value, system=system, is_native=True, case=f"case {row}", **NETWORK, **facts
        )
        for row, value in enumerate(values)
    ]


def disagreements(*cells, **facts):
    return findings("baselines-disagree", *cells, **facts)


def test_the_windows_network_of_the_two_lmu_studies_disagrees():
    esxi = natives("native", 49.51, 61.04)
    xen = natives("native", 52.5, 64.6, study="there", study_label="Xen")

    [finding] = disagreements(*esxi, others=xen)

    assert -5.7 < finding.evidence["off_percent"] < -5.4
    assert len(finding.subjects) == 2


def test_two_native_systems_of_one_study_are_both_flagged():
    [finding] = disagreements(*natives("a", 50, 61, 44), *natives("b", 55, 67.1, 48.4))

    assert len(finding.subjects) == 6


def test_two_native_systems_of_different_sessions_may_differ_by_the_day():
    first = natives("a", 50, 61, 44, declared_session="May")
    second = natives("b", 55, 67.1, 48.4, declared_session="June")

    [finding] = disagreements(*first, *second)

    assert finding.severity == "check"
    assert "different sessions (May and June)" in finding.sentence


@pytest.mark.parametrize("session", ["", "May"])
def test_the_same_or_an_unknown_session_explains_nothing(session):
    first, second = (
        natives(name, *values, declared_session=session)
        for name, values in (("a", (50, 61, 44)), ("b", (55, 67.1, 48.4)))
    )

    [finding] = disagreements(*first, *second)

    assert finding.severity == "implausible"


def test_no_day_doubles_the_speed_of_a_machine():
    first = natives("a", 50, 61, 44, declared_session="May")
    second = natives("b", 99, 123, 88, declared_session="June")

    [finding] = disagreements(*first, *second)

    assert finding.severity == "implausible"


def test_native_systems_within_noise_agree():
    assert disagreements(*natives("a", 50, 61, 44), *natives("b", 50.9, 60.2, 44)) == []


def test_another_host_or_guest_os_is_another_machine():
    first, second = natives("a", 50, 61), natives("b", 55, 67, host="beta")
    windows = natives("c", 70, 80, guest_os="Windows")

    assert disagreements(*first, *second, *windows) == []


def test_many_runs_show_a_small_difference_but_few_noisy_ones_do_not():
    quiet = [50.0, 50.1, 49.9, 50.0, 50.1, 49.9]
    noisy = [50.0, 56.0, 44.0]
    facts = {"case": "one", "is_native": True, **NETWORK}

    def pair(runs):
        shifted = [mean * 1.06 for mean in runs]
        return cell(*runs, system="a", **facts), cell(*shifted, system="b", **facts)

    assert len(disagreements(*pair(quiet))) == 1
    assert disagreements(*pair(noisy)) == []


def guest(native, *values, **facts):
    facts = {"system": "xen", "case": native.case, **NETWORK, **facts}
    return cell(*values, baseline=native.id, **facts)


def faster(*cells):
    return findings("faster-than-native", *cells)


def test_a_guest_a_third_faster_than_its_host_is_flagged():
    native = natives("native", 50.0)[0]

    [finding] = faster(native, guest(native, 66.0))

    assert finding.evidence["efficiencies"] == [1.32]
    assert finding.severity == "implausible"


def test_a_guest_as_fast_as_its_host_is_not_flagged():
    native = natives("native", 50.0)[0]

    assert faster(native, guest(native, 52.0)) == []


def test_many_cases_show_together_what_one_does_not():
    host = natives("native", 50, 60, 70, 80, 90, 100)
    guests = [guest(cell, cell.mean * 1.17) for cell in host]

    assert faster(host[0], guests[0]) == []
    assert len(faster(*host, *guests)[0].subjects) == 6


def test_a_shorter_time_is_faster():
    native = cell(20.9, component="CPU", unit="s", better="lower")
    facts = {"component": "CPU", "unit": "s", "better": "lower", "case": native.case}
    quick = cell(14.0, system="xen", baseline=native.id, **facts)

    assert len(faster(native, quick)) == 1


def test_two_guests_may_compute_more_than_one_but_not_read_a_disk_faster():
    disk = cell(30.46, component="disk")
    memory = cell(3108.04, component="memory")
    together = {"system": "esxi", "scenario": "parallel", "vms": 3, "slot": "sum"}
    read = cell(79.6, component="disk", baseline=disk.id, **together)
    copied = cell(5359.6, component="memory", baseline=memory.id, **together)

    assert [e.subjects[0].id for e in faster(disk, memory, read, copied)] == [read.id]


def slow(*guests, native=48.91):
    host = natives("native", native)[0]
    members = [guest(host, mean, system=f"vm-{i}") for i, mean in enumerate(guests)]
    return findings("baseline-too-slow", host, *members)


def test_a_native_value_that_all_guests_exceed_alike_is_too_slow():
    [finding] = slow(52.54, 52.47, 52.62, 52.55)

    assert len(finding.subjects) == 1
    assert finding.evidence["median_percent"] == 7.432


def test_scattered_or_few_guests_do_not_question_the_baseline():
    assert slow(52.54, 52.47, 52.62) == []
    assert slow(49.9, 61.2, 53.0, 47.1, 58.4) == []
    assert slow(49.1, 49.2, 49.0, 49.15) == []


@pytest.mark.parametrize("metric", ["boot time", "start-up time", "reboot"])
def test_a_container_that_starts_faster_than_its_machine_is_not_flagged(metric):
    facts = {"metric": metric, "unit": "s", "better": "lower", "component": "CPU"}
    native = cell(38.2, 37.9, 38.4, 38.0, 38.1, **facts)
    guest = cell(
        *(0.61, 0.59, 0.60, 0.62, 0.60),
        **{"system": "docker", "is_native": False, "baseline": native.id, **facts},
    )

    for doubting in ("faster-than-native", "unit-slip", "common-clock-factor"):
        assert findings(doubting, native, guest) == []
