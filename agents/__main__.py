"""The command line: load one command, run it, and turn errors into exit codes."""

import argparse
import importlib
import os
import sys
from typing import List, Optional

from agents import errors
from agents.console import Parser, printable, without_token

COMMANDS = (
    ("enroll", "tell this agent its server and its token"),
    ("doctor", "check all that measuring and sending need"),
    ("detect", "say what this machine stands on, and its facts"),
    ("study", "create a study, or change how one is set; archive it"),
    ("host", "register a machine from what it prints of itself"),
    ("list", "say which tools are installed, and how to install the others"),
    ("run", "run installed tools, keep what they print, and send it"),
    ("plan", "follow a plan of the server: take a slot, run its steps, meet others"),
    ("push", "keep what tools printed, and send it"),
    ("power", "read a power meter of this machine, and send what it says"),
    ("telemetry", "record what a Hyper-V host counts, and send it"),
    ("spool", "look at what waits to be sent; send, retry"),
    ("bundle", "carry what waits to a server this machine cannot reach, signed"),
    ("watch", "send the spool whenever the server can be reached"),
    ("timeserver", "tell the time to guests whose clocks lie"),
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

`COMMAND --help` says more. Exit codes: 0 done, 1 failed, 2 wrong use, 3 not enrolled,
4 the server refused, 5 the server is away (nothing is lost), 6 no room, 7 unwell.
"""


def main(arguments: Optional[List[str]] = None) -> int:
    """Run one command and return its exit code."""
    words = sys.argv[1:] if arguments is None else arguments
    if os.name == "nt" and hasattr(sys.stdout, "reconfigure"):
        # The code page of a file may lack a character: write \\u instead of failing.
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
    options = parser.parse_args(words[1:])
    try:
        return int(module.run(options))
    except KeyboardInterrupt:
        return errors.INTERRUPTED
    # Before OSError, its base class.
    except BrokenPipeError:  # the reader has closed its end, as `head` does
        # Python flushes stdout again at its end and would print an error.
        sys.stderr.close()
        return errors.DONE
    except OSError as error:  # a full disk, a folder without write permission
        where = error.filename or "this machine"
        sys.stderr.write("%s: %s\n" % (where, error.strerror or error))
        return errors.FAILED
    except Exception as error:  # an AgentError, or an error of the client
        if not hasattr(error, "exit_code"):
            raise
        sys.stderr.write(printable(without_token("%s\n" % error)))
        return int(error.exit_code)


def _top_parser() -> argparse.ArgumentParser:
    width = max(len(name) for name, _ in COMMANDS)
    listed = "".join(
        "  %s  %s\n" % (name.ljust(width), does) for name, does in COMMANDS
    )
    parser = Parser(
        prog="virtlab-agent.pyz",
        description="Measure what a hypervisor costs.\n\ncommands:\n" + listed,
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        usage="%(prog)s COMMAND [...]",
    )
    parser.add_argument("command", choices=dict(COMMANDS), help=argparse.SUPPRESS)
    parser.add_argument("rest", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    return parser


if __name__ == "__main__":
    sys.exit(main())
