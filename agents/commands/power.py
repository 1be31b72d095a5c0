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
import calendar
import json
import os
import re
import uuid
from typing import Iterator, List, NamedTuple, Optional, Tuple

from agents import errors
from agents.client import Client
from agents.console import Console, seconds
from agents.documents import decoded
from agents.errors import AgentError, UsageError
from agents.home import Enrolment, home, load_enrolment, open_spool
from agents.power.meters import IpmiDcmi, MissedError, Rapl, Source
from agents.power.recording import (
    Companion,
    Recorder,
    log_of,
    piece_key,
    save_abandoned,
    watts_between,
)
from agents.processes import Stop
from agents.sending import Watch, deliver_and_say
from agents.spool import POWER, Spool
from agents.timing.asking import NoTimeError, TimePath

SOURCES = ("rapl", "ipmi", "watts-up", "csv")
_MOST_AT_ONCE = 2000  # samples that the server takes in one piece
_FIRST_DATE_S = 1e9  # the year 2001: no log counts so many seconds from its own start
_DATE = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)[T ](\d\d):(\d\d):(\d\d)([.,]\d{1,9})?"
    r"(Z|[+-]\d\d:?\d\d)?$"
)


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
    console, source = Console(), _source(options)
    if options.look:
        return look(source, console)
    enrolment = load_enrolment()
    host = str(options.host or enrolment.host)
    if not host:
        raise UsageError("Name the machine whose power this is: --host SLUG")
    # Default name of a meter: its kind, device and machine.
    place = {"rapl": "", "csv": "log"}.get(
        options.source, os.path.basename(options.path)
    )
    words = filter(None, [options.source, place, "at", host])
    source.name = str(options.meter or " ".join(words))
    save = save_csv if options.source == "csv" else record
    spool = save(source, host, options, enrolment, console)
    if options.later:
        return errors.DONE
    return deliver_and_say(enrolment, spool, console, "piece")


def _source(options: argparse.Namespace) -> Source:
    """Return the meter for the options; raise UsageError if they do not fit."""
    if options.source == "csv" and (not options.path or options.look):
        raise UsageError("Name the file of times and watts: power csv FILE")
    source: Source
    if options.source == "rapl":
        source = Rapl(options.path)
    elif options.source == "ipmi":
        source = IpmiDcmi()
    elif options.source == "watts-up":
        from agents.power.watts_up import WattsUp

        source = WattsUp(options.path)
    else:
        source = CsvLog()
    if options.accuracy_percent is not None:
        if not 0 <= options.accuracy_percent <= 50:
            raise UsageError("An accuracy is from 0 to 50 percent.")
        source.gain_error = options.accuracy_percent / 100
    if options.every is not None:
        if not 0.05 <= options.every <= 60 or not source.every_s:
            raise UsageError("A reading every 0.05 to 60 s; a Watts up? is at 1 s.")
        source.every_s = options.every
    return source


def look(source: Source, console: Console) -> int:
    """Show one reading of a meter."""
    source.open()
    stop = Stop()
    try:
        # A counter of energy needs two readings.
        before = source.read() if source.measures == "energy" else None
        stop.wait(source.every_s if before else 0)
        reading = source.read()
    except MissedError as missed:
        raise AgentError("No reading: %s." % missed) from None
    finally:
        source.close()
        stop.close()
    for place, name in enumerate(source.channels):
        since = before.values[place] if before else 0.0
        unit = "J in %g s" % source.every_s if before else "W"
        console.result("%-24s %.3f %s" % (name, reading.values[place] - since, unit))
    watts = watts_between(source, before, reading) or 0.0
    console.result("%-24s %.3f W" % ("power", watts))
    return errors.DONE


def record(
    source: Source,
    host: str,
    options: argparse.Namespace,
    enrolment: Enrolment,
    console: Console,
) -> Spool:
    """Record until told to stop; save the pieces of killed recorders first."""
    spool: Spool = open_spool()
    journals = os.path.join(home(), "power")
    saved = save_abandoned(journals, spool)
    if saved:
        console.say("%d pieces of a log that was cut off are kept." % saved)
    source.open()
    stop = Stop()
    stop.listen_to_signals()
    client = Client(enrolment.server, enrolment.token)
    watch = None if options.later else Watch(spool, client, console.say)
    path = TimePath(enrolment.time_server or enrolment.server)
    companion = Companion(path, watch, console.say)
    recorder = Recorder(source, host, journals, spool, companion, console)
    console.say("reading %s (%s)" % (source.name, ", ".join(source.channels)))
    companion.start()
    try:
        recorder.go_on_until(stop, options.seconds)
    finally:
        source.close()
        recorder.finish()
        stop.close()
    console.say("%d readings are kept" % recorder.readings)
    return spool


class Row(NamedTuple):
    """A moment in microseconds and the power; None where the meter gave none."""

    moment_us: int
    watts: Optional[float]


class CsvLog(Source):
    """A meter that another program has read."""

    kind = "csv"
    channels = ["power"]
    total = ["power"]


def save_csv(
    source: Source,
    host: str,
    options: argparse.Namespace,
    enrolment: Enrolment,
    console: Console,
) -> Spool:
    """Save a log of another program; its clock counts as this machine's."""
    try:
        with open(options.path, "rb") as file:
            text = decoded(file.read())
    except OSError as error:
        raise UsageError("%s: %s" % (options.path, error.strerror)) from None
    rows = rows_of(text, options.started_at, options.clock_ahead)
    try:
        stamp = TimePath(enrolment.time_server or enrolment.server).stamp()
    except NoTimeError as error:
        sentence = "Without a time server nobody knows when: %s" % error
        raise AgentError(sentence) from None
    # The same text of the same meter is the same log.
    named = "%s %s\n%s" % (host, source.name, text)
    log = log_of(source, host, "wall", str(uuid.uuid5(uuid.NAMESPACE_OID, named)))
    spool: Spool = open_spool()
    pieces = list(pieces_of(rows))
    for number, samples in enumerate(pieces, start=1):
        # Sent again it is the same piece; one with other moments replaces it.
        key = uuid.uuid5(uuid.UUID(piece_key(log["log"], number)), json.dumps(samples))
        document = dict(
            log,
            key=str(key),
            number=number,
            stamps=[stamp.with_steps()],
            samples=samples,
        )
        spool.save(document, POWER)
    count = sum(len(samples) for samples in pieces)
    console.say("%d of %d rows told watts and are kept" % (count, len(rows)))
    return spool


def rows_of(text: str, started_at: str = "", ahead_s: float = 0.0) -> List[Row]:
    """Return the rows of a log whose clock was ``ahead_s`` ahead of this machine's."""
    lines = list(_rows(text))
    if not lines:
        raise UsageError("There is no row of a time and watts.")
    since_us = 0
    if lines[0][1] < _FIRST_DATE_S * 1e6:
        if not started_at:
            raise UsageError(
                "The times count from the log's own start: say when that was with "
                "--started-at 2026-03-14T09:26:53+01:00"
            )
        since_us = moment_us(started_at) - lines[0][1]
    rows: List[Row] = []
    for line, moment, watts in lines:
        row = Row(moment + since_us - round(ahead_s * 1e6), watts)
        if rows and row.moment_us <= rows[-1].moment_us:
            raise UsageError("Line %d: its time is not after the row before." % line)
        rows.append(row)
    return rows


def moment_us(text: str) -> int:
    """Parse a moment into microseconds since 1970."""
    match = _DATE.match(text)
    if match is None:
        raise UsageError('"%s" is no moment such as 2026-03-14T09:26:53+01:00' % text)
    seconds = calendar.timegm((*map(int, match.group(1, 2, 3, 4, 5, 6)), 0, 0, 0))
    zone = (match.group(8) or "Z").replace(":", "")
    if zone != "Z":
        ahead_s = int(zone[1:3]) * 3600 + int(zone[3:5]) * 60
        seconds -= ahead_s if zone[0] == "+" else -ahead_s
    part = (match.group(7) or ".0").replace(",", ".")
    return seconds * 1000000 + round(float("0" + part) * 1e6)


def pieces_of(rows: List[Row]) -> Iterator[List[List[float]]]:
    """Split the samples into pieces for the server."""
    samples = [[row.moment_us, row.watts] for row in rows if row.watts]
    for start in range(0, len(samples), _MOST_AT_ONCE):
        yield samples[start : start + _MOST_AT_ONCE]


def _rows(text: str) -> Iterator[Tuple[int, int, Optional[float]]]:
    """Yield line, moment and watts; a first line without a moment is the header."""
    microseconds, scale = 1e6, 1.0  # units of the columns
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        # A comma separates only if nothing else does: it may be the decimal mark.
        separator = next((sign for sign in ";\t" if sign in line), ",")
        cells = [cell.strip(' "\t') for cell in line.split(separator)]
        if _DATE.match(cells[0]):
            moment: Optional[int] = moment_us(cells[0])
        else:
            count = _number(cells[0])
            moment = None if count is None else round(count * microseconds)
        if moment is None and number == 1:
            if re.search(r"ms\W?$", cells[0].lower()):
                microseconds = 1e3
            prefix = re.search(r"milli|kilo|m(?=w)|k(?=w)", "".join(cells[1:2]).lower())
            scale = {"m": 1e-3, "k": 1e3}[prefix.group()[0]] if prefix else 1.0
            continue
        if moment is None or len(cells) < 2:
            raise UsageError("Line %d is no row of a time and watts." % number)
        power = _number(cells[1])
        if power is None and cells[1]:
            raise UsageError('Line %d: "%s" are no watts.' % (number, cells[1][:40]))
        # A running machine does not need 0 W.
        yield number, moment, (power or 0.0) * scale or None


def _number(cell: str) -> Optional[float]:
    if not re.match(r"\d{1,15}(?:[.,]\d{1,9})?$", cell):
        return None
    return float(cell.replace(",", "."))
