"""Patterns that every supported Python reads alike.

CPython before 3.11.5 (Debian 12 has 3.11.2) gets ``(...)*+``, ``(...)?+`` and the like
wrong: what stands behind a possessive group is not matched. Agents run on Python 3.6,
which has nothing possessive at all.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
MODULES = [
    path.relative_to(ROOT)
    for package in sorted(ROOT.glob("*/__init__.py"))
    for path in sorted(package.parent.rglob("*.py"))
    if path != Path(__file__).resolve()
]

# What is escaped or stands in a class is passed over.
_PASSED = r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]"
_COUNT = r"(?:[*+?]|\{\d*,?\d*\})\+"
_OF_A_GROUP = re.compile(rf"{_PASSED}|(\(\?>|\){_COUNT})", re.DOTALL)
_OF_ANYTHING = re.compile(rf"{_PASSED}|(\(\?>|{_COUNT})", re.DOTALL)
_SUSPICIOUS = re.compile(r"[*+?}]\+|\(\?>")
_MAKES_A_PATTERN = set("\\()[]|^$")


def texts(source: str) -> Iterator[str]:
    """The strings of a module. What an f-string puts in may be a group."""
    tree = ast.parse(source)
    pieces = {
        id(piece)
        for node in ast.walk(tree)
        if isinstance(node, ast.JoinedStr)
        for piece in node.values
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            yield "".join(
                str(piece.value) if isinstance(piece, ast.Constant) else "()"
                for piece in node.values
            )
        elif isinstance(node, ast.Constant) and id(node) not in pieces:
            if isinstance(node.value, bytes):
                yield node.value.decode("latin-1")
            elif isinstance(node.value, str):
                yield node.value


def possessive(source: str, what: re.Pattern[str] = _OF_A_GROUP) -> list[str]:
    """The strings of a module with such a quantifier, or an atomic group."""
    if not _SUSPICIOUS.search(source):  # most modules: they need not be parsed
        return []
    return [
        text
        for text in texts(source)
        if _MAKES_A_PATTERN & set(text)
        and any(found[1] for found in what.finditer(text))
    ]


def test_no_group_is_possessive_or_atomic():
    wrong = {str(path): possessive((ROOT / path).read_text()) for path in MODULES}

    assert {path: found for path, found in wrong.items() if found} == {}


def test_agents_have_nothing_possessive():
    agents = [path for path in MODULES if path.parts[0] == "agents"]
    wrong = {
        str(path): possessive((ROOT / path).read_text(), _OF_ANYTHING)
        for path in agents
    }

    assert agents
    assert {path: found for path, found in wrong.items() if found} == {}


@pytest.mark.parametrize(
    "source",
    [
        r"re.compile(r'(?:ab?c)*+d')",
        r"re.compile(r'(a|b)++')",
        r"re.compile(r'(a)?+')",
        r"re.compile(r'(a){1,3}+')",
        r"re.compile(r'(a){,3}+')",
        r"re.compile(rb'(a)*+')",
        r"re.compile(r'(?>a|ab)c')",
        r"re.compile(r'[^]()](a)*+')",
        r"re.compile(rf'{_PART}?+$')",
        r"re.compile(rf'{_PART}' r'(a)*+')",
        r"re.compile('(?:' + part + ')*+')",
    ],
)
def test_the_guard_sees_a_possessive_group(source):
    assert possessive(source)


@pytest.mark.parametrize(
    "source",
    [
        r"r'\S*+(a)+'",
        r"r'[()*+#]'",
        r"r'\)++'",
        r"r'[^\])*+]'",
        r"rf'{_PART}*'",
        r"'bonnie++ (1)'",
    ],
)
def test_the_guard_passes_what_every_python_reads(source):
    assert not possessive(source)


@pytest.mark.parametrize("source", [r"r'\d*+'", r"rb'[ab]++'", r"r'\d{1,3}+'"])
def test_the_guard_sees_anything_possessive_in_an_agent(source):
    assert possessive(source, _OF_ANYTHING)
    assert not possessive("Program('bonnie', 'bonnie++')", _OF_ANYTHING)
