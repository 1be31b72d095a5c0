"""Show the virtualization layers and the facts of this machine.

Nothing is changed and nothing is sent. Only root can read some facts about firmware,
disks, and the control groups of process 1.
"""

import argparse
import json
from typing import Any, Dict, Iterator

from agents import errors
from agents.console import Console


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--evidence", action="store_true", help="add the raw evidence")


def run(options: argparse.Namespace) -> int:
    from agents.detection.facts import gather_platform

    facts = gather_platform()
    evidence = facts.pop("evidence")
    if options.evidence:
        facts["evidence"] = evidence
    if options.json:
        shown = json.dumps(facts, indent=1, sort_keys=True)
    else:
        sentence = facts.pop("platform")["sentence"]
        shown = "\n".join([sentence, "", *_lines(facts, "")])
    Console().print_result(shown)
    return errors.DONE


def _lines(facts: Dict[str, Any], indent: str) -> Iterator[str]:
    for name, value in sorted(facts.items()):
        if isinstance(value, dict):
            yield "%s%s:" % (indent, name)
            yield from _lines(value, indent + "  ")
        else:
            yield "%s%s: %s" % (indent, name, value)
