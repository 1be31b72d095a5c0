"""Watts up? on a pty: real packets, damaged packets, a pulled cable."""

import re
from pathlib import Path

import pytest

from agents.power import watts_up
from agents.power.meters import ReadingMissedError, SourceError
from agents.power.watts_up import Packet, WattsUp, parse_packet
from tests.agents.power.conftest import packet

DATA = Path(__file__).parents[2] / "data" / "watts-up"


@pytest.fixture(autouse=True)
def short_timeouts(monkeypatch):
    """Use a long time limit, because a busy machine is slow to send."""
    monkeypatch.setattr(watts_up, "PACKET_TIMEOUT_S", 60.0)
    monkeypatch.setattr(watts_up, "FIRST_PACKET_TIMEOUT_S", 60.0)


@pytest.fixture
def impatient(monkeypatch):
    """Use a short time limit for packets that never come."""
    monkeypatch.setattr(watts_up, "PACKET_TIMEOUT_S", 0.2)
    monkeypatch.setattr(watts_up, "FIRST_PACKET_TIMEOUT_S", 0.2)


@pytest.fixture
def source(meter):
    """A meter that is logging and has sent its first packet."""
    source = WattsUp(str(meter.device))
    thread = meter.say_later(packet(801))
    source.open()
    thread.join()
    yield source
    source.close()


def test_meter_is_started_and_tenths_of_watts_read(source, meter):
    meter.say("\0\r\n", packet(972))

    assert source.read().values == [97.2]


def test_packet_may_arrive_in_parts(source, meter):
    complete = packet(1013)
    meter.say(complete[:7], complete[7:20], complete[20:])

    assert source.read().values == [101.3]


@pytest.mark.parametrize(
    "damaged",
    [
        "#d,-,18,972,2277,433;",
        "#d,-,18,9\x012,2277,433,5,0,70035,5602,973,2280,435,972,2274,432,95,0,0,500,1;",
        "#d,-,18,97200,2277,433,5,0,70035,5602,973,2280,435,972,2274,432,95,0,0,500,1;",
        "#d,-,18,-72,2277,433,5,0,70035,5602,973,2280,435,972,2274,432,95,0,0,500,1;",
        "#d,-,7,1,2,3,4,5,6,7;",
        "#d,-,18,972,2277,#d,",
    ],
)
def test_damaged_packet_is_skipped_and_counted(source, meter, damaged):
    meter.say(damaged, packet(982))

    assert source.read().values == [98.2]
    assert source.warnings() in ([], ["1 damaged packets were skipped."])
    assert source.warnings() == []


def test_disabled_watts_are_missed(source, meter):
    meter.say((DATA / "off.txt").read_text().splitlines()[0])

    with pytest.raises(ReadingMissedError, match="disabled"):
        source.read()


def test_zero_watts_are_missed(source, meter):
    meter.say(packet(0))

    with pytest.raises(ReadingMissedError, match="nothing is plugged in"):
        source.read()


def test_silent_meter_is_restarted(source, meter, impatient):
    with pytest.raises(ReadingMissedError, match="sent nothing"):
        source.read()

    meter.listen(b"#L,W,3,E,,1;")


def test_pulled_cable_is_reconnected(source, meter):
    meter.unplug()
    with pytest.raises(ReadingMissedError, match="was lost"):
        source.read()
    with pytest.raises(ReadingMissedError, match="No such file"):
        source.read()

    meter.plug_in()
    thread = meter.say_later(packet(990))

    assert source.read().values == [99.0]
    thread.join()


def test_device_that_is_not_a_meter_is_refused(meter, impatient):
    with pytest.raises(SourceError, match=r"Is it a Watts up\?"):
        WattsUp(str(meter.device)).open()


def test_missing_device_is_refused(tmp_path):
    with pytest.raises(SourceError, match="No such file"):
        WattsUp(str(tmp_path / "ttyUSB7")).open()


@pytest.mark.parametrize("name", ["16-fields", "18-fields", "seconds-before"])
def test_saved_packets_of_real_meters_are_read(name):
    text = (DATA / f"{name}.txt").read_bytes()

    packets = [
        parse_packet(match[1], match[2]) for match in watts_up._PACKET.finditer(text)
    ]

    watts = [int(w) / 10 for w in re.findall(rb"#d,-,\d+,(\d+)", text)]
    assert [packet.watts for packet in packets if packet.watts is not None] == watts


def test_volts_are_tenths_and_amperes_thousandths():
    fields = b"972,2277,433,5,0,70035,5602,973,2280,435,972,2274,432,95,0,0,500,1020"

    assert parse_packet(b"18", fields) == Packet(97.2, 227.7, 0.433)
