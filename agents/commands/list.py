"""List the installed benchmark tools, and how to install the others.

Virtlab reads the output of these and more tools: see docs/tools.md.
"""

import argparse
import json

from agents import errors
from agents.console import Console
from agents.measuring.command_lines import PROGRAMS


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(options: argparse.Namespace) -> int:
    names = ("tool", "path", "advice")
    rows = [{name: getattr(program, name) for name in names} for program in PROGRAMS]
    if options.json:
        Console().print_result(json.dumps(rows, indent=1))
        return errors.DONE
    for row in rows:
        state = "installed: %(path)s" if row["path"] else "missing:   %(advice)s"
        Console().print_result(("%(tool)-15s  " + state) % row)
    return errors.DONE
