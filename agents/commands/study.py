"""Create, change, archive, reopen, export or import a study.

study new SLUG --title "KVM against native" --factor "guest bits=32,64"
study set SLUG --visibility shared --share partner-lab
study archive SLUG      accept no more runs
study reopen SLUG       accept runs again
study export SLUG       write the whole study to SLUG.json.gz
study import FILE       store such a file in the token's lab, as a private study
"""

import argparse
import json
import re
from typing import Any, Dict, Tuple

from agents import errors
from agents.console import Console
from agents.errors import ServerRefusedError, UsageError

IMPORTED = "%(lab)s/%(slug)s: %(accepted)d runs stored, %(repeated)d known before"
_NUMBER = re.compile(r"-?(0|[1-9][0-9]{0,14})(\.[0-9]{1,15})?$")
ACTIONS = ("new", "set", "archive", "reopen", "export", "import")
TEXT_OPTIONS = ("title", "author", "institution", "published", "note")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", choices=ACTIONS)
    parser.add_argument(
        "slug", metavar="SLUG_OR_FILE", help="short name used in URLs, or study file"
    )
    parser.add_argument("--to", metavar="FILE", help="where to export")
    parser.add_argument(
        "--omit-raw-output",
        action="store_true",
        help="export the numbers that were read instead of the tools' output",
    )
    parser.add_argument(
        "--power-logs", action="store_true", help="export also the lab's power logs"
    )
    for name in TEXT_OPTIONS:
        parser.add_argument("--" + name)
    parser.add_argument("--licence", help="license of the data, such as CC-BY-4.0")
    parser.add_argument("--visibility", choices=("private", "shared", "public"))
    parser.add_argument(
        "--share",
        action="append",
        metavar="LAB",
        help="lab that may read the study",
    )
    parser.add_argument(
        "--factor", action="append", metavar="NAME=A,B", help="factor and its levels"
    )
    parser.add_argument("--margin", type=float, help="equivalence margin (%%)")


def run(options: argparse.Namespace) -> int:
    from agents.client import Client, RefusedError
    from agents.local_state import load_enrolment

    stated = _stated(options)
    if options.action == "new" and "title" not in stated:
        raise UsageError("A new study needs a title: --title TEXT")
    if options.action == "set" and not stated:
        raise UsageError("Name what to change, for example --visibility public")
    if options.action in ("archive", "reopen"):
        stated["archived"] = options.action == "archive"
    enrolment = load_enrolment()
    client = Client(enrolment.server, enrolment.token, retry_for_s=30)
    console = Console()
    try:
        if options.action == "export":
            path, size = _export(client, options)
            console.print_result("%s: %d bytes" % (path, size))
            return errors.DONE
        if options.action == "import":
            with open(options.slug, "rb") as file:
                imported = client.import_study(file.read())
            console.print_result(IMPORTED % imported)
            return errors.DONE
        if options.action == "new":
            study = client.create_study(dict(stated, slug=options.slug))
        else:
            study = client.update_study(options.slug, stated)
    except RefusedError as refused:
        details = "".join(
            "\n%s: %s" % (name, json.dumps(problems))
            for name, problems in sorted(refused.fields.items())
        )
        raise ServerRefusedError(str(refused) + details) from None
    console.print_result("%(lab)s/%(slug)s: %(title)s (%(visibility)s)" % study)
    return errors.DONE


def _export(client: Any, options: argparse.Namespace) -> Tuple[str, int]:
    from agents.files import write_durably

    query = {"study": options.slug}
    if options.omit_raw_output:
        query["raw_output"] = "omit"
    if options.power_logs:
        query["power_logs"] = "include"
    path = options.to or options.slug.replace("/", "-") + ".json.gz"
    content = client.get_file("study-file/", **query)
    write_durably(path, content)
    return path, len(content)


def _stated(options: argparse.Namespace) -> Dict[str, Any]:
    stated = {name: getattr(options, name) for name in (*TEXT_OPTIONS, "visibility")}
    stated["data_licence"] = options.licence
    stated["equivalence_margin_percent"] = options.margin
    stated["shared_with"] = options.share
    if options.share and options.visibility is None:
        stated["visibility"] = "shared"
    if options.factor:
        stated["factors"] = dict(map(_factor, options.factor))
    return {name: value for name, value in stated.items() if value is not None}


def _factor(text: str) -> Any:
    name, equals, levels = text.partition("=")
    values = [_level(level.strip()) for level in levels.split(",") if level.strip()]
    if not (name.strip() and equals and values):
        raise UsageError('A factor has a name and levels: --factor "bits=32,64"')
    return name.strip(), values


def _level(text: str) -> Any:
    # Not JSON numbers: "nan", "inf", "007", "1_000".
    match = _NUMBER.match(text)
    if match is None:
        return text
    return float(text) if match.group(2) else int(text)
