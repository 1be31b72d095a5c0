"""A serial line at 115200 baud, 8 bits, no parity, one stop bit, nothing translated.

Of POSIX by termios, of Windows (`COM3`) by its own calls. Both raise OSError.
"""

import importlib
import os
import select
from typing import Any, List

BAUD = 115200
_LONGEST = 4096
_COMMUNICATIONS = r"HARDWARE\DEVICEMAP\SERIALCOMM"
# CreateFileW: read and write, shared with nobody, only what is there.
_READ_AND_WRITE, _EXISTING = 0xC0000000, 3
_FORGET_HEARD = 0x08
# Read what is there, or wait for the first byte: as SetCommTimeouts has it said.
_AT_ONCE = 0xFFFFFFFF


class Line:
    """An open line of a POSIX system."""

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
            # What waits there was measured before we asked.
            termios.tcflush(self._line, termios.TCIFLUSH)
        except BaseException:
            os.close(self._line)
            raise

    def write(self, content: bytes) -> None:
        os.write(self._line, content)

    def hears(self, seconds: float) -> bool:
        """Wait so long for something; say whether there is some."""
        return bool(select.select([self._line], [], [], seconds)[0])

    def read(self) -> bytes:
        """Return what was heard; nothing where the line broke off."""
        return os.read(self._line, _LONGEST)

    def close(self) -> None:
        os.close(self._line)


class WindowsLine:
    """An open COM port."""

    def __init__(self, device: str) -> None:
        # Python's smallest packages have none.
        self._ctypes: Any = importlib.import_module("ctypes")
        self._kernel = self._ctypes.WinDLL("kernel32", use_last_error=True)
        self._kernel.CreateFileW.restype = self._ctypes.c_void_p
        # COM10 and above are found by this name only.
        path = device if device.startswith("\\\\") else "\\\\.\\" + device.rstrip(":")
        self._handle = self._ctypes.c_void_p(
            self._kernel.CreateFileW(path, _READ_AND_WRITE, 0, None, _EXISTING, 0, None)
        )
        self._first = b""
        if self._handle.value in (None, self._ctypes.c_void_p(-1).value):
            raise self._problem(device)
        control = self._ctypes.create_string_buffer(28)
        control[0] = b"\x1c"  # a DCB says its own length
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
    """Open a serial line of this system."""
    return WindowsLine(device) if os.name == "nt" else Line(device)


def ports_of_windows() -> List[str]:
    """Return the COM ports that this Windows has, from its registry."""
    registry = importlib.import_module("winreg")
    ports: List[str] = []
    try:
        with registry.OpenKey(registry.HKEY_LOCAL_MACHINE, _COMMUNICATIONS) as opened:
            for place in range(registry.QueryInfoKey(opened)[1]):
                ports.append(str(registry.EnumValue(opened, place)[1]))
    except OSError:
        return ports
    return sorted(ports)
