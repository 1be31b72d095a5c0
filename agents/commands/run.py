"""Run installed tools, keep what they print, and send it.

  virtlab-agent.pyz run sysbench hackbench
  virtlab-agent.pyz run fio --folder /mnt/disk --seconds 30 --repetitions 10
  virtlab-agent.pyz run iperf3 --peer 192.168.1.7
  virtlab-agent.pyz run sysbench:cpu,memory "fio:randread 4k,randwrite 4k"

Every start of a program is a run: all steps once, then all of them again, so that a
slow change of the machine meets all alike (--order random: each round in an order of
its own, so that no step has the same one before it). Behind a colon stand the programs
of a tool that are wanted. The first round warms up and is not sent
(--warm-up 0 does without). Runs are bracketed by stamps of the time server, and carry
the exact arguments, the tool's version, load and stolen time, and their place in the
order. A step that fails sends nothing and the others go on.

A guest that has no Python is measured from here, by the probe in it (make probe):

  virtlab-agent.pyz run --through "ssh vm-a" --system 17 virtlab-linpack virtlab-system
"""

import argparse
import os
import random
import uuid
from typing import Any, Dict, Iterator, List, Tuple

from agents import errors
from agents.console import Console, whole
from agents.documents import (
    add_describing_arguments,
    described_run,
    study_of,
)
from agents.errors import UsageError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    from agents.measuring.through import add_through_arguments

    parser.usage = "%(prog)s [options] TOOL [TOOL ...]"
    parser.add_argument(
        "tools", nargs="+", metavar="TOOL[:PROGRAM,...]", help="see: list"
    )

    def number(name: str, default: int, least: int, says: str) -> None:
        parser.add_argument(
            name, type=whole(least), default=default, metavar="N", help=says
        )

    number("--repetitions", 5, 1, "rounds that are sent (5)")
    number("--warm-up", 1, 0, "rounds before them that are not (1)")
    parser.add_argument(
        "--order",
        choices=("listed", "random"),
        default="listed",
        help="of the steps of each round (listed)",
    )
    number("--seconds", 10, 1, "how long a step runs, where it can be told (10)")
    number("--threads", 1, 1, "how many work at once (1)")
    parser.add_argument(
        "--folder", default=".", help="where tools write their files (here)"
    )
    number("--file-mib", 256, 1, "how large these files are (256)")
    parser.add_argument(
        "--peer", default="", metavar="HOST", help="the machine network tools talk to"
    )
    parser.add_argument("--device", default="", help="the disk that hdparm reads")
    add_through_arguments(parser)
    parser.add_argument("--later", action="store_true", help="send nothing now")
    add_describing_arguments(parser)
    kernels = parser.add_argument_group("virtlab-linpack, -memory, -system")

    def word(name: str, metavar: str, says: str, **more: Any) -> None:
        kernels.add_argument(name, metavar=metavar, help=says, **more)

    word("--sizes", "N,N", "LINPACK's equations (1000,2000,4000,8000)", default="")
    says = "LINPACK begins no solution after so long (1200)"
    word("--budget-s", "SECONDS", says, type=whole(1), default=1200)
    kernels.add_argument(
        "--bits", type=int, default=0, choices=(32, 64), help="as the machine is"
    )
    word("--blocks-kib", "N,N", "blocks that are read (1,2,4 to 32768)", default="")
    says = "arrays that no cache holds (64)"
    word("--array-mib", "N", says, type=whole(1), default=0)
    says = "how often each of their rows is measured (10)"
    word("--iterations", "N", says, type=whole(1), default=0)


def run(options: argparse.Namespace) -> int:
    from agents.home import Quiet, load_enrolment, open_spool
    from agents.measuring.bracket import failure_of, measure, run_document
    from agents.measuring.through import check_tools, machine_of, through_of
    from agents.sending import deliver_and_say
    from agents.timing.asking import TimePath

    enrolment = load_enrolment()
    if options.through is not None:
        check_tools(word.partition(":")[0] for word in options.tools)
    through = through_of(options)
    steps = _steps(options, enrolment.time_server, through)
    machine = machine_of(options, enrolment.host, through)
    given = described_run(options)
    given["session"] = given["session"] or "agent-" + uuid.uuid4().hex[:12]
    given["clock"] = machine.clock  # the tools time themselves
    path = TimePath(enrolment.time_server or enrolment.server)
    study = study_of(options, enrolment.study)
    spool, console = open_spool(), Console()
    failed = 0
    with Quiet():  # `watch` sends nothing meanwhile
        for step, order, progress in _in_order(steps, options):
            console.progress(progress)
            measured = measure(step, path)
            if through:
                measured = through.seen_from_outside(measured)
            for warning in measured.warnings:
                console.say("%s %s: %s" % (step.tool, step.name, warning))
            if measured.execution.problem:
                failed += 1
                console.say(failure_of(step, measured))
            elif order["repetition"] > 0:
                about = (study, machine.system, machine.facts, given, order)
                spool.save(run_document(step, measured, *about))
    sent = errors.DONE if options.later else deliver_and_say(enrolment, spool, console)
    return sent or (errors.FAILED if failed else errors.DONE)


def _in_order(
    steps: List[Any], options: argparse.Namespace
) -> Iterator[Tuple[Any, Dict[str, int], str]]:
    """Yield the steps of all rounds, each with its place and a line of progress.

    Rounds that warm up have a repetition of 0 or less.
    """
    for number in range(options.warm_up + options.repetitions):
        if options.order == "random":
            steps = random.sample(steps, len(steps))
        for place, step in enumerate(steps, start=1):
            order = {
                "repetition": number - options.warm_up + 1,
                "repetitions": options.repetitions,
                "sequence": number * len(steps) + place,
            }
            which = "%(repetition)d of %(repetitions)d" % order
            words = (
                which if order["repetition"] > 0 else "warm-up",
                *(place, len(steps), step.tool, step.name),
            )
            yield step, order, "%s, step %d of %d: %s %s" % words


def _steps(options: argparse.Namespace, time_server: str, through: Any) -> List[Any]:
    from agents.measuring.runners import Wishes, chosen_steps

    given: Dict[str, Any] = {n: getattr(options, n, "") for n in Wishes._fields}
    wishes = Wishes(**given)._replace(
        folder=options.folder if through else os.path.abspath(options.folder),
        time_server=time_server,
        probe=through.probe if through else "",
    )
    steps: List[Any] = []
    missing = []
    for tool in options.tools:
        try:
            steps += chosen_steps(tool, wishes)
        except UsageError as error:
            missing.append(str(error))
    if missing:
        raise UsageError("\n".join(missing))
    return through.steps(steps) if through else steps
