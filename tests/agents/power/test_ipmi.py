"""IPMI DCMI through an ipmitool that prints what real ones printed."""

from pathlib import Path

import pytest

from agents.power.ipmi import IpmiDcmi, watts_of
from agents.power.source import MissedError, SourceError

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
