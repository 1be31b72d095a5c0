"""Logs of other programs: several time formats, and gaps."""

from pathlib import Path

import pytest

from agents.commands.power import PowerRow, chunks, parse_rows, parse_time_us
from agents.errors import UsageError

DATA = Path(__file__).parents[2] / "data" / "power-csv"


def watts(rows):
    return [row.watts for row in rows]


def test_times_with_zone_are_read():
    rows = parse_rows((DATA / "iso-header.txt").read_text())

    assert rows[0] == PowerRow(1_795_211_076_120_000, 97.2)
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
def test_zone_is_applied(text, seconds):
    assert parse_time_us(text) == seconds * 1_000_000


def test_relative_times_need_a_start():
    text = (DATA / "bare.txt").read_text()

    with pytest.raises(UsageError, match="--started-at"):
        parse_rows(text)
    rows = parse_rows(text, "2026-11-20T21:44:36Z")
    assert rows[1].moment_us == parse_time_us("2026-11-20T21:44:37Z")


def test_header_sets_units():
    text = (DATA / "milliwatts-semicolon.txt").read_text()

    rows = parse_rows(text, "1970-01-01T00:00:00Z")

    assert [row.moment_us for row in rows[:3]] == [0, 500_000, 1_000_000]
    assert watts(rows[:3]) == [pytest.approx(4.1205), pytest.approx(4.208), None]


def test_clock_offset_is_subtracted():
    (row,) = parse_rows("1700000000.5,80\n", clock_offset_s=3600)

    assert row.moment_us == (1_700_000_000 - 3600) * 1_000_000 + 500_000


def test_rows_without_watts_are_gaps():
    rows = parse_rows("1700000000,80\n1700000001,\n1700000002,0\n1700000003,81\n")

    (samples,) = chunks(rows)
    assert [sample[1] for sample in samples] == [80, 81]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "no row"),
        ("time,watts\n", "no row"),
        ("1700000000,80\nsoon,81\n", "Line 2 is not a row"),
        ("1700000000,80\n1700000001,many\n", 'Line 2: "many" is not a power'),
        ("1700000000,80\n1700000000,81\n", "Line 2: the time is not after"),
        ("1700000000\n", "Line 1 is not a row"),
    ],
)
def test_invalid_log_is_refused_with_its_line(text, sentence):
    with pytest.raises(UsageError, match=sentence):
        parse_rows(text)
