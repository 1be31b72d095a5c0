"""RAPL: the energy that a processor counts of itself, from Linux' powercap.

Every zone that counts is kept; those of whole packages make up the power. It is the
processor alone: never to be set beside power from the wall.
"""

import os
import re
from typing import Dict, List, NamedTuple, Optional

from agents.files import names_in, text_of, whole_number_of
from agents.power.source import (
    CounterLostError,
    MissedError,
    Reading,
    Source,
    SourceError,
)
from agents.timing.clocks import monotonic_us

FOLDER = "/sys/class/powercap"
_ZONE = re.compile(r"[\w-]+:\d+(?::\d+)*")
# No package takes more: after longer than this its counter may have wrapped twice.
MOST_W = 1000.0


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
        self.folder = folder or FOLDER
        self.zones: List[Zone] = []
        self._before: Dict[str, int] = {}
        self._counted: Dict[str, int] = {}
        self._moment_us: Optional[int] = None

    def open(self) -> None:
        self.zones = zones_of(self.folder)
        if not self.zones:
            raise SourceError(
                "There are no RAPL counters under %s: a virtual machine has none, and "
                "a host needs the intel_rapl modules (modprobe intel_rapl_msr)."
                % self.folder
            )
        self.channels = [zone.name for zone in self.zones]
        packages = [each for each in self.channels if re.match(r"package[\w-]*$", each)]
        tops = [each for each in self.channels if " " not in each]
        self.total = packages or tops
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
            self._before = counts
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
        gone += zone.limit if gone < 0 else 0
        self._counted[zone.name] = self._counted.get(zone.name, 0) + gone

    def _counts(self) -> Dict[str, int]:
        return {zone.name: _count_of(zone) for zone in self.zones}


def zones_of(folder: str) -> List[Zone]:
    """Return the zones below a folder; one that is there twice (mmio) counts once."""
    found: Dict[str, Zone] = {}
    for entry in sorted(names_in(folder), key=lambda each: ("mmio" in each, each)):
        path = os.path.join(folder, entry)
        if _ZONE.fullmatch(entry) and os.path.exists(os.path.join(path, "energy_uj")):
            limit = whole_number_of(os.path.join(path, "max_energy_range_uj")) or 0
            name = _name(folder, entry)
            found.setdefault(name, Zone(name, path, limit))
    return list(found.values())


def _name(folder: str, entry: str) -> str:
    """Return a zone's name behind that of the zone it is part of."""
    own = text_of(os.path.join(folder, entry, "name")) or entry
    above = entry.rpartition(":")[0]
    return "%s %s" % (_name(folder, above), own) if ":" in above else own


def _count_of(zone: Zone) -> int:
    path = os.path.join(zone.path, "energy_uj")
    try:
        with open(path, "rb") as file:
            return int(file.read(64))
    except PermissionError:
        raise SourceError(
            "%s may be read by root only (since CVE-2020-8694): run this as root, or "
            "let others read it: chmod a+r %s" % (path, path)
        ) from None
    except (OSError, ValueError) as error:
        raise SourceError("%s cannot be read: %s" % (path, error)) from None
