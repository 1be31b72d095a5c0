"""Create a study of the token's lab, or change how one is set.

study new SLUG --title "KVM against native" --factor "guest bits=32,64"
study set SLUG --visibility shared --share partner-lab
study archive SLUG      nothing is added to it any more
study reopen SLUG       take it out of the archive
"""

import argparse
import json
import re
from typing import Any, Dict

from agents import errors
from agents.console import Console
from agents.errors import ServerRefusedError, UsageError

_NUMBER = re.compile(r"-?(0|[1-9][0-9]{0,14})(\.[0-9]{1,15})?$")
TEXTS = ("title", "author", "institution", "published", "note")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", choices=("new", "set", "archive", "reopen"))
    parser.add_argument("slug", metavar="SLUG", help="its short name in addresses")
    for name in TEXTS:
        parser.add_argument("--" + name)
    parser.add_argument("--licence", help="of the data, like CC-BY-4.0")
    parser.add_argument("--visibility", choices=("private", "shared", "public"))
    parser.add_argument(
        "--share", action="append", metavar="LAB", help="a lab that sees it, if shared"
    )
    parser.add_argument(
        "--factor", action="append", metavar="NAME=A,B", help="what was varied"
    )
    parser.add_argument("--margin", type=float, help="equivalence margin, %%")


def run(options: argparse.Namespace) -> int:
    from agents.client import Client, RefusedError
    from agents.home import load_enrolment

    stated = _stated(options)
    if options.action == "new" and "title" not in stated:
        raise UsageError("A new study needs a title: --title TEXT")
    if options.action == "set" and not stated:
        raise UsageError("Say what is to be set, for example --visibility public")
    if options.action in ("archive", "reopen"):
        stated["archived"] = options.action == "archive"
    enrolment = load_enrolment()
    client = Client(enrolment.server, enrolment.token, patience_s=30)
    try:
        if options.action == "new":
            study = client.create_study(dict(stated, slug=options.slug))
        else:
            study = client.update_study(options.slug, stated)
    except RefusedError as refused:
        wrong = "".join(
            "\n%s: %s" % (name, json.dumps(said))
            for name, said in sorted(refused.fields.items())
        )
        raise ServerRefusedError(str(refused) + wrong) from None
    Console().result("%(lab)s/%(slug)s: %(title)s (%(visibility)s)" % study)
    return errors.DONE


def _stated(options: argparse.Namespace) -> Dict[str, Any]:
    stated = {name: getattr(options, name) for name in (*TEXTS, "visibility")}
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
        raise UsageError('A factor is a name and its levels: --factor "bits=32,64"')
    return name.strip(), values


def _level(text: str) -> Any:
    # "nan", "inf", "007" and "1_000" are texts: JSON has no such numbers.
    match = _NUMBER.match(text)
    if match is None:
        return text
    return float(text) if match.group(2) else int(text)
