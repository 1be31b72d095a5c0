"""What every source of power readings is, and the two inside a machine.

RAPL is the energy that a processor counts of itself, from Linux' powercap: every zone
that counts is kept; those of whole packages make up the power. It is the
processor alone: never to be set beside power from the wall.

IPMI DCMI is what a server's own controller says: ``ipmitool dcmi power reading``. Whole
watts, of the whole machine. A controller that says `deactivated`, or 0 W of a machine
that runs, has not measured.
"""

import os
import re
import shutil
import subprocess
from typing import Dict, List, NamedTuple, Optional

from agents.errors import AgentError
from agents.files import names_in, text_of, whole_number_of
from agents.programs import ended
from agents.timing.clocks import monotonic_us

POWERCAP = "/sys/class/powercap"
_ZONE = re.compile(r"[\w-]+:\d+(?::\d+)*")
# No package takes more: by this a counter not read for long may have wrapped twice.
MOST_W = 1000.0
IPMITOOL = ("ipmitool", "dcmi", "power", "reading")
IPMITOOL_S = 5.0
_WATTS = re.compile(r"Instantaneous power reading:\s*(\d+)\s*Watts?")
_STATE = re.compile(r"Power reading state is:\s*(\w+)")


class SourceError(AgentError):
    """There is no such meter here, or it may not be read."""


class MissedError(Exception):
    """There is no reading this time, and why; the next one may come."""


class CounterLostError(Exception):
    """A counter may have begun anew: what it counted meanwhile nobody knows."""


class Reading(NamedTuple):
    """A moment of our monotonic clock and a number for each channel."""

    moment_us: int
    values: List[float]


class Source:
    """A meter: ``open``, ``read`` again and again, ``close``.

    ``channels`` are known after ``open``, ``total`` those that make up the power;
    ``measures`` is "power" (W) or "energy" (J); ``every_s`` is 0 where the meter sets
    the pace.
    """

    kind = ""
    name = ""
    measures = "power"
    channels: List[str] = []
    total: List[str] = []
    gain_error: Optional[float] = None
    every_s = 1.0

    def open(self) -> None:
        """Find the meter; raise SourceError with what to do if that fails."""

    def read(self) -> Reading:
        """Return a reading; raise MissedError or CounterLostError."""
        # Not abstract: what something else wrote (`replay.CsvLog`) is never read again.
        raise NotImplementedError

    def close(self) -> None:
        """Let the meter go."""

    def notes(self) -> List[str]:
        """Say what went wrong since the last time this was asked."""
        return []


class Zone(NamedTuple):
    """A counter of microjoules that begins anew at ``limit``."""

    name: str
    path: str
    limit: int


class Rapl(Source):
    """All zones at once, each as joules since the log began."""

    kind = "rapl"
    measures = "energy"

    def __init__(self, folder: str = "") -> None:
        self.folder = folder or POWERCAP
        self.zones: List[Zone] = []
        self._before: Dict[str, int] = {}
        self._counted: Dict[str, int] = {}
        self._moment_us: Optional[int] = None

    def open(self) -> None:
        self.zones = zones_of(self.folder)
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
        # What may not be read is said before a log begins.
        self._counts()

    def read(self) -> Reading:
        """Return what each zone has counted since the first reading."""
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
            self._before = counts  # after a loss, too: the new log counts from here
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
        gone += zone.limit if gone < 0 else 0  # it began anew once
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


def zones_of(folder: str) -> List[Zone]:
    """Return the zones below a folder; one that is there twice (mmio) counts once."""
    by_name: Dict[str, Zone] = {}
    # mmio last: it shows the same counters again, and the first of a name stays.
    for entry in sorted(names_in(folder), key=lambda name: ("mmio" in name, name)):
        path = os.path.join(folder, entry)
        if _ZONE.fullmatch(entry) and os.path.exists(os.path.join(path, "energy_uj")):
            limit = whole_number_of(os.path.join(path, "max_energy_range_uj")) or 0
            name = _zone_name(folder, entry)
            by_name.setdefault(name, Zone(name, path, limit))
    return list(by_name.values())


def _zone_name(folder: str, entry: str) -> str:
    """Return a zone's name behind that of the zone it is part of."""
    own = text_of(os.path.join(folder, entry, "name")) or entry
    above = entry.rpartition(":")[0]
    return "%s %s" % (_zone_name(folder, above), own) if ":" in above else own


class IpmiDcmi(Source):
    """The controller of this machine, asked again and again."""

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
    """Return the power a controller told; MissedError if it told none."""
    watts, state = _WATTS.search(output), _STATE.search(output)
    if watts is None:
        lines = (complaint or output).strip().splitlines() or ["nothing"]
        raise MissedError("ipmitool says: %s" % lines[0].strip())
    if state is None or state.group(1) != "activated":
        raise MissedError("the controller's power reading is deactivated")
    if not int(watts.group(1)):
        raise MissedError("the controller says 0 W: it does not measure")
    return float(watts.group(1))
