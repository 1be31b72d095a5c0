"""The time server's words: the LMU studies' to the byte, and our own."""

import random

import pytest

from agents.timing import clocks
from agents.timing.clocks import Clocks, own_clocks
from agents.timing.protocol import (
    NOT_STARTED,
    UNKNOWN,
    ServerTime,
    Session,
    read_reply,
    stamp_request,
)

MINUTE_US = 60_000_000
HOUR_US = 60 * MINUTE_US


class Ticking:
    """Clocks that a test sets."""

    def __init__(self):
        self.wall = 1_795_212_926_000_000
        self.monotonic = 5_000_000
        self.clocks = Clocks("c10c", lambda: self.wall, lambda: self.monotonic)


@pytest.fixture
def ticking():
    return Ticking()


@pytest.fixture
def session(ticking):
    return Session(ticking.clocks)


def test_it_speaks_the_words_of_the_studies(session, ticking):
    assert session.answer(b"start\n") == b"start"
    ticking.monotonic += 1_234_567
    assert session.answer(b"time\n") == b"1234567\n"
    ticking.monotonic += 1
    assert session.answer(b"time\n") == b"1234568\n"
    assert session.answer(b"quit\n") == b"quit"
    assert session.is_over


def test_a_set_wall_clock_does_not_move_the_studies_time(session, ticking):
    session.answer(b"start\n")
    ticking.wall -= 86_400_000_000
    ticking.monotonic += 10

    assert session.answer(b"time\n") == b"10\n"


def test_time_before_start_is_an_error_and_no_number(session):
    assert session.answer(b"time\n") == NOT_STARTED
    assert not any(digit in NOT_STARTED for digit in b"0123456789")


@pytest.mark.parametrize("request_", [b"start\r\n", b"start\0", b"start"])
def test_it_is_not_strict_about_line_ends(session, request_):
    assert session.answer(request_) == b"start"


@pytest.mark.parametrize(
    "request_",
    [
        b"",
        b"\xff\xfe",
        b"stamp",
        b"stamp a b",
        b"stamp " + b"a" * 65,
        b"stamp ;rm",
        b"START",
    ],
)
def test_it_knows_nothing_else(session, request_):
    assert session.answer(request_) == UNKNOWN


def test_whatever_is_said_the_reply_is_short_and_nothing_breaks(session):
    chance = random.Random(3)
    words = [b"start", b"time", b"quit", b"stamp ", b"\n", b"\0", b"\xff", b"9" * 300]

    for _ in range(5000):
        said = b"".join(chance.choices(words, k=chance.randint(0, 6)))
        assert 0 < len(session.answer(said)) <= 128


def test_a_stamp_tells_both_clocks(session):
    reply = session.answer(stamp_request("a1-B2"))

    assert reply == b"stamp a1-B2 c10c 1795212926000000 5000000\n"
    assert read_reply(reply, "a1-B2") == ServerTime(
        "c10c", 1_795_212_926_000_000, 5_000_000
    )


@pytest.mark.parametrize(
    "reply",
    [
        b"stamp other c10c 1 2\n",
        b"stamp a1 c10c 1\n",
        b"stamp a1 c10c 1 -2\n",
        b"stamp a1 c10c 1 2 3\n",
        b"",
        UNKNOWN,
    ],
)
def test_a_reply_to_another_question_is_none(reply):
    assert read_reply(reply, "a1") is None


@pytest.fixture
def boots(home, monkeypatch):
    """A system that does not name its boots; say when it booted, and how long ago."""
    monkeypatch.setattr(clocks, "_BOOT", str(home / "nowhere"))

    def name_of(booted_us, up_us):
        monkeypatch.setattr(clocks, "wall_us", lambda: booted_us + up_us)
        monkeypatch.setattr(clocks, "monotonic_us", lambda: up_us)
        return clocks.own_clocks().name

    return name_of


# Where a rounded second, minute or hour begins, and between.
@pytest.mark.parametrize("booted_us", [1_700_000_400_000_000, 1_700_000_399_500_000])
def test_a_boot_without_a_name_keeps_ours_though_two_readings_jitter(boots, booted_us):
    jitters = (0, -3, 2, 900_000, -900_000)

    names = {
        boots(booted_us + jitter, HOUR_US + at) for at, jitter in enumerate(jitters)
    }

    assert len(names) == 1


def test_the_next_boot_has_another_name(boots):
    before = boots(1_700_000_000_000_000, HOUR_US)

    assert boots(1_700_000_000_000_000 + HOUR_US, MINUTE_US) != before
    # Without a battery each boot begins at one moment: only the uptime tells.
    assert boots(0, HOUR_US) != boots(0, MINUTE_US)


@pytest.mark.parametrize("text", ["", "half a", "1 2 3", "[]"])
def test_a_file_that_is_not_ours_is_written_anew(boots, home, text):
    home.mkdir()
    (home / "boot").write_text(text)

    assert boots(5, HOUR_US) == boots(7, HOUR_US + 1)


def test_where_nothing_can_be_written_there_is_a_name_all_the_same(boots, home):
    home.write_text("no folder")

    assert len(boots(5, HOUR_US)) == 16


def test_our_own_clock_has_one_name_per_boot():
    first, second = own_clocks(), own_clocks()

    assert first.name == second.name
    assert first.monotonic_us() <= second.monotonic_us()
    assert abs(first.wall_us() - second.wall_us()) < 1_000_000
