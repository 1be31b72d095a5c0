"""Metrics that do not measure speed have no relative performance, with a reason."""

import pytest

from benchmarks.parsing.no_ratio_reasons import RunRange, no_ratio_reason
from benchmarks.parsing.run_extraction import extract_runs
from benchmarks.parsing.tool import Metric
from benchmarks.tools import TOOLS
from benchmarks.units import convert
from tests.data.rebuild import DATA

SIDES = (RunRange(9.2, 9.9), RunRange(13.1, 13.4))


def reason(tool, metric, parameters=None, *sides, is_guest=False):
    definition = TOOLS[tool].metric(metric)
    return no_ratio_reason(definition, parameters or {}, *sides, is_guest=is_guest)


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
    assert reason(tool, metric, {}, *SIDES) is None


@pytest.mark.parametrize(
    ("tool", "metric", "word"),
    [
        ("sysbench", "transactions", "count"),
        ("xentop", "memory mean", "amount"),
        ("libvirt-domstats", "CPU time", "amount"),
        ("wrk", "test duration", "set before"),
        ("iperf3", "packet loss", "share"),
        ("iometer", "CPU utilization (network)", "CPU time per unit of work"),
    ],
)
def test_counts_amounts_settings_and_shares_are_not_compared(tool, metric, word):
    assert word in reason(tool, metric)


def test_a_guest_measures_only_its_own_share_of_a_processor():
    share = reason("iometer", "CPU utilization (network)", is_guest=True)
    cost = reason("netperf", "service demand local", is_guest=True)

    assert all(
        "hypervisor's part is not included" in message for message in (share, cost)
    )
    assert reason("netperf", "service demand local") is None


@pytest.mark.parametrize(
    "option", ["time", "seconds", "duration", "max_time", "timelimit"]
)
def test_the_option_that_fixes_a_duration_is_named(option):
    message = reason("sysbench", "total time", {option: "10"}, *SIDES)

    assert f"its option {option}" in message


@pytest.mark.parametrize("amount", ["events", "max_requests", "max_events"])
def test_the_time_of_a_fixed_amount_of_work_is_a_speed(amount):
    stated = {amount: "1000", "time": "600"}

    assert reason("sysbench", "total time", stated, *SIDES) is None


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
    assert f"its option {word}," in reason(tool, metric, {"args": line}, *SIDES)


@pytest.mark.parametrize("line", ["--events=500 --time=0", "--max-requests=500"])
def test_a_fixed_amount_of_work_is_found_on_command_lines(line):
    assert (
        reason("sysbench", "total time", {"args": line}, RunRange(10.0, 10.01)) is None
    )


def test_an_amount_of_0_is_not_a_limit():
    assert reason("sysbench", "total time", {"events": "0", "time": "10"}, *SIDES)


def test_durations_limited_by_a_clock_are_detected():
    native, guest = RunRange(10.0001, 10.0009), RunRange(9.9995, 10.04)

    assert "after 10 s" in reason("sysbench", "total time", {}, native, guest)


@pytest.mark.parametrize(
    "guest",
    [
        pytest.param(RunRange(10.3, 10.4), id="later than a clock would"),
        pytest.param(RunRange(13.0, 13.01), id="at another second"),
        pytest.param(RunRange(0.01, 0.02), id="within the first second"),
    ],
)
def test_different_times_are_speeds(guest):
    assert reason("sysbench", "total time", {}, RunRange(10.0, 10.01), guest) is None


def test_sessions_with_think_time_fix_the_duration_of_a_test():
    assert reason("httperf", "test duration", {"wsess": "4,15,10"}, *SIDES)
    assert reason("httperf", "test duration", {"wsess": "4,15,0"}, *SIDES) is None


def test_a_requested_rate_that_was_reached_is_not_a_speed():
    requested = {"rate": "100"}

    assert "rate" in reason("httperf", "reply rate", requested, RunRange(99.2, 100.1))
    assert (
        reason(
            "httperf", "reply rate", requested, RunRange(99.2, 100.1), RunRange(61, 70)
        )
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
def test_datagrams_at_a_fixed_rate_are_a_speed_only_if_lost(tool, stated):
    native, guest = RunRange(99.4, 100.2), RunRange(71.0, 74.5)
    assert "requested" in reason(tool, "throughput", stated, native, native)
    assert reason(tool, "throughput", stated, native, guest) is None
    assert reason(tool, "throughput", {"bitrate": "0"}, native) is None


@pytest.mark.parametrize(
    ("stated", "reached"),
    [
        ({"rate": "10m"}, 10.49),
        ({"rate": "10m", "jobs": "4"}, 41.95),
        ({"rate": "10m,5m", "operation": "write"}, 5.25),
        ({"rate": "10485760"}, 10.49),
    ],
)
def test_a_disk_at_a_fixed_rate_is_a_speed_only_if_too_slow(stated, reached):
    """fio's M are 2^20 B, but its throughput is in MB/s of 10^6 B."""
    held, slow = RunRange(reached * 0.99, reached), RunRange(reached / 3, reached / 2)

    assert "rate" in reason("fio", "throughput", stated, held)
    assert reason("fio", "throughput", stated, held, slow) is None


def test_operations_at_a_fixed_rate_are_not_a_speed():
    requested = {"rate_iops": "500,200", "operation": "read", "jobs": "2"}

    assert "rate_iops" in reason("fio", "IOPS", requested, RunRange(998, 1001))
    assert reason("fio", "IOPS", requested, RunRange(700, 1001)) is None


@pytest.mark.parametrize(
    ("stated", "asked"),
    [({"rate": "100", "calls": "10"}, 1000), ({"rate": "10", "wsess": "50,4,2"}, 40)],
)
def test_a_rate_of_connections_includes_all_their_calls(stated, asked):
    """600 replies per second are not the 100 connections that were requested."""
    reached, missed = RunRange(0.99 * asked, asked), RunRange(0.5 * asked, 0.6 * asked)

    assert reason("httperf", "reply rate", stated, reached)
    assert reason("httperf", "reply rate", stated, reached, missed) is None


@pytest.mark.parametrize(
    ("tool", "metric", "option"),
    [
        ("wrk", "transfer rate", "R"),
        ("httperf", "network throughput", "rate"),
        ("sysbench", "query rate", "rate"),
        ("sysbench", "file throughput", "rate"),
    ],
)
def test_metrics_derived_from_a_requested_rate_are_not_a_speed(tool, metric, option):
    assert option in reason(tool, metric, {option: "100"}, *SIDES)
    assert reason(tool, metric, {}, *SIDES) is None


def test_the_target_of_dbench_is_not_a_speed():
    assert "target_rate" in reason(
        "dbench", "throughput", {"target_rate": "50"}, RunRange(49.8, 50.1)
    )


@pytest.mark.parametrize(
    ("tool", "saved", "metric", "rate"),
    [
        ("iperf", "2.1.8-udp", "sent throughput", 10.0),
        ("iperf3", "udp-json", "sent throughput", 200.0),
        ("httperf", "rate100", "request rate", 100.3),
    ],
)
def test_saved_outputs_contain_their_requested_rate(tool, saved, metric, rate):
    output = (DATA / tool / f"{saved}.txt").read_bytes()
    sent = next(
        reading
        for run in extract_runs(output)
        for reading in run.readings
        if reading.metric == metric
    )
    stated = {name: str(value) for name, value in sent.parameters.items()}
    converted = convert(sent.value, sent.unit, TOOLS[tool].metric(metric).unit)
    streams = float(stated.get("streams", 1))
    assert converted == pytest.approx(rate * streams, rel=0.01)
    assert reason(tool, metric, stated, RunRange(converted, converted))


def test_the_kind_follows_from_the_unit_by_default():
    def kind(unit, **said):
        metric = Metric(name="x", unit=unit, better="lower", component="CPU", **said)
        return metric.kind

    assert [kind(unit) for unit in ("", "%", "J", "KiB", "s", "MB/s")] == [
        *("count", "share", "energy", "amount", "speed", "speed"),
    ]
    assert kind("s", kind="setting") == "setting"


def test_an_unknown_kind_is_rejected():
    with pytest.raises(ValueError, match='kind is "pace"'):
        Metric("x", "s", "lower", "CPU", kind="pace")
