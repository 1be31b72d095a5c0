"""Record what a host's hypervisor counts while guests are measured, and send it.

  virtlab-agent.cmd telemetry hyper-v --look            what it counts now
  virtlab-agent.cmd telemetry hyper-v --study my-study  until Ctrl-C
  virtlab-agent.cmd telemetry hyper-v --seconds 600 --hypervisor Hyper-V

It runs on the Hyper-V host itself (the root partition), reads its processors' counters
once a second, in whatever language this Windows is, and keeps with them what Get-VM
says of the machines. What an hour recorded is one upload, which Virtlab summarizes.
Nothing is sent while somebody measures on this machine.
"""

import argparse
import csv
import importlib
import io
import json
import os
import socket
import subprocess
import time
from typing import Any, Dict, Iterator, List, Optional, Tuple

from agents import errors
from agents.console import Console, printable_all, seconds, utc_text
from agents.documents import (
    add_describing_arguments,
    described_run,
    described_system,
    study_of,
    upload,
)
from agents.errors import AgentError, UsageError
from agents.processes import ended

COUNTERS = (
    r"\Hyper-V Hypervisor Logical Processor(_Total)\% Total Run Time",
    r"\Hyper-V Hypervisor Logical Processor(_Total)\% Guest Run Time",
    r"\Hyper-V Hypervisor Logical Processor(_Total)\% Hypervisor Run Time",
    r"\Hyper-V Hypervisor Root Virtual Processor(_Total)\% Total Run Time",
    r"\Hyper-V Hypervisor Virtual Processor(*)\% Total Run Time",
    r"\Hyper-V Hypervisor Virtual Processor(*)\% Hypervisor Run Time",
    r"\Processor(_Total)\% Processor Time",
)
OF_HYPER_V = r"\Hyper-V "
# A double without the limit of 100: some counters add several processors.
_DOUBLE = 0x200 | 0x8000
_MORE_DATA = 0x800007D2
_GOOD = (0, 1)
_POWERSHELL = ("powershell.exe", "-NoProfile", "-NonInteractive", "-Command")
_MACHINES = (
    "[Console]::OutputEncoding=[Text.Encoding]::UTF8; Get-VM | Select-Object Name,"
    "@{n='State';e={\"$($_.State)\"}},Generation,Version,ProcessorCount,MemoryStartup,"
    "MemoryAssigned,DynamicMemoryEnabled,IntegrationServicesVersion,"
    "@{n='Nested';e={($_ | Get-VMProcessor).ExposeVirtualizationExtensions}},"
    "@{n='Reserve';e={($_ | Get-VMProcessor).Reserve}},"
    "@{n='Limit';e={($_ | Get-VMProcessor).Maximum}},"
    "@{n='Weight';e={($_ | Get-VMProcessor).RelativeWeight}},"
    "@{n='ThreadsPerCore';e={($_ | Get-VMProcessor).HwThreadCountPerCore}}"
    " | ConvertTo-Json -Depth 2 -Compress"
)
_PATIENCE_S = 60.0
# Names of Get-VM -> names of facts; null values are left out.
_NAMES = {
    "State": "state",
    "Generation": "generation",
    "Version": "configuration version",
    "ProcessorCount": "vcpus",
    "MemoryStartup": "memory bytes",
    "MemoryAssigned": "memory assigned bytes",
    "DynamicMemoryEnabled": "dynamic memory",
    "IntegrationServicesVersion": "integration services",
    "Nested": "nested virtualization",
    "Reserve": "reserve percent",
    "Limit": "limit percent",
    "Weight": "weight",
    "ThreadsPerCore": "threads per core",
}

Row = Dict[str, float]
Sample = Tuple[float, Row]  # seconds since 1970, and the counters
MOST_ROWS = 3600


class Counters:
    """An open query of the available counters."""

    def __init__(self, paths: Tuple[str, ...] = COUNTERS, pdh: Any = None) -> None:
        self._ctypes: Any = importlib.import_module("ctypes")
        self._pdh = pdh or self._ctypes.windll.pdh
        self._query = self._ctypes.c_void_p()
        self._counters: List[Tuple[str, Any]] = []
        code = self._pdh.PdhOpenQueryW(None, None, self._ctypes.byref(self._query))
        if code:
            raise AgentError(
                "Windows opens no counters: error %#x." % (code & 0xFFFFFFFF)
            )
        for path in paths:
            counter = self._ctypes.c_void_p()
            code = self._pdh.PdhAddEnglishCounterW(
                self._query, path, None, self._ctypes.byref(counter)
            )
            if code == 0:
                self._counters.append((path, counter))
        if not any(path.startswith(OF_HYPER_V) for path, _ in self._counters):
            self.close()
            raise AgentError(
                "This Windows has no counters of Hyper-V: it is no host of it, or the "
                "role is off. Run this on the host, as an administrator."
            )
        # A rate needs two readings.
        self._pdh.PdhCollectQueryData(self._query)

    def __enter__(self) -> "Counters":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def close(self) -> None:
        self._pdh.PdhCloseQuery(self._query)

    def read(self) -> Row:
        """Return the counters by `object(instance)\\counter`."""
        self._pdh.PdhCollectQueryData(self._query)
        row: Row = {}
        for path, counter in self._counters:
            thing, _, rest = path[1:].rpartition("(")
            name = rest.partition(")\\")[2]
            for instance, value in self._instances(counter):
                key = "%s(%s)\\%s" % (thing, instance, name)
                # Two machines may have the same name.
                twin = 1
                while key in row:
                    key = "%s(%s#%d)\\%s" % (thing, instance, twin, name)
                    twin += 1
                row[key] = value
        return row

    def _instances(self, counter: Any) -> Iterator[Tuple[str, float]]:
        ctypes = self._ctypes
        size, number = ctypes.c_uint32(), ctypes.c_uint32()
        ask = self._pdh.PdhGetFormattedCounterArrayW
        places = (ctypes.byref(size), ctypes.byref(number))
        code = ask(counter, _DOUBLE, *places, None) & 0xFFFFFFFF
        if code != _MORE_DATA:
            return
        room = ctypes.create_string_buffer(size.value)
        # Fails if a machine was started in between: skip the counter this time.
        if ask(counter, _DOUBLE, *places, room):
            return
        item = _item(ctypes)
        for one in ctypes.cast(room, ctypes.POINTER(item))[: number.value]:
            if one.status in _GOOD:
                yield one.name, one.value


def _item(ctypes: Any) -> Any:
    """Return PDH_FMT_COUNTERVALUE_ITEM_W with a double."""
    structure: Any = ctypes.Structure
    fields = [
        *(("name", ctypes.c_wchar_p), ("status", ctypes.c_uint32)),
        ("value", ctypes.c_double),
    ]
    return type("Item", (structure,), {"_fields_": fields})


def log_of(host: str, samples: List[Sample]) -> str:
    """Return samples in the format of typeperf, in UTC.

    Cells of machines that did not run are blank.
    """
    columns: Dict[str, None] = {}  # in the order of their appearance
    for _, values in samples:
        columns.update(dict.fromkeys(values))
    text = io.StringIO()
    rows = csv.writer(text, quoting=csv.QUOTE_ALL, lineterminator="\n")
    names = ["\\\\%s\\%s" % (host, column) for column in columns]
    rows.writerow(["(PDH-CSV 4.0) (UTC)(0)", *names])
    for at_s, values in samples:
        moment = time.strftime("%m/%d/%Y %H:%M:%S", time.gmtime(at_s))
        cells = ["%.6f" % values[name] if name in values else " " for name in columns]
        rows.writerow(["%s.%03d" % (moment, int(at_s % 1 * 1000)), *cells])
    return text.getvalue()


def virtual_machines() -> Dict[str, Dict[str, Any]]:
    """Return the facts of Get-VM by machine; {} if it fails."""
    try:
        printed = ended([*_POWERSHELL, _MACHINES], _PATIENCE_S).printed
    except (OSError, subprocess.TimeoutExpired):
        return {}
    return machines_of(printed)


def machines_of(printed: Optional[str]) -> Dict[str, Dict[str, Any]]:
    """Parse the JSON of Get-VM: a list, or one object for one machine."""
    try:
        known = json.loads((printed or "").lstrip("\ufeff"))
    except ValueError:
        return {}
    found = {}
    for machine in known if isinstance(known, list) else [known]:
        if isinstance(machine, dict) and machine.get("Name"):
            stated = {
                ours: machine[theirs]
                for theirs, ours in _NAMES.items()
                if machine.get(theirs) not in (None, "")
            }
            found[str(machine["Name"])] = stated
    return found


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("source", choices=("hyper-v",))
    parser.add_argument(
        "--every", type=seconds(1, 60), default=1.0, metavar="SECONDS", help="(1)"
    )
    parser.add_argument(
        "--seconds", type=seconds(0), default=0.0, help="stop after so long"
    )
    parser.add_argument("--look", action="store_true", help="show one reading, end")
    parser.add_argument("--later", action="store_true", help="send nothing now")
    add_describing_arguments(parser)


def run(options: argparse.Namespace) -> int:
    from agents.detection.facts import gather_platform
    from agents.home import load_enrolment, open_spool
    from agents.processes import Stop
    from agents.sending import deliver_and_say

    if os.name != "nt":
        raise UsageError(
            "Hyper-V's counters are read on its host, which is a Windows. Of Xen and "
            "KVM push what xentop -b and virsh domstats print."
        )
    console, stop = Console(), Stop()
    if options.look:
        with Counters() as counters:
            stop.wait(options.every)
            for name, value in counters.read().items():
                console.result("%8.3f  %s" % (value, name))
        return errors.DONE
    enrolment = load_enrolment()
    facts = gather_platform()
    study = study_of(options, enrolment.study)
    system = described_system(options, facts, enrolment.host)
    facts["virtual machines"] = printable_all(virtual_machines())
    spool = open_spool()
    stop.listen_to_signals()
    with Counters() as counters:
        console.say("reading the counters of Hyper-V")
        for text, started_at in recorded(counters, options, stop):
            given = dict(described_run(options), tool="pdh-csv", started_at=started_at)
            spool.save(upload(text, study, system, facts, given))
    stop.close()
    if options.later:
        return errors.DONE
    return deliver_and_say(enrolment, spool, console)


def recorded(counters: Any, options: argparse.Namespace, stop: Any) -> Any:
    """Yield the log of each hour and its start; the last one when told to stop."""
    ends_at = time.monotonic() + options.seconds if options.seconds else None
    samples: List[Sample] = []
    is_over = False
    while not is_over:
        is_over = stop.wait(options.every)
        is_over = is_over or (ends_at is not None and time.monotonic() >= ends_at)
        samples.append((time.time(), counters.read()))
        if is_over or len(samples) >= MOST_ROWS:
            log = log_of(socket.gethostname(), samples)
            yield log, utc_text(samples[0][0] - options.every)
            samples = []
