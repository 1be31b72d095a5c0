"""Register a machine from what it prints of itself.

host SLUG [FILE ...] [--title TEXT] [--look]

Files hold the output of lscpu, dmidecode, uname -a, systeminfo or esxcli hardware; `-`
is standard input. The server reads the facts out of it; look at them with --look first:

  (lscpu; uname -a; sudo dmidecode) | virtlab-agent.pyz host ws1 - --look
"""

import argparse
import json
import sys
from typing import Any, Dict, List

from agents import errors
from agents.console import Console


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("slug", metavar="SLUG", help="its short name in addresses")
    parser.add_argument("files", nargs="*", metavar="FILE")
    parser.add_argument("--title", default="", help="what people call it")
    parser.add_argument("--look", action="store_true", help="show the facts, no more")


def run(options: argparse.Namespace) -> int:
    from agents.client import Client
    from agents.home import load_enrolment

    output = "\n".join(_texts(options.files))
    enrolment = load_enrolment()
    client = Client(enrolment.server, enrolment.token, patience_s=30)
    console = Console()
    read: Dict[str, Any] = {"facts": {}, "doubts": []}
    if output.strip():
        read = client.request("POST", "parse/machine/", {"output": output})
    for doubt in read["doubts"]:
        console.say(doubt)
    console.result(json.dumps(read["facts"], indent=1, sort_keys=True))
    if options.look:
        return errors.DONE
    host = {"slug": options.slug, "title": options.title, "facts": read["facts"]}
    client.register_host(host)
    console.say("Registered: %s" % options.slug)
    return errors.DONE


def _texts(files: List[str]) -> List[str]:
    texts = []
    for name in files:
        if name == "-":
            texts.append(sys.stdin.read())
            continue
        with open(name, "rb") as file:
            texts.append(file.read().decode("utf-8", "replace"))
    return texts
