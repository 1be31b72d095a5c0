"""What the `power` command does: look, record, or send a log from elsewhere."""

import argparse
import os
import uuid

from agents import exits
from agents.client import Client
from agents.console import Console
from agents.errors import AgentError, UsageError
from agents.home import Enrolment, home, open_spool
from agents.measuring.bracket import TimePath
from agents.power.journal import save_abandoned
from agents.power.meters import MissedError, Source
from agents.power.recording import Companion, Recorder, watts_between
from agents.sending import Watch, deliver_and_say
from agents.spool import POWER, Spool
from agents.stopping import Stop
from agents.timing.asking import NoTimeError


def journals() -> str:
    """Return the folder of the pieces that are being written."""
    return os.path.join(home(), "power")


def look(source: Source, console: Console) -> int:
    """Show what a meter reads now."""
    source.open()
    stop = Stop()
    try:
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
    return exits.DONE


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
    from agents.power.replay import log_of_text, pieces_of, rows_of

    try:
        with open(options.path, "rb") as file:
            text = decoded(file.read())
    except OSError as error:
        raise UsageError("%s: %s" % (options.path, error.strerror)) from None
    rows = rows_of(text, options.started_at, options.clock_ahead)
    try:
        stamp = TimePath(enrolment.time_server or enrolment.server).stamp()
    except NoTimeError as error:
        said = "Without a time server nobody knows when: %s" % error
        raise AgentError(said) from None
    spool, log = open_spool(), log_of_text(source, host, text)
    pieces = list(pieces_of(rows))
    for number, samples in enumerate(pieces, start=1):
        document = dict(
            log._asdict(),
            key=str(uuid.uuid5(uuid.UUID(log.log), "piece %d" % number)),
            number=number,
            stamps=[dict(stamp._asdict())],
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
        return exits.DONE
    return deliver_and_say(enrolment, spool, console, "piece")
