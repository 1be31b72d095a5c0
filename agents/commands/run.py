"""Run installed tools, save their output and send it.

  virtlab-agent.pyz run sysbench hackbench
  virtlab-agent.pyz run fio --folder /mnt/disk --seconds 30 --repetitions 10
  virtlab-agent.pyz run iperf3 --peer 192.168.1.7
  virtlab-agent.pyz run sysbench:cpu,memory "fio:randread 4k,randwrite 4k"

Each start of a program is a step and becomes one run. A round runs all steps once, so
that slow changes of the machine affect all steps alike. With --order random the steps
of each round are shuffled. A colon selects some programs of a tool. The first round is
a warm-up and is not sent (--warm-up 0 disables it). The time server is queried before
and after each step. A run states its arguments, the tool's version, load and steal
time, and its position. If a step fails, its output is sent as a failed run, which does
not count, and the other steps continue.

A guest without Python is measured from here, with the probe in the guest (make probe):

  virtlab-agent.pyz run --through "ssh vm-a" --system 17 virtlab-linpack virtlab-system
"""

import argparse
import os
import random
import uuid
from typing import Any, Dict, Iterator, List, Tuple

from agents import errors
from agents.argument_parsing import int_between
from agents.console import Console
from agents.errors import UsageError
from agents.run_and_system_options import add_run_arguments, required_study, run_options

MAX_THREADS = 4096


def add_arguments(parser: argparse.ArgumentParser) -> None:
    from agents.measuring.remote import add_remote_arguments

    parser.usage = "%(prog)s [options] TOOL [TOOL ...]"
    parser.add_argument(
        "tools", nargs="+", metavar="TOOL[:PROGRAM,...]", help="see: list"
    )

    def number(name: str, default: int, least: int, text: str) -> None:
        parser.add_argument(
            name, type=int_between(least), default=default, metavar="N", help=text
        )

    number("--repetitions", 5, 1, "number of rounds that are sent (default: 5)")
    number("--warm-up", 1, 0, "number of warm-up rounds before them (default: 1)")
    parser.add_argument(
        "--order",
        choices=("listed", "random"),
        default="listed",
        help="order of the steps in a round (default: listed)",
    )
    number(
        "--seconds",
        10,
        1,
        "duration of a step in seconds, if it is adjustable (default: 10)",
    )
    parser.add_argument(
        "--threads",
        type=int_between(1, MAX_THREADS),
        default=1,
        metavar="N",
        help="number of threads (default: 1, at most %d)" % MAX_THREADS,
    )
    parser.add_argument(
        "--folder",
        default=".",
        help="folder for the tools' files (default: current folder)",
    )
    number("--file-mib", 256, 1, "size of these files in MiB (default: 256)")
    parser.add_argument(
        "--peer", default="", metavar="HOST", help="other end for network tools"
    )
    parser.add_argument("--device", default="", help="disk for hdparm")
    add_remote_arguments(parser)
    parser.add_argument("--later", action="store_true", help="do not send now")
    text = "do not wait for other measurements on this host; the runs are marked"
    parser.add_argument("--force", action="store_true", help=text)
    add_run_arguments(parser)
    kernels = parser.add_argument_group("virtlab-linpack, -memory, -system")

    def word(name: str, metavar: str, text: str, **more: Any) -> None:
        kernels.add_argument(name, metavar=metavar, help=text, **more)

    word(
        "--sizes",
        "N,N",
        "numbers of equations (default: 1000,2000,4000,8000)",
        default="",
    )
    text = "LINPACK starts no solution after this time (default: 1200)"
    word("--budget-s", "SECONDS", text, type=int_between(1), default=1200)
    kernels.add_argument(
        "--bits", type=int, default=0, choices=(32, 64), help="default: the machine's"
    )
    word(
        "--blocks-kib",
        "N,N",
        "sizes of blocks read (default: 1,2,4 to 32768)",
        default="",
    )
    text = "size of arrays that exceed all caches (default: 64)"
    word("--array-mib", "N", text, type=int_between(1), default=0)
    text = "measurements per row (default: 10)"
    word("--iterations", "N", text, type=int_between(1), default=0)


def run(options: argparse.Namespace) -> int:
    from agents.host_lock import HostLock
    from agents.local_state import MeasuringLock, load_enrolment, open_spool
    from agents.measuring.remote import (
        check_tools,
        measured_machine,
        remote_from_options,
    )
    from agents.measuring.timed_run import run_document
    from agents.spool_delivery import count_phrase, send_and_report
    from agents.timing.time_client import TimeServerPath
    from agents.upload_results import Uploads

    enrolment = load_enrolment()
    if options.through is not None:
        check_tools(word.partition(":")[0] for word in options.tools)
    through = remote_from_options(options)
    steps = _steps(options, enrolment.time_server, through)
    machine = measured_machine(options, enrolment.host, through)
    given = run_options(options)
    given["session"] = given["session"] or "agent-" + uuid.uuid4().hex[:12]
    given["clock"] = machine.clock  # the tools time themselves
    path = TimeServerPath(enrolment.time_server or enrolment.server)
    study = required_study(options, enrolment.study)
    spool, console = open_spool(), Console()
    uploads = Uploads()
    # `watch` must not send, and no other agent must measure here.
    lock = HostLock(console.message, is_forced=options.force, target=options.through)
    failed = 0
    try:
        with lock, MeasuringLock():
            for step, order, progress in _in_order(steps, options):
                console.progress(progress)
                measured = _measure(step, path, lock, through, console)
                failed += bool(measured.execution.problem)
                # The server refuses an empty output.
                if order["repetition"] > 0 and measured.execution.output.strip():
                    context = (study, machine.system, machine.facts, given, order)
                    document = run_document(step, measured, *context)
                    spool.save(document)
                    uploads.add(progress, document)
    except KeyboardInterrupt:
        waiting = count_phrase(len(uploads.documents), "run", "waits", "wait")
        console.message("Interrupted. %s in the spool; see: spool send" % waiting)
        raise
    sent = errors.DONE if options.later else send_and_report(enrolment, spool, console)
    if not (sent or options.later) or not uploads.documents:
        sent = uploads.report(enrolment, console)
    return sent or (errors.FAILED if failed else errors.DONE)


def _measure(step: Any, path: Any, lock: Any, through: Any, console: Console) -> Any:
    from agents.host_lock import FORCED
    from agents.measuring.timed_run import failure_message, measure

    measured = measure(step, path)
    if lock.is_ignored:
        measured.warnings.append(FORCED)
    if through:
        measured = through.mark_local_facts(measured)
    for warning in measured.warnings:
        console.message("%s %s: %s" % (step.tool, step.name, warning))
    if measured.execution.problem:
        console.message(failure_message(step, measured))
    return measured


def _in_order(
    steps: List[Any], options: argparse.Namespace
) -> Iterator[Tuple[Any, Dict[str, int], str]]:
    """Yield the steps of all rounds, each with its position and a progress message.

    In warm-up rounds the repetition is 0 or less.
    """
    for number in range(options.warm_up + options.repetitions):
        if options.order == "random":
            steps = random.sample(steps, len(steps))
        for position, step in enumerate(steps, start=1):
            order = {
                "repetition": number - options.warm_up + 1,
                "repetitions": options.repetitions,
                "sequence": number * len(steps) + position,
            }
            repetition = "%(repetition)d of %(repetitions)d" % order
            words = (
                repetition if order["repetition"] > 0 else "warm-up",
                *(position, len(steps), step.tool, step.name),
            )
            yield step, order, "%s, step %d of %d: %s %s" % words


def _steps(options: argparse.Namespace, time_server: str, through: Any) -> List[Any]:
    from agents.measuring.command_lines import ToolOptions, select_steps

    if not (through or os.path.isdir(options.folder)):
        raise UsageError("--folder %s is not a folder." % options.folder)
    values: Dict[str, Any] = {n: getattr(options, n, "") for n in ToolOptions._fields}
    tool_options = ToolOptions(**values)._replace(
        folder=options.folder if through else os.path.abspath(options.folder),
        time_server=time_server,
        probe=through.probe if through else "",
    )
    steps: List[Any] = []
    problems = []
    for tool in options.tools:
        try:
            steps += select_steps(tool, tool_options)
        except UsageError as error:
            problems.append(str(error))
    if problems:
        raise UsageError("\n".join(problems))
    return through.steps(steps) if through else steps
