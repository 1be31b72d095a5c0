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
import json
import os
import uuid

from agents import errors
from agents.client import Client
from agents.console import Console, seconds
from agents.errors import AgentError, UsageError
from agents.home import Enrolment, home, load_enrolment, open_spool
from agents.measuring.bracket import TimePath
from agents.power.meters import IpmiDcmi, MissedError, Rapl, Source
from agents.power.recording import (
    Companion,
    Recorder,
    piece_key,
    save_abandoned,
    watts_between,
)
from agents.sending import Watch, deliver_and_say
from agents.spool import POWER, Spool
from agents.stopping import Stop
from agents.timing.asking import NoTimeError

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
    console, source = Console(), _source(options)
    if options.look:
        return look(source, console)
    enrolment = load_enrolment()
    host = str(options.host or enrolment.host)
    if not host:
        raise UsageError("Name the machine whose power this is: --host SLUG")
    # A meter that nobody named is called by where it is read, and at what.
    place = {"rapl": "", "csv": "log"}.get(
        options.source, os.path.basename(options.path)
    )
    words = filter(None, [options.source, place, "at", host])
    source.name = str(options.meter or " ".join(words))
    if options.source == "csv":
        return send_csv(source, host, options, enrolment, console)
    return record(source, host, options, enrolment, console)


def _source(options: argparse.Namespace) -> Source:
    """Return the meter that is asked for, as it is asked for."""
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
        from agents.power.recording import CsvLog

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


def journals() -> str:
    """Return the folder of the pieces that are being written."""
    return os.path.join(home(), "power")


def look(source: Source, console: Console) -> int:
    """Show what a meter reads now."""
    source.open()
    stop = Stop()
    try:
        # A counter tells power by two readings only.
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
    console.result(
        "power                    %.3f W"
        % (watts_between(source, before, reading) or 0.0)
    )
    return errors.DONE


def record(
    source: Source,
    host: str,
    options: argparse.Namespace,
    enrolment: Enrolment,
    console: Console,
) -> int:
    """Record until told to stop; what killed recorders left goes first."""
    spool = open_spool()
    saved = save_abandoned(journals(), spool)
    if saved:
        console.say("%d pieces of a log that was cut off are kept." % saved)
    source.open()
    stop = Stop()
    stop.listen_to_signals()
    path = TimePath(enrolment.time_server or enrolment.server)
    client = Client(enrolment.server, enrolment.token)
    watch = None if options.later else Watch(spool, client, console.say)
    companion = Companion(path, watch, console.say)
    recorder = Recorder(source, host, journals(), spool, companion, console)
    console.say("reading %s (%s)" % (source.name, ", ".join(source.channels)))
    companion.start()
    try:
        recorder.go_on_until(stop, options.seconds)
    finally:
        source.close()
        recorder.finish()
        stop.close()
    console.say("%d readings are kept" % recorder.readings)
    return _sent(options, enrolment, spool, console)


def send_csv(
    source: Source,
    host: str,
    options: argparse.Namespace,
    enrolment: Enrolment,
    console: Console,
) -> int:
    """Send a log that something else wrote, by its clock as this machine's."""
    from agents.documents import decoded
    from agents.power.recording import log_of_text, pieces_of, rows_of

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
    spool, log = open_spool(), log_of_text(source, host, text)
    pieces = list(pieces_of(rows))
    for number, samples in enumerate(pieces, start=1):
        # Sent again it is the same piece; with other moments it takes its place.
        key = uuid.uuid5(uuid.UUID(piece_key(log.log, number)), json.dumps(samples))
        document = dict(
            log._asdict(),
            key=str(key),
            number=number,
            stamps=[stamp.with_steps()],
            samples=samples,
        )
        spool.save(document, POWER)
    count = sum(len(samples) for samples in pieces)
    console.say("%d of %d rows told watts and are kept" % (count, len(rows)))
    return _sent(options, enrolment, spool, console)


def _sent(
    options: argparse.Namespace, enrolment: Enrolment, spool: Spool, console: Console
) -> int:
    if options.later:
        return errors.DONE
    return deliver_and_say(enrolment, spool, console, "piece")
