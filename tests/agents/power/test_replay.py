"""Logs that something else wrote: times in any dress, gaps that stay gaps."""

from pathlib import Path

import pytest

from agents.commands.power import Row, moment_us, pieces_of, rows_of
from agents.errors import UsageError

DATA = Path(__file__).parents[2] / "data" / "power-csv"


def watts(rows):
    return [row.watts for row in rows]


def test_moments_with_a_zone_are_read():
    rows = rows_of((DATA / "iso-header.txt").read_text())

    assert rows[0] == Row(1_795_211_076_120_000, 97.2)
    assert watts(rows[:3]) == [97.2, 96.5, 101.3]


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("1970-01-01T00:00:01Z", 1),
        ("1970-01-01 00:00:01", 1),
        ("1970-01-01T02:00:01+02:00", 1),
        ("1969-12-31T23:30:01,5-0030", 1.5),
    ],
)
def test_a_moment_is_of_its_zone(text, seconds):
    assert moment_us(text) == seconds * 1_000_000


def test_seconds_of_the_log_itself_need_its_start():
    text = (DATA / "bare.txt").read_text()

    with pytest.raises(UsageError, match="--started-at"):
        rows_of(text)
    rows = rows_of(text, "2026-11-20T21:44:36Z")
    assert rows[1].moment_us == moment_us("2026-11-20T21:44:37Z")


def test_milliseconds_and_milliwatts_are_what_the_header_says():
    text = (DATA / "milliwatts-semicolon.txt").read_text()

    rows = rows_of(text, "1970-01-01T00:00:00Z")

    assert [row.moment_us for row in rows[:3]] == [0, 500_000, 1_000_000]
    assert watts(rows[:3]) == [pytest.approx(4.1205), pytest.approx(4.208), None]


def test_a_clock_that_was_ahead_is_put_back():
    (row,) = rows_of("1700000000.5,80\n", ahead_s=3600)

    assert row.moment_us == (1_700_000_000 - 3600) * 1_000_000 + 500_000


def test_rows_without_watts_are_gaps_and_not_zeros():
    rows = rows_of("1700000000,80\n1700000001,\n1700000002,0\n1700000003,81\n")

    (samples,) = pieces_of(rows)
    assert [each[1] for each in samples] == [80, 81]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "no row"),
        ("time,watts\n", "no row"),
        ("1700000000,80\nsoon,81\n", "Line 2 is no row"),
        ("1700000000,80\n1700000001,many\n", 'Line 2: "many" are no watts'),
        ("1700000000,80\n1700000000,81\n", "Line 2: its time is not after"),
        ("1700000000\n", "Line 1 is no row"),
    ],
)
def test_what_is_no_log_is_refused_with_its_line(text, sentence):
    with pytest.raises(UsageError, match=sentence):
        rows_of(text)
