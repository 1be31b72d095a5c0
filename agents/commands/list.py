"""Say which benchmark tools are installed here, and how to install the others.

Virtlab reads the output of all of them, and of more: see docs/tools.md.
"""

import argparse
import json

from agents import errors
from agents.console import Console
from agents.measuring.runners import PROGRAMS


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="for programs")


def run(options: argparse.Namespace) -> int:
    names = ("tool", "path", "advice")
    rows = [{name: getattr(program, name) for name in names} for program in PROGRAMS]
    if options.json:
        Console().result(json.dumps(rows, indent=1))
        return errors.DONE
    for row in rows:
        state = "installed: %(path)s" if row["path"] else "missing:   %(advice)s"
        Console().result(("%(tool)-15s  " + state) % row)
    return errors.DONE
