import pytest

from benchmarks.analysis.power_trace import (
    ServerTime,
    clusters,
    external_window,
    hull,
    moment,
    stamp_of,
    way_of,
)
from tests.power_logs import BEGIN_S, BOOTED_S, clock_of, stamp


def way(*stamps, axis="monotonic"):
    return ServerTime.of(axis, [stamp_of(each) for each in stamps])


def local(second):
    return round((BOOTED_S + second) * 1e6)


def since(seconds):
    return [pytest.approx(each - BEGIN_S, abs=1e-5) for each in seconds]


def test_an_offset_of_an_hour_falls_out():
    seconds = way(stamp(0), axis="wall").seconds(
        [stamp(5)["local_wall_us"], stamp(-5)["local_wall_us"]]
    )

    assert since(seconds) == [5, -5]


def test_a_drift_falls_out_between_two_stamps():
    # Ours gains a tenth: 110 s of it are 100 s of the server.
    seconds = way(stamp(0), stamp(100, local_second=110)).seconds(
        [local(55), local(110)]
    )

    assert since(seconds) == [50, 100]


def test_beyond_its_stamps_a_clock_is_taken_to_run_right():
    log = way(stamp(0), stamp(100, local_second=110))

    assert since(log.seconds([local(-10), local(120)])) == [-10, 110]


def test_a_server_whose_wall_clock_was_set_keeps_its_own_time():
    late = stamp(100)
    late["server_wall_us"] += 3_600_000_000

    assert since(way(stamp(0), late).seconds([local(50), local(100)])) == [50, 100]


def test_a_server_that_booted_meanwhile_is_believed_by_its_wall_clock():
    booted = stamp(100, clock="another")
    booted["server_monotonic_us"] = 5

    assert since(way(stamp(0), booted).seconds([local(50), local(100)])) == [50, 100]


def test_a_run_stamped_at_the_same_server_is_placed_by_its_monotonic_clock():
    begin = stamp_of({**stamp(40), "server_wall_us": 17})

    assert way(stamp(0), stamp(90)).start_of(begin) == pytest.approx(BEGIN_S + 40)


def test_a_run_stamped_at_another_server_is_placed_by_the_wall_clocks():
    begin = stamp_of(stamp(40, clock="another"))

    assert way(stamp(0)).start_of(begin) == pytest.approx(BEGIN_S + 40)


def test_the_error_is_half_of_the_longest_round_trip():
    slow = {**stamp(9), "round_trip_us": 1_000}

    assert way(stamp(0), slow).error_s == 0.0005


def test_without_a_stamp_there_is_no_way():
    assert way_of("monotonic", [[], [{"clock": "x"}], [None]]) is None


@pytest.mark.parametrize(
    "fields", [None, [], "x", {}, {"clock": 1}, {**stamp(0), "server_wall_us": "1"}]
)
def test_what_is_no_stamp_is_none(fields):
    assert stamp_of(fields) is None


def test_a_window_is_that_of_the_stamps_whatever_the_guest_says():
    window = external_window(clock_of(100, 130))

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
    assert external_window(facts) is None


def test_a_moment_is_in_utc():
    assert moment(0).isoformat() == "1970-01-01T00:00:00+00:00"


def test_spans_that_overlap_are_together_also_through_others():
    spans = [(0, 10), (20, 30), (9, 21), (40, 50)]

    assert clusters(spans) == [[0, 1, 2], [3]]


def test_spans_that_only_touch_are_apart():
    assert clusters([(0, 10), (10, 20), (19.95, 30)]) == [[0], [1], [2]]


def test_one_within_another_is_together():
    assert clusters([(0, 100), (1, 2), (50, 60), (100, 110)]) == [[0, 1, 2], [3]]


def test_the_order_does_not_matter():
    spans = [(5, 9), (0, 6), (20, 25), (8, 12)]

    together = {frozenset(spans[i] for i in each) for each in clusters(spans)}

    again = spans[::-1]
    assert together == {frozenset(again[i] for i in each) for each in clusters(again)}


def test_nothing_has_no_clusters():
    assert clusters([]) == []


def test_a_hull_reaches_from_the_first_to_the_last():
    assert hull([(3, 4), (1, 2), (0, 9)]) == (0, 9)
