"""Read a power meter of this machine, and send what it says.

  virtlab-agent.pyz power rapl                    the processor's own counters (root)
  virtlab-agent.pyz power ipmi                    the machine's controller (ipmitool)
  virtlab-agent.pyz power watts-up /dev/ttyUSB0   a meter between wall and machine
  virtlab-agent.pyz power csv log.csv             what something else wrote
  virtlab-agent.pyz power watts-up --look         one reading, nothing is kept

It reads a second at a time until Ctrl-C or SIGTERM, on the machine that is measured or
beside it, and runs in no guest. Nobody has to start or stop it with the work: Virtlab
integrates over the windows of the runs. Readings carry this machine's own clock, and
stamps of the time server set it right. They go through the spool in pieces of five
minutes: kill -9 loses nothing, and what was not measured stays a gap.
"""

import argparse
import os

from agents.console import Console, seconds
from agents.errors import UsageError
from agents.power.meters import Source

SOURCES = ("rapl", "ipmi", "watts-up", "csv")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("source", choices=SOURCES)
    parser.add_argument("path", nargs="?", default="", help="device, folder or file")
    parser.add_argument("--host", help="the machine's slug")
    parser.add_argument("--meter", help="its name; the same for the same meter, always")
    parser.add_argument(
        "--accuracy-percent",
        type=float,
        metavar="PERCENT",
        help="readings are within so much of the truth (Watts up?: 1.5)",
    )
    parser.add_argument("--every", type=float, metavar="SECONDS", help="a reading (1)")
    parser.add_argument(
        "--seconds", type=seconds(0), default=0.0, help="stop after so long"
    )
    parser.add_argument("--look", action="store_true", help="show one reading, end")
    parser.add_argument("--later", action="store_true", help="send nothing now")
    parser.add_argument("--started-at", default="", help="csv: when second 0 was")
    parser.add_argument(
        "--clock-ahead",
        type=float,
        default=0.0,
        metavar="SECONDS",
        help="csv: how far its clock was ahead of this machine's",
    )


def run(options: argparse.Namespace) -> int:
    from agents.power.acting import look, record, send_csv

    console = Console()
    source = _source(options)
    if options.look:
        return look(source, console)
    from agents.home import load_enrolment

    enrolment = load_enrolment()
    host = str(options.host or enrolment.host)
    if not host:
        raise UsageError("Name the machine whose power this is: --host SLUG")
    source.name = str(options.meter or _name(options, host))
    if options.source == "csv":
        return send_csv(source, host, options, enrolment, console)
    return record(source, host, options, enrolment, console)


def _source(options: argparse.Namespace) -> Source:
    if options.source == "csv" and (not options.path or options.look):
        raise UsageError("Name the file of times and watts: power csv FILE")
    source = _made(options.source, options.path)
    if options.accuracy_percent is not None:
        if not 0 <= options.accuracy_percent <= 50:
            raise UsageError("An accuracy is from 0 to 50 percent.")
        source.gain_error = options.accuracy_percent / 100
    if options.every is not None:
        if not 0.05 <= options.every <= 60 or not source.every_s:
            raise UsageError("A reading every 0.05 to 60 s; a Watts up? is at 1 s.")
        source.every_s = options.every
    return source


def _made(kind: str, path: str) -> Source:
    """Load what reads this meter, and no other."""
    if kind == "rapl":
        from agents.power.meters import Rapl

        return Rapl(path)
    if kind == "ipmi":
        from agents.power.meters import IpmiDcmi

        return IpmiDcmi()
    if kind == "watts-up":
        from agents.power.watts_up import WattsUp

        return WattsUp(path)
    from agents.power.replay import CsvLog

    return CsvLog()


def _name(options: argparse.Namespace, host: str) -> str:
    """Return a name for a meter that nobody named: where it is read, and at what."""
    place = os.path.basename(options.path) if options.source != "rapl" else ""
    if options.source == "csv":
        place = "log"
    return " ".join(filter(None, [options.source, place, "at", host]))
