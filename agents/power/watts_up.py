"""Watts up? Pro, ES and .NET: serial meters between wall and machine.

They send a packet per second, such as `#d,-,18,972,2277,433,...;`, with watts and volts
in tenths, amperes in thousandths, and `_` for disabled fields. Packets contain no time,
so a reading is dated when its packet arrives, at most a second late.
"""

import contextlib
import importlib
import os
import re
import select
import time
from typing import Any, List, NamedTuple, Optional

from agents.power.meters import MeterSource, Reading, ReadingMissedError, SourceError
from agents.timing.clocks import monotonic_us

BAUD = 115200

_COMMUNICATIONS = r"HARDWARE\DEVICEMAP\SERIALCOMM"
# Arguments of CreateFileW.
_READ_AND_WRITE, _EXISTING = 0xC0000000, 3
_PURGE_RECEIVED = 0x08
# SetCommTimeouts: wait for the first byte, and return it with all that have arrived.
_IMMEDIATELY = 0xFFFFFFFF


class SerialPort:
    def __init__(self, device: str) -> None:
        self._line = os.open(device, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK)
        try:
            termios: Any = importlib.import_module("termios")  # not on Windows
            controls = [
                list(control) if isinstance(control, list) else control
                for control in termios.tcgetattr(self._line)
            ]
            controls[0] = controls[1] = controls[3] = 0
            controls[2] = termios.CS8 | termios.CREAD | termios.CLOCAL
            controls[4] = controls[5] = termios.B115200
            controls[6][termios.VMIN], controls[6][termios.VTIME] = 1, 0
            termios.tcsetattr(self._line, termios.TCSANOW, controls)
            termios.tcflush(self._line, termios.TCIFLUSH)
        except BaseException:
            os.close(self._line)
            raise

    def write(self, content: bytes) -> None:
        os.write(self._line, content)

    def wait_readable(self, seconds: float) -> bool:
        return bool(select.select([self._line], [], [], seconds)[0])

    def read(self) -> bytes:
        """Return received bytes; b"" on a broken connection."""
        return os.read(self._line, _MAX_BYTES)

    def close(self) -> None:
        os.close(self._line)


class WindowsSerialPort:
    def __init__(self, device: str) -> None:
        self._ctypes: Any = importlib.import_module("ctypes")
        self._kernel = self._ctypes.WinDLL("kernel32", use_last_error=True)
        self._kernel.CreateFileW.restype = self._ctypes.c_void_p
        # This prefix is required for COM10 and above.
        path = device if device.startswith("\\\\") else "\\\\.\\" + device.rstrip(":")
        self._handle = self._ctypes.c_void_p(
            self._kernel.CreateFileW(path, _READ_AND_WRITE, 0, None, _EXISTING, 0, None)
        )
        self._received = b""
        if self._handle.value in (None, self._ctypes.c_void_p(-1).value):
            raise self._problem(device)
        control = self._ctypes.create_string_buffer(28)
        control[0] = b"\x1c"  # size of a DCB
        words = "baud=%d parity=n data=8 stop=1 dtr=on rts=on" % BAUD
        is_built = self._kernel.BuildCommDCBA(words.encode(), control)
        if not is_built or not self._kernel.SetCommState(self._handle, control):
            problem = self._problem(device)
            self.close()
            raise problem
        self._kernel.PurgeComm(self._handle, _PURGE_RECEIVED)

    def write(self, content: bytes) -> None:
        written = self._ctypes.c_uint32()
        if not self._kernel.WriteFile(
            self._handle, content, len(content), self._ctypes.byref(written), None
        ):
            raise self._problem("COM")

    def wait_readable(self, seconds: float) -> bool:
        self._received += self._receive(max(1, int(seconds * 1000)))
        return bool(self._received)

    def read(self) -> bytes:
        received, self._received = self._received, b""
        return received

    def _receive(self, timeout_ms: int) -> bytes:
        limits = (self._ctypes.c_uint32 * 5)(
            *(_IMMEDIATELY, _IMMEDIATELY, timeout_ms, 0, 2000)
        )
        self._kernel.SetCommTimeouts(self._handle, limits)
        buffer = self._ctypes.create_string_buffer(_MAX_BYTES)
        length = self._ctypes.c_uint32()
        if not self._kernel.ReadFile(
            self._handle, buffer, _MAX_BYTES, self._ctypes.byref(length), None
        ):
            raise self._problem("COM")
        return bytes(buffer.raw[: length.value])

    def _problem(self, device: str) -> OSError:
        code = self._ctypes.get_last_error()
        kind = PermissionError if code == 5 else OSError
        return kind(code, self._ctypes.FormatError(code).strip(), device)

    def close(self) -> None:
        self._kernel.CloseHandle(self._handle)


def open_serial_port(device: str) -> Any:
    return WindowsSerialPort(device) if os.name == "nt" else SerialPort(device)


def windows_ports() -> List[str]:
    registry = importlib.import_module("winreg")
    ports: List[str] = []
    try:
        with registry.OpenKey(registry.HKEY_LOCAL_MACHINE, _COMMUNICATIONS) as opened:
            for index in range(registry.QueryInfoKey(opened)[1]):
                ports.append(str(registry.EnumValue(opened, index)[1]))
    except OSError:
        return ports
    return sorted(ports)


DEVICE = "COM3" if os.name == "nt" else "/dev/ttyUSB0"
PACKET_TIMEOUT_S = 3.0
FIRST_PACKET_TIMEOUT_S = 8.0
# Arguments: log mode external (send packets), a reserved one, interval of 1 s.
LOG_EACH_SECOND = b"#L,W,3,E,,1;"
STOP_LOGGING = b"#L,R,0;"
GAIN_ERROR = 0.015
_PACKET = re.compile(rb"#d,[^,;#]*,(\d{1,2}),([^;#]*);")
_MAX_BYTES = 4096
_FIELD_COUNTS = (16, 18)
# Watts exceed volts x amperes only by rounding; packets beyond that are damaged.
_SLACK_W = 5.0
SWITCHED_OFF = b"_"
_SCALES = (10, 10, 1000)


class Packet(NamedTuple):
    """The first fields of a packet; disabled ones are None."""

    watts: Optional[float]
    volts: Optional[float]
    amperes: Optional[float]


class WattsUp(MeterSource):
    """A meter on a serial port. The port is opened again after a failure."""

    kind = "watts-up"
    channels = ["wall"]
    total = ["wall"]
    gain_error = GAIN_ERROR
    interval_s = 0.0

    def __init__(self, device: str = "") -> None:
        self.device = device or DEVICE
        self.damaged = 0
        self._port: Optional[Any] = None
        self._received = b""

    def open(self) -> None:
        try:
            self._connect()
        except PermissionError:
            advice = "be root or in its group (adduser $USER dialout)"
            if os.name == "nt":  # ports are exclusive
                advice = "another program has opened it"
            sentence = "%s cannot be opened: %s." % (self.device, advice)
            raise SourceError(sentence) from None
        except OSError as error:
            ports = ""
            if os.name == "nt":
                ports = ". Ports: " + (", ".join(windows_ports()) or "none")
            words = (self.device, error.strerror, ports)
            raise SourceError("%s: %s%s" % words) from None
        try:
            self._packet(FIRST_PACKET_TIMEOUT_S)
        except ReadingMissedError as missed:
            sentence = "%s: %s. Is it a Watts up?" % (self.device, missed)
            raise SourceError(sentence) from None

    def read(self) -> Reading:
        if self._port is None:
            try:
                self._connect()
            except OSError as error:
                raise ReadingMissedError(
                    "%s: %s" % (self.device, error.strerror)
                ) from None
        packet = self._packet(PACKET_TIMEOUT_S)
        if packet.watts is None:
            raise ReadingMissedError("the meter's watts field is disabled")
        if not packet.watts:
            raise ReadingMissedError("the meter reads 0 W: nothing is plugged in")
        return Reading(monotonic_us(), [packet.watts])

    def close(self) -> None:
        if self._port is not None:
            with contextlib.suppress(OSError):
                self._port.write(STOP_LOGGING)
            self._disconnect()

    def warnings(self) -> List[str]:
        damaged, self.damaged = self.damaged, 0
        return ["%d damaged packets were skipped." % damaged] if damaged else []

    def _connect(self) -> None:
        port = open_serial_port(self.device)
        try:
            port.write(LOG_EACH_SECOND)
        except BaseException:
            port.close()
            raise
        self._port, self._received = port, b""

    def _disconnect(self) -> None:
        if self._port is not None:
            self._port.close()
        self._port = None

    def _packet(self, timeout_s: float) -> Packet:
        """Return the next valid packet.

        Raise ReadingMissedError if the meter sends nothing for ``timeout_s``.
        """
        deadline = time.monotonic() + timeout_s
        while True:
            packet = self._next_packet()
            if packet is not None:
                return packet
            if not self._receive(deadline - time.monotonic()):
                self._restart_logging()
                raise ReadingMissedError("the meter sent nothing for %g s" % timeout_s)

    def _next_packet(self) -> Optional[Packet]:
        while True:
            match = _PACKET.search(self._received)
            if match is None:
                self._received = self._received[-_MAX_BYTES:]
                return None
            self._received = self._received[match.end() :]
            packet = parse_packet(match.group(1), match.group(2))
            if packet is not None:
                return packet
            self.damaged += 1

    def _receive(self, seconds: float) -> bool:
        assert self._port is not None
        try:
            if seconds <= 0 or not self._port.wait_readable(seconds):
                return False
            received = self._port.read()
        except OSError:
            received = b""
        if not received:
            self._disconnect()
            raise ReadingMissedError("%s: the connection was lost" % self.device)
        self._received += received
        return True

    def _restart_logging(self) -> None:
        """Request packets again: the meter stops sending after a loss of power."""
        try:
            if self._port is not None:
                self._port.write(LOG_EACH_SECOND)
        except OSError:
            self._disconnect()


def parse_packet(count: bytes, fields: bytes) -> Optional[Packet]:
    """Parse a packet with its stated number of fields; None if it is damaged."""
    cells = [cell.strip() for cell in fields.split(b",")]
    if len(cells) != int(count) or len(cells) not in _FIELD_COUNTS:
        return None
    if not all(
        cell == SWITCHED_OFF or re.match(rb"-?\d{1,9}$", cell) for cell in cells
    ):
        return None
    watts, volts, amperes = (
        None if cell == SWITCHED_OFF else int(cell) / scale
        for cell, scale in zip(cells, _SCALES)
    )
    if watts is not None:
        most_w = float("inf")
        if volts is not None and amperes is not None:
            most_w = 1.1 * volts * amperes + _SLACK_W
        if not 0 <= watts <= most_w:
            return None
    return Packet(watts, volts, amperes)
