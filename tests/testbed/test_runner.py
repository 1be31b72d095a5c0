"""How long the testbed waits depends on the boot time of the machine."""

import time
from dataclasses import replace
from pathlib import Path

import pytest

from agents.client import Client
from testbed import runner
from testbed.images import Image
from testbed.runner import Testbed
from testbed.schedule import QEMU, ScheduledBoot

NOBODY = Client("http://127.0.0.1:9", "vl_token")


@pytest.fixture
def lab(tmp_path, monkeypatch):
    """A testbed whose boots are shell scripts, with limits of tenths of seconds."""
    monkeypatch.setattr(runner, "TIMEOUT_FACTOR", 0.05)
    monkeypatch.setattr(runner, "ENROL_TIMEOUT_S", 0.1)
    monkeypatch.setattr(runner, "ROUND_TIMEOUT_S", 0.4)
    made = Testbed(
        folder=tmp_path,
        agent=Path("agent"),
        guest=Image(tmp_path),
        nested_host_image=None,
        client=NOBODY,
        reader=NOBODY,
        token="vl_token",
        study="monday",
        machine="machine",
        proxy_port=1,
        time_port=2,
        peer="198.18.0.2:5099",
        host_layers=(),
        versions={},
        say=lambda _: None,
    )

    def boot(script, repetitions=1):
        started = [("qemu", ["sh", "-c", script])]
        monkeypatch.setattr(Testbed, "_programs", lambda *_: started)
        made.run_boot(ScheduledBoot(QEMU, repetitions))
        return made

    return boot


def test_completed_boot_is_reported(lab):
    made = lab("echo lab: qemu is up; echo lab: qemu is done")

    assert made.failures == []
    assert made.reports["qemu"][0].done_s is not None


def test_hanging_boot_is_stopped_and_its_output_shown(lab):
    begun_s = time.monotonic()

    made = lab("echo lab: qemu is up; echo loading; exec sleep 60")

    assert time.monotonic() - begun_s < 30
    assert "did not end in time" in made.failures[0]
    assert "loading" in made.failures[1]


def test_slow_boot_extends_the_time_to_measure(lab, monkeypatch):
    """Booted after 1 s, ten times the usual: a round of 0.4 s may take 4 s."""
    monkeypatch.setattr(runner, "TIMEOUT_FACTOR", 1)
    usual = replace(QEMU, expected_s=0.1)
    monkeypatch.setattr("tests.testbed.test_runner.QEMU", usual)

    made = lab("sleep 1; echo lab: qemu is up; sleep 2; echo lab: qemu is done")

    assert made.failures == []
    assert made.slowdown >= 10


def test_slow_boot_extends_later_limits(lab):
    made = lab("echo lab: qemu is up; echo lab: qemu is done")
    quiet = made._boot_deadline(0.0, 30)

    made.slowdown *= 5

    assert made._boot_deadline(0.0, 30) == 5 * quiet
