import math

import pytest

from benchmarks.analysis.clocks import (
    CLOCKS,
    GuestClock,
    Interval,
    figures_trust,
    is_outside,
    run_trust,
    trust_external,
    trust_guest,
    trust_unmeasured,
    worst,
)
from benchmarks.reference.documents import read_rows

KEPT = GuestClock(guest_s=100.0, offset_start_s=0.004, offset_end_s=0.006)
# A guest that counted ticks while four guests were busy: 1.35 s for its every second.
SLOW = GuestClock(guest_s=100.0, offset_start_s=0.0, offset_end_s=-35.0)
OUTSIDE = Interval(duration_s=135.0, bound_s=0.01)


@pytest.mark.parametrize(
    ("bound_s", "is_too_uncertain"), [(0.0099, False), (0.01, False), (0.0101, True)]
)
def test_a_bound_of_more_than_half_the_margin_is_too_uncertain(
    bound_s, is_too_uncertain
):
    interval = Interval(1.0, bound_s)

    assert interval.is_too_uncertain(margin=0.02) is is_too_uncertain
    assert trust_external(interval).state == (
        "suspect" if is_too_uncertain else "trusted"
    )


def test_it_says_why_a_duration_is_too_uncertain():
    assert Interval(2.0, 0.067).sentence(margin=0.02) == (
        "2 s are known to 67 ms (3.4 %), more than half the equivalence margin of 2 %: "
        "too uncertain."
    )
    assert Interval(45.0, 0.003).sentence() == "45 s are known to 3 ms (0.0067 %)."


def test_a_guest_clock_that_kept_time_is_trusted():
    trust = trust_guest(KEPT)

    assert (trust.state, trust.duration_s) == ("trusted", 100.0)
    assert trust.sentence == (
        "The guest's clock kept within 6 ms and 20 ppm of the time server's."
    )


def test_a_slow_clock_is_corrected_where_the_server_timed_the_run_too():
    trust = trust_guest(SLOW, OUTSIDE)

    assert (trust.state, trust.duration_s) == ("corrected", 135.0)
    assert trust.sentence == (
        "The guest's clock was up to 35 s off and lost 259,259 ppm: "
        "corrected to the time server's 135 s."
    )


def test_a_slow_clock_is_suspect_where_nobody_else_timed_the_run():
    trust = trust_guest(SLOW)

    assert (trust.state, trust.duration_s) == ("suspect", 100.0)
    assert trust.sentence.endswith("and no outside clock timed the run.")


def test_a_bad_outside_interval_corrects_nothing():
    trust = trust_guest(SLOW, Interval(135.0, 2.0))

    assert (trust.state, trust.duration_s) == ("suspect", 100.0)
    assert trust.sentence.endswith("too uncertain.")


@pytest.mark.parametrize(
    ("start_s", "end_s", "state"),
    [
        (0.050, 0.050, "trusted"),
        (0.051, 0.051, "suspect"),
        (-0.051, 0.0, "suspect"),
        (0.0, 0.0499, "trusted"),
        (-0.03, 0.0301, "suspect"),
        (0.03, -0.0301, "suspect"),
    ],
)
def test_the_limits_are_50_ms_and_500_ppm(start_s, end_s, state):
    assert trust_guest(GuestClock(100.0, start_s, end_s)).state == state


def test_the_bound_of_the_server_may_explain_a_drift():
    clock = GuestClock(10.0, 0.0, 0.008)

    assert trust_guest(clock, Interval(10.0, 0.001)).state == "corrected"
    assert trust_guest(clock, Interval(10.0, 0.009)).state == "trusted"


def test_drift_is_told_in_parts_of_true_time():
    assert SLOW.drift_ppm == pytest.approx(-1e6 * 35 / 135)


@pytest.mark.parametrize(
    ("clock", "is_virtual", "state"),
    [
        ("external", True, "trusted"),
        ("client", True, "trusted"),
        ("meter", True, "trusted"),
        ("guest", True, "unchecked"),
        ("local", True, "unchecked"),
        ("local", False, "trusted"),
    ],
)
def test_a_clock_of_which_only_the_kind_is_known(clock, is_virtual, state):
    assert trust_unmeasured(clock, 5.0, is_virtual=is_virtual).state == state
    assert is_outside(clock, is_virtual=is_virtual) is (state == "trusted")


@pytest.mark.parametrize(
    "study", ["lmu-2010-esxi", "lmu-2010-xen", "heidelberg-2007-xen", "uoc-2012-kvm"]
)
def test_every_clock_of_the_reference_studies_is_known(study):
    assert {row.clock for row in read_rows(study)} <= set(CLOCKS)


def test_it_refuses_a_run_without_a_duration():
    with pytest.raises(ValueError, match="duration"):
        trust_guest(GuestClock(math.nan, 0.0, 0.0))


S = 1_000_000
GOOD = {
    "local_us": 100 * S,
    "external_us": 100 * S,
    "interval_bound_us": 1000,
    "offset_start_us": 2000,
    "offset_end_us": 3000,
}
# A guest that lost 3 s in 103.
LATE = {**GOOD, "external_us": 103 * S, "offset_end_us": -3 * S}


def trust(clock="guest", is_virtual=True, **report):
    facts = {"clock": report} if report else {}
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
    judged = trust(**LATE)

    assert (judged.state, judged.duration_s) == ("corrected", 103)


def test_its_printed_figures_are_suspect_for_nobody_corrected_them():
    assert figures_trust("guest", {"clock": LATE}, is_virtual=True) == "suspect"


def test_an_offset_alone_leaves_the_figures_as_they_are():
    report = {**GOOD, "offset_start_us": S, "offset_end_us": S}

    assert figures_trust("guest", {"clock": report}, is_virtual=True) == "corrected"


def test_without_the_servers_duration_a_slow_guest_is_suspect():
    report = {name: LATE[name] for name in ("local_us", "offset_start_us")}

    assert trust(**report, offset_end_us=-3 * S).state == "suspect"


def test_the_bound_of_an_external_duration_counts():
    assert trust("external", **{**GOOD, "interval_bound_us": 2 * S}).state == "suspect"
    assert trust("external", **GOOD).state == "trusted"
    assert trust("client", **LATE).state == "trusted"


def test_a_machine_without_guests_is_not_called_one():
    assert "The machine's clock" in trust("local", is_virtual=False, **LATE).sentence


@pytest.mark.parametrize(
    "report",
    [
        {"local_us": "100"},
        {**GOOD, "local_us": 0},
        {**GOOD, "local_us": True},
        {**GOOD, "offset_end_us": 10**400},
        {**GOOD, "offset_end_us": None},
    ],
)
def test_a_report_that_cannot_be_is_none(report):
    assert trust(**report).state == "unchecked"


def test_a_clock_that_gained_more_than_all_the_time_is_suspect():
    report = {**GOOD, "offset_end_us": 200 * S}
    del report["external_us"]

    assert trust(**report).state == "suspect"


COARSE_US = 15_625
STAMPED = {"round_trip_us": 0}


def test_a_clock_coarser_than_half_the_margin_is_not_trusted():
    report = {**GOOD, "local_us": S, "external_us": S, "resolution_us": COARSE_US}

    judged = trust(**{**report, "interval_bound_us": 4 * COARSE_US})
    assert judged.state == "suspect"
    assert "moves in steps of 15.6 ms (1.6 % of the run)" in judged.sentence
    assert trust(**report).state == "corrected"
    assert trust(**{**report, "local_us": 10 * S}).state == "trusted"


def test_no_clock_is_said_to_have_kept_closer_than_its_steps():
    judged = trust(**{**GOOD, "resolution_us": COARSE_US})

    assert judged.sentence == (
        "The guest's clock kept within 15.6 ms and 10 ppm of the time server's."
    )


@pytest.mark.parametrize("clock", ["guest", "local", "external"])
def test_an_older_agents_clock_that_timed_no_question_is_not_trusted(clock):
    report = {**GOOD, "interval_bound_us": 2, "start": STAMPED, "end": STAMPED}

    judged = trust(clock, is_virtual=False, **report)

    assert judged.state == "suspect"
    assert "read the same before and after a question" in judged.sentence
    assert figures_trust(clock, {"clock": report}, is_virtual=False) == "suspect"


@pytest.mark.parametrize(
    ("local_us", "state"), [(S, "suspect"), (10 * S, "trusted"), (None, "trusted")]
)
def test_a_coarse_clock_is_known_without_a_time_server_too(local_us, state):
    facts = {
        "clock": {"unknown": "nobody answered", "resolution_us": COARSE_US},
        "execution": {"local_us": local_us},
    }

    assert run_trust("local", facts, is_virtual=False).state == state
    assert run_trust("client", facts, is_virtual=False).state == "trusted"


def test_the_worst_run_decides():
    assert worst(["trusted", "suspect", "unchecked"]) == "suspect"
    assert worst([]) == ""
