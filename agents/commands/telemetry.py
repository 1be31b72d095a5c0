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
import os
import socket
import time
from typing import Any, List

from agents import exits
from agents.console import Console, seconds
from agents.documents import (
    add_describing_arguments,
    described_run,
    described_system,
    study_of,
    upload,
)
from agents.errors import UsageError

MOST_ROWS = 3600


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
    from agents.home import load_enrolment, open_spool
    from agents.platform_facts import gather_platform, printable_all
    from agents.sending import deliver_and_say
    from agents.stopping import Stop
    from agents.windows.hyper_v import Counters, virtual_machines

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
        return exits.DONE
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
        return exits.DONE
    return deliver_and_say(enrolment, spool, console)


def recorded(counters: Any, options: argparse.Namespace, stop: Any) -> Any:
    """Yield each hour's log and when it began, the last one when told to stop."""
    from agents.windows.hyper_v import Sampled, log_of

    ends_at = time.monotonic() + options.seconds if options.seconds else None
    samples: List[Any] = []
    is_over = False
    while not is_over:
        is_over = stop.wait(options.every)
        is_over = is_over or (ends_at is not None and time.monotonic() >= ends_at)
        samples.append(Sampled(time.time(), counters.read()))
        if is_over or len(samples) >= MOST_ROWS:
            began = time.gmtime(samples[0].at_s - options.every)
            yield (
                log_of(socket.gethostname(), samples),
                time.strftime("%Y-%m-%dT%H:%M:%SZ", began),
            )
            samples = []
