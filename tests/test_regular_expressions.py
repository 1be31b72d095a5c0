"""Regular expressions that every supported Python interprets alike.

CPython before 3.11.5 (Debian 12 has 3.11.2) mishandles ``(...)*+``, ``(...)?+`` and the
like: the pattern after a possessive group is not matched. Agents run on Python 3.6,
which has no possessive quantifiers.
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

# Escaped characters and character classes are skipped.
_PASSED = r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]"
_COUNT = r"(?:[*+?]|\{\d*,?\d*\})\+"
_OF_A_GROUP = re.compile(rf"{_PASSED}|(\(\?>|\){_COUNT})", re.DOTALL)
_OF_ANYTHING = re.compile(rf"{_PASSED}|(\(\?>|{_COUNT})", re.DOTALL)
_SUSPICIOUS = re.compile(r"[*+?}]\+|\(\?>")
_MAKES_A_PATTERN = set("\\()[]|^$")


def texts(source: str) -> Iterator[str]:
    """Return the strings of a module. A value in an f-string may be a group."""
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
    """Return a module's strings with a possessive quantifier or an atomic group."""
    if not _SUSPICIOUS.search(source):  # most modules: no parsing needed
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


def test_agents_have_no_possessive_quantifier():
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
def test_guard_detects_a_possessive_group(source):
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
def test_guard_accepts_portable_expressions(source):
    assert not possessive(source)


@pytest.mark.parametrize("source", [r"r'\d*+'", r"rb'[ab]++'", r"r'\d{1,3}+'"])
def test_guard_detects_any_possessive_quantifier_in_an_agent(source):
    assert possessive(source, _OF_ANYTHING)
    assert not possessive("Program('bonnie', 'bonnie++')", _OF_ANYTHING)
