"""What has no speed has no efficiency, and says why."""

import pytest

from benchmarks.parsing.cases import Extremes, no_speed
from benchmarks.parsing.contract import Metric
from benchmarks.parsing.reading import read
from benchmarks.tools import TOOLS
from benchmarks.units import convert
from tests.data.rebuild import DATA

SIDES = (Extremes(9.2, 9.9), Extremes(13.1, 13.4))


def of(tool, metric, parameters=None, *sides, is_guest=False):
    known = TOOLS[tool].metric(metric)
    return no_speed(known, parameters or {}, *sides, is_guest=is_guest)


@pytest.mark.parametrize(
    ("tool", "metric"),
    [
        ("fio", "throughput"),
        ("linpack", "time"),
        ("postmark", "total time"),
        ("netperf", "latency mean"),
        ("watts-up", "energy"),
    ],
)
def test_rates_times_of_work_and_its_energy_are_compared(tool, metric):
    assert of(tool, metric, {}, *SIDES) is None


@pytest.mark.parametrize(
    ("tool", "metric", "word"),
    [
        ("sysbench", "transactions", "count"),
        ("xentop", "memory mean", "amount"),
        ("libvirt-domstats", "CPU time", "amount"),
        ("wrk", "test duration", "set before"),
        ("iperf3", "packet loss", "share"),
        ("iometer", "CPU utilization (network)", "CPU time for a unit of work"),
    ],
)
def test_counts_amounts_settings_and_shares_are_not(tool, metric, word):
    assert word in of(tool, metric)


def test_a_guest_sees_its_own_share_of_a_processor_only():
    share = of("iometer", "CPU utilization (network)", is_guest=True)
    cost = of("netperf", "service demand local", is_guest=True)

    assert all("hypervisor's part is not seen" in said for said in (share, cost))
    assert of("netperf", "service demand local") is None


@pytest.mark.parametrize(
    "option", ["time", "seconds", "duration", "max_time", "timelimit"]
)
def test_the_option_that_sets_a_length_is_named(option):
    said = of("sysbench", "total time", {option: "10"}, *SIDES)

    assert f"its option {option}" in said


@pytest.mark.parametrize("amount", ["events", "max_requests", "max_events"])
def test_a_time_of_a_set_amount_of_work_is_a_speed(amount):
    stated = {amount: "1000", "time": "600"}

    assert of("sysbench", "total time", stated, *SIDES) is None


@pytest.mark.parametrize(
    ("tool", "metric", "line", "word"),
    [
        (
            "sysbench",
            "total time",
            "--max-time=60 --max-requests=0",
            "max_time",
        ),
        ("sysbench", "total time", "oltp_read_only --time 10 run", "time"),
        ("ab", "test duration", "-t 60 -c 10", "t"),
        ("ab", "test duration", "-c10 -t60", "t"),
        ("httperf", "test duration", "--server a --rate=100", "rate"),
    ],
)
def test_options_are_found_on_command_lines(tool, metric, line, word):
    assert f"its option {word}:" in of(tool, metric, {"args": line}, *SIDES)


@pytest.mark.parametrize("line", ["--events=500 --time=0", "--max-requests=500"])
def test_set_work_is_found_on_command_lines(line):
    assert of("sysbench", "total time", {"args": line}, Extremes(10.0, 10.01)) is None


def test_an_amount_of_0_is_no_limit():
    assert of("sysbench", "total time", {"events": "0", "time": "10"}, *SIDES)


def test_lengths_that_a_clock_ended_are_known_by_themselves():
    native, guest = Extremes(10.0001, 10.0009), Extremes(9.9995, 10.04)

    assert "after 10 s" in of("sysbench", "total time", {}, native, guest)


@pytest.mark.parametrize(
    "guest",
    [
        pytest.param(Extremes(10.3, 10.4), id="later than a clock would"),
        pytest.param(Extremes(13.0, 13.01), id="at another second"),
        pytest.param(Extremes(0.01, 0.02), id="within the first second"),
    ],
)
def test_times_that_differ_are_speeds(guest):
    assert of("sysbench", "total time", {}, Extremes(10.0, 10.01), guest) is None


def test_sessions_that_think_set_the_length_of_a_test():
    assert of("httperf", "test duration", {"wsess": "4,15,10"}, *SIDES)
    assert of("httperf", "test duration", {"wsess": "4,15,0"}, *SIDES) is None


def test_a_rate_that_was_asked_for_and_reached_is_no_speed():
    asked = {"rate": "100"}

    assert "rate" in of("httperf", "reply rate", asked, Extremes(99.2, 100.1))
    assert (
        of("httperf", "reply rate", asked, Extremes(99.2, 100.1), Extremes(61, 70))
        is None
    )


@pytest.mark.parametrize("tool", ["iperf", "iperf3"])
@pytest.mark.parametrize(
    "stated",
    [
        {"bitrate": "100 Mbit/s"},
        {"bitrate": "100M"},
        {"bitrate": "100000000"},
        {"bitrate": "50M", "streams": "2"},
        {"args": "-u --bitrate 100M"},
        {"args": "-u -b 100M"},
    ],
)
def test_datagrams_at_a_set_rate_are_no_speed_until_they_are_lost(tool, stated):
    native, guest = Extremes(99.4, 100.2), Extremes(71.0, 74.5)
    assert "asks for" in of(tool, "throughput", stated, native, native)
    assert of(tool, "throughput", stated, native, guest) is None
    assert of(tool, "throughput", {"bitrate": "0"}, native) is None


@pytest.mark.parametrize(
    ("stated", "reached"),
    [
        ({"rate": "10m"}, 10.49),
        ({"rate": "10m", "jobs": "4"}, 41.95),
        ({"rate": "10m,5m", "operation": "write"}, 5.25),
        ({"rate": "10485760"}, 10.49),
    ],
)
def test_a_disk_at_a_set_rate_is_no_speed_until_it_is_too_slow(stated, reached):
    """fio's M are 2^20 B, its throughput is told in MB/s of 10^6 B."""
    held, slow = Extremes(reached * 0.99, reached), Extremes(reached / 3, reached / 2)

    assert "rate" in of("fio", "throughput", stated, held)
    assert of("fio", "throughput", stated, held, slow) is None


def test_operations_at_a_set_rate_are_no_speed():
    asked = {"rate_iops": "500,200", "operation": "read", "jobs": "2"}

    assert "rate_iops" in of("fio", "IOPS", asked, Extremes(998, 1001))
    assert of("fio", "IOPS", asked, Extremes(700, 1001)) is None


@pytest.mark.parametrize(
    ("stated", "asked"),
    [({"rate": "100", "calls": "10"}, 1000), ({"rate": "10", "wsess": "50,4,2"}, 40)],
)
def test_a_rate_of_connections_asks_for_all_their_calls(stated, asked):
    """600 replies a second are not the 100 connections that were asked for."""
    reached, missed = Extremes(0.99 * asked, asked), Extremes(0.5 * asked, 0.6 * asked)

    assert of("httperf", "reply rate", stated, reached)
    assert of("httperf", "reply rate", stated, reached, missed) is None


@pytest.mark.parametrize(
    ("tool", "metric", "option"),
    [
        ("wrk", "transfer rate", "R"),
        ("httperf", "network throughput", "rate"),
        ("sysbench", "query rate", "rate"),
        ("sysbench", "file throughput", "rate"),
    ],
)
def test_what_follows_from_a_rate_that_was_asked_for_is_no_speed(tool, metric, option):
    assert option in of(tool, metric, {option: "100"}, *SIDES)
    assert of(tool, metric, {}, *SIDES) is None


def test_the_target_of_dbench_is_no_speed():
    assert "target_rate" in of(
        "dbench", "throughput", {"target_rate": "50"}, Extremes(49.8, 50.1)
    )


@pytest.mark.parametrize(
    ("tool", "saved", "metric", "rate"),
    [
        ("iperf", "2.1.8-udp", "sent throughput", 10.0),
        ("iperf3", "udp-json", "sent throughput", 200.0),
        ("httperf", "rate100", "request rate", 100.3),
    ],
)
def test_saved_outputs_tell_the_rate_that_they_were_run_at(tool, saved, metric, rate):
    output = (DATA / tool / f"{saved}.txt").read_bytes()
    sent = next(
        reading
        for run in read(output)
        for reading in run.readings
        if reading.metric == metric
    )
    stated = {name: str(value) for name, value in sent.parameters.items()}
    told = convert(sent.value, sent.unit, TOOLS[tool].metric(metric).unit)
    streams = float(stated.get("streams", 1))
    assert told == pytest.approx(rate * streams, rel=0.01)
    assert of(tool, metric, stated, Extremes(told, told))


def test_a_kind_follows_from_the_unit_unless_it_is_said():
    def kind(unit, **said):
        metric = Metric(name="x", unit=unit, better="lower", component="CPU", **said)
        return metric.kind

    assert [kind(unit) for unit in ("", "%", "J", "KiB", "s", "MB/s")] == [
        *("count", "share", "energy", "amount", "speed", "speed"),
    ]
    assert kind("s", kind="setting") == "setting"


def test_an_unknown_kind_is_refused():
    with pytest.raises(ValueError, match='kind is "pace"'):
        Metric("x", "s", "lower", "CPU", kind="pace")
