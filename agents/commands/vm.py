"""Measure virtual machines from their host: start-up, memory, waiting, migration.

  virtlab-agent.pyz vm boot --until "login:" -- qemu-system-x86_64 ... -serial stdio
  virtlab-agent.pyz vm boot --until "login:" --count 4 -- qemu-system-x86_64 ...
  virtlab-agent.pyz vm migrate --until "login:" -- qemu-system-x86_64 ...

COMMAND starts a machine and shows its serial console on its output: QEMU with -serial
stdio, or a console that a script attaches. In COMMAND, {n} is the number of a machine.
All times are those of this machine's clock, so the guest's clock does not matter.

`boot` starts machines at once and prints their start-up times, their memory (PSS), and
the share of processor time for which their threads waited. It fails if a machine does
not start within --limit-s, which ends a loop over --count. `migrate` moves a machine to
a second QEMU on this host, and prints the downtime that QEMU states, and the longest
gaps between lines of the console, lines that begin with `write` (print one after each
write), and answered pings: lines that begin with `ping`, or those of --ping.

Save the output and send it with `push`. For several machines at once add `--scenario
parallel --vms N`.
"""

import argparse
import os
from typing import Any, List

from agents import errors
from agents.argument_parsing import int_between, seconds_between
from agents.console import Console
from agents.errors import AgentError, UsageError

VERSION = "1.1"
DASH = "-"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.usage = "%(prog)s {boot,migrate} [options] -- COMMAND"
    parser.add_argument("what", choices=("boot", "migrate"))
    parser.add_argument(
        "--until", required=True, metavar="REGEX", help="what a ready machine shows"
    )

    def number(name: str, kind: Any, default: int, metavar: str, text: str) -> None:
        parser.add_argument(
            name,
            type=kind,
            default=default,
            metavar=metavar,
            help="%s (default: %d)" % (text, default),
        )

    seconds = "SECONDS"
    number("--count", int_between(1), 1, "N", "number of machines that start at once")
    number("--repetitions", int_between(1), 1, "N", "how often")
    within = "time within which all machines must be ready"
    number("--limit-s", seconds_between(1), 300, seconds, within)
    watched = "how long ready machines are watched"
    number("--watch-s", seconds_between(0), 5, seconds, watched)
    parser.add_argument(
        "--ping",
        default="",
        metavar="ADDRESS",
        help="migrate: ping the machine here; less than 0.2 s apart, which needs root",
    )
    parser.add_argument(
        "--monitor",
        default="",
        metavar="TEXT",
        help="text in the command line of the monitor's processes, if COMMAND does not "
        "start them itself",
    )
    parser.add_argument("command", nargs="+", metavar="COMMAND", help="after --")


def run(options: argparse.Namespace) -> int:
    from agents.vm_consoles import accelerator, quoted

    if os.name == "nt":
        raise UsageError("vm runs on Linux hosts only.")
    out = Console()
    emulation = accelerator(options.command)
    if emulation:
        out.message("QEMU emulates the processor: compare only with other emulation.")
    measure = _boot if options.what == "boot" else _migrate
    for repetition in range(1, options.repetitions + 1):
        # Each repetition is a run of its own.
        out.print_result("Virtlab VM %s" % VERSION)
        out.print_result("command: %s" % quoted(options.command))
        out.print_result("processor: %s" % (emulation or "hardware or not stated"))
        out.print_result("host processors: %d" % (os.cpu_count() or 1))
        out.print_result("ready: %s" % options.until)
        out.print_result("machines: %d" % options.count)
        try:
            measure(options, repetition, out)
        except AgentError as error:
            out.print_result("failed: %s" % str(error).splitlines()[0])
            out.message(str(error))
            return errors.FAILED
        out.print_result("end")
    return errors.DONE


def _boot(options: argparse.Namespace, repetition: int, out: Console) -> None:
    """Start the machines and print their rows, or raise AgentError."""
    from agents import vm_consoles as vm

    machines: List[vm.VirtualMachine] = []
    try:
        for number in range(1, options.count + 1):
            words = vm.command_of_machine(options.command, number)
            machines.append(vm.VirtualMachine(words, options.until))
        vm.watch_consoles(machines, options.limit_s, until_ready=True)
        _require_ready(machines, options.limit_s)
        processes = [
            vm.monitor_processes(machine, options.monitor.replace("{n}", str(number)))
            for number, machine in enumerate(machines, start=1)
        ]
        before = [vm.cpu_time(pids) for pids in processes]
        vm.watch_consoles(machines, options.watch_s, until_ready=False)
        after = [vm.cpu_time(pids) for pids in processes]
        memory = [vm.monitor_memory(pids) for pids in processes]
    finally:
        for machine in machines:
            machine.stop()
    for number, machine in enumerate(machines, start=1):
        where = (repetition, number)
        times = [_number(machine.times_s.get(stage)) for stage in vm.STAGES]
        out.print_result("boot %d %d  %s" % (*where, "  ".join(times)))
        found = memory[number - 1]
        if found:
            out.print_result("memory %d %d  %d  %d" % (*where, *found))
        share = vm.wait_share(before[number - 1], after[number - 1])
        if share is not None:
            out.print_result("wait %d %d  %.6f" % (*where, share))


def _migrate(options: argparse.Namespace, repetition: int, out: Console) -> None:
    from agents.vm_migration import migrate

    limits = (options.limit_s, options.watch_s)
    result = migrate(options.command, options.until, *limits, address=options.ping)
    fields = (result.downtime_s, result.total_s, *result.lines)
    numbers = "  ".join(map(_number, fields))
    out.print_result("migration %d  %s  %d" % (repetition, numbers, result.sent_bytes))
    for name, gap in sorted(result.events.items()):
        row = (name, repetition, _number(gap.longest_s), _number(gap.usual_s))
        out.print_result("%s %d  %s  %s" % row)


def _require_ready(machines: List[Any], limit_s: float) -> None:
    for number, machine in enumerate(machines, start=1):
        if not machine.is_ready:
            what = "ended" if machine.has_ended else "was not ready"
            raise AgentError(
                "machine %d %s within %.0f s. Its console ends with:\n  %s"
                % (number, what, limit_s, machine.last_lines())
            )


def _number(seconds: Any) -> str:
    return DASH if seconds is None else "%.6f" % seconds
