"""Answers of any version in today's words, with names in place of ids."""

import csv
import io
import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any, Final
from urllib.parse import parse_qsl, urlencode

from bench.answers.asking import Document

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


@dataclass
class Renaming:
    """The words of an older version, told in those of a newer one."""

    paths: Mapping[str, str] = field(default_factory=dict)
    keys: Mapping[str, str] = field(default_factory=dict)
    values: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    rows: Iterable[Mapping[str, Mapping[str, str]]] = ()
    sentences: Iterable[str] = ()
    ignored: Iterable[str] = ()

    def address(self, text: str) -> str:
        """Return an address or the name of a file with the segments of today."""
        path, mark, query = text.partition("?")
        names = "/".join(self.paths.get(part, part) for part in path.split("/"))
        pairs = [
            (self.keys.get(name, name), self.value(name, value))
            for name, value in parse_qsl(query)
        ]
        return f"{names}{mark}{urlencode(pairs)}"

    def value(self, key: str, text: str) -> str:
        """Return what a text under a key is called today."""
        if text.startswith(ADDRESSES):
            return self.address(text)
        everywhere = self.values.get("*", {}).get(text, text)
        return self.values.get(key, {}).get(text, everywhere)

    def tree(self, tree: Any, key: str = "") -> Any:
        """Return an answer in the words of today."""
        if isinstance(tree, dict):
            return self._row(
                {
                    self.keys.get(name, name): (
                        value if name in OPAQUE else self.tree(value, name)
                    )
                    for name, value in tree.items()
                }
            )
        if isinstance(tree, list):
            return [self.tree(value, key) for value in tree]
        return self.value(key, tree) if isinstance(tree, str) else tree

    def _row(self, row: Document) -> Document:
        """Change the words of a row that are said by what else stands in it."""
        for rule in self.rows:
            if all(word in (row.get(key) or ()) for key, word in rule["where"].items()):
                row |= {key: word for key, word in rule["set"].items() if key in row}
        return row

    def identity(self) -> frozenset[str]:
        """Return `IDENTITY` in the words of today."""
        return IDENTITY | {self.keys.get(name, name) for name in IDENTITY}


class Folder:
    """What `write` left, told in words of today and with names in place of ids."""

    def __init__(
        self, path: Path, renaming: Renaming, identity: frozenset[str], has_ids: bool
    ) -> None:
        self.path, self.renaming, self.identity = path, renaming, identity
        self.names: dict[tuple[str, str], str] = {}
        self.kinds: list[str] = []
        self.files = {self._name(file): file for file in sorted(path.rglob("*.json"))}
        if not has_ids:
            self._name_everything()

    def _name(self, file: Path) -> str:
        name = str(file.relative_to(self.path)).removesuffix(".json")
        return self.renaming.address(name)

    def _name_everything(self) -> None:
        """Find out what ids stand for, whatever the order in which names need them."""
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
        """Name each row by what identifies it; twins are counted, in their order."""
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
        """Return by what a row is itself, whatever was measured of it."""
        stated = sorted(self._identifying(row).items())
        return ", ".join(f"{name} {_brief(value)}" for name, value in stated if value)

    def _identifying(self, row: Document) -> Document:
        return {name: value for name, value in row.items() if name in self.identity}

    def _read(self, name: str) -> dict[str, Any]:
        answers: dict[str, Any] = json.loads(self.files[name].read_text())
        # What was published keeps the words of its day.
        is_published = name.endswith("{form}")
        return {
            self.renaming.address(question): (
                answer if is_published else self.renaming.tree(_parsed(name, answer))
            )
            for question, answer in answers.items()
        }

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
    """Take an exported text apart: a CSV's lines, the figures of LaTeX and BibTeX."""
    if not isinstance(answer, str):
        return answer
    if name.endswith(".csv"):
        lines = csv.DictReader(io.StringIO(answer))
        return [{name: _field(text) for name, text in line.items()} for line in lines]
    if name.endswith(".tex"):
        return {"figures": _figures(answer), "sentence": answer}
    return {"numbers": NUMBER.findall(answer), "sentence": answer}


def _field(text: str) -> Any:
    """Return what a field of a CSV holds: a number, a text, or several of them."""
    if "; " in text:
        return [_field(part) for part in text.split("; ")]
    if not NUMBER.fullmatch(text) or "," in text:
        return text
    return float(text) if re.search("[.e]", text) else int(text)


def _figures(tex: str) -> list[str]:
    """Return what stands in the cells of LaTeX tables, however they are laid out."""
    figures = []
    for line in tex.splitlines():
        if line.endswith("\\\\") and "&" in line and "\\multicolumn" not in line:
            for cell in line.removesuffix("\\\\").split("&")[1:]:
                marked = re.sub(r"\\textsuperscript{[^}]*}", "", cell)
                figures.append(re.sub(r"\\[a-z]+(?![a-z])|[{}]", "", marked).strip())
    return sorted(figures)
