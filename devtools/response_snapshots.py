"""Compare the API responses of two installations about all studies.

    python -m devtools.response_snapshots write http://127.0.0.1:8000 FOLDER [TOKEN]
    python -m devtools.response_snapshots compare OLD NEW
        [--sentences] [--upgraded] [--digits N]

``write`` stores a JSON file per URL of the OpenAPI document: complete lists, each study
with each value of each filter, each object, and the files of compare pages.

``compare`` replaces IDs by names, because two installations have different IDs. With
``--upgraded`` (the same installation before and after an upgrade), IDs and timestamps
are compared. New installations need ``--digits 12``, because the last bit of a mean
depends on the order in which runs were stored. Texts are compared only with
``--sentences``.
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
# Paths that are not about studies.
EXCLUDED_PATHS: Final = ("health", "time", "schema", "docs")
PAGE_SIZE: Final = 1000
WAIT_S: Final = 300
IDLE_W: Final = "100"  # without idle power, some figures are null
VIEW_VARIANTS: Final = ("", "overhead", "value", "energy")
FILE_FORMATS: Final = ("csv", "json", "tex")


@dataclass
class SnapshotServer:
    url: str
    token: str = ""

    def __post_init__(self) -> None:
        parts = urlsplit(self.url)
        is_tls = parts.scheme == "https"
        client = http.client
        connect = client.HTTPSConnection if is_tls else client.HTTPConnection
        self.connection = connect(parts.netloc, timeout=WAIT_S)
        # Without the port, so that URLs in responses are equal.
        self.headers = {"Host": parts.hostname or "", "Accept": "*/*"}
        if self.token:
            self.headers["Authorization"] = f"Token {self.token}"

    def close(self) -> None:
        self.connection.close()

    def get(self, url: str) -> Any:
        """Return parsed JSON, another text, a checksum, or the status of an error."""
        self.connection.request("GET", url, headers=self.headers)
        response = self.connection.getresponse()
        body = response.read()
        content_type = response.headers.get_content_type()
        if response.status != http.HTTPStatus.OK:
            return {"status": response.status}
        if content_type.endswith("json"):
            return json.loads(body)
        try:
            return body.decode()
        except UnicodeDecodeError:
            # Binary content is compared by checksum.
            return {"sha256": hashlib.sha256(body).hexdigest()}

    def get_all_pages(self, path: str) -> Any:
        """Return a response; a list contains the rows of all its pages."""
        answer = page = self.get(path)
        while isinstance(page, dict) and page.get("next"):
            parts = urlsplit(page["next"])
            page = self.get(f"{parts.path}?{parts.query}")
            answer["results"] += page["results"]
        if isinstance(answer, dict) and "next" in answer:
            answer["next"] = None
        return answer


@dataclass
class Snapshot:
    server: SnapshotServer
    answers: dict[str, dict[str, Any]] = field(
        default_factory=lambda: defaultdict(dict)
    )

    def collect(self) -> None:
        schema = self.server.get(f"{API}schema/")["paths"]
        paths = {
            path.removeprefix(API).strip("/"): {
                parameter["name"]: parameter
                for parameter in methods["get"].get("parameters", [])
            }
            for path, methods in schema.items()
            if "get" in methods
        }
        lists = [
            path for path in paths if "{" not in path and path not in EXCLUDED_PATHS
        ]
        # Studies first, because other lists are requested for each study.
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

    def _request(self, file: str, query: str, url: str) -> Any:
        answer = self.server.get_all_pages(url)
        self.answers[file][query] = answer
        return answer

    def _list(self, path: str, parameters: Document) -> None:
        page_size = {"page_size": str(PAGE_SIZE)} if "cursor" in parameters else {}
        if not parameters.get("study", {}).get("required"):
            self._request(path, "", f"{API}{path}/?{urlencode(page_size)}")
        if "study" not in parameters:
            return
        for study in self._rows("studies"):
            name = f"{study['lab']}/{study['slug']}"
            file, base = f"{name}/{path}", {**page_size, "study": name}
            first = self._request(file, "", f"{API}{path}/?{urlencode(base)}")
            for query in self._queries(parameters, name, first):
                url = f"{API}{path}/?{urlencode(base | query)}"
                self._request(file, f"?{urlencode(query)}", url)

    def _queries(
        self, parameters: Document, study: str, first: Any
    ) -> Iterator[dict[str, str]]:
        """Yield queries with one filter, for each of its values.

        Also with two, except for paginated lists, where filters only omit rows.
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
        if "idle_w" in parameters:
            yield {"idle_w": IDLE_W}
        if "cursor" in parameters:
            return
        for first_choices, second_choices in combinations(values, 2):
            yield from (dict((a, b)) for a in first_choices for b in second_choices)
        yield from _row_filters(parameters, first)

    def _systems(self, study: str) -> list[str]:
        query = {"study": study, "page_size": str(PAGE_SIZE)}
        rows = self.server.get_all_pages(f"{API}systems/?{urlencode(query)}")["results"]
        return [str(row["id"]) for row in rows]

    def _details(self, path: str, parameters: Document) -> None:
        list_path = path.split("/{")[0]
        names = re.findall(r"{(\w+)}", path)
        for row in self._rows(list_path):
            fields = {"id": str(row["id"])} if "id" in row else {}
            if "slug" in row:
                fields["slug"] = quote(f"{row['lab']}/{row['slug']}")
            formats = (
                parameters.get("file_format", {}).get("schema", {}).get("enum", [""])
            )
            for file_format in formats:
                values = fields | ({"file_format": file_format} if file_format else {})
                if set(names) <= set(values):
                    url = f"{API}{path.format(**values)}/"
                    query = f"?page_size={PAGE_SIZE}" if "cursor" in parameters else ""
                    self._request(path, url.removeprefix(API), url + query)

    def _files(self, study: Document) -> None:
        name = f"{study['lab']}/{study['slug']}"
        page = f"/studies/{name}/"
        for extension in FILE_FORMATS:
            for parameters in self._compare_queries(name):
                query = f"?{urlencode(parameters)}" if parameters else ""
                self._request(
                    f"{name}/compare.{extension}",
                    query,
                    f"{page}compare.{extension}{query}",
                )
        for extension in ("bib", "csl.json"):
            self._request(f"{name}/cite.{extension}", "", f"{page}cite.{extension}")
        for cell in self.answers[f"{name}/cells"][""]["results"]:
            path = f"cells/{cell['id']}/samples.csv"
            self._request(f"{name}/samples.csv", path, page + path)

    def _compare_queries(self, study: str) -> Iterator[dict[str, str]]:
        systems = self._systems(study)
        for show in VIEW_VARIANTS:
            query = {"show": show} if show else {}
            yield query
            yield query | {"scenario": "all"}
            yield from (query | {"baseline": system} for system in systems)
        if len(systems) > 1:
            yield {"pin": ",".join(systems[:2])}

    def write(self, folder: Path) -> int:
        for name, answers in self.answers.items():
            path = folder / f"{name}.json"
            path.parent.mkdir(parents=True, exist_ok=True)
            text = json.dumps(answers, sort_keys=True, indent=1, ensure_ascii=False)
            path.write_text(f"{text}\n")
        return sum(map(len, self.answers.values()))


def _row_filters(parameters: Document, answer: Any) -> Iterator[dict[str, str]]:
    """Yield a query for each row of a response, with the row's values as filters."""
    names = [
        name
        for name, parameter in parameters.items()
        if not parameter.get("required") and "enum" not in parameter["schema"]
    ]
    seen = set()
    for row in answer.get("results", []) if names else []:
        values = {name: row.get(f"{name}_id", row.get(name)) for name in names}
        query = {name: str(value) for name, value in values.items() if value}
        if query and tuple(query.items()) not in seen:
            seen.add(tuple(query.items()))
            yield query


# Fields that identify a row; the others contain measured values.
IDENTITY: Final = frozenset(
    (
        *(
            "lab",
            "slug",
            "key",
            "upload_position",
            "name",
            "number",
            "id",
            "kind",
            "format",
            "vm_count",
        ),
        *("host", "hypervisor", "hypervisor_version", "virtualization", "options"),
        *("guest_os", "guest_bits", "vcpus", "memory_bytes", "component", "line"),
        *("tool", "metric", "parameters", "unit", "axis", "endpoints", "setting"),
        *("study", "system_id", "case_id", "cell_id", "scenario", "vms", "slot"),
        *(
            "load",
            "declared_session",
            "session",
            "circumstances",
            "rule",
            "subjects",
            "workload",
        ),
        *("sequence", "start_order", "role", "run", "level"),
    )
)
# Kinds of the objects to which IDs in these fields refer, if the name is another one.
KINDS: Final = {"baseline": "system", "pin": "system", "reference": "system"}
# The kind of rows with IDs that are in no list of their own.
ROW: Final = "cell"
# Fields with values of uploaders, which may look like IDs.
OPAQUE: Final = frozenset(("facts", "parameters", "options"))
NUMBER: Final = re.compile(r"-?\d[\d,]*(?:\.\d+)?(?:e-?\d+)?")
ADDRESSES: Final = ("http://", "https://")


class SnapshotFolder:
    """A folder that ``write`` has written, with names for the IDs of objects."""

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
        """Name all objects, in several rounds, because names contain other names."""
        rows: dict[tuple[str, str], Document] = {}
        for name in self.files:
            if "/" not in name:
                kind = _kind_of_list(name)
                self.kinds.append(kind)
                for row in self._read(name)[""]["results"]:
                    rows[kind, str(row.get("id"))] = row
        # References are nested four levels deep.
        for _ in range(4):
            self.names = self._distinct(rows)

    def _distinct(
        self, rows: Mapping[tuple[str, str], Document]
    ) -> dict[tuple[str, str], str]:
        """Return names of rows from their identifying fields.

        Equal names are numbered in the order of the other fields, because another
        installation may have given the IDs in another order.
        """
        groups: dict[str, list[tuple[str, int, str, tuple[str, str]]]] = defaultdict(
            list
        )
        for (kind, number), row in rows.items():
            fields = self.named(
                {key: value for key, value in row.items() if key != "id"}, kind
            )
            others = {
                key: value
                for key, value in fields.items()
                if key not in INSTALLATION_FIELDS | TODAY
            }
            # Shorter numbers are smaller.
            order = (_brief(others), len(number), number, (kind, number))
            groups[f"{kind}({self.key(fields)})"].append(order)
        return {
            key: name if place == 1 else f"{name} #{place}"
            for name, members in groups.items()
            for place, (*_, key) in enumerate(sorted(members), 1)
        }

    def key(self, row: Document) -> str:
        fields = sorted(self._identifying(row).items())
        return ", ".join(f"{name} {_brief(value)}" for name, value in fields if value)

    def _identifying(self, row: Document) -> Document:
        return {name: value for name, value in row.items() if name in IDENTITY}

    def _read(self, name: str) -> dict[str, Any]:
        answers: dict[str, Any] = json.loads(self.files[name].read_text())
        return {question: _parsed(name, answer) for question, answer in answers.items()}

    def answers(self, name: str) -> dict[str, Any]:
        """Return the responses in a file by query, with names instead of IDs."""
        *_, last = (part for part in name.split("/") if "{" not in part)
        kind = _kind_of_list(last)
        if "{" not in name and kind not in self.kinds:
            kind = ROW
        return {
            self._rename_url(question): self.named(answer, kind)
            for question, answer in self._read(name).items()
        }

    def named(self, tree: Any, kind: str, key: str = "") -> Any:
        """Replace IDs by names; ``kind`` is the kind of the rows in ``tree``."""
        if isinstance(tree, dict):
            kind = tree["kind"] if tree.get("kind") in self.kinds else kind
            return {
                name: value if name in OPAQUE else self.named(value, kind, name)
                for name, value in tree.items()
            }
        if isinstance(tree, list):
            return [self.named(value, kind, key) for value in tree]
        if isinstance(tree, str) and tree.startswith(ADDRESSES):
            return self._rename_url(tree)
        if isinstance(tree, bool) or not str(tree).isdecimal():
            return tree
        # The last word names the kind, as in `first_system_id`.
        word = re.sub(r"^.*_(?=\w)", "", re.sub(r"_ids?$", "", key))
        referred = kind if key == "id" else KINDS.get(word, word)
        return self.names.get((referred, str(tree)), tree)

    def _rename_url(self, text: str) -> str:
        path, separator, query = text.partition("?")
        parts = path.split("/")
        for index, (list_name, part) in enumerate(pairwise(parts), 1):
            if part.isdecimal():
                parts[index] = self.names.get((_kind_of_list(list_name), part), part)
        pairs = []
        for name, value in parse_qsl(query):
            names = [str(self.named(part, "", name)) for part in value.split(",")]
            pairs.append(f"{name}={','.join(names)}")
        return f"{'/'.join(parts)}{separator}{'&'.join(pairs)}"


def _kind_of_list(name: str) -> str:
    return name.removesuffix("ies") + "y" if name.endswith("ies") else name[:-1]


def _brief(value: Any) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=False).replace('"', "")


def _parsed(name: str, answer: Any) -> Any:
    """Parse the lines of CSV, and find the numbers in LaTeX and BibTeX."""
    if not isinstance(answer, str):
        return answer
    if name.endswith(".csv"):
        lines = csv.DictReader(io.StringIO(answer))
        return [{name: _field(text) for name, text in line.items()} for line in lines]
    return {"numbers": NUMBER.findall(answer), "sentence": answer}


def _field(text: str) -> Any:
    if "; " in text:
        return [_field(part) for part in text.split("; ")]
    if not NUMBER.fullmatch(text) or "," in text:
        return text
    return float(text) if re.search("[.e]", text) else int(text)


@dataclass(frozen=True)
class Difference:
    path: str
    kind: str
    example: str


class SnapshotComparison:
    def __init__(
        self,
        old: SnapshotFolder,
        new: SnapshotFolder,
        ignored: Iterable[str],
        tolerance: float,
    ) -> None:
        self.old, self.new, self.tolerance = old, new, tolerance
        self.ignored = frozenset(ignored)
        self.compared: Counter[str] = Counter()

    def differences(self) -> Iterator[Difference]:
        for name in sorted(self.old.files.keys() | self.new.files.keys()):
            if name not in self.old.files or name not in self.new.files:
                folder = "new" if name in self.new.files else "old"
                yield Difference(_endpoint(name), f"only in {folder}", name)
                continue
            pair = self.old.answers(name), self.new.answers(name)
            self.compared["answers"] += len(pair[0])
            yield from self._dicts(*pair, _endpoint(name), name)

    def _trees(self, old: Any, new: Any, field: str, path: str) -> Iterator[Difference]:
        if isinstance(old, dict) and isinstance(new, dict):
            yield from self._dicts(old, new, field, path)
        elif isinstance(old, list) and isinstance(new, list):
            yield from self._lists(old, new, field, path)
        else:
            self.compared[type(old).__name__] += 1
            if not self._is_equal(old, new):
                yield Difference(
                    field, _change(old, new), f"{path}: {old!r} -> {new!r}"
                )

    def _is_equal(self, old: Any, new: Any) -> bool:
        if isinstance(old, float) and isinstance(new, float):
            return isclose(old, new, rel_tol=self.tolerance)
        # With the type, because in Python 1 == 1.0 == True.
        return (type(old), old) == (type(new), new)

    def _dicts(
        self, old: Document, new: Document, field: str, path: str
    ) -> Iterator[Difference]:
        # The keys of a file are queries, whose differences are counted together.
        is_file = field == _endpoint(path)
        for key in sorted((old.keys() | new.keys()) - self.ignored):
            subfield = field + ("?" if is_file else f".{key}")
            if key not in new:
                yield Difference(
                    subfield, "only in old", f"{path} {key}: {_shortened(old[key])}"
                )
            elif key not in old:
                yield Difference(
                    subfield, "only in new", f"{path} {key}: {_shortened(new[key])}"
                )
            else:
                yield from self._trees(old[key], new[key], subfield, f"{path} {key}")

    def _lists(
        self, old: list[Any], new: list[Any], field: str, path: str
    ) -> Iterator[Difference]:
        before, after = self._rows(old), self._rows(new)
        if before is None or after is None:
            if len(old) != len(new):
                yield Difference(
                    field, "length", f"{path}: {_shortened(old)} -> {_shortened(new)}"
                )
                return
            for number, pair in enumerate(zip(old, new, strict=True)):
                yield from self._trees(*pair, f"{field}[]", f"{path}[{number}]")
            return
        yield from self._dicts_of_rows(before, after, field, path)

    def _dicts_of_rows(
        self, before: Document, after: Document, field: str, path: str
    ) -> Iterator[Difference]:
        for key in before.keys() - after.keys():
            yield Difference(f"{field}[]", "only in old", f"{path} {key}")
        for key in after.keys() - before.keys():
            yield Difference(f"{field}[]", "only in new", f"{path} {key}")
        common = [key for key in before if key in after]
        if common != [key for key in after if key in before]:
            yield Difference(field, "order", path)
        for key in common:
            yield from self._trees(
                before[key], after[key], f"{field}[]", f"{path} {key}"
            )

    def _rows(self, rows: list[Any]) -> Document | None:
        if not rows or not all(isinstance(row, dict) for row in rows):
            return None
        by_key = {self.new.key(row): row for row in rows}
        return by_key if len(by_key) == len(rows) and "" not in by_key else None


def _endpoint(name: str) -> str:
    parts = name.split("/")
    return parts[-1] if len(parts) == 3 and "{" not in name else name


def _change(old: Any, new: Any) -> str:
    """Describe a change by both values if they are short, otherwise by their types."""
    values = (old, new)
    are_codes = all(value is None or isinstance(value, str | bool) for value in values)
    if are_codes and all(len(str(value)) < 40 for value in values):
        return f"{old!r} -> {new!r}"
    return f"{type(old).__name__} -> {type(new).__name__}"


def _shortened(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) < 200 else f"{text[:200]}..."


MESSAGE_FIELDS: Final = frozenset(
    (
        *(
            "message",
            "reason_messages",
            "reason",
            "advice",
            "documentation",
            "warnings",
        ),
        *(
            "compared_with",
            "detail",
            "sentence",
            "shape_message",
            "state_message",
            "comparability_reason",
        ),
    )
)
INSTALLATION_FIELDS: Final = frozenset(
    (
        *("created_at", "received_at", "updated_at", "detected_at", "occurred_at"),
        *("at", "decided_at", "declared_at", "signed_at"),
        *("last_seen_at", "last_used_at", "published_at"),
    )
)
TODAY: Final = frozenset(("created_on", "accessed", "urldate"))


def compare(options: argparse.Namespace) -> int:
    ignored = {*TODAY}
    if not options.sentences:
        ignored |= MESSAGE_FIELDS
    if not options.upgraded:
        ignored |= INSTALLATION_FIELDS
    old, new = (
        SnapshotFolder(path, has_ids=options.upgraded)
        for path in (options.old, options.new)
    )
    tolerance = 10.0**-options.digits if options.digits else 0.0
    comparison = SnapshotComparison(old, new, ignored, tolerance)
    kinds: dict[tuple[str, str], list[str]] = defaultdict(list)
    for difference in comparison.differences():
        kinds[difference.path, difference.kind].append(difference.example)
    for (field_name, change), examples in sorted(kinds.items()):
        print(f"{len(examples):7} {field_name}: {change}")
        for example in examples[: options.examples]:
            print(f"          {example[:600]}")
    print(
        "compared:",
        ", ".join(f"{count:,} {kind}" for kind, count in comparison.compared.items()),
    )
    print(f"{sum(map(len, kinds.values())):,} differences of {len(kinds)} kinds")
    return 1 if kinds else 0


def write(options: argparse.Namespace) -> int:
    with closing(SnapshotServer(options.url, options.token)) as server:
        snapshot = Snapshot(server)
        snapshot.collect()
    count = snapshot.write(options.folder)
    print(f"{count:,} responses in {len(snapshot.answers)} files")
    return 0


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    commands = parser.add_subparsers(required=True)
    writer = commands.add_parser("write", help="read a running installation")
    writer.add_argument("url")
    writer.add_argument("folder", type=Path)
    writer.add_argument("token", nargs="?", default="")
    writer.set_defaults(do=write)
    comparer = commands.add_parser("compare", help="compare two folders")
    comparer.add_argument("old", type=Path)
    comparer.add_argument("new", type=Path)
    comparer.add_argument("--sentences", action="store_true", help="compare texts")
    comparer.add_argument(
        "--upgraded", action="store_true", help="compare IDs and times"
    )
    comparer.add_argument(
        "--digits", type=int, help="significant digits of numbers (default: all)"
    )
    comparer.add_argument("--examples", type=int, default=2, help="examples per kind")
    comparer.set_defaults(do=compare)
    options = parser.parse_args(arguments)
    exit_code: int = options.do(options)
    return exit_code


if __name__ == "__main__":
    sys.exit(main())
