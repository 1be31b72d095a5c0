"""Meters inside a machine: RAPL from a powercap tree, IPMI DCMI through an ipmitool."""

from pathlib import Path

import pytest

from agents.power import meters
from agents.power.meters import (
    CounterWrappedError,
    IpmiDcmi,
    Rapl,
    ReadingMissedError,
    SourceError,
    parse_watts,
)
from tests.agents.packed_agent import LIMIT_UJ


@pytest.fixture
def clock(monkeypatch):
    """A clock that advances by a second with each reading, unless it is set."""
    now = {"us": 0}

    def look():
        now["us"] += 500_000
        return now["us"]

    monkeypatch.setattr(meters, "monotonic_us", look)
    return now


@pytest.fixture
def source(powercap, clock):
    meter = Rapl(str(powercap.folder))
    meter.open()
    return meter


def test_zones_are_channels_and_packages_the_total(source):
    # The second package-0 is the same counter, accessed through memory (mmio).
    assert source.channels == ["package-0", "package-0 core", "package-0 dram", "psys"]
    assert source.total == ["package-0"]


def test_joules_count_from_the_first_reading(source, powercap):
    powercap.set("intel-rapl:0", 5_000_000)
    assert source.read().values[0] == 0.0

    powercap.set("intel-rapl:0", 5_250_000)
    powercap.set("intel-rapl:0:1", 40_000)

    assert source.read().values == [0.25, 0.0, 0.04, 0.0]


def test_wrapped_counter_continues(source, powercap):
    powercap.set("intel-rapl:0", LIMIT_UJ - 1_000_000)
    source.read()

    powercap.set("intel-rapl:0", 500_000)

    assert source.read().values[0] == 1.5


def test_possible_double_wrap_starts_a_new_log(source, powercap, clock):
    source.read()
    clock["us"] += 600_000_000

    with pytest.raises(CounterWrappedError, match="may have wrapped more than once"):
        source.read()

    powercap.set("intel-rapl:0", 2_000_000)
    assert source.read().values[0] == 2.0


def test_missing_counters_are_explained(tmp_path):
    with pytest.raises(SourceError, match="a virtual machine has none"):
        Rapl(str(tmp_path)).open()


def test_unreadable_counters_are_explained(powercap, monkeypatch):
    def refuse(*_):
        raise PermissionError(13, "Permission denied")

    # Root, who runs these tests in containers, can read any file.
    monkeypatch.setattr(meters, "open", refuse, raising=False)

    with pytest.raises(SourceError, match=r"Only root may read.*chmod a\+r"):
        Rapl(str(powercap.folder)).open()


def test_vanished_counter_is_a_missed_reading(source, powercap):
    (powercap.folder / "intel-rapl:1" / "energy_uj").unlink()

    with pytest.raises(ReadingMissedError, match="cannot be read"):
        source.read()


DATA = Path(__file__).parents[2] / "data" / "ipmi-dcmi"
ACTIVATED = (DATA / "ipmitool-activated.txt").read_text()
DEACTIVATED = (DATA / "ipmitool-deactivated.txt").read_text()
NO_BMC = (DATA / "no-bmc.txt").read_text()


def test_instantaneous_power_is_read(ipmitool):
    ipmitool(ACTIVATED)
    source = IpmiDcmi()

    source.open()

    assert source.read().values == [332.0]


def test_deactivated_reading_is_missed(ipmitool):
    ipmitool(DEACTIVATED)

    with pytest.raises(ReadingMissedError, match="deactivated"):
        IpmiDcmi().read()


def test_zero_watts_are_missed():
    with pytest.raises(ReadingMissedError, match="does not measure"):
        parse_watts(ACTIVATED.replace("332 Watts", "  0 Watts"))


def test_missing_controller_is_explained(ipmitool):
    ipmitool(NO_BMC, code=1)

    with pytest.raises(SourceError, match=r"Could not open device.*modprobe"):
        IpmiDcmi().open()


def test_missing_ipmitool_names_its_package(monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")

    with pytest.raises(SourceError, match="apt install ipmitool"):
        IpmiDcmi().open()


@pytest.mark.parametrize("lines", range(1, 8))
def test_truncated_answer_is_missed(lines):
    cut = "".join(ACTIVATED.splitlines(keepends=True)[:lines])

    with pytest.raises(ReadingMissedError):
        parse_watts(cut)
