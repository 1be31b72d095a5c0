"""Watts up? on a pty: real packets, damaged packets, a cable that is pulled."""

import re
from pathlib import Path

import pytest

from agents.power import watts_up
from agents.power.meters import MissedError, SourceError
from agents.power.watts_up import Packet, WattsUp, packet_of
from tests.agents.power.conftest import packet

DATA = Path(__file__).parents[2] / "data" / "watts-up"


@pytest.fixture(autouse=True)
def patience(monkeypatch):
    """Wait long for what comes: a busy machine is slow to send it."""
    monkeypatch.setattr(watts_up, "PATIENCE_S", 60.0)
    monkeypatch.setattr(watts_up, "FIRST_PATIENCE_S", 60.0)


@pytest.fixture
def impatient(monkeypatch):
    """Wait but a moment for what never comes."""
    monkeypatch.setattr(watts_up, "PATIENCE_S", 0.2)
    monkeypatch.setattr(watts_up, "FIRST_PATIENCE_S", 0.2)


@pytest.fixture
def source(meter):
    """A meter that was told to log, and has sent its first packet."""
    found = WattsUp(str(meter.device))
    thread = meter.say_later(packet(801))
    found.open()
    thread.join()
    yield found
    found.close()


def test_it_tells_the_meter_to_log_and_reads_tenths_of_watts(source, meter):
    meter.say("\0\r\n", packet(972))

    assert source.read().values == [97.2]


def test_a_packet_may_come_in_pieces(source, meter):
    whole = packet(1013)
    meter.say(whole[:7], whole[7:20], whole[20:])

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
def test_a_damaged_packet_is_left_out_and_counted(source, meter, damaged):
    meter.say(damaged, packet(982))

    assert source.read().values == [98.2]
    assert source.notes() in ([], ["1 damaged packets were left out."])
    assert source.notes() == []


def test_what_is_switched_off_is_no_reading(source, meter):
    meter.say((DATA / "off.txt").read_text().splitlines()[0])

    with pytest.raises(MissedError, match="switched off"):
        source.read()


def test_0_watts_are_no_reading(source, meter):
    meter.say(packet(0))

    with pytest.raises(MissedError, match="nothing is plugged in"):
        source.read()


def test_a_meter_that_falls_silent_is_told_again_to_log(source, meter, impatient):
    with pytest.raises(MissedError, match="says nothing"):
        source.read()

    meter.listen(b"#L,W,3,E,,1;")


def test_a_cable_that_was_pulled_is_found_again(source, meter):
    meter.unplug()
    with pytest.raises(MissedError, match="broke off"):
        source.read()
    with pytest.raises(MissedError, match="No such file"):
        source.read()

    meter.plug_in()
    thread = meter.say_later(packet(990))

    assert source.read().values == [99.0]
    thread.join()


def test_a_device_that_is_no_meter_is_refused(meter, impatient):
    with pytest.raises(SourceError, match=r"Is it a Watts up\?"):
        WattsUp(str(meter.device)).open()


def test_a_missing_device_is_refused(tmp_path):
    with pytest.raises(SourceError, match="No such file"):
        WattsUp(str(tmp_path / "ttyUSB7")).open()


@pytest.mark.parametrize("name", ["16-fields", "18-fields", "seconds-before"])
def test_it_reads_saved_packets_of_real_meters(name):
    text = (DATA / f"{name}.txt").read_bytes()

    found = [packet_of(each[1], each[2]) for each in watts_up._PACKET.finditer(text)]

    watts = [int(w) / 10 for w in re.findall(rb"#d,-,\d+,(\d+)", text)]
    assert [each.watts for each in found if each.watts is not None] == watts


def test_volts_are_tenths_and_amperes_thousandths():
    fields = b"972,2277,433,5,0,70035,5602,973,2280,435,972,2274,432,95,0,0,500,1020"

    assert packet_of(b"18", fields) == Packet(97.2, 227.7, 0.433)
