"""What the pure core says, gathered from its sources for the translators. PURE.

The core knows no gettext. Its templates stand where sentences are made of them; here
they are found, so that `dashboard/wording/catalogue.py` can mark every one of them.
"""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from benchmarks.plausibility.checking import RULES

MAKERS: Final = {"Sentence": 1, "template": 1, "counted": 2}
"""What makes a sentence, and how many templates it takes."""
TAKERS: Final = {
    "fault": slice(2, 3),
    "finished": slice(-1, None),
    "mark": slice(1, 2),
    "refused": slice(0, 1),
}
"""What takes a text for people, beside the errors, and which argument it is."""
FOR_PROGRAMMERS: Final = {
    "AssertionError",
    "CommandError",
    "KeyError",
    "TypeError",
    "UnmarkedTextError",
    "ValueError",
}
RULES_FOLDER: Final = "plausibility"
UNITS: Final = {"percent": "%", "s": "s"}
"""How the name of a piece of evidence ends, and the unit that this stands for."""
PLACE: Final = re.compile(r"\{[^{}]*\}")
WORD: Final = re.compile(r"[^\W\d_]{2,}")


@dataclass(frozen=True, order=True)
class Text:
    """A template, with its plural where it has one."""

    singular: str
    plural: str = ""


class UnmarkedTextError(Exception):
    """A sentence whose template cannot be read from the source."""


def core_texts(*roots: Path, made: Path | None = None) -> tuple[Text, ...]:
    """Return every text below some folders that has words, each once, in order.

    ``made`` is what is made of them: it may be old, or broken by a merge.
    """
    paths = {path for root in roots for path in root.rglob("*.py")} - {made}
    found = {text for path in sorted(filter(None, paths)) for text in _texts(path)}
    found |= {Text(rule.title) for rule in RULES.values()}
    found |= {Text(rule.documentation) for rule in RULES.values()}
    return tuple(sorted(text for text in found if _has_words(text.singular)))


def _has_words(text: str) -> bool:
    return bool(WORD.search(PLACE.sub(" ", text)))


def _texts(path: Path) -> Iterator[Text]:
    tree = ast.parse(path.read_text())
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        if (name := _name(node)) in MAKERS:
            yield from _of_call(node, MAKERS[name], path)
        elif any(map(_is_bare, _taken(node, name))):
            raise UnmarkedTextError(
                f"{path}, line {node.lineno}: what people read must be a Sentence."
            )
    if RULES_FOLDER in path.parts:
        yield from map(Text, _evidence(tree))


def _name(call: ast.Call) -> str:
    return call.func.id if isinstance(call.func, ast.Name) else ""


def _taken(call: ast.Call, name: str) -> list[ast.expr]:
    """Return what a call takes for people: the words of errors, marks and refusals."""
    if isinstance(call.func, ast.Attribute):
        name = call.func.attr
    is_ours = name.endswith("Error") and name not in FOR_PROGRAMMERS
    return call.args[:1] if is_ours else call.args[TAKERS.get(name, slice(0))]


def _is_bare(given: ast.expr) -> bool:
    """Whether words stand there outside of a sentence."""
    is_text = isinstance(given, ast.Constant) and isinstance(given.value, str)
    is_text = is_text and _has_words(ast.literal_eval(given))
    return is_text or (isinstance(given, ast.JoinedStr) and _is_hidden(given))


def _of_call(call: ast.Call, count: int, path: Path) -> Iterator[Text]:
    given = call.args[:count]
    if all(isinstance(each, ast.Constant) for each in given):
        yield Text(*(str(ast.literal_eval(each)) for each in given))
    elif any(_is_hidden(each) for each in given):
        raise UnmarkedTextError(
            f"{path}, line {call.lineno}: the template of a sentence must stand there "
            "as one text, or be marked with template() where it stands."
        )


def _is_hidden(given: ast.expr) -> bool:
    """Whether words are put together here; a constant was marked where it was set."""
    if isinstance(given, ast.JoinedStr):
        parts = [e.value if isinstance(e, ast.Constant) else "0" for e in given.values]
        return _has_words("".join(map(str, parts)))
    return not all(map(_is_constant, _choices(given)))


def _choices(given: ast.expr) -> list[ast.expr]:
    return [given.body, given.orelse] if isinstance(given, ast.IfExp) else [given]


def _is_constant(given: ast.expr) -> bool:
    """Whether it is a constant of its module, or an entry of one."""
    named = given.value if isinstance(given, ast.Subscript) else given
    return isinstance(named, ast.Name) and named.id.isupper()


def _evidence(tree: ast.Module) -> Iterator[str]:
    """Return what evidence is called: keywords of findings, keys within them."""
    for function in ast.walk(tree):
        if not isinstance(function, ast.FunctionDef):
            continue
        for node in ast.walk(function):
            keys: list[object] = []
            if isinstance(node, ast.Call) and _name(node) == "about_cells":
                keys = [each.arg for each in node.keywords if each.arg != "severity"]
            elif isinstance(node, ast.Dict):
                keys = [e.value for e in node.keys if isinstance(e, ast.Constant)]
            yield from (evidence_name(key) for key in keys if isinstance(key, str))


def evidence_name(key: str) -> str:
    """Return what a piece of evidence is called in English, without its unit."""
    name, unit = evidence_unit(key)
    return (name if unit else key).replace("_", " ")


def evidence_unit(key: str) -> tuple[str, str]:
    """Return what a piece of evidence is called in the core, and its unit if it has."""
    name, _, end = key.rpartition("_")
    return name, UNITS.get(end, "")
