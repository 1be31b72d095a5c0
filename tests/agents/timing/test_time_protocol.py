"""The time server's protocol: that of the LMU studies to the byte, and our own."""

import random

import pytest

from agents.timing import clocks
from agents.timing.clocks import Clocks, own_clocks
from agents.timing.time_server import (
    NOT_STARTED,
    UNKNOWN_REQUEST,
    ClientState,
    ServerTime,
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
    return ClientState(ticking.clocks)


def test_protocol_of_the_studies_is_supported(session, ticking):
    assert session.answer(b"start\n") == b"start"
    ticking.monotonic += 1_234_567
    assert session.answer(b"time\n") == b"1234567\n"
    ticking.monotonic += 1
    assert session.answer(b"time\n") == b"1234568\n"
    assert session.answer(b"quit\n") == b"quit"
    assert session.is_over


def test_setting_the_wall_clock_does_not_change_the_studies_time(session, ticking):
    session.answer(b"start\n")
    ticking.wall -= 86_400_000_000
    ticking.monotonic += 10

    assert session.answer(b"time\n") == b"10\n"


def test_time_before_start_is_an_error(session):
    assert session.answer(b"time\n") == NOT_STARTED
    assert not any(digit in NOT_STARTED for digit in b"0123456789")


@pytest.mark.parametrize("request_", [b"start\r\n", b"start\0", b"start"])
def test_line_ends_are_optional(session, request_):
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
def test_other_requests_are_errors(session, request_):
    assert session.answer(request_) == UNKNOWN_REQUEST


def test_any_request_gets_a_short_reply(session):
    chance = random.Random(3)
    words = [b"start", b"time", b"quit", b"stamp ", b"\n", b"\0", b"\xff", b"9" * 300]

    for _ in range(5000):
        request = b"".join(chance.choices(words, k=chance.randint(0, 6)))
        assert 0 < len(session.answer(request)) <= 128


def test_stamp_contains_both_clocks(session):
    reply = session.answer(stamp_request("a1-B2"))

    assert reply == b"stamp a1-B2 c10c 1795212926000000 5000000\n"
    assert read_reply(reply, "a1-B2") == ServerTime(
        "c10c", 1_795_212_926_000_000, 5_000_000
    )


def test_coarse_clock_is_stated(ticking):
    coarse = ClientState(ticking.clocks._replace(resolution_us=15_625))

    reply = coarse.answer(stamp_request("a1"))

    assert reply.endswith(b" 5000000 15625\n")
    assert read_reply(reply, "a1").resolution_us == 15_625


@pytest.mark.parametrize(
    "reply",
    [
        b"stamp other c10c 1 2\n",
        b"stamp a1 c10c 1\n",
        b"stamp a1 c10c 1 -2\n",
        b"stamp a1 c10c 1 2 x\n",
        b"stamp a1 c10c 1 2 3 4\n",
        b"",
        UNKNOWN_REQUEST,
    ],
)
def test_reply_to_another_nonce_is_none(reply):
    assert read_reply(reply, "a1") is None


@pytest.fixture
def boots(home, monkeypatch):
    """A system without boot IDs, and a function that sets boot time and uptime."""
    monkeypatch.setattr(clocks, "_BOOT", str(home / "nowhere"))

    def name_of(booted_us, up_us):
        monkeypatch.setattr(clocks, "wall_us", lambda: booted_us + up_us)
        monkeypatch.setattr(clocks, "monotonic_us", lambda: up_us)
        monkeypatch.setattr(clocks, "_OWN", {})  # each time as a new process
        monkeypatch.setattr(clocks, "clock_step_us", lambda _: 1)
        return clocks.own_clocks().name

    return name_of


# Where a rounded second, minute or hour begins, and in between.
@pytest.mark.parametrize("booted_us", [1_700_000_400_000_000, 1_700_000_399_500_000])
def test_unnamed_boot_keeps_its_name_despite_jitter(boots, booted_us):
    jitters = (0, -3, 2, 900_000, -900_000)

    names = {
        boots(booted_us + jitter, HOUR_US + at) for at, jitter in enumerate(jitters)
    }

    assert len(names) == 1


def test_boot_keeps_its_name_for_a_year_of_clock_drift(boots):
    day_us = 24 * HOUR_US
    booted_us = 1_700_000_000_000_000

    # 100 ppm are 8.6 s a day, and the agent runs every week.
    names = {
        boots(booted_us + week * 7 * 8_640_000, HOUR_US + week * 7 * day_us)
        for week in range(52)
    }

    assert len(names) == 1


def test_boot_after_a_short_one_has_a_new_name(boots):
    before = boots(1_700_000_000_000_000, MINUTE_US)

    assert boots(1_700_000_080_000_000, 1000 * HOUR_US) != before


def test_name_is_kept_when_the_clock_is_set(boots, monkeypatch):
    before = boots(1_700_000_000_000_000, HOUR_US)

    monkeypatch.setattr(clocks, "wall_us", lambda: 1_800_000_000_000_000)

    assert clocks.own_clocks().name == before


def test_windows_numbers_its_boots(monkeypatch, home):
    registry = {"BootId": 17, "MachineGuid": "f00d"}
    monkeypatch.setattr(clocks, "_BOOT", str(home / "nowhere"))
    monkeypatch.setattr(clocks.os, "name", "nt")
    monkeypatch.setattr(
        "agents.windows.registry_value", lambda _, name: registry.get(name)
    )
    before = clocks.boot_id()

    registry["BootId"] = 18
    after = clocks.boot_id()
    del registry["BootId"]

    assert len({before, after}) == 2
    assert clocks.boot_id() is None


@pytest.mark.parametrize(("coarse_s", "name"), [(0.0156, "perf_counter"), (1e-9, "")])
def test_finer_clock_is_used(monkeypatch, coarse_s, name):
    class Known:
        def __init__(self, resolution):
            self.resolution = resolution

    steps = {"monotonic": Known(coarse_s), "perf_counter": Known(1e-7)}
    monkeypatch.setattr(clocks.time, "get_clock_info", steps.get)

    assert clocks.finest_clock() == (name or "monotonic")


def test_next_boot_has_a_new_name(boots):
    before = boots(1_700_000_000_000_000, HOUR_US)

    assert boots(1_700_000_000_000_000 + HOUR_US, MINUTE_US) != before
    # Without a battery every boot starts at the same time; only the uptime differs.
    assert boots(0, HOUR_US) != boots(0, MINUTE_US)


@pytest.mark.parametrize("text", ["", "half a", "1 2 3", "[]"])
def test_invalid_boot_file_is_replaced(boots, home, text):
    home.mkdir()
    (home / "boot").write_text(text)

    assert boots(5, HOUR_US) == boots(7, HOUR_US + 1)


def test_unwritable_folder_still_gives_a_name(boots, home):
    home.write_text("no folder")

    assert len(boots(5, HOUR_US)) == 16


def test_own_clock_has_one_name_per_boot():
    first, second = own_clocks(), own_clocks()

    assert first.name == second.name
    assert first.monotonic_us() <= second.monotonic_us()
    assert abs(first.wall_us() - second.wall_us()) < 1_000_000
