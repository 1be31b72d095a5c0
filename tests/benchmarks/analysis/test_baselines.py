from dataclasses import FrozenInstanceError, replace
from datetime import UTC, datetime, timedelta
from itertools import permutations

import pytest

from benchmarks.analysis.baselines import (
    PATH_SCENARIOS,
    CellConditions,
    choose_baseline,
)
from benchmarks.analysis.machine_comparability import specimen_from_facts

MAY = datetime(2010, 5, 1, tzinfo=UTC)
GIB = 2**30

NATIVE = CellConditions(
    id=1,
    study_id=10,
    host="alpha",
    guest_os="Ubuntu Server 9.04",
    guest_bits=32,
    case_id=100,
    scenario="single",
    is_native=True,
    options={},
    vcpus=None,
    memory_bytes=None,
    mean=100.0,
    n=1,
    slot="1",
    vms=1,
    case_label="LINPACK time n=4000",
    study="lmu-2010-xen",
)
GUEST = replace(
    NATIVE,
    id=2,
    is_native=False,
    mean=90.0,
    vcpus=1,
    memory_bytes=GIB,
    options={"hw_virt": "on", "swap": "off"},
)


def choose(cell, *candidates, equivalence_margin_percent=2.0, max_age_days=30):
    return choose_baseline(
        cell,
        candidates,
        equivalence_margin_percent=equivalence_margin_percent,
        max_age_days=max_age_days,
    )


def test_it_finds_the_native_baseline():
    choice = choose(GUEST, NATIVE, GUEST)

    assert (choice.state, choice.baseline_id, choice.rejected) == ("paired", 1, ())
    assert choice.reason == "Native run of the same host, OS and benchmark."


def test_a_native_cell_needs_no_baseline():
    choice = choose(NATIVE, replace(NATIVE, id=3))

    assert (choice.state, choice.baseline_id) == ("native", None)


@pytest.mark.parametrize(
    "difference",
    [
        {"host": "beta"},
        {"case_id": 101},
        {"guest_bits": 64},
        {"is_native": False},
        {"scenario": "parallel"},
        {"scenario": "under CPU load"},
        {"load": "LINPACK in 2 further VMs"},
    ],
)
def test_other_cells_are_not_baselines(difference):
    choice = choose(GUEST, replace(NATIVE, **difference))

    assert (choice.state, choice.baseline_id) == ("missing", None)


def test_the_spelling_of_the_operating_system_does_not_matter():
    assert (
        choose(GUEST, replace(NATIVE, guest_os="UBUNTU server 9.04")).baseline_id == 1
    )


def test_a_missing_baseline_names_the_search():
    assert choose(GUEST).reason == (
        "No native 32-bit run of LINPACK time n=4000 on host alpha."
    )


@pytest.mark.parametrize(
    ("guest", "host", "said"),
    [
        (None, 32, "guest not reported, host 32."),
        (32, None, "guest 32, host not reported."),
    ],
)
def test_unreported_bits_match_and_are_mentioned(guest, host, said):
    choice = choose(replace(GUEST, guest_bits=guest), replace(NATIVE, guest_bits=host))

    assert (choice.state, choice.baseline_id) == ("paired", 1)
    assert choice.reason == (
        f"Only one side reports whether it is 32-bit or 64-bit: {said}"
    )


def test_equal_bits_are_preferred_to_unreported_ones():
    unstated = replace(NATIVE, id=3, guest_bits=None, mean=2 * NATIVE.mean)

    choice = choose(GUEST, unstated, NATIVE)

    assert (choice.state, choice.baseline_id, choice.rejected) == ("paired", 1, ())


def test_unreported_bits_are_ambiguous_if_two_candidates_disagree():
    unknown = replace(GUEST, guest_bits=None)
    wide = replace(NATIVE, id=3, guest_bits=64, mean=2 * NATIVE.mean)

    assert choose(unknown, NATIVE, wide).state == "ambiguous"
    assert choose(unknown).reason == (
        "No native run of LINPACK time n=4000 on host alpha."
    )


@pytest.mark.parametrize(
    ("guest_os", "said"),
    [
        ("Debian 12", "guest Debian 12, host Ubuntu Server 9.04."),
        ("", "guest not reported, host Ubuntu Server 9.04."),
    ],
)
def test_a_different_os_matches_and_is_mentioned(guest_os, said):
    choice = choose(replace(GUEST, guest_os=guest_os), NATIVE)

    assert (choice.state, choice.baseline_id) == ("paired", 1)
    assert choice.reason == f"Different operating systems: {said}"


def test_the_same_os_is_preferred_even_in_another_study():
    debian = replace(GUEST, guest_os="Debian 12")
    elsewhere = replace(NATIVE, id=3, study_id=11, guest_os="debian 12", mean=70.0)

    choice = choose(debian, NATIVE, elsewhere)

    assert (choice.state, choice.baseline_id) == ("other_session", 3)
    assert "operating system" not in choice.reason


def test_the_most_similar_os_name_is_preferred():
    newer = replace(GUEST, guest_os="Ubuntu Server 10.04")
    windows = replace(NATIVE, id=3, guest_os="Windows Server 2003", mean=50.0)

    assert choose(newer, windows, NATIVE).baseline_id == 1
    assert choose(replace(GUEST, guest_os="BSD"), windows, NATIVE).state == "ambiguous"


def test_a_different_os_is_mentioned_with_staleness():
    guest = replace(GUEST, guest_os="Debian 12", first_at=MAY, last_at=MAY)
    then = MAY - timedelta(days=45)

    choice = choose(guest, replace(NATIVE, first_at=then, last_at=then))

    assert choice.state == "stale"
    assert (
        "host Ubuntu Server 9.04. The baseline was measured 45 days before"
        in choice.reason
    )


@pytest.mark.parametrize(
    "scenario", ["single", "parallel", "under CPU load", "disk and network combined"]
)
def test_corunning_guests_are_compared_with_single_native_runs(scenario):
    together = {"scenario": scenario, "vms": 3, "slot": "2", "load": "LINPACK"}

    assert choose(replace(GUEST, **together), NATIVE).baseline_id == 1


@pytest.mark.parametrize("scenario", sorted(PATH_SCENARIOS))
def test_a_path_is_compared_with_the_same_path_only(scenario):
    path = replace(GUEST, scenario=scenario, slot="")
    native_path = replace(NATIVE, id=7, scenario=scenario, slot="")

    assert choose(path, NATIVE).state == "missing"
    assert choose(path, NATIVE).reason.endswith(f"(scenario: {scenario}).")
    assert choose(path, NATIVE, native_path).baseline_id == 7


def test_it_names_the_load_of_a_path():
    path = replace(GUEST, scenario="inter-vm", load="LINPACK")

    assert choose(path).reason.endswith(
        "host alpha (scenario: inter-vm under LINPACK)."
    )


def test_the_same_study_is_preferred():
    elsewhere = replace(NATIVE, id=3, study_id=11, mean=500.0)

    choice = choose(GUEST, elsewhere, NATIVE)

    assert (choice.state, choice.baseline_id, choice.rejected) == ("paired", 1, ())


def test_a_baseline_from_another_study_is_mentioned():
    elsewhere = replace(NATIVE, study_id=11, study="lmu-2010-esxi")

    choice = choose(GUEST, elsewhere)

    assert (choice.state, choice.baseline_id) == ("other_session", 1)
    assert choice.reason == (
        'This study has no native run; the baseline is from the study "lmu-2010-esxi".'
    )


def test_a_baseline_can_be_from_an_unnamed_study():
    choice = choose(GUEST, replace(NATIVE, study_id=11, study=""))

    assert choice.reason.endswith("the baseline is from another study.")


def test_sessions_differ_only_if_both_are_known():
    native = replace(NATIVE, sessions=frozenset({"monday"}))

    assert choose(GUEST, native).state == "paired"
    assert (
        choose(replace(GUEST, sessions=frozenset({"monday"})), native).state == "paired"
    )
    other = choose(replace(GUEST, sessions=frozenset({"tuesday"})), native)
    assert (other.state, other.baseline_id) == ("other_session", 1)
    assert other.reason == "The baseline is from another session."


@pytest.mark.parametrize(
    ("days", "state"),
    [(0, "paired"), (30, "paired"), (30.01, "stale"), (-31, "stale"), (-2, "paired")],
)
def test_a_baseline_from_another_time_is_stale(days, state):
    then = MAY - timedelta(days=days)
    guest = replace(GUEST, first_at=MAY, last_at=MAY)

    choice = choose(guest, replace(NATIVE, first_at=then, last_at=then))

    assert (choice.state, choice.baseline_id) == (state, 1)


def test_runs_that_overlap_in_time_are_not_stale():
    guest = replace(GUEST, first_at=MAY, last_at=MAY + timedelta(days=90))
    native = replace(NATIVE, first_at=MAY + timedelta(days=40), last_at=guest.last_at)

    assert choose(guest, native).state == "paired"


def test_an_unknown_date_is_not_stale():
    assert choose(GUEST, replace(NATIVE, first_at=MAY, last_at=MAY)).state == "paired"


def test_the_age_of_a_baseline_replaces_its_other_session():
    guest = replace(GUEST, sessions=frozenset({"b"}), first_at=MAY, last_at=MAY)
    then = MAY - timedelta(days=45)
    native = replace(NATIVE, sessions=frozenset({"a"}), first_at=then, last_at=then)

    choice = choose(guest, native)

    assert choice.state == "stale"
    assert choice.reason == (
        "The baseline was measured 45 days before this system (limit: 30)."
    )


def test_several_that_disagree_are_ambiguous():
    choice = choose(GUEST, NATIVE, replace(NATIVE, id=3, mean=103.0))

    assert (choice.state, choice.baseline_id, choice.rejected) == (
        "ambiguous",
        None,
        (1, 3),
    )
    assert choice.reason == (
        "2 native results fit this result but differ by more than 2%, so none is the "
        "baseline: 100, 103."
    )


def test_the_latest_of_several_that_agree_is_chosen():
    old = replace(NATIVE, first_at=MAY, last_at=MAY)
    later = MAY + timedelta(days=1)
    new = replace(NATIVE, id=3, mean=102.0, first_at=later, last_at=later)

    assert choose(GUEST, new, old).baseline_id == 3
    assert choose(GUEST, new, old).rejected == (1,)
    assert choose(GUEST, new, old, equivalence_margin_percent=1.9).state == "ambiguous"


def test_the_choice_does_not_depend_on_the_order_of_candidates():
    cells = [replace(NATIVE, id=number, mean=100 + number / 10) for number in (3, 4, 5)]

    choices = {choose(GUEST, *order).baseline_id for order in permutations(cells)}

    assert choices == {5}


@pytest.mark.parametrize(
    "likeness",
    [
        {"vcpus": 1, "memory_bytes": GIB, "options": GUEST.options},
        {"vcpus": 1, "memory_bytes": GIB, "options": {"swap": "off"}},
        {"options": {"swap": "off"}},
    ],
)
def test_the_most_similar_candidate_is_preferred(likeness):
    alike = replace(NATIVE, id=3, mean=50.0, **likeness)
    unlike = replace(NATIVE, options={"swap": "on"}, vcpus=2)

    choice = choose(GUEST, unlike, alike)

    assert (choice.state, choice.baseline_id, choice.rejected) == ("paired", 3, (1,))


def test_a_single_candidate_is_chosen_despite_differences():
    assert (
        choose(GUEST, replace(NATIVE, options={"swap": "on"}, vcpus=2)).baseline_id == 1
    )


def test_readings_of_zero_agree_only_with_each_other():
    zero = replace(NATIVE, mean=0.0)

    assert choose(GUEST, zero, replace(zero, id=3)).baseline_id == 3
    assert choose(GUEST, zero, replace(NATIVE, id=3)).state == "ambiguous"


def test_conditions_and_choices_are_immutable():
    with pytest.raises(FrozenInstanceError):
        NATIVE.mean = 1.0
    with pytest.raises(FrozenInstanceError):
        choose(GUEST).state = "paired"


def on_machine(cell, name, **facts):
    stated = {
        "cpu": "Intel(R) Xeon(R) Platinum 8259CL CPU @ 2.50GHz",
        "provider": "AWS",
        "threads": 96,
        "product_family": name,
        **facts,
    }
    specimen = specimen_from_facts(cell.host, "lab", stated)
    return replace(cell, specimen=specimen, component="CPU")


NATIVE_MODEL = on_machine(replace(NATIVE, host="metal"), "m5")
GUEST_MODEL = on_machine(GUEST, "m5")


def test_without_native_runs_another_machine_of_the_model_is_the_baseline():
    choice = choose(GUEST_MODEL, NATIVE_MODEL)

    assert (choice.state, choice.baseline_id) == ("same_model", NATIVE.id)
    assert "no machine ran both" in choice.reason


def test_machines_of_the_same_product_family_are_paired():
    other = on_machine(replace(NATIVE, id=3, host="r5", mean=99.0), "r5")
    for candidates in permutations([NATIVE_MODEL, other]):
        choice = choose(GUEST_MODEL, *candidates)
        assert (choice.state, choice.baseline_id) == ("same_model", NATIVE.id)
        assert choice.rejected == (3,)


def test_a_native_run_of_the_same_machine_precedes_others():
    own = on_machine(replace(NATIVE, id=3), "m5")

    assert choose(GUEST_MODEL, NATIVE_MODEL, own).baseline_id == 3


def test_other_machines_of_another_study_are_not_used():
    assert choose(GUEST_MODEL, replace(NATIVE_MODEL, study_id=11)).state == "missing"


def test_one_thread_on_another_machine_with_the_cpu_has_a_ratio():
    guest = on_machine(GUEST, "m5", threads=8)
    sides = [replace(cell, parameters={"threads": 1}) for cell in (guest, NATIVE_MODEL)]

    assert choose(*sides).state == "same_cpu"
    fast = choose(replace(sides[0], mean=130.0), sides[1])
    assert fast.state == "missing"
    assert "another CPU than it states" in fast.reason
    # A longer time is slower.
    slow = [replace(cell, is_higher_better=False) for cell in sides]
    assert choose(replace(slow[0], mean=130.0), slow[1]).state == "same_cpu"


def test_refused_machines_are_named_with_their_reason():
    guest = on_machine(GUEST, "m5", threads=8)
    choice = choose(guest, NATIVE_MODEL)

    assert (choice.state, choice.baseline_id) == ("missing", None)
    assert "CPUs: 96 and 8" in choice.reason
    other_cpu = on_machine(replace(NATIVE, host="metal"), "m5", cpu="Xeon 8175M")
    assert "Other CPU model" in choose(GUEST_MODEL, other_cpu).reason


def test_another_version_of_the_tool_is_refused():
    guest = replace(GUEST_MODEL, tool_version="0.20.01")
    choice = choose(guest, replace(NATIVE_MODEL, tool_version="0.17.08"))

    assert choice.state == "missing"
    assert "0.17.08 natively" in choice.reason


def test_machines_without_a_common_cpu_or_family_are_not_mentioned():
    other = on_machine(replace(NATIVE, host="metal"), "c6", cpu="EPYC 7R13")

    assert "CPU model" not in choose(GUEST_MODEL, other).reason
