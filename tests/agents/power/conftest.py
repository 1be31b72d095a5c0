"""Simulated meters: a powercap tree, an ipmitool, a Watts up? behind a pty."""

import os
import pty
import threading
import time
from pathlib import Path

import pytest

from tests.agents.packed_agent import Powercap


@pytest.fixture
def powercap(tmp_path):
    return Powercap(tmp_path / "powercap")


@pytest.fixture
def ipmitool(tmp_path, monkeypatch):
    """Install an ipmitool that prints a text."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")

    def says(text, code=0):
        stream = " >&2" if code else ""
        (folder / "said").write_text(text)
        program = folder / "ipmitool"
        program.write_text(
            '#!/bin/sh\n[ "$*" = "dcmi power reading" ] || exit 9\n'
            f"cat {folder / 'said'}{stream}\nexit {code}\n"
        )
        program.chmod(0o755)

    return says


class FakeWattsUp:
    """A meter on a serial port that sends packets once logging is requested."""

    def __init__(self, device: Path) -> None:
        self.device = device
        self.heard = b""
        self.master = -1
        self.plug_in()

    def plug_in(self):
        """Appear under the same name, on a new pty."""
        self.master, slave = pty.openpty()
        if self.device.is_symlink():
            self.device.unlink()
        self.device.symlink_to(os.ttyname(slave))
        self._slave = slave

    def unplug(self):
        os.close(self.master)
        os.close(self._slave)
        self.device.unlink()

    def listen(self, command, timeout_s=60):
        """Wait until the meter receives a command."""
        deadline = time.monotonic() + timeout_s
        while command not in self.heard:
            assert time.monotonic() < deadline, self.heard
            self.heard += os.read(self.master, 1000)
        self.heard = b""

    def say(self, *texts):
        for text in texts:
            os.write(self.master, text.encode())

    def say_later(self, *texts, after=0.1):
        """Send packets after a request to log, as a meter does."""

        def answer():
            self.listen(b"#L,W,3,E,,1;")
            time.sleep(after)
            self.say(*texts)

        thread = threading.Thread(target=answer, daemon=True)
        thread.start()
        return thread


def packet(tenths, volts=2300, amperes=None):
    """Return a complete packet with this many tenths of a watt."""
    amperes = round(tenths * 100 / volts * 100) if amperes is None else amperes
    other_fields = ",".join(["0"] * 15)
    return f"#d,-,18,{tenths},{volts},{amperes},{other_fields};\r\n"


@pytest.fixture
def meter(tmp_path):
    return FakeWattsUp(tmp_path / "ttyUSB0")
