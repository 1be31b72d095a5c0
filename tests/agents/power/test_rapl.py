"""RAPL from a powercap tree: all zones, wraps, and what forbids reading."""

import pytest

from agents.power import rapl
from agents.power.rapl import Rapl
from agents.power.source import CounterLostError, MissedError, SourceError
from bench.stage import LIMIT_UJ


@pytest.fixture
def clock(monkeypatch):
    """A clock that goes on by a second with each look, unless it is set."""
    now = {"us": 0}

    def look():
        now["us"] += 500_000
        return now["us"]

    monkeypatch.setattr(rapl, "monotonic_us", look)
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
    monkeypatch.setattr(rapl, "open", refuse, raising=False)

    with pytest.raises(SourceError, match=r"by root only.*chmod a\+r"):
        Rapl(str(powercap.folder)).open()


def test_a_counter_that_is_gone_is_missed(source, powercap):
    (powercap.folder / "intel-rapl:1" / "energy_uj").unlink()

    with pytest.raises(MissedError, match="cannot be read"):
        source.read()
