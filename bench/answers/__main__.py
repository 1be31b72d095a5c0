"""Whether two installations say the same of all studies: write it down, then compare.

    python -m bench.answers write http://127.0.0.1:8000 FOLDER [TOKEN]
    python -m bench.answers compare OLD NEW [--renamed FILE] [--sentences]
        [--upgraded] [--digits N]

``write`` makes a JSON file for each address, with the answers by question.

``compare`` looks at numbers, codes, names and which things there are. Ids are replaced
by what they name, so that two installations can be compared; with ``--upgraded``, for
one and the same installation, ids and the server's own moments must be equal as well.
Numbers are compared exactly: two fresh installations need ``--digits 12``, because a
mean's last bit depends on the order in which workers stored its runs. What the product
says in sentences is compared only if asked for, and then to the letter.

Where a version says other words, a JSON file tells the old folder's words in new ones:

    {"paths": {"campaigns": "studies"},          segments of addresses
     "keys": {"campaign": "study"},              names in objects, queries and CSV
     "values": {"verdict": {"refused": "not_assessed"}, "*": {}},   by old key
     "rows": [{"where": {"reasons": "native"}, "set": {"verdict": "baseline"}}],
                                                 in new words: what a row says by others
     "sentences": ["title"],                     further keys that hold free text
     "ignored": ["updated_at"]}                  keys that are not compared at all
"""

import argparse
import json
import sys
from collections import defaultdict
from contextlib import closing
from pathlib import Path
from typing import Final

from bench.answers.asking import Server, Survey
from bench.answers.comparing import Comparison
from bench.answers.naming import Folder, Renaming

SENTENCES: Final = frozenset(
    (
        *("sentence", "sentences", "reason", "advice", "documentation", "warnings"),
        *("against", "detail"),
    )
)
SERVERS_OWN: Final = frozenset(
    (
        *("created_at", "received_at", "updated_at", "found_at", "at"),
        *("last_seen_at", "last_used_at", "published_at"),
    )
)
TODAY: Final = frozenset(("made_on", "accessed", "urldate"))


def compare(options: argparse.Namespace) -> int:
    """Print how two folders differ, by kind of difference; return the exit code."""
    words = json.loads(options.renamed.read_text()) if options.renamed else {}
    renaming = Renaming(**words)
    passed_over = {*TODAY, *renaming.ignored}
    if not options.sentences:
        passed_over |= {*SENTENCES, *renaming.sentences}
    if not options.upgraded:
        passed_over |= SERVERS_OWN
    identity, has_ids = renaming.identity(), options.upgraded
    old = Folder(options.old, renaming, identity, has_ids)
    new = Folder(options.new, Renaming(), identity, has_ids)
    tolerance = 10.0**-options.digits if options.digits else 0.0
    comparison = Comparison(old, new, passed_over, tolerance)
    kinds: dict[tuple[str, str], list[str]] = defaultdict(list)
    for difference in comparison.differences():
        kinds[difference.place, difference.what].append(difference.example)
    for (place, what), examples in sorted(kinds.items()):
        print(f"{len(examples):7} {place}: {what}")
        for example in examples[: options.examples]:
            print(f"          {example[:600]}")
    print(
        "compared:",
        ", ".join(f"{count:,} {kind}" for kind, count in comparison.compared.items()),
    )
    print(f"{sum(map(len, kinds.values())):,} differences of {len(kinds)} kinds")
    return 1 if kinds else 0


def write(options: argparse.Namespace) -> int:
    """Write all answers of a running installation into a folder."""
    with closing(Server(options.url, options.token)) as server:
        survey = Survey(server)
        survey.make()
    print(f"{survey.write(options.folder):,} answers in {len(survey.answers)} files")
    return 0


def main(arguments: list[str] | None = None) -> int:
    """Write or compare, as the command line says."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    commands = parser.add_subparsers(required=True)
    writer = commands.add_parser("write", help="ask a running installation")
    writer.add_argument("url")
    writer.add_argument("folder", type=Path)
    writer.add_argument("token", nargs="?", default="")
    writer.set_defaults(do=write)
    comparer = commands.add_parser("compare", help="compare two folders")
    comparer.add_argument("old", type=Path)
    comparer.add_argument("new", type=Path)
    comparer.add_argument("--renamed", type=Path, help="old words in new ones")
    comparer.add_argument("--sentences", action="store_true", help="texts as well")
    comparer.add_argument(
        "--upgraded", action="store_true", help="ids and moments as well"
    )
    comparer.add_argument("--digits", type=int, help="that count of a number; all")
    comparer.add_argument("--examples", type=int, default=2, help="shown of each kind")
    comparer.set_defaults(do=compare)
    options = parser.parse_args(arguments)
    done: int = options.do(options)
    return done


if __name__ == "__main__":
    sys.exit(main())
