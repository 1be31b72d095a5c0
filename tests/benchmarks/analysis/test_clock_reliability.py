import math

import pytest

from benchmarks.analysis.clock_reliability import (
    CLOCKS,
    GuestClock,
    TimedDuration,
    figures_sentence,
    figures_trust,
    is_external,
    run_trust,
    trust_by_kind,
    trust_external,
    trust_guest,
    worst_trust,
)
from benchmarks.reference.data_files import read_rows

KEPT = GuestClock(guest_s=100.0, offset_start_s=0.004, offset_end_s=0.006)
# A guest that counted ticks while four guests were busy: 1.35 s per second.
SLOW = GuestClock(guest_s=100.0, offset_start_s=0.0, offset_end_s=-35.0)
OUTSIDE = TimedDuration(duration_s=135.0, max_error_s=0.01)


@pytest.mark.parametrize(
    ("bound_s", "is_too_uncertain"), [(0.0099, False), (0.01, False), (0.0101, True)]
)
def test_an_error_over_half_the_margin_is_too_uncertain(bound_s, is_too_uncertain):
    interval = TimedDuration(1.0, bound_s)

    assert interval.is_too_uncertain(margin=0.02) is is_too_uncertain
    assert trust_external(interval).trust == (
        "suspect" if is_too_uncertain else "trusted"
    )


def test_an_uncertain_duration_is_explained():
    assert TimedDuration(2.0, 0.067).sentence(margin=0.02) == (
        "Duration by the time server: 2 s ± 67 ms (3.4%). The error is more than "
        "half the equivalence margin of 2%."
    )
    assert TimedDuration(45.0, 0.003).sentence() == (
        "Duration by the time server: 45 s ± 3 ms (0.0067%)."
    )


def test_a_guest_clock_that_kept_time_is_trusted():
    trust = trust_guest(KEPT)

    assert (trust.trust, trust.duration_s) == ("trusted", 100.0)
    assert trust.sentence == (
        "The guest's clock stayed within 6 ms and 20 ppm of the time server."
    )


def test_a_slow_clock_is_corrected_if_the_server_timed_the_run():
    trust = trust_guest(SLOW, OUTSIDE)

    assert (trust.trust, trust.duration_s) == ("corrected", 135.0)
    assert trust.sentence == (
        "The guest's clock was up to 35 s off and ran 26% slow. The duration was "
        "corrected to 135 s, measured by the time server."
    )


def test_only_the_duration_is_corrected():
    fast = GuestClock(guest_s=12.0, offset_start_s=0.0, offset_end_s=11.0)
    trust = trust_guest(fast, TimedDuration(1.0, 0.001))

    assert figures_sentence(trust) == (
        "The guest's clock was up to 11 s off and ran 12 times as fast as real time. "
        "The time server measured the duration, but the values that the tool printed "
        "cannot be corrected."
    )
    assert figures_sentence(trust_guest(SLOW)) == trust_guest(SLOW).sentence


def test_a_slow_clock_is_suspect_without_external_timing():
    trust = trust_guest(SLOW)

    assert (trust.trust, trust.duration_s) == ("suspect", 100.0)
    assert trust.sentence.endswith("and no external clock timed the run.")


def test_an_uncertain_external_duration_does_not_correct():
    trust = trust_guest(SLOW, TimedDuration(135.0, 2.0))

    assert (trust.trust, trust.duration_s) == ("suspect", 100.0)
    assert trust.sentence.endswith("more than half the equivalence margin of 2%.")


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
    assert trust_guest(GuestClock(100.0, start_s, end_s)).trust == state


def test_the_servers_error_bound_may_explain_a_drift():
    clock = GuestClock(10.0, 0.0, 0.008)

    assert trust_guest(clock, TimedDuration(10.0, 0.001)).trust == "corrected"
    assert trust_guest(clock, TimedDuration(10.0, 0.009)).trust == "trusted"


def test_drift_is_relative_to_true_time():
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
def test_trust_depends_on_the_kind_of_clock(clock, is_virtual, state):
    assert trust_by_kind(clock, 5.0, is_virtual=is_virtual).trust == state
    assert is_external(clock, is_virtual=is_virtual) is (state == "trusted")


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
# A guest that lost 3 s in 103 s.
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
    assert trust(clock, is_virtual).trust == state


def test_an_unknown_clock_has_no_trust():
    assert trust("") is None
    assert figures_trust("", {}, is_virtual=True) == ""


def test_a_guest_that_kept_the_servers_time_is_trusted():
    assert trust(**GOOD).trust == "trusted"


def test_a_slow_guest_is_corrected_by_the_server():
    judged = trust(**LATE)

    assert (judged.trust, judged.duration_s) == ("corrected", 103)


def test_printed_figures_of_a_corrected_run_are_suspect():
    assert figures_trust("guest", {"clock": LATE}, is_virtual=True) == "suspect"


def test_an_offset_only_does_not_affect_figures():
    report = {**GOOD, "offset_start_us": S, "offset_end_us": S}

    assert figures_trust("guest", {"clock": report}, is_virtual=True) == "corrected"


def test_without_the_servers_duration_a_slow_guest_is_suspect():
    report = {name: LATE[name] for name in ("local_us", "offset_start_us")}

    assert trust(**report, offset_end_us=-3 * S).trust == "suspect"


def test_the_bound_of_an_external_duration_counts():
    assert trust("external", **{**GOOD, "interval_bound_us": 2 * S}).trust == "suspect"
    assert trust("external", **GOOD).trust == "trusted"
    assert trust("client", **LATE).trust == "trusted"


def test_a_machine_is_not_called_a_guest():
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
def test_an_impossible_report_is_ignored(report):
    assert trust(**report).trust == "unchecked"


def test_a_clock_that_gained_more_than_all_the_time_is_suspect():
    report = {**GOOD, "offset_end_us": 200 * S}
    del report["external_us"]

    assert trust(**report).trust == "suspect"


COARSE_US = 15_625
STAMPED = {"round_trip_us": 0}


def test_a_clock_coarser_than_half_the_margin_is_not_trusted():
    report = {**GOOD, "local_us": S, "external_us": S, "resolution_us": COARSE_US}

    judged = trust(**{**report, "interval_bound_us": 4 * COARSE_US})
    assert judged.trust == "suspect"
    assert "has a resolution of 15.6 ms (1.6% of the run)" in judged.sentence
    assert trust(**report).trust == "corrected"
    assert trust(**{**report, "local_us": 10 * S}).trust == "trusted"


def test_reported_deviation_is_at_least_the_clock_step():
    judged = trust(**{**GOOD, "resolution_us": COARSE_US})

    assert judged.sentence == (
        "The guest's clock stayed within 15.6 ms and 10 ppm of the time server."
    )


@pytest.mark.parametrize("clock", ["guest", "local", "external"])
def test_a_clock_that_stood_still_during_a_request_is_not_trusted(clock):
    report = {**GOOD, "interval_bound_us": 2, "start": STAMPED, "end": STAMPED}

    judged = trust(clock, is_virtual=False, **report)

    assert judged.trust == "suspect"
    assert "the same time before and after a request" in judged.sentence
    assert figures_trust(clock, {"clock": report}, is_virtual=False) == "suspect"


@pytest.mark.parametrize(
    ("local_us", "state"), [(S, "suspect"), (10 * S, "trusted"), (None, "trusted")]
)
def test_a_coarse_clock_is_detected_without_a_time_server(local_us, state):
    facts = {
        "clock": {"unknown": "nobody answered", "resolution_us": COARSE_US},
        "execution": {"local_us": local_us},
    }

    assert run_trust("local", facts, is_virtual=False).trust == state
    assert run_trust("client", facts, is_virtual=False).trust == "trusted"


def test_the_worst_run_decides():
    assert worst_trust(["trusted", "suspect", "unchecked"]) == "suspect"
    assert worst_trust([]) == ""
