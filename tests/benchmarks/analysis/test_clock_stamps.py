import pytest

from benchmarks.analysis.clock_stamps import (
    ServerClock,
    clamped_datetime,
    enclosing_span,
    overlapping_groups,
    parse_clock_stamp,
    server_clock,
    stamped_window,
)
from tests.power_logs import BEGIN_S, BOOTED_S, clock_of, stamp


def way(*stamps, axis="monotonic"):
    return ServerClock.from_stamps(axis, [parse_clock_stamp(each) for each in stamps])


def local(second):
    return round((BOOTED_S + second) * 1e6)


def since(seconds):
    return [pytest.approx(each - BEGIN_S, abs=1e-5) for each in seconds]


def test_an_offset_of_an_hour_is_removed():
    seconds = way(stamp(0), axis="wall").to_server_seconds(
        [stamp(5)["local_wall_us"], stamp(-5)["local_wall_us"]]
    )

    assert since(seconds) == [5, -5]


def test_a_drift_is_removed_between_two_stamps():
    # The local clock gains a tenth: 110 s are 100 s of the server.
    seconds = way(stamp(0), stamp(100, local_second=110)).to_server_seconds(
        [local(55), local(110)]
    )

    assert since(seconds) == [50, 100]


def test_a_clock_is_assumed_to_run_right_beyond_its_stamps():
    log = way(stamp(0), stamp(100, local_second=110))

    assert since(log.to_server_seconds([local(-10), local(120)])) == [-10, 110]


def test_setting_the_servers_wall_clock_does_not_matter():
    late = stamp(100)
    late["server_wall_us"] += 3_600_000_000

    assert since(way(stamp(0), late).to_server_seconds([local(50), local(100)])) == [
        50,
        100,
    ]


def test_after_a_server_reboot_the_wall_clock_is_used():
    booted = stamp(100, clock="another")
    booted["server_monotonic_us"] = 5

    assert since(way(stamp(0), booted).to_server_seconds([local(50), local(100)])) == [
        50,
        100,
    ]


def test_a_stamp_of_the_same_server_uses_its_monotonic_clock():
    begin = parse_clock_stamp({**stamp(40), "server_wall_us": 17})

    assert way(stamp(0), stamp(90)).server_seconds_of(begin) == pytest.approx(
        BEGIN_S + 40
    )


def test_a_stamp_of_another_server_uses_the_wall_clock():
    begin = parse_clock_stamp(stamp(40, clock="another"))

    assert way(stamp(0)).server_seconds_of(begin) == pytest.approx(BEGIN_S + 40)


def test_the_error_is_half_of_the_longest_round_trip():
    slow = {**stamp(9), "round_trip_us": 1_000}

    assert way(stamp(0), slow).error_s == 0.0005


def test_without_stamps_there_is_no_server_clock():
    assert server_clock("monotonic", [[], [{"clock": "x"}], [None]]) is None


@pytest.mark.parametrize(
    "fields", [None, [], "x", {}, {"clock": 1}, {**stamp(0), "server_wall_us": "1"}]
)
def test_an_invalid_stamp_is_none(fields):
    assert parse_clock_stamp(fields) is None


def test_stamps_override_the_guests_window():
    window = stamped_window(clock_of(100, 130))

    assert (window.begin_s - BEGIN_S, window.duration_s) == (100, 30)
    assert window.is_external


@pytest.mark.parametrize(
    "facts",
    [
        {},
        {"clock": "guest"},
        {"clock": {"unknown": "nobody answered"}},
        {"clock": {"start": stamp(0)}},
        {"clock": {"start": stamp(0), "external_us": -1}},
        {"clock": {"start": stamp(0), "external_us": "30"}},
    ],
)
def test_without_stamps_there_is_no_window(facts):
    assert stamped_window(facts) is None


def test_a_moment_is_in_utc():
    assert clamped_datetime(0).isoformat() == "1970-01-01T00:00:00+00:00"


def test_overlapping_spans_are_grouped_transitively():
    spans = [(0, 10), (20, 30), (9, 21), (40, 50)]

    assert overlapping_groups(spans) == [[0, 1, 2], [3]]


def test_spans_that_only_touch_are_separate():
    assert overlapping_groups([(0, 10), (10, 20), (19.95, 30)]) == [[0], [1], [2]]


def test_nested_spans_are_grouped():
    assert overlapping_groups([(0, 100), (1, 2), (50, 60), (100, 110)]) == [
        [0, 1, 2],
        [3],
    ]


def test_the_order_does_not_matter():
    spans = [(5, 9), (0, 6), (20, 25), (8, 12)]

    together = {frozenset(spans[i] for i in each) for each in overlapping_groups(spans)}

    again = spans[::-1]
    assert together == {
        frozenset(again[i] for i in each) for each in overlapping_groups(again)
    }


def test_no_spans_have_no_groups():
    assert overlapping_groups([]) == []


def test_the_enclosing_span_covers_all_spans():
    assert enclosing_span([(3, 4), (1, 2), (0, 9)]) == (0, 9)
