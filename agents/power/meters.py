"""Sources of power readings, and the two inside a machine.

RAPL counts the energy of the processor alone (Linux, powercap): do not compare it with
power from the wall. All zones are kept; those of whole packages make up the power.

IPMI DCMI is the power of the whole machine in whole watts, read from the server's
controller with ``ipmitool dcmi power reading``. A reading that is `deactivated`, or 0 W
on a running machine, is not a measurement.
"""

import os
import re
import shutil
import subprocess
from typing import Dict, List, NamedTuple, Optional

from agents.errors import AgentError
from agents.files import names_in, text_of, whole_number_of
from agents.processes import ended
from agents.timing.clocks import monotonic_us

POWERCAP = "/sys/class/powercap"
_ZONE = re.compile(r"[\w-]+:\d+(?::\d+)*")
# No package takes more power; used to detect counters that may have wrapped twice.
MOST_W = 1000.0
IPMITOOL = ("ipmitool", "dcmi", "power", "reading")
IPMITOOL_S = 5.0
_WATTS = re.compile(r"Instantaneous power reading:\s*(\d+)\s*Watts?")
_STATE = re.compile(r"Power reading state is:\s*(\w+)")


class SourceError(AgentError):
    """The meter does not exist or cannot be read."""


class MissedError(Exception):
    """A reading is missing; later ones may succeed."""


class CounterLostError(Exception):
    """A counter may have wrapped, so the energy since then is unknown."""


class Reading(NamedTuple):
    """A moment of the monotonic clock and a value per channel."""

    moment_us: int
    values: List[float]


class Source:
    """A meter: ``open``, ``read`` repeatedly, ``close``.

    ``channels`` are known after ``open``; the power is the sum of those in ``total``.
    ``measures`` is "power" (W) or "energy" (J); ``every_s`` is 0 if the meter sets the
    pace.
    """

    kind = ""
    name = ""
    measures = "power"
    channels: List[str] = []
    total: List[str] = []
    gain_error: Optional[float] = None
    every_s = 1.0

    def open(self) -> None:
        """Find the meter; raise SourceError."""

    def read(self) -> Reading:
        """Return a reading; raise MissedError or CounterLostError."""
        # Not abstract: `CsvLog` is never read.
        raise NotImplementedError

    def close(self) -> None:
        """Release the meter."""

    def notes(self) -> List[str]:
        """Return what went wrong since the last call."""
        return []


class Zone(NamedTuple):
    """A counter of microjoules that wraps at ``limit``."""

    name: str
    path: str
    limit: int


class Rapl(Source):
    """All zones, each in joules since the start of the log."""

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
        # mmio shows the same counters again: the first zone of a name is kept.
        entries = sorted(names_in(self.folder), key=lambda name: ("mmio" in name, name))
        for entry in entries:
            path = os.path.join(self.folder, entry)
            if _ZONE.fullmatch(entry) and os.path.exists(path + "/energy_uj"):
                limit = whole_number_of(path + "/max_energy_range_uj") or 0
                name = _zone_name(self.folder, entry)
                by_name.setdefault(name, Zone(name, path, limit))
        self.zones = list(by_name.values())
        if not self.zones and os.name == "nt":
            raise SourceError(
                "Windows shows nobody the RAPL counters without a driver: use a meter "
                "at the wall (power watts-up COM3), or power csv FILE."
            )
        if not self.zones:
            raise SourceError(
                "There are no RAPL counters under %s: a virtual machine has none, and "
                "a host needs the intel_rapl modules (modprobe intel_rapl_msr)."
                % self.folder
            )
        self.channels = [zone.name for zone in self.zones]
        packages = [name for name in self.channels if re.match(r"package[\w-]*$", name)]
        tops = [name for name in self.channels if " " not in name]
        self.total = packages or tops
        self._counts()  # raises SourceError before the log begins

    def read(self) -> Reading:
        """Return the joules of each zone since the first reading."""
        before_us = monotonic_us()
        try:
            counts = self._counts()
        except SourceError as error:
            raise MissedError(str(error)) from None
        moment_us = (before_us + monotonic_us()) // 2
        lasted_s = (moment_us - (self._moment_us or moment_us)) / 1e6
        self._moment_us = moment_us
        try:
            for zone in self.zones:
                self._count(zone, counts[zone.name], lasted_s)
        finally:
            self._before = counts  # also after a loss: the new log starts here
        joules = [self._counted.get(zone.name, 0) / 1e6 for zone in self.zones]
        return Reading(moment_us, joules)

    def _count(self, zone: Zone, count: int, lasted_s: float) -> None:
        gone = count - self._before.get(zone.name, count)
        if lasted_s * MOST_W * 1e6 > zone.limit or (gone < 0 and not zone.limit):
            self._counted = {}
            raise CounterLostError(
                "%s was not read for %.0f s, its counter may have wrapped more than "
                "once: a new log begins." % (zone.name, lasted_s)
            )
        gone += zone.limit if gone < 0 else 0  # wrapped once
        self._counted[zone.name] = self._counted.get(zone.name, 0) + gone

    def _counts(self) -> Dict[str, int]:
        counts = {}
        for zone in self.zones:
            path = os.path.join(zone.path, "energy_uj")
            try:
                with open(path, "rb") as file:
                    counts[zone.name] = int(file.read(64))
            except PermissionError:
                raise SourceError(
                    "%s may be read by root only (since CVE-2020-8694): run this as "
                    "root, or let others read it: chmod a+r %s" % (path, path)
                ) from None
            except (OSError, ValueError) as error:
                raise SourceError("%s cannot be read: %s" % (path, error)) from None
        return counts


def _zone_name(folder: str, entry: str) -> str:
    """Return the name of a zone after the names of the zones around it."""
    own = text_of(os.path.join(folder, entry, "name")) or entry
    above = entry.rpartition(":")[0]
    return "%s %s" % (_zone_name(folder, above), own) if ":" in above else own


class IpmiDcmi(Source):
    """The controller of this machine."""

    kind = "ipmi-dcmi"
    channels = ["machine"]
    total = ["machine"]

    def open(self) -> None:
        if shutil.which(IPMITOOL[0]) is None:
            if os.name == "nt":
                raise SourceError(
                    "There is no ipmitool on Windows: ask the controller from a Linux "
                    "machine beside it (ipmitool -I lanplus ... dcmi power reading), "
                    "and send what that prints by: push"
                )
            raise SourceError("There is no ipmitool here: apt install ipmitool")
        try:
            self.read()
        except MissedError as missed:
            raise SourceError(
                "%s. It needs root, the module ipmi_si (modprobe ipmi_devintf ipmi_si) "
                "and a controller that can measure power." % missed
            ) from None

    def read(self) -> Reading:
        before_us = monotonic_us()
        try:
            done = ended(list(IPMITOOL), IPMITOOL_S)
        except OSError as error:
            raise MissedError("ipmitool does not start: %s" % error.strerror) from None
        except subprocess.TimeoutExpired:
            raise MissedError("ipmitool did not end in %g s" % IPMITOOL_S) from None
        moment_us = (before_us + monotonic_us()) // 2
        return Reading(moment_us, [watts_of(done.printed, done.complaint)])


def watts_of(output: str, complaint: str = "") -> float:
    """Parse the output of ipmitool; raise MissedError without a power."""
    watts, state = _WATTS.search(output), _STATE.search(output)
    if watts is None:
        lines = (complaint or output).strip().splitlines() or ["nothing"]
        raise MissedError("ipmitool says: %s" % lines[0].strip())
    if state is None or state.group(1) != "activated":
        raise MissedError("the controller's power reading is deactivated")
    if not int(watts.group(1)):
        raise MissedError("the controller says 0 W: it does not measure")
    return float(watts.group(1))
