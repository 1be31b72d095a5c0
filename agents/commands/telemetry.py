"""Record the counters of a Hyper-V host while guests are measured, and send them.

  virtlab-agent.cmd telemetry hyper-v --look            print the counters once
  virtlab-agent.cmd telemetry hyper-v --study my-study  record until Ctrl-C
  virtlab-agent.cmd telemetry hyper-v --seconds 600 --hypervisor Hyper-V

Run it on the Hyper-V host itself (the root partition). It reads the processors'
counters once a second, in any language of Windows, and adds the output of Get-VM. Each
hour becomes one upload, which Virtlab summarizes. Nothing is sent while a benchmark
runs on this machine.
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
from agents.argument_parsing import seconds_between
from agents.console import Console, printable_all, utc_text
from agents.errors import AgentError, UsageError
from agents.processes import run_program
from agents.run_and_system_options import (
    add_run_arguments,
    required_study,
    run_options,
    system_from_options,
)
from agents.upload_documents import upload_document

COUNTERS = (
    r"\Hyper-V Hypervisor Logical Processor(_Total)\% Total Run Time",
    r"\Hyper-V Hypervisor Logical Processor(_Total)\% Guest Run Time",
    r"\Hyper-V Hypervisor Logical Processor(_Total)\% Hypervisor Run Time",
    r"\Hyper-V Hypervisor Root Virtual Processor(_Total)\% Total Run Time",
    r"\Hyper-V Hypervisor Virtual Processor(*)\% Total Run Time",
    r"\Hyper-V Hypervisor Virtual Processor(*)\% Hypervisor Run Time",
    r"\Processor(_Total)\% Processor Time",
)
HYPER_V_PREFIX = r"\Hyper-V "
# PDH_FMT_DOUBLE | PDH_FMT_NOCAP100: sums over several processors exceed 100 %.
_DOUBLE = 0x200 | 0x8000
_MORE_DATA = 0x800007D2
_VALID_STATUSES = (0, 1)
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
_TIMEOUT_S = 60.0
# Names of Get-VM -> names of facts.
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

CounterRow = Dict[str, float]
CounterSample = Tuple[float, CounterRow]  # Unix time, counters
MAX_ROWS = 3600


class Counters:
    """Performance counters of Windows, read with its library PDH."""

    def __init__(self, paths: Tuple[str, ...] = COUNTERS, pdh: Any = None) -> None:
        self._ctypes: Any = importlib.import_module("ctypes")
        self._pdh = pdh or self._ctypes.windll.pdh
        self._query = self._ctypes.c_void_p()
        self._counters: List[Tuple[str, Any]] = []
        code = self._pdh.PdhOpenQueryW(None, None, self._ctypes.byref(self._query))
        if code:
            raise AgentError(
                "Windows cannot open performance counters: error %#x."
                % (code & 0xFFFFFFFF)
            )
        for path in paths:
            counter = self._ctypes.c_void_p()
            code = self._pdh.PdhAddEnglishCounterW(
                self._query, path, None, self._ctypes.byref(counter)
            )
            if code == 0:
                self._counters.append((path, counter))
        if not any(path.startswith(HYPER_V_PREFIX) for path, _ in self._counters):
            self.close()
            raise AgentError(
                "This Windows has no Hyper-V counters: it is not a Hyper-V host, or "
                "the role is off. Run this on the host, as an administrator."
            )
        # A rate is computed from two readings; this is the first.
        self._pdh.PdhCollectQueryData(self._query)

    def __enter__(self) -> "Counters":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def close(self) -> None:
        self._pdh.PdhCloseQuery(self._query)

    def read(self) -> CounterRow:
        """Return the values by `object(instance)\\counter`."""
        self._pdh.PdhCollectQueryData(self._query)
        row: CounterRow = {}
        for path, counter in self._counters:
            counted, _, rest = path[1:].rpartition("(")
            name = rest.partition(")\\")[2]
            for instance, value in self._instances(counter):
                key = "%s(%s)\\%s" % (counted, instance, name)
                # Virtual machines may have the same name.
                duplicate = 1
                while key in row:
                    key = "%s(%s#%d)\\%s" % (counted, instance, duplicate, name)
                    duplicate += 1
                row[key] = value
        return row

    def _instances(self, counter: Any) -> Iterator[Tuple[str, float]]:
        ctypes = self._ctypes
        size, number = ctypes.c_uint32(), ctypes.c_uint32()
        read_array = self._pdh.PdhGetFormattedCounterArrayW
        sizes = (ctypes.byref(size), ctypes.byref(number))
        code = read_array(counter, _DOUBLE, *sizes, None) & 0xFFFFFFFF
        if code != _MORE_DATA:
            return
        buffer = ctypes.create_string_buffer(size.value)
        # The buffer is too small if a machine was started since the call above.
        if read_array(counter, _DOUBLE, *sizes, buffer):
            return
        item = _item(ctypes)
        for entry in ctypes.cast(buffer, ctypes.POINTER(item))[: number.value]:
            if entry.status in _VALID_STATUSES:
                yield entry.name, entry.value


def _item(ctypes: Any) -> Any:
    structure: Any = ctypes.Structure
    fields = [
        *(("name", ctypes.c_wchar_p), ("status", ctypes.c_uint32)),
        ("value", ctypes.c_double),
    ]
    return type("Item", (structure,), {"_fields_": fields})


def typeperf_log(host: str, samples: List[CounterSample]) -> str:
    """Return samples as typeperf prints them, in UTC; missing counters are blank."""
    columns: Dict[str, None] = {}
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


def virtual_machine_facts() -> Dict[str, Dict[str, Any]]:
    """Return facts of the virtual machines, by name, from Get-VM; {} if it fails."""
    try:
        output = run_program([*_POWERSHELL, _MACHINES], _TIMEOUT_S).stdout
    except (OSError, subprocess.TimeoutExpired):
        return {}
    return parse_virtual_machines(output)


def parse_virtual_machines(output: Optional[str]) -> Dict[str, Dict[str, Any]]:
    """Parse the JSON of Get-VM: a list, or one object if there is one machine."""
    try:
        parsed = json.loads((output or "").lstrip("\ufeff"))
    except ValueError:
        return {}
    facts = {}
    for machine in parsed if isinstance(parsed, list) else [parsed]:
        if isinstance(machine, dict) and machine.get("Name"):
            facts[str(machine["Name"])] = {
                fact: machine[name]
                for name, fact in _NAMES.items()
                if machine.get(name) not in (None, "")
            }
    return facts


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("source", choices=("hyper-v",))
    parser.add_argument(
        "--every",
        type=seconds_between(1, 60),
        default=1.0,
        metavar="SECONDS",
        help="interval of readings (default: 1)",
    )
    parser.add_argument(
        "--seconds", type=seconds_between(0), default=0.0, help="stop after this time"
    )
    parser.add_argument("--look", action="store_true", help="show one reading and stop")
    parser.add_argument("--later", action="store_true", help="do not send now")
    add_run_arguments(parser)


def run(options: argparse.Namespace) -> int:
    from agents.detection.facts import gather_platform
    from agents.local_state import load_enrolment, open_spool
    from agents.processes import StopFlag
    from agents.spool_delivery import send_and_report
    from agents.upload_results import Uploads

    if os.name != "nt":
        raise UsageError(
            "Hyper-V's counters can only be read on its Windows host. For Xen and KVM, "
            "push the output of xentop -b or virsh domstats."
        )
    console, stop = Console(), StopFlag()
    if options.look:
        with Counters() as counters:
            stop.wait(options.every)
            for name, value in counters.read().items():
                console.print_result("%8.3f  %s" % (value, name))
        return errors.DONE
    enrolment = load_enrolment()
    facts = gather_platform()
    study = required_study(options, enrolment.study)
    system = system_from_options(options, facts, enrolment.host)
    facts["virtual machines"] = printable_all(virtual_machine_facts())
    spool, uploads = open_spool(), Uploads()
    stop.install_signal_handlers()
    with Counters() as counters:
        console.message("recording the counters of Hyper-V")
        for text, started_at in record_hourly(counters, options, stop):
            given = dict(run_options(options), tool="pdh-csv", started_at=started_at)
            document = upload_document(text, study, system, facts, given)
            spool.save(document)
            uploads.add("counters from %s" % started_at, document)
    stop.close()
    if options.later:
        return errors.DONE
    sent = send_and_report(enrolment, spool, console)
    return sent or uploads.report(enrolment, console)


def record_hourly(counters: Any, options: argparse.Namespace, stop: Any) -> Any:
    ends_at = time.monotonic() + options.seconds if options.seconds else None
    samples: List[CounterSample] = []
    is_over = False
    while not is_over:
        is_over = stop.wait(options.every)
        is_over = is_over or (ends_at is not None and time.monotonic() >= ends_at)
        samples.append((time.time(), counters.read()))
        if is_over or len(samples) >= MAX_ROWS:
            log = typeperf_log(socket.gethostname(), samples)
            yield log, utc_text(samples[0][0] - options.every)
            samples = []
