"""Create, change, archive or reopen a study of the token's lab.

study new SLUG --title "KVM against native" --factor "guest bits=32,64"
study set SLUG --visibility shared --share partner-lab
study archive SLUG      accept no more runs
study reopen SLUG       accept runs again
"""

import argparse
import json
import re
from typing import Any, Dict

from agents import errors
from agents.console import Console
from agents.errors import ServerRefusedError, UsageError

_NUMBER = re.compile(r"-?(0|[1-9][0-9]{0,14})(\.[0-9]{1,15})?$")
TEXT_OPTIONS = ("title", "author", "institution", "published", "note")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", choices=("new", "set", "archive", "reopen"))
    parser.add_argument("slug", metavar="SLUG", help="short name used in URLs")
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
    try:
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
    Console().print_result("%(lab)s/%(slug)s: %(title)s (%(visibility)s)" % study)
    return errors.DONE


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
