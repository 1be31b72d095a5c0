"""Samples of power logs with their times."""

from pathlib import Path

import pytest

from benchmarks.errors import ParseError
from benchmarks.power.logged_energy import power_log

DATA = Path(__file__).parents[2] / "data"

CSV = "time,power (kW)\n2026-11-20T21:00:00Z,0.1\n2026-11-20T21:00:01Z,0.2\n"


def test_rows_have_their_times_and_watts():
    log = power_log("power-csv", CSV)

    assert log.is_absolute
    assert log.watts == pytest.approx((100, 200))
    assert log.times_s[1] - log.times_s[0] == 1


def test_a_log_can_be_shifted_to_a_clock():
    log = power_log("power-csv", "5,97.2\n6,96.5\n7,101.3\n")

    assert not log.is_absolute
    assert log.shift_to(2e9).times_s == (2e9, 2e9 + 1, 2e9 + 2)


def test_packets_with_timestamps_are_absolute():
    output = (DATA / "watts-up" / "seconds-before.txt").read_text()

    log = power_log("watts-up", output)

    assert log.is_absolute
    assert len(log.times_s) == len(log.watts) > 1


def test_the_requested_interval_gives_the_times():
    packet = (
        "#d,-,18,1000,2277,433,5,0,70035,5602,973,2280,435,972,2274,432,95,0,0,5,0;"
    )
    log = power_log("watts-up", f"#L,W,3,E,0,2;\n{packet}\n{packet}\n{packet}\n")

    assert log.times_s == (0, 2, 4)


@pytest.mark.parametrize(
    ("tool", "output", "why"),
    [
        ("rapl", CSV, "not stored"),
        ("power-csv", CSV + CSV, "2 logs"),
        ("power-csv", "time,watts\n2026-11-20T21:00:00Z,97\n", "times of its samples"),
    ],
)
def test_invalid_logs_raise_with_a_reason(tool, output, why):
    with pytest.raises(ParseError, match=why):
        power_log(tool, output)
