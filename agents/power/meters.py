"""Sources of power readings: their interface, and the two inside a machine.

RAPL (Linux, powercap) counts the energy of the processor, not at the wall. All zones
are recorded; the power is the sum of whole packages.

IPMI DCMI reports the whole machine in watts: ``ipmitool dcmi power reading``. A
`deactivated` reading, or 0 W on a running machine, is not a measurement.
"""

import os
import re
import shutil
import subprocess
from typing import Dict, List, NamedTuple, Optional

from agents.errors import AgentError
from agents.files import list_names, read_text_file, read_whole_number
from agents.processes import run_program
from agents.timing.clocks import monotonic_us

POWERCAP = "/sys/class/powercap"
_ZONE = re.compile(r"[\w-]+:\d+(?::\d+)*")
# No processor package uses more. A counter may have wrapped twice if its range lasts
# for less time than has passed since the last reading.
MAX_W = 1000.0
IPMITOOL = ("ipmitool", "dcmi", "power", "reading")
IPMITOOL_TIMEOUT_S = 5.0
_WATTS = re.compile(r"Instantaneous power reading:\s*(\d+)\s*Watts?")
_STATE = re.compile(r"Power reading state is:\s*(\w+)")


class SourceError(AgentError):
    """The meter does not exist or cannot be read."""


class ReadingMissedError(Exception):
    """This reading failed; later ones may succeed."""


class CounterWrappedError(Exception):
    """A counter may have wrapped, so the energy since the last reading is unknown."""


class Reading(NamedTuple):
    """The values of all channels at a time of the monotonic clock."""

    moment_us: int
    values: List[float]


class MeterSource:
    """A meter; call ``open``, then ``read`` repeatedly, then ``close``.

    ``open`` sets ``channels``; the total power is the sum of those in ``total``.
    ``measures`` is "power" (W) or "energy" (J). ``gain_error`` is the maximum relative
    error. ``interval_s`` is 0 if the meter times its readings.
    """

    kind = ""
    name = ""
    measures = "power"
    channels: List[str] = []
    total: List[str] = []
    gain_error: Optional[float] = None
    interval_s = 1.0

    def open(self) -> None:
        """Find the meter; raise SourceError if it cannot be read."""

    def read(self) -> Reading:
        """Return a reading; raise ReadingMissedError or CounterWrappedError."""
        # Not abstract: `CsvSource` cannot be read.
        raise NotImplementedError

    def close(self) -> None:
        """Release the meter."""

    def warnings(self) -> List[str]:
        """Return what went wrong since the last call."""
        return []


class Zone(NamedTuple):
    """A RAPL zone; its counter of microjoules wraps at ``limit`` (0 if unknown)."""

    name: str
    path: str
    limit: int


class Rapl(MeterSource):
    """The energy of all RAPL zones in joules since the start of the log."""

    kind = "rapl"
    measures = "energy"

    def __init__(self, folder: str = "") -> None:
        self.folder = folder or POWERCAP
        self.zones: List[Zone] = []
        self._before: Dict[str, int] = {}
        self._counted: Dict[str, int] = {}
        self._moment_us: Optional[int] = None

    def open(self) -> None:
        by_name: Dict[str, Zone] = {}
        # mmio zones repeat the other counters. They are sorted last, and only the first
        # zone of each name is used.
        entries = sorted(
            list_names(self.folder), key=lambda name: ("mmio" in name, name)
        )
        for entry in entries:
            path = os.path.join(self.folder, entry)
            if _ZONE.fullmatch(entry) and os.path.exists(path + "/energy_uj"):
                limit = read_whole_number(path + "/max_energy_range_uj") or 0
                name = _zone_name(self.folder, entry)
                by_name.setdefault(name, Zone(name, path, limit))
        self.zones = list(by_name.values())
        if not self.zones and os.name == "nt":
            raise SourceError(
                "Windows provides RAPL counters only through a driver. Use a meter at "
                "the wall (power watts-up COM3), or power csv FILE."
            )
        if not self.zones:
            raise SourceError(
                "There are no RAPL counters in %s: a virtual machine has none, and a "
                "host needs the intel_rapl modules (modprobe intel_rapl_msr)."
                % self.folder
            )
        self.channels = [zone.name for zone in self.zones]
        packages = [name for name in self.channels if re.match(r"package[\w-]*$", name)]
        tops = [name for name in self.channels if " " not in name]
        self.total = packages or tops
        self._counts()

    def read(self) -> Reading:
        before_us = monotonic_us()
        try:
            counts = self._counts()
        except SourceError as error:
            raise ReadingMissedError(str(error)) from None
        moment_us = (before_us + monotonic_us()) // 2
        elapsed_s = (moment_us - (self._moment_us or moment_us)) / 1e6
        self._moment_us = moment_us
        try:
            for zone in self.zones:
                self._count(zone, counts[zone.name], elapsed_s)
        finally:
            self._before = counts  # a new log starts here
        joules = [self._counted.get(zone.name, 0) / 1e6 for zone in self.zones]
        return Reading(moment_us, joules)

    def _count(self, zone: Zone, count: int, elapsed_s: float) -> None:
        difference = count - self._before.get(zone.name, count)
        if elapsed_s * MAX_W * 1e6 > zone.limit or (difference < 0 and not zone.limit):
            self._counted = {}
            raise CounterWrappedError(
                "%s was not read for %.0f s, and its counter may have wrapped more "
                "than once. A new log begins." % (zone.name, elapsed_s)
            )
        difference += zone.limit if difference < 0 else 0  # wrapped once
        self._counted[zone.name] = self._counted.get(zone.name, 0) + difference

    def _counts(self) -> Dict[str, int]:
        counts = {}
        for zone in self.zones:
            path = os.path.join(zone.path, "energy_uj")
            try:
                with open(path, "rb") as file:
                    counts[zone.name] = int(file.read(64))
            except PermissionError:
                raise SourceError(
                    "Only root may read %s (since CVE-2020-8694). Run this as root, "
                    "or allow others to read it: chmod a+r %s" % (path, path)
                ) from None
            except (OSError, ValueError) as error:
                raise SourceError("%s cannot be read: %s" % (path, error)) from None
        return counts


def _zone_name(folder: str, entry: str) -> str:
    name = read_text_file(os.path.join(folder, entry, "name")) or entry
    parent = entry.rpartition(":")[0]
    return "%s %s" % (_zone_name(folder, parent), name) if ":" in parent else name


class IpmiDcmi(MeterSource):
    kind = "ipmi-dcmi"
    channels = ["machine"]
    total = ["machine"]

    def open(self) -> None:
        if shutil.which(IPMITOOL[0]) is None:
            if os.name == "nt":
                raise SourceError(
                    "There is no ipmitool on Windows. Read the controller from a Linux "
                    "machine (ipmitool -I lanplus ... dcmi power reading) and push "
                    "the output."
                )
            raise SourceError("ipmitool is not installed: apt install ipmitool")
        try:
            self.read()
        except ReadingMissedError as missed:
            raise SourceError(
                "%s. It needs root, the module ipmi_si (modprobe ipmi_devintf ipmi_si) "
                "and a controller that can measure power." % missed
            ) from None

    def read(self) -> Reading:
        before_us = monotonic_us()
        try:
            process = run_program(list(IPMITOOL), IPMITOOL_TIMEOUT_S)
        except OSError as error:
            raise ReadingMissedError(
                "ipmitool cannot be started: %s" % error.strerror
            ) from None
        except subprocess.TimeoutExpired:
            raise ReadingMissedError(
                "ipmitool did not end within %g s" % IPMITOOL_TIMEOUT_S
            ) from None
        moment_us = (before_us + monotonic_us()) // 2
        return Reading(moment_us, [parse_watts(process.stdout, process.stderr)])


def parse_watts(output: str, error_output: str = "") -> float:
    """Parse ipmitool's output; raise ReadingMissedError without a power."""
    watts, state = _WATTS.search(output), _STATE.search(output)
    if watts is None:
        lines = (error_output or output).strip().splitlines() or ["nothing"]
        raise ReadingMissedError("ipmitool printed: %s" % lines[0].strip())
    if state is None or state.group(1) != "activated":
        raise ReadingMissedError("the controller's power reading is deactivated")
    if not int(watts.group(1)):
        raise ReadingMissedError("the controller reports 0 W: it does not measure")
    return float(watts.group(1))
