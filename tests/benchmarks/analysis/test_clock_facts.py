"""What a run's facts say of its clock, judged."""

import pytest

from benchmarks.analysis.clock_facts import figures_trust, run_trust, worst

S = 1_000_000
GOOD = {
    "local_us": 100 * S,
    "external_us": 100 * S,
    "interval_bound_us": 1000,
    "offset_start_us": 2000,
    "offset_end_us": 3000,
}
# A guest that lost 3 s in 103.
SLOW = {**GOOD, "external_us": 103 * S, "offset_end_us": -3 * S}


def trust(clock="guest", is_virtual=True, **told):
    facts = {"clock": told} if told else {}
    return run_trust(clock, facts, is_virtual=is_virtual)


@pytest.mark.parametrize(
    ("clock", "is_virtual", "state"),
    [
        ("external", True, "trusted"),
        ("client", True, "trusted"),
        ("guest", True, "unchecked"),
        ("local", True, "unchecked"),
        ("local", False, "trusted"),
    ],
)
def test_without_a_report_the_kind_of_clock_decides(clock, is_virtual, state):
    assert trust(clock, is_virtual).state == state


def test_an_unknown_clock_is_not_judged():
    assert trust("") is None
    assert figures_trust("", {}, is_virtual=True) == ""


def test_a_guest_that_kept_the_servers_time_is_trusted():
    assert trust(**GOOD).state == "trusted"


def test_a_slow_guest_is_corrected_by_the_server():
    found = trust(**SLOW)

    assert (found.state, found.duration_s) == ("corrected", 103)


def test_its_printed_figures_are_suspect_for_nobody_corrected_them():
    assert figures_trust("guest", {"clock": SLOW}, is_virtual=True) == "suspect"


def test_an_offset_alone_leaves_the_figures_as_they_are():
    told = {**GOOD, "offset_start_us": S, "offset_end_us": S}

    assert figures_trust("guest", {"clock": told}, is_virtual=True) == "corrected"


def test_without_the_servers_duration_a_slow_guest_is_suspect():
    told = {name: SLOW[name] for name in ("local_us", "offset_start_us")}

    assert trust(**told, offset_end_us=-3 * S).state == "suspect"


def test_the_bound_of_an_external_duration_counts():
    assert trust("external", **{**GOOD, "interval_bound_us": 2 * S}).state == "suspect"
    assert trust("external", **GOOD).state == "trusted"
    assert trust("client", **SLOW).state == "trusted"


def test_a_machine_without_guests_is_not_called_one():
    assert "The machine's clock" in trust("local", is_virtual=False, **SLOW).sentence


@pytest.mark.parametrize(
    "told",
    [
        {"local_us": "100"},
        {**GOOD, "local_us": 0},
        {**GOOD, "local_us": True},
        {**GOOD, "offset_end_us": 10**400},
        {**GOOD, "offset_end_us": None},
    ],
)
def test_a_report_that_cannot_be_is_none(told):
    assert trust(**told).state == "unchecked"


def test_a_clock_that_gained_more_than_all_the_time_is_suspect():
    told = {**GOOD, "offset_end_us": 200 * S}
    del told["external_us"]

    assert trust(**told).state == "suspect"


def test_the_worst_run_decides():
    assert worst(["trusted", "suspect", "unchecked"]) == "suspect"
    assert worst([]) == ""
