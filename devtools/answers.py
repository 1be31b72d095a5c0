"""Compare the answers of two installations about all studies.

    python -m devtools.answers write http://127.0.0.1:8000 FOLDER [TOKEN]
    python -m devtools.answers compare OLD NEW [--sentences] [--upgraded] [--digits N]

``write`` reads the API's own document and stores one JSON file per address: each list
completely, each study with each value of each filter, each object by its id, and the
files of the compare pages. ``compare`` looks at numbers, codes, names and which objects
exist. Ids are replaced by names, so that two installations can be compared; with
``--upgraded``, for the same installation, ids and the server's timestamps must be equal
too. Numbers are compared exactly: two fresh installations need ``--digits 12``, because
the last bit of a mean depends on the order in which workers stored its runs. Sentences
are compared only with ``--sentences``, and then to the letter.
"""

import argparse
import csv
import hashlib
import http.client
import io
import json
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from itertools import combinations, pairwise
from math import isclose
from pathlib import Path
from typing import Any, Final
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

Document = dict[str, Any]

API: Final = "/api/v1/"
# They tell of the moment or of the product, not of the studies.
NOT_ASKED: Final = ("health", "time", "schema", "docs")
PAGE_SIZE: Final = 1000
WAIT_S: Final = 300
WAITING_W: Final = "100"  # any power will do: it brings figures that are null without
SHOWN: Final = ("", "overhead", "value", "energy")
FORMS: Final = ("csv", "json", "tex")


@dataclass
class Server:
    """A running installation, read with a token."""

    url: str
    token: str = ""

    def __post_init__(self) -> None:
        parts = urlsplit(self.url)
        is_safe = parts.scheme == "https"
        client = http.client
        connect = client.HTTPSConnection if is_safe else client.HTTPConnection
        self.connection = connect(parts.netloc, timeout=WAIT_S)
        # Without its port, so that the addresses in answers are the same everywhere.
        self.headers = {"Host": parts.hostname or "", "Accept": "*/*"}
        if self.token:
            self.headers["Authorization"] = f"Token {self.token}"

    def close(self) -> None:
        self.connection.close()

    def answer(self, address: str) -> Any:
        """Return parsed JSON, other texts, or the status of a refusal."""
        self.connection.request("GET", address, headers=self.headers)
        response = self.connection.getresponse()
        body = response.read()
        kind = response.headers.get_content_type()
        if response.status != http.HTTPStatus.OK:
            return {"status": response.status}
        if kind.endswith("json"):
            return json.loads(body)
        try:
            return body.decode()
        except UnicodeDecodeError:
            # No text: only whether it is the same can be told.
            return {"sha256": hashlib.sha256(body).hexdigest()}

    def whole(self, address: str) -> Any:
        """Return an answer, with all pages of a list."""
        answer = page = self.answer(address)
        while isinstance(page, dict) and page.get("next"):
            further = urlsplit(page["next"])
            page = self.answer(f"{further.path}?{further.query}")
            answer["results"] += page["results"]
        if isinstance(answer, dict) and "next" in answer:
            answer["next"] = None
        return answer


@dataclass
class Survey:
    """The answers of one server, by file and question."""

    server: Server
    answers: dict[str, dict[str, Any]] = field(
        default_factory=lambda: defaultdict(dict)
    )

    def make(self) -> None:
        """Ask for lists, then for their objects, then for files of pages."""
        schema = self.server.answer(f"{API}schema/")["paths"]
        paths = {
            path.removeprefix(API).strip("/"): {
                each["name"]: each for each in methods["get"].get("parameters", [])
            }
            for path, methods in schema.items()
            if "get" in methods
        }
        lists = [path for path in paths if "{" not in path and path not in NOT_ASKED]
        # The studies first: the others are asked about each of them.
        for path in sorted(lists, key=lambda path: path != "studies"):
            self._list(path, paths[path])
        for path in paths:
            if "{" in path:
                self._details(path, paths[path])
        for study in self._rows("studies"):
            self._files(study)

    def _rows(self, file: str) -> list[Document]:
        rows: list[Document] = self.answers[file][""]["results"]
        return rows

    def _ask(self, file: str, question: str, address: str) -> Any:
        answer = self.server.whole(address)
        self.answers[file][question] = answer
        return answer

    def _list(self, path: str, parameters: Document) -> None:
        """Ask an address as it is, then for each study with each filter."""
        sized = {"page_size": str(PAGE_SIZE)} if "cursor" in parameters else {}
        if not parameters.get("study", {}).get("required"):
            self._ask(path, "", f"{API}{path}/?{urlencode(sized)}")
        if "study" not in parameters:
            return
        for study in self._rows("studies"):
            name = f"{study['lab']}/{study['slug']}"
            file, about = f"{name}/{path}", {**sized, "study": name}
            first = self._ask(file, "", f"{API}{path}/?{urlencode(about)}")
            for query in self._queries(parameters, name, first):
                address = f"{API}{path}/?{urlencode(about | query)}"
                self._ask(file, f"?{urlencode(query)}", address)

    def _queries(
        self, parameters: Document, study: str, first: Any
    ) -> Iterator[dict[str, str]]:
        """Yield each value of each filter; of computed answers each pair of values.

        A list's filters leave out rows, one as well as two; a computed answer may
        depend on both.
        """
        values = [
            [(name, str(value)) for value in parameter["schema"]["enum"]]
            for name, parameter in parameters.items()
            if "enum" in parameter["schema"]
        ]
        for choices in values:
            yield from ({name: value} for name, value in choices)
        if "baseline" in parameters:
            for system in self._systems(study):
                yield {"baseline": system}
        if "waiting_w" in parameters:
            yield {"waiting_w": WAITING_W}
        if "cursor" in parameters:
            return
        for one, other in combinations(values, 2):
            yield from (dict((a, b)) for a in one for b in other)
        yield from _named(parameters, first)

    def _systems(self, study: str) -> list[str]:
        query = {"study": study, "page_size": str(PAGE_SIZE)}
        rows = self.server.whole(f"{API}systems/?{urlencode(query)}")["results"]
        return [str(row["id"]) for row in rows]

    def _details(self, path: str, parameters: Document) -> None:
        """Ask for each object of a list by its id or name, in each form."""
        place = path.split("/{")[0]
        names = re.findall(r"{(\w+)}", path)
        for row in self._rows(place):
            known = {"id": str(row["id"])} if "id" in row else {}
            if "slug" in row:
                known["slug"] = quote(f"{row['lab']}/{row['slug']}")
            forms = parameters.get("form", {}).get("schema", {}).get("enum", [""])
            for form in forms:
                values = known | ({"form": form} if form else {})
                if set(names) <= set(values):
                    address = f"{API}{path.format(**values)}/"
                    sized = f"?page_size={PAGE_SIZE}" if "cursor" in parameters else ""
                    self._ask(path, address.removeprefix(API), address + sized)

    def _files(self, study: Document) -> None:
        """Ask for the files of a study's compare page, cells and citation."""
        name = f"{study['lab']}/{study['slug']}"
        page = f"/studies/{name}/"
        for form in FORMS:
            for query in self._looks(name):
                question = f"?{urlencode(query)}" if query else ""
                self._ask(
                    f"{name}/compare.{form}",
                    question,
                    f"{page}compare.{form}{question}",
                )
        for form in ("bib", "csl.json"):
            self._ask(f"{name}/cite.{form}", "", f"{page}cite.{form}")
        for cell in self.answers[f"{name}/cells"][""]["results"]:
            place = f"cells/{cell['id']}/samples.csv"
            self._ask(f"{name}/samples.csv", place, page + place)

    def _looks(self, study: str) -> Iterator[dict[str, str]]:
        systems = self._systems(study)
        for show in SHOWN:
            shown = {"show": show} if show else {}
            yield shown
            yield shown | {"scenario": "all"}
            yield from (shown | {"baseline": system} for system in systems)
        if len(systems) > 1:
            yield {"pin": ",".join(systems[:2])}

    def write(self, folder: Path) -> int:
        """Write a file for each address; return how many answers there are."""
        for name, answers in self.answers.items():
            path = folder / f"{name}.json"
            path.parent.mkdir(parents=True, exist_ok=True)
            text = json.dumps(answers, sort_keys=True, indent=1, ensure_ascii=False)
            path.write_text(f"{text}\n")
        return sum(map(len, self.answers.values()))


def _named(parameters: Document, answer: Any) -> Iterator[dict[str, str]]:
    """Yield the filters that an answer's rows give values for."""
    free = [
        name
        for name, parameter in parameters.items()
        if not parameter.get("required") and "enum" not in parameter["schema"]
    ]
    asked = set()
    for row in answer.get("results", []) if free else []:
        values = {name: row.get(f"{name}_id", row.get(name)) for name in free}
        query = {name: str(value) for name, value in values.items() if value}
        if query and tuple(query.items()) not in asked:
            asked.add(tuple(query.items()))
            yield query


# The words by which a thing is itself, whatever was measured of it.
IDENTITY: Final = frozenset(
    (
        *("lab", "slug", "key", "part", "name", "number", "id", "kind", "form", "k"),
        *("host", "hypervisor", "hypervisor_version", "virtualization", "options"),
        *("guest_os", "guest_bits", "vcpus", "memory_bytes", "component", "line"),
        *("tool", "metric", "parameters", "unit", "axis", "ends", "setting"),
        *("study", "system_id", "case_id", "cell_id", "scenario", "vms", "slot"),
        *("load", "session", "circumstances", "rule", "subjects", "workload"),
        *("sequence", "side", "run", "level"),
    )
)
# A word that refers to something by its id, where it is not the name of its list.
KINDS: Final = {"baseline": "system", "pin": "system", "reference": "system"}
# What else has an id of its own in answers is a cell: a row of a comparison is one.
ROW: Final = "cell"
# Not renamed: these words are those of who measured.
OPAQUE: Final = frozenset(("facts", "parameters", "options"))
NUMBER: Final = re.compile(r"-?\d[\d,]*(?:\.\d+)?(?:e-?\d+)?")
ADDRESSES: Final = ("http://", "https://")


class Folder:
    """A folder that `write` made, with names in place of ids."""

    def __init__(self, path: Path, *, has_ids: bool) -> None:
        self.path = path
        self.names: dict[tuple[str, str], str] = {}
        self.kinds: list[str] = []
        self.files = {self._name(file): file for file in sorted(path.rglob("*.json"))}
        if not has_ids:
            self._name_everything()

    def _name(self, file: Path) -> str:
        return str(file.relative_to(self.path)).removesuffix(".json")

    def _name_everything(self) -> None:
        """Name all objects that have ids, in rounds: names refer to other names."""
        rows: dict[tuple[str, str], Document] = {}
        for name in self.files:
            if "/" not in name:
                kind = _kind_of_list(name)
                self.kinds.append(kind)
                for row in self._read(name)[""]["results"]:
                    rows[kind, str(row.get("id"))] = self._identifying(row)
        # What a name refers to has a name after as many rounds as references nest.
        for _ in range(4):
            self.names = self._distinct(rows)

    def _distinct(
        self, rows: Mapping[tuple[str, str], Document]
    ) -> dict[tuple[str, str], str]:
        """Name each row by its identity; number rows of the same name."""
        names: dict[tuple[str, str], str] = {}
        seen: Counter[str] = Counter()
        # By kind, then by number: shorter ones are smaller.
        for kind, number in sorted(rows, key=lambda key: (key[0], len(key[1]), key[1])):
            row = rows[kind, number]
            nameless = {key: value for key, value in row.items() if key != "id"}
            name = f"{kind}({self.key(self.named(nameless, kind))})"
            seen[name] += 1
            names[kind, number] = name if seen[name] == 1 else f"{name} #{seen[name]}"
        return names

    def key(self, row: Document) -> str:
        """Return the identity of a row, without what was measured."""
        stated = sorted(self._identifying(row).items())
        return ", ".join(f"{name} {_brief(value)}" for name, value in stated if value)

    def _identifying(self, row: Document) -> Document:
        return {name: value for name, value in row.items() if name in IDENTITY}

    def _read(self, name: str) -> dict[str, Any]:
        answers: dict[str, Any] = json.loads(self.files[name].read_text())
        return {question: _parsed(name, answer) for question, answer in answers.items()}

    def answers(self, name: str) -> dict[str, Any]:
        """Return the answers of a file by their questions, without ids."""
        *_, last = (part for part in name.split("/") if "{" not in part)
        kind = _kind_of_list(last)
        if "{" not in name and kind not in self.kinds:
            kind = ROW
        return {
            self._address(question): self.named(answer, kind)
            for question, answer in self._read(name).items()
        }

    def named(self, tree: Any, kind: str, key: str = "") -> Any:
        """Return an answer with names in place of ids; ``kind`` is that of rows."""
        if isinstance(tree, dict):
            kind = tree["kind"] if tree.get("kind") in self.kinds else kind
            return {
                name: value if name in OPAQUE else self.named(value, kind, name)
                for name, value in tree.items()
            }
        if isinstance(tree, list):
            return [self.named(value, kind, key) for value in tree]
        if isinstance(tree, str) and tree.startswith(ADDRESSES):
            return self._address(tree)
        if isinstance(tree, bool) or not str(tree).isdecimal():
            return tree
        # The last word of a key says of what: `first_system_id` is a system's.
        word = re.sub(r"^.*_(?=\w)", "", re.sub(r"_ids?$", "", key))
        known = kind if key == "id" else KINDS.get(word, word)
        return self.names.get((known, str(tree)), tree)

    def _address(self, text: str) -> str:
        """Return an address that names things in place of their ids."""
        path, mark, query = text.partition("?")
        parts = path.split("/")
        for place, (list_name, part) in enumerate(pairwise(parts), 1):
            if part.isdecimal():
                parts[place] = self.names.get((_kind_of_list(list_name), part), part)
        pairs = []
        for name, value in parse_qsl(query):
            named = [str(self.named(one, "", name)) for one in value.split(",")]
            pairs.append(f"{name}={','.join(named)}")
        return f"{'/'.join(parts)}{mark}{'&'.join(pairs)}"


def _kind_of_list(name: str) -> str:
    return name.removesuffix("ies") + "y" if name.endswith("ies") else name[:-1]


def _brief(value: Any) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=False).replace('"', "")


def _parsed(name: str, answer: Any) -> Any:
    """Return the lines of a CSV, or the figures of LaTeX and BibTeX."""
    if not isinstance(answer, str):
        return answer
    if name.endswith(".csv"):
        lines = csv.DictReader(io.StringIO(answer))
        return [{name: _field(text) for name, text in line.items()} for line in lines]
    return {"numbers": NUMBER.findall(answer), "sentence": answer}


def _field(text: str) -> Any:
    """Return a field of a CSV: a number, a text, or several of them."""
    if "; " in text:
        return [_field(part) for part in text.split("; ")]
    if not NUMBER.fullmatch(text) or "," in text:
        return text
    return float(text) if re.search("[.e]", text) else int(text)


@dataclass(frozen=True)
class Difference:
    """A difference between two folders."""

    place: str
    what: str
    example: str


class Comparison:
    def __init__(
        self, old: Folder, new: Folder, passed_over: Iterable[str], tolerance: float
    ) -> None:
        self.old, self.new, self.tolerance = old, new, tolerance
        self.passed_over = frozenset(passed_over)
        self.compared: Counter[str] = Counter()

    def differences(self) -> Iterator[Difference]:
        for name in sorted(self.old.files.keys() | self.new.files.keys()):
            if name not in self.old.files or name not in self.new.files:
                side = "new" if name in self.new.files else "old"
                yield Difference(_endpoint(name), f"only in {side}", name)
                continue
            pair = self.old.answers(name), self.new.answers(name)
            self.compared["answers"] += len(pair[0])
            yield from self._dicts(*pair, _endpoint(name), name)

    def _trees(self, old: Any, new: Any, place: str, path: str) -> Iterator[Difference]:
        if isinstance(old, dict) and isinstance(new, dict):
            yield from self._dicts(old, new, place, path)
        elif isinstance(old, list) and isinstance(new, list):
            yield from self._lists(old, new, place, path)
        else:
            self.compared[type(old).__name__] += 1
            if not self._is_equal(old, new):
                yield Difference(
                    place, _change(old, new), f"{path}: {old!r} -> {new!r}"
                )

    def _is_equal(self, old: Any, new: Any) -> bool:
        if isinstance(old, float) and isinstance(new, float):
            return isclose(old, new, rel_tol=self.tolerance)
        # 1 == 1.0 == True in Python, and not in JSON.
        return (type(old), old) == (type(new), new)

    def _dicts(
        self, old: Document, new: Document, place: str, path: str
    ) -> Iterator[Difference]:
        # The keys of a file are questions: else each would be a kind of its own.
        is_answers = place == _endpoint(path)
        for key in sorted((old.keys() | new.keys()) - self.passed_over):
            here = place + ("?" if is_answers else f".{key}")
            if key not in new:
                yield Difference(
                    here, "only in old", f"{path} {key}: {_shortened(old[key])}"
                )
            elif key not in old:
                yield Difference(
                    here, "only in new", f"{path} {key}: {_shortened(new[key])}"
                )
            else:
                yield from self._trees(old[key], new[key], here, f"{path} {key}")

    def _lists(
        self, old: list[Any], new: list[Any], place: str, path: str
    ) -> Iterator[Difference]:
        before, after = self._rows(old), self._rows(new)
        if before is None or after is None:
            if len(old) != len(new):
                yield Difference(
                    place, "length", f"{path}: {_shortened(old)} -> {_shortened(new)}"
                )
                return
            for number, pair in enumerate(zip(old, new, strict=True)):
                yield from self._trees(*pair, f"{place}[]", f"{path}[{number}]")
            return
        yield from self._dicts_of_rows(before, after, place, path)

    def _dicts_of_rows(
        self, before: Document, after: Document, place: str, path: str
    ) -> Iterator[Difference]:
        for key in before.keys() - after.keys():
            yield Difference(f"{place}[]", "only in old", f"{path} {key}")
        for key in after.keys() - before.keys():
            yield Difference(f"{place}[]", "only in new", f"{path} {key}")
        both = [key for key in before if key in after]
        if both != [key for key in after if key in before]:
            yield Difference(place, "order", path)
        for key in both:
            yield from self._trees(
                before[key], after[key], f"{place}[]", f"{path} {key}"
            )

    def _rows(self, rows: list[Any]) -> Document | None:
        """Return rows by their identity, or None where that is not unique."""
        if not rows or not all(isinstance(row, dict) for row in rows):
            return None
        by_key = {self.new.key(row): row for row in rows}
        return by_key if len(by_key) == len(rows) and "" not in by_key else None


def _endpoint(name: str) -> str:
    """Return a file's name without the study."""
    parts = name.split("/")
    return parts[-1] if len(parts) == 3 and "{" not in name else name


def _change(old: Any, new: Any) -> str:
    """Return the change of a code, or of the type of a value."""
    sides = (old, new)
    are_codes = all(side is None or isinstance(side, str | bool) for side in sides)
    if are_codes and all(len(str(side)) < 40 for side in sides):
        return f"{old!r} -> {new!r}"
    return f"{type(old).__name__} -> {type(new).__name__}"


def _shortened(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) < 200 else f"{text[:200]}..."


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
    """Print the differences of two folders by kind; return the exit code."""
    passed_over = {*TODAY}
    if not options.sentences:
        passed_over |= SENTENCES
    if not options.upgraded:
        passed_over |= SERVERS_OWN
    old, new = (
        Folder(path, has_ids=options.upgraded) for path in (options.old, options.new)
    )
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
    with closing(Server(options.url, options.token)) as server:
        survey = Survey(server)
        survey.make()
    print(f"{survey.write(options.folder):,} answers in {len(survey.answers)} files")
    return 0


def main(arguments: list[str] | None = None) -> int:
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
