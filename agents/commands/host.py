"""Register a machine from the output of its own commands.

host SLUG [FILE ...] [--title TEXT] [--look]

Files contain the output of lscpu, dmidecode, uname -a, systeminfo or esxcli hardware;
`-` is standard input. The server reads the facts from the output. Check them first with
--look:

  (lscpu; uname -a; sudo dmidecode) | virtlab-agent.pyz host ws1 - --look
"""

import argparse
import json
import sys
from typing import Any, Dict, List

from agents import errors
from agents.argument_parsing import read_given_file
from agents.console import Console


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("slug", metavar="SLUG", help="short name used in URLs")
    parser.add_argument("files", nargs="*", metavar="FILE")
    parser.add_argument("--title", default="", help="display name")
    parser.add_argument("--look", action="store_true", help="show the facts and stop")


def run(options: argparse.Namespace) -> int:
    from agents.client import Client
    from agents.local_state import load_enrolment

    output = "\n".join(_texts(options.files))
    enrolment = load_enrolment()
    client = Client(enrolment.server, enrolment.token, retry_for_s=30)
    console = Console()
    parsed: Dict[str, Any] = {"facts": {}, "warnings": []}
    if output.strip():
        parsed = client.request("POST", "parse/machine/", {"output": output})
    for warning in parsed["warnings"]:
        console.message(warning)
    console.print_result(json.dumps(parsed["facts"], indent=1, sort_keys=True))
    if options.look:
        return errors.DONE
    host = {"slug": options.slug, "title": options.title, "facts": parsed["facts"]}
    client.register_host(host)
    console.message("Registered: %s" % options.slug)
    return errors.DONE


def _texts(files: List[str]) -> List[str]:
    texts = []
    for name in files:
        if name == "-":
            texts.append(sys.stdin.read())
            continue
        texts.append(read_given_file(name).decode("utf-8", "replace"))
    return texts
