"""How long the lab waits: as long as the machine's boots say."""

import time
from dataclasses import replace
from pathlib import Path

import pytest

from agents.client import Client
from lab import laboratory
from lab.boots import QEMU, Visit
from lab.images import Image
from lab.laboratory import Laboratory

NOBODY = Client("http://127.0.0.1:9", "vl_token")


@pytest.fixture
def lab(tmp_path, monkeypatch):
    """A lab whose boots are shell scripts, and whose limits are tenths of seconds."""
    monkeypatch.setattr(laboratory, "PATIENCE", 0.05)
    monkeypatch.setattr(laboratory, "ENROL_S", 0.1)
    monkeypatch.setattr(laboratory, "ROUND_S", 0.4)
    made = Laboratory(
        folder=tmp_path,
        agent=Path("agent"),
        guest=Image(tmp_path),
        tower=None,
        client=NOBODY,
        reader=NOBODY,
        token="vl_token",
        study="monday",
        machine="machine",
        desk_port=1,
        time_port=2,
        peer="198.18.0.2:5099",
        beneath=(),
        versions={},
        say=lambda _: None,
    )

    def boot(script, repetitions=1):
        started = [("qemu", ["sh", "-c", script])]
        monkeypatch.setattr(Laboratory, "_started", lambda *_: started)
        made.visit(Visit(QEMU, repetitions))
        return made

    return boot


def test_a_boot_that_does_all_is_reported(lab):
    made = lab("echo lab: qemu is up; echo lab: qemu is done")

    assert made.failures == []
    assert made.reports["qemu"][0].done_s is not None


def test_a_boot_that_hangs_is_stopped_and_told_with_its_last_words(lab):
    begun_s = time.monotonic()

    made = lab("echo lab: qemu is up; echo loading; exec sleep 60")

    assert time.monotonic() - begun_s < 30
    assert "did not end in time" in made.failures[0]
    assert "loading" in made.failures[1]


def test_who_booted_slowly_has_as_much_more_time_to_measure(lab, monkeypatch):
    """Up after 1 s, ten times what is usual: a round of 0.4 s may take 4."""
    monkeypatch.setattr(laboratory, "PATIENCE", 1)
    usual = replace(QEMU, quiet_s=0.1)
    monkeypatch.setattr("tests.lab.test_laboratory.QEMU", usual)

    made = lab("sleep 1; echo lab: qemu is up; sleep 2; echo lab: qemu is done")

    assert made.failures == []
    assert made.pace >= 10


def test_a_slow_boot_lengthens_the_limits_of_those_that_follow(lab):
    made = lab("echo lab: qemu is up; echo lab: qemu is done")
    quiet = made._until(0.0, 30)

    made.pace *= 5

    assert made._until(0.0, 30) == 5 * quiet
