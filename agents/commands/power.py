"""Record a power meter of this machine and send the readings.

  virtlab-agent.pyz power rapl                    the processor's counters (root)
  virtlab-agent.pyz power ipmi                    the machine's controller (ipmitool)
  virtlab-agent.pyz power watts-up /dev/ttyUSB0   a meter between wall and machine
  virtlab-agent.pyz power csv log.csv             the log of another program
  virtlab-agent.pyz power watts-up --look         print one reading, store nothing

Readings are taken every second until Ctrl-C or SIGTERM, on the measured machine or a
neighboring one, but not in a guest. The recording may start before the runs and end
after them: Virtlab integrates the power from the start to the end of each run. Readings
are dated by this machine's clock, and the recording also compares this clock with the
time server's. The readings go to the spool in chunks of five minutes, and kill -9 loses
none. Periods without readings remain gaps.
"""

import argparse
import calendar
import json
import os
import re
import uuid
from typing import Iterator, List, NamedTuple, Optional, Tuple

from agents import errors
from agents.argument_parsing import read_given_file, seconds_between
from agents.client import Client
from agents.console import Console, utc_text
from agents.errors import AgentError, UsageError
from agents.local_state import Enrolment, agent_folder, load_enrolment, open_spool
from agents.power.meters import IpmiDcmi, MeterSource, Rapl, ReadingMissedError
from agents.power.recording import (
    Recorder,
    StampThread,
    chunk_key,
    log_properties,
    recover_chunks,
    watts_between,
)
from agents.processes import StopFlag
from agents.spool import POWER_SUFFIX, Spool
from agents.spool_delivery import SpoolWatcher, send_and_report
from agents.timing.time_client import TimeServerError, TimeServerPath
from agents.upload_documents import decode_text

SOURCES = ("rapl", "ipmi", "watts-up", "csv")
_MAX_CHUNK_SAMPLES = 2000  # the server's limit
_FIRST_DATE_S = 1e9  # 2001; smaller times count from the start of the log
_DATE = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)[T ](\d\d):(\d\d):(\d\d)([.,]\d{1,9})?"
    r"(Z|[+-]\d\d:?\d\d)?$"
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("source", choices=SOURCES)
    parser.add_argument("path", nargs="?", default="", help="device, folder or file")
    parser.add_argument("--host", help="the machine's slug")
    parser.add_argument("--meter", help="name of the meter; keep it unchanged")
    parser.add_argument(
        "--accuracy-percent",
        type=float,
        metavar="PERCENT",
        help="accuracy of the readings (Watts up?: 1.5)",
    )
    parser.add_argument(
        "--every",
        type=float,
        metavar="SECONDS",
        help="interval of readings (default: 1)",
    )
    parser.add_argument(
        "--seconds", type=seconds_between(0), default=0.0, help="stop after this time"
    )
    parser.add_argument("--look", action="store_true", help="show one reading and stop")
    parser.add_argument("--later", action="store_true", help="do not send now")
    parser.add_argument("--started-at", default="", help="csv: time of second 0")
    parser.add_argument(
        "--clock-ahead",
        type=float,
        default=0.0,
        metavar="SECONDS",
        help="csv: how far its clock is ahead of this machine's",
    )


def run(options: argparse.Namespace) -> int:
    console, source = Console(), _source(options)
    if options.look and options.source == "csv":
        return preview_csv(options, console)
    if options.look:
        return preview_reading(source, console)
    enrolment = load_enrolment()
    host = str(options.host or enrolment.host)
    if not host:
        raise UsageError("Name the measured machine: --host SLUG")
    device = {"rapl": "", "csv": "log"}.get(
        options.source, os.path.basename(options.path)
    )
    words = filter(None, [options.source, device, "at", host])
    source.name = str(options.meter or " ".join(words))
    save = store_csv if options.source == "csv" else record
    spool = save(source, host, options, enrolment, console)
    if options.later:
        return errors.DONE
    return send_and_report(enrolment, spool, console, "chunk")


def _source(options: argparse.Namespace) -> MeterSource:
    if options.source == "csv" and not options.path:
        raise UsageError("Name the file with times and watts: power csv FILE")
    source: MeterSource
    if options.source == "rapl":
        source = Rapl(options.path)
    elif options.source == "ipmi":
        source = IpmiDcmi()
    elif options.source == "watts-up":
        from agents.power.watts_up import WattsUp

        source = WattsUp(options.path)
    else:
        source = CsvSource()
    if options.accuracy_percent is not None:
        if not 0 <= options.accuracy_percent <= 50:
            raise UsageError("--accuracy-percent must be from 0 to 50.")
        source.gain_error = options.accuracy_percent / 100
    if options.every is not None:
        if not 0.05 <= options.every <= 60 or not source.interval_s:
            raise UsageError(
                "--every must be from 0.05 to 60 s; a Watts up? always uses 1 s."
            )
        source.interval_s = options.every
    return source


def preview_reading(source: MeterSource, console: Console) -> int:
    source.open()
    stop = StopFlag()
    try:
        # An energy counter needs two readings.
        before = source.read() if source.measures == "energy" else None
        stop.wait(source.interval_s if before else 0)
        reading = source.read()
    except ReadingMissedError as missed:
        raise AgentError("No reading: %s." % missed) from None
    finally:
        source.close()
        stop.close()
    for index, name in enumerate(source.channels):
        start = before.values[index] if before else 0.0
        unit = "J in %g s" % source.interval_s if before else "W"
        console.print_result(
            "%-24s %.3f %s" % (name, reading.values[index] - start, unit)
        )
    watts = watts_between(source, before, reading) or 0.0
    console.print_result("%-24s %.3f W" % ("power", watts))
    return errors.DONE


def record(
    source: MeterSource,
    host: str,
    options: argparse.Namespace,
    enrolment: Enrolment,
    console: Console,
) -> Spool:
    """Save the chunks of killed recorders, record until stopped, return the spool."""
    spool: Spool = open_spool()
    journals = os.path.join(agent_folder(), "power")
    saved = recover_chunks(journals, spool)
    if saved:
        console.message("%d chunks of an interrupted log are saved." % saved)
    source.open()
    stop = StopFlag()
    stop.install_signal_handlers()
    client = Client(enrolment.server, enrolment.token)
    watch = None if options.later else SpoolWatcher(spool, client, console.message)
    path = TimeServerPath(enrolment.time_server or enrolment.server)
    stamp_thread = StampThread(path, watch, console.message)
    recorder = Recorder(source, host, journals, spool, stamp_thread, console)
    console.message("recording %s (%s)" % (source.name, ", ".join(source.channels)))
    stamp_thread.start()
    try:
        recorder.run_until(stop, options.seconds)
    finally:
        source.close()
        recorder.finish()
        stop.close()
    console.message("%d readings saved" % recorder.readings)
    if not (recorder.readings or saved):
        raise AgentError("Nothing was stored: the meter gave no reading.")
    return spool


class PowerRow(NamedTuple):
    moment_us: int
    watts: Optional[float]


class CsvSource(MeterSource):
    kind = "csv"
    channels = ["power"]
    total = ["power"]


def store_csv(
    source: MeterSource,
    host: str,
    options: argparse.Namespace,
    enrolment: Enrolment,
    console: Console,
) -> Spool:
    """Save the log file of a meter in the spool, which is returned.

    Its times are of this machine's clock.
    """
    text = _read_log(options.path)
    rows = parse_rows(text, options.started_at, options.clock_ahead)
    try:
        stamp = TimeServerPath(enrolment.time_server or enrolment.server).stamp()
    except TimeServerError as error:
        sentence = "The log cannot be dated without a time server: %s" % error
        raise AgentError(sentence) from None
    # Uploading the same log again must give the same ID.
    identity = "%s %s\n%s" % (host, source.name, text)
    log = log_properties(
        source, host, "wall", str(uuid.uuid5(uuid.NAMESPACE_OID, identity))
    )
    spool: Spool = open_spool()
    parts = list(chunks(rows))
    for number, samples in enumerate(parts, start=1):
        # Identical samples are stored once; others replace the chunk.
        key = uuid.uuid5(uuid.UUID(chunk_key(log["log"], number)), json.dumps(samples))
        document = dict(
            log,
            key=str(key),
            number=number,
            stamps=[stamp.with_resolution()],
            samples=samples,
        )
        spool.save(document, POWER_SUFFIX)
    count = sum(len(samples) for samples in parts)
    console.message("%d of %d rows have watts and are saved" % (count, len(rows)))
    if not count:
        raise AgentError("Nothing was stored: no row has watts.")
    return spool


def _read_log(path: str) -> str:
    return decode_text(read_given_file(path))


def preview_csv(options: argparse.Namespace, console: Console) -> int:
    text = _read_log(options.path)
    rows = parse_rows(text, options.started_at, options.clock_ahead)
    watts = [row.watts for row in rows if row.watts]
    console.print_result("%d rows, %d with watts" % (len(rows), len(watts)))
    for name, row in (("first", rows[0]), ("last", rows[-1])):
        console.print_result("%s: %s" % (name, utc_text(row.moment_us / 1e6)))
    if watts:
        values = (min(watts), sum(watts) / len(watts), max(watts))
        console.print_result("minimum %.3f, mean %.3f, maximum %.3f W" % values)
    return errors.DONE


def parse_rows(
    text: str, started_at: str = "", clock_offset_s: float = 0.0
) -> List[PowerRow]:
    """Return the rows of a log; raise UsageError if one is invalid.

    ``started_at`` dates times that count from the start. ``clock_offset_s`` is how far
    the clock of the log was ahead.
    """
    lines = list(_rows(text))
    if not lines:
        raise UsageError("The file contains no row with a time and watts.")
    start_us = 0
    if lines[0][1] < _FIRST_DATE_S * 1e6:
        if not started_at:
            raise UsageError(
                "The times count from the start of the log. State this time: "
                "--started-at 2026-03-14T09:26:53+01:00"
            )
        start_us = parse_time_us(started_at) - lines[0][1]
    rows: List[PowerRow] = []
    for line, moment, watts in lines:
        row = PowerRow(moment + start_us - round(clock_offset_s * 1e6), watts)
        if rows and row.moment_us <= rows[-1].moment_us:
            raise UsageError("Line %d: the time is not after the previous one." % line)
        rows.append(row)
    return rows


def parse_time_us(text: str) -> int:
    match = _DATE.match(text)
    if match is None:
        raise UsageError('"%s" is not a time such as 2026-03-14T09:26:53+01:00' % text)
    seconds = calendar.timegm((*map(int, match.group(1, 2, 3, 4, 5, 6)), 0, 0, 0))
    zone = (match.group(8) or "Z").replace(":", "")
    if zone != "Z":
        ahead_s = int(zone[1:3]) * 3600 + int(zone[3:5]) * 60
        seconds -= ahead_s if zone[0] == "+" else -ahead_s
    part = (match.group(7) or ".0").replace(",", ".")
    return seconds * 1000000 + round(float("0" + part) * 1e6)


def chunks(rows: List[PowerRow]) -> Iterator[List[List[float]]]:
    samples = [[row.moment_us, row.watts] for row in rows if row.watts]
    for start in range(0, len(samples), _MAX_CHUNK_SAMPLES):
        yield samples[start : start + _MAX_CHUNK_SAMPLES]


def _rows(text: str) -> Iterator[Tuple[int, int, Optional[float]]]:
    """Yield line number, time in microseconds and watts of each row below a header."""
    us_per_unit, watts_per_unit = 1e6, 1.0
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        # A comma may be a decimal mark.
        separator = next((character for character in ";\t" if character in line), ",")
        cells = [cell.strip(' "\t') for cell in line.split(separator)]
        if _DATE.match(cells[0]):
            moment: Optional[int] = parse_time_us(cells[0])
        else:
            count = _number(cells[0])
            moment = None if count is None else round(count * us_per_unit)
        if moment is None and number == 1:
            if re.search(r"ms\W?$", cells[0].lower()):
                us_per_unit = 1e3
            prefix = re.search(r"milli|kilo|m(?=w)|k(?=w)", "".join(cells[1:2]).lower())
            if prefix:
                watts_per_unit = {"m": 1e-3, "k": 1e3}[prefix.group()[0]]
            continue
        if moment is None or len(cells) < 2:
            raise UsageError("Line %d is not a row with a time and watts." % number)
        power = _number(cells[1])
        if power is None and cells[1]:
            raise UsageError('Line %d: "%s" is not a power.' % (number, cells[1][:40]))
        # 0 W is a missing reading: a running machine needs power.
        yield number, moment, (power or 0.0) * watts_per_unit or None


def _number(cell: str) -> Optional[float]:
    if not re.match(r"\d{1,15}(?:[.,]\d{1,9})?$", cell):
        return None
    return float(cell.replace(",", "."))
