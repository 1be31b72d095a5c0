"""Meters inside a machine: RAPL from a powercap tree, IPMI DCMI through an ipmitool."""

from pathlib import Path

import pytest

from agents.power import meters
from agents.power.meters import (
    CounterLostError,
    IpmiDcmi,
    MissedError,
    Rapl,
    SourceError,
    watts_of,
)
from tests.agents.stage import LIMIT_UJ


@pytest.fixture
def clock(monkeypatch):
    """A clock that goes on by a second with each look, unless it is set."""
    now = {"us": 0}

    def look():
        now["us"] += 500_000
        return now["us"]

    monkeypatch.setattr(meters, "monotonic_us", look)
    return now


@pytest.fixture
def source(powercap, clock):
    found = Rapl(str(powercap.folder))
    found.open()
    return found


def test_every_zone_counts_and_the_packages_make_the_power(source):
    # The second package-0 is the same counter through memory (mmio).
    assert source.channels == ["package-0", "package-0 core", "package-0 dram", "psys"]
    assert source.total == ["package-0"]


def test_it_counts_joules_since_the_first_reading(source, powercap):
    powercap.set("intel-rapl:0", 5_000_000)
    assert source.read().values[0] == 0.0

    powercap.set("intel-rapl:0", 5_250_000)
    powercap.set("intel-rapl:0:1", 40_000)

    assert source.read().values == [0.25, 0.0, 0.04, 0.0]


def test_a_counter_that_wraps_goes_on(source, powercap):
    powercap.set("intel-rapl:0", LIMIT_UJ - 1_000_000)
    source.read()

    powercap.set("intel-rapl:0", 500_000)

    assert source.read().values[0] == 1.5


def test_after_a_pause_in_which_it_may_have_wrapped_twice_it_begins_anew(
    source, powercap, clock
):
    source.read()
    clock["us"] += 600_000_000

    with pytest.raises(CounterLostError, match="may have wrapped more than once"):
        source.read()

    powercap.set("intel-rapl:0", 2_000_000)
    assert source.read().values[0] == 2.0


def test_a_machine_without_counters_says_what_to_do(tmp_path):
    with pytest.raises(SourceError, match="a virtual machine has none"):
        Rapl(str(tmp_path)).open()


def test_counters_of_root_say_what_to_do(powercap, monkeypatch):
    def refuse(*_):
        raise PermissionError(13, "Permission denied")

    # Root, who runs these tests in a container, may read whatever its mode says.
    monkeypatch.setattr(meters, "open", refuse, raising=False)

    with pytest.raises(SourceError, match=r"by root only.*chmod a\+r"):
        Rapl(str(powercap.folder)).open()


def test_a_counter_that_is_gone_is_missed(source, powercap):
    (powercap.folder / "intel-rapl:1" / "energy_uj").unlink()

    with pytest.raises(MissedError, match="cannot be read"):
        source.read()


DATA = Path(__file__).parents[2] / "data" / "ipmi-dcmi"
ACTIVATED = (DATA / "ipmitool-activated.txt").read_text()
DEACTIVATED = (DATA / "ipmitool-deactivated.txt").read_text()
NO_BMC = (DATA / "no-bmc.txt").read_text()


def test_a_reading_is_the_instantaneous_power(ipmitool):
    ipmitool(ACTIVATED)
    source = IpmiDcmi()

    source.open()

    assert source.read().values == [332.0]


def test_a_deactivated_reading_is_none_whatever_it_says(ipmitool):
    ipmitool(DEACTIVATED)

    with pytest.raises(MissedError, match="deactivated"):
        IpmiDcmi().read()


def test_0_watts_are_no_reading():
    with pytest.raises(MissedError, match="does not measure"):
        watts_of(ACTIVATED.replace("332 Watts", "  0 Watts"))


def test_a_machine_without_a_controller_says_what_is_needed(ipmitool):
    ipmitool(NO_BMC, code=1)

    with pytest.raises(SourceError, match=r"Could not open device.*modprobe"):
        IpmiDcmi().open()


def test_a_missing_ipmitool_is_named_with_its_package(monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")

    with pytest.raises(SourceError, match="apt install ipmitool"):
        IpmiDcmi().open()


@pytest.mark.parametrize("lines", range(1, 8))
def test_an_answer_that_is_cut_off_is_missed(lines):
    cut = "".join(ACTIVATED.splitlines(keepends=True)[:lines])

    with pytest.raises(MissedError):
        watts_of(cut)
