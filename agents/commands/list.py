"""Say which benchmark tools are installed here, and how to install the others.

Virtlab reads the output of all of them, and of more: see docs/tools.md.
"""

import argparse
import json

from agents import exits
from agents.console import Console
from agents.measuring.runners import PROGRAMS


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="for programs")


def run(options: argparse.Namespace) -> int:
    found = [(each.tool, each.path, each.advice) for each in PROGRAMS]
    if options.json:
        names = ("tool", "path", "advice")
        rows = [{name: row[names.index(name)] for name in names} for row in found]
        Console().result(json.dumps(rows, indent=1))
        return exits.DONE
    for tool, path, advice in found:
        state = "installed: %s" % path if path else "missing:   %s" % advice
        Console().result("%-15s  %s" % (tool, state))
    return exits.DONE
