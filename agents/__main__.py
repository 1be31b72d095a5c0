"""The command line: load and run one command; errors become exit codes."""

import argparse
import importlib
import os
import sys
from typing import Any, List, Optional

from agents import VERSION, errors
from agents.argument_parsing import Parser
from agents.console import Console, JsonReport, safe_text

COMMANDS = (
    ("enroll", "save the server and the token of this agent, and check both"),
    ("doctor", "check everything that measuring and sending need"),
    ("detect", "show the virtualization layers and the facts of this machine"),
    ("study", "create, change, archive, export or import a study"),
    ("host", "register a machine from the output of lscpu, dmidecode, ..."),
    ("list", "list the installed tools, and how to install the others"),
    ("run", "run installed tools, save their output and send it"),
    ("plan", "follow a plan of the server: take a slot and run its steps"),
    ("check", "show what the server would read of files, without sending them"),
    ("push", "save the output of tools and send it"),
    ("power", "record a power meter of this machine and send the readings"),
    ("telemetry", "record the counters of a Hyper-V host and send them"),
    ("vm", "measure virtual machines from their host: boot, memory, migration"),
    ("spool", "list, send or retry the runs that wait to be sent"),
    ("bundle", "write waiting runs to signed files for an unreachable server"),
    ("watch", "send the spool whenever the server is reachable"),
    ("verify", "check that a file was signed by your server"),
    ("timeserver", "serve the time to guests whose clocks are unreliable"),
)

EXAMPLES = """examples:
  virtlab-agent.pyz enroll --server https://virtlab.example.org --token vl_...
  virtlab-agent.pyz doctor
  virtlab-agent.pyz detect
  virtlab-agent.pyz run sysbench hackbench --repetitions 5
  sysbench cpu run | virtlab-agent.pyz push --study my-study --host athlon -
  virtlab-agent.pyz push --study my-study --host athlon results/*.txt
  virtlab-agent.pyz timeserver --port 8037
  virtlab-agent.pyz power watts-up /dev/ttyUSB0

`COMMAND --help` shows the details. Exit codes: 0 done, 1 failed, 2 usage error,
3 not enrolled, 4 refused by the server, 5 server unavailable (nothing is lost),
6 spool full, 7 check failed, 8 sent, but not read by the server yet. --json prints
one JSON object.
"""


def main(arguments: Optional[List[str]] = None) -> int:
    words = sys.argv[1:] if arguments is None else arguments
    if os.name == "nt" and hasattr(sys.stdout, "reconfigure"):
        # A file's code page may lack a character: write \\u instead of failing.
        sys.stdout.reconfigure(errors="backslashreplace")
    name = words[0] if words else "--help"
    if name not in dict(COMMANDS):
        _top_parser().parse_args([name])  # prints the help or an error, and exits
    module = importlib.import_module("agents.commands." + name)
    parser = Parser(
        prog="virtlab-agent.pyz " + name,
        description=module.__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    module.add_arguments(parser)
    is_added = _add_json_option(parser)
    options = parser.parse_args(words[1:])
    Console.json = JsonReport(name) if is_added and options.json else None
    code = _run(module, options)
    if Console.json:
        sys.stdout.write(Console.json.text(code) + "\n")
    return code


def _add_json_option(parser: Parser) -> bool:
    """Add the option --json; return False if the command has its own."""
    try:
        text = "print the results as one JSON object"
        parser.add_argument("--json", action="store_true", help=text)
    except argparse.ArgumentError:
        return False
    return True


def _run(module: Any, options: argparse.Namespace) -> int:
    try:
        return int(module.run(options))
    except KeyboardInterrupt:
        return errors.INTERRUPTED
    # Before OSError, its base class.
    except BrokenPipeError:
        # Python would flush stdout again at exit and print an error.
        sys.stderr.close()
        return errors.DONE
    except OSError as error:
        where = error.filename or "this machine"
        _print_error("%s: %s" % (where, error.strerror or error))
        return errors.FAILED
    except Exception as error:
        if not hasattr(error, "exit_code"):
            raise
        _print_error(str(error))
        return int(error.exit_code)


def _print_error(text: str) -> None:
    sys.stderr.write(safe_text(text) + "\n")
    if Console.json:
        Console.json.messages.append(safe_text(text))


def _version() -> str:
    from agents.detection.facts import agent_facts

    facts = agent_facts(sys.argv[0])
    words = ["virtlab-agent", VERSION, "Python", facts["python"]]
    if "sha256" in facts:
        words += ["SHA-256", facts["sha256"]]
    return " ".join(words)


def _top_parser() -> argparse.ArgumentParser:
    width = max(len(name) for name, _ in COMMANDS)
    command_lines = "".join(
        "  %s  %s\n" % (name.ljust(width), summary) for name, summary in COMMANDS
    )
    parser = Parser(
        prog="virtlab-agent.pyz",
        description="Measure what a hypervisor costs.\n\ncommands:\n" + command_lines,
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        usage="%(prog)s COMMAND [...]",
    )
    parser.add_argument("--version", action="version", version=_version())
    parser.add_argument("command", choices=dict(COMMANDS), help=argparse.SUPPRESS)
    parser.add_argument("rest", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    return parser


if __name__ == "__main__":
    sys.exit(main())
