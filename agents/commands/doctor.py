"""Check all that measuring and sending need, and say what to do about what is missing.

Exit code 0 if all is well or only worth knowing, 7 if something is wrong.
"""

import argparse

from agents import exits
from agents.console import Console


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="for programs")


def run(options: argparse.Namespace) -> int:
    import json

    from agents.checkup import BAD, examine

    console, findings = Console(), []
    for finding in examine():
        findings.append(finding)
        if not options.json:
            console.result("%-5s %-9s %s" % finding)
    if options.json:
        names = ("state", "what", "sentence")
        rows = [{name: getattr(each, name) for name in names} for each in findings]
        console.result(json.dumps(rows, indent=1))
    unwell = any(finding.state == BAD for finding in findings)
    return exits.UNWELL if unwell else exits.DONE
