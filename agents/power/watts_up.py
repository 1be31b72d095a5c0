"""Watts up? Pro, ES and .NET: a meter between wall and machine, on a serial line.

It sends a packet per second, `#d,-,18,972,2277,433,...;`: watts and volts in tenths,
amperes in thousandths, `_` for fields that are switched off. Packets have no time: the
time of reading is at most a second later.
"""

import contextlib
import importlib
import os
import re
import select
import time
from typing import Any, List, NamedTuple, Optional

from agents.power.meters import MissedError, Reading, Source, SourceError
from agents.timing.clocks import monotonic_us

BAUD = 115200

_COMMUNICATIONS = r"HARDWARE\DEVICEMAP\SERIALCOMM"
# CreateFileW: read and write, exclusive, only existing files.
_READ_AND_WRITE, _EXISTING = 0xC0000000, 3
_FORGET_HEARD = 0x08
# SetCommTimeouts: return available bytes, or wait for the first one.
_AT_ONCE = 0xFFFFFFFF


class Line:
    """An open serial line of a POSIX system."""

    def __init__(self, device: str) -> None:
        self._line = os.open(device, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK)
        try:
            termios: Any = importlib.import_module("termios")  # Windows has none
            controls = [
                list(control) if isinstance(control, list) else control
                for control in termios.tcgetattr(self._line)
            ]
            controls[0] = controls[1] = controls[3] = 0
            controls[2] = termios.CS8 | termios.CREAD | termios.CLOCAL
            controls[4] = controls[5] = termios.B115200
            controls[6][termios.VMIN], controls[6][termios.VTIME] = 1, 0
            termios.tcsetattr(self._line, termios.TCSANOW, controls)
            # Bytes already received are old measurements.
            termios.tcflush(self._line, termios.TCIFLUSH)
        except BaseException:
            os.close(self._line)
            raise

    def write(self, content: bytes) -> None:
        os.write(self._line, content)

    def hears(self, seconds: float) -> bool:
        """Return whether there are bytes to read within this time."""
        return bool(select.select([self._line], [], [], seconds)[0])

    def read(self) -> bytes:
        """Return the received bytes; none if the line is broken."""
        return os.read(self._line, _LONGEST)

    def close(self) -> None:
        os.close(self._line)


class WindowsLine:
    """An open COM port."""

    def __init__(self, device: str) -> None:
        self._ctypes: Any = importlib.import_module("ctypes")
        self._kernel = self._ctypes.WinDLL("kernel32", use_last_error=True)
        self._kernel.CreateFileW.restype = self._ctypes.c_void_p
        # COM10 and above need this form of the name.
        path = device if device.startswith("\\\\") else "\\\\.\\" + device.rstrip(":")
        self._handle = self._ctypes.c_void_p(
            self._kernel.CreateFileW(path, _READ_AND_WRITE, 0, None, _EXISTING, 0, None)
        )
        self._first = b""
        if self._handle.value in (None, self._ctypes.c_void_p(-1).value):
            raise self._problem(device)
        control = self._ctypes.create_string_buffer(28)
        control[0] = b"\x1c"  # the length of a DCB
        words = "baud=%d parity=n data=8 stop=1 dtr=on rts=on" % BAUD
        known = self._kernel.BuildCommDCBA(words.encode(), control)
        if not known or not self._kernel.SetCommState(self._handle, control):
            problem = self._problem(device)
            self.close()
            raise problem
        self._kernel.PurgeComm(self._handle, _FORGET_HEARD)

    def write(self, content: bytes) -> None:
        told = self._ctypes.c_uint32()
        if not self._kernel.WriteFile(
            self._handle, content, len(content), self._ctypes.byref(told), None
        ):
            raise self._problem("COM")

    def hears(self, seconds: float) -> bool:
        self._first += self._heard(max(1, int(seconds * 1000)))
        return bool(self._first)

    def read(self) -> bytes:
        heard, self._first = self._first, b""
        return heard

    def _heard(self, patience_ms: int) -> bytes:
        limits = (self._ctypes.c_uint32 * 5)(_AT_ONCE, _AT_ONCE, patience_ms, 0, 2000)
        self._kernel.SetCommTimeouts(self._handle, limits)
        room = self._ctypes.create_string_buffer(_LONGEST)
        told = self._ctypes.c_uint32()
        if not self._kernel.ReadFile(
            self._handle, room, _LONGEST, self._ctypes.byref(told), None
        ):
            raise self._problem("COM")
        return bytes(room.raw[: told.value])

    def _problem(self, device: str) -> OSError:
        code = self._ctypes.get_last_error()
        kind = PermissionError if code == 5 else OSError
        return kind(code, self._ctypes.FormatError(code).strip(), device)

    def close(self) -> None:
        self._kernel.CloseHandle(self._handle)


def open_line(device: str) -> Any:
    return WindowsLine(device) if os.name == "nt" else Line(device)


def ports_of_windows() -> List[str]:
    """Return the COM ports in the registry."""
    registry = importlib.import_module("winreg")
    ports: List[str] = []
    try:
        with registry.OpenKey(registry.HKEY_LOCAL_MACHINE, _COMMUNICATIONS) as opened:
            for place in range(registry.QueryInfoKey(opened)[1]):
                ports.append(str(registry.EnumValue(opened, place)[1]))
    except OSError:
        return ports
    return sorted(ports)


DEVICE = "COM3" if os.name == "nt" else "/dev/ttyUSB0"
PATIENCE_S = 3.0
FIRST_PATIENCE_S = 8.0
# L,W: log; three arguments: E for external, one reserved, interval of 1 s.
LOG_EACH_SECOND = b"#L,W,3,E,,1;"
STOP_LOGGING = b"#L,R,0;"
GAIN_ERROR = 0.015
_PACKET = re.compile(rb"#d,[^,;#]*,(\d{1,2}),([^;#]*);")
_LONGEST = 4096
_FIELD_COUNTS = (16, 18)
# Watts cannot exceed volts x amperes, except by rounding.
_SLACK_W = 5.0
OFF = b"_"
_SCALES = (10, 10, 1000)


class Packet(NamedTuple):
    """The fields of a packet; None for those switched off."""

    watts: Optional[float]
    volts: Optional[float]
    amperes: Optional[float]


class WattsUp(Source):
    """The meter at a serial device; reconnects after the cable was pulled."""

    kind = "watts-up"
    channels = ["wall"]
    total = ["wall"]
    gain_error = GAIN_ERROR
    every_s = 0.0

    def __init__(self, device: str = "") -> None:
        self.device = device or DEVICE
        self.damaged = 0
        self._line: Optional[Any] = None
        self._heard = b""

    def open(self) -> None:
        try:
            self._connect()
        except PermissionError:
            advice = "be root or in its group (adduser $USER dialout)"
            if os.name == "nt":  # devices are exclusive
                advice = "another program has it open"
            sentence = "%s may not be opened: %s." % (self.device, advice)
            raise SourceError(sentence) from None
        except OSError as error:
            ports = ""
            if os.name == "nt":
                ports = ". There are: " + (
                    ", ".join(ports_of_windows()) or "no COM ports"
                )
            words = (self.device, error.strerror, ports)
            raise SourceError("%s: %s%s" % words) from None
        try:
            self._packet(FIRST_PATIENCE_S)
        except MissedError as missed:
            sentence = "%s: %s. Is it a Watts up?" % (self.device, missed)
            raise SourceError(sentence) from None

    def read(self) -> Reading:
        """Return the power in the next packet."""
        if self._line is None:
            try:
                self._connect()
            except OSError as error:
                raise MissedError("%s: %s" % (self.device, error.strerror)) from None
        packet = self._packet(PATIENCE_S)
        if packet.watts is None:
            raise MissedError("the meter's watts are switched off")
        if not packet.watts:
            raise MissedError("the meter reads 0 W: nothing is plugged in")
        return Reading(monotonic_us(), [packet.watts])

    def close(self) -> None:
        if self._line is not None:
            with contextlib.suppress(OSError):  # the meter may be gone
                self._line.write(STOP_LOGGING)
            self._disconnect()

    def notes(self) -> List[str]:
        damaged, self.damaged = self.damaged, 0
        return ["%d damaged packets were left out." % damaged] if damaged else []

    def _connect(self) -> None:
        line = open_line(self.device)
        try:
            line.write(LOG_EACH_SECOND)
        except BaseException:
            line.close()
            raise
        self._line, self._heard = line, b""

    def _disconnect(self) -> None:
        if self._line is not None:
            self._line.close()
        self._line = None

    def _packet(self, patience_s: float) -> Packet:
        """Return the next packet; raise MissedError after ``patience_s``."""
        deadline = time.monotonic() + patience_s
        while True:
            packet = self._next_heard()
            if packet is not None:
                return packet
            if not self._listen(deadline - time.monotonic()):
                self._ask_again()
                raise MissedError("the meter says nothing for %g s" % patience_s)

    def _next_heard(self) -> Optional[Packet]:
        """Remove and return the first good received packet; count damaged ones."""
        while True:
            match = _PACKET.search(self._heard)
            if match is None:
                self._heard = self._heard[-_LONGEST:]
                return None
            self._heard = self._heard[match.end() :]
            packet = packet_of(match.group(1), match.group(2))
            if packet is not None:
                return packet
            self.damaged += 1

    def _listen(self, seconds: float) -> bool:
        """Receive bytes; return False if there were none. Disconnect a broken line."""
        assert self._line is not None
        try:
            if seconds <= 0 or not self._line.hears(seconds):
                return False
            heard = self._line.read()
        except OSError:
            heard = b""
        if not heard:
            self._disconnect()
            raise MissedError("%s: the line broke off" % self.device)
        self._heard += heard
        return True

    def _ask_again(self) -> None:
        """Restart logging: a meter that lost its power has stopped it."""
        try:
            if self._line is not None:
                self._line.write(LOG_EACH_SECOND)
        except OSError:
            self._disconnect()


def packet_of(count: bytes, fields: bytes) -> Optional[Packet]:
    """Parse the fields of a packet; None if it is damaged."""
    cells = [cell.strip() for cell in fields.split(b",")]
    if len(cells) != int(count) or len(cells) not in _FIELD_COUNTS:
        return None
    if not all(cell == OFF or re.match(rb"-?\d{1,9}$", cell) for cell in cells):
        return None
    watts, volts, amperes = (
        None if cell == OFF else int(cell) / scale
        for cell, scale in zip(cells, _SCALES)
    )
    if watts is not None:
        most_w = float("inf")
        if volts is not None and amperes is not None:
            most_w = 1.1 * volts * amperes + _SLACK_W
        if not 0 <= watts <= most_w:
            return None
    return Packet(watts, volts, amperes)
