"""Code and documents avoid words that readers stumbled over (decisions/wording.md)."""

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
LIST = ROOT / "docs" / "decisions" / "wording.md"
ROW = re.compile(r"^\| `(.+)` \| (.+) \|$", re.MULTILINE)
CODE_FOLDERS = (
    *("agents", "api", "benchmarks", "client", "config", "dashboard", "devtools"),
    *("running", "testbed"),
)
LOOP_VARIABLE_IT = re.compile(r"\bfor it in\b|\blambda it\b")


@cache
def avoided() -> list[tuple[re.Pattern[str], str]]:
    """Return the patterns of the section on code and documents, with alternatives."""
    _, section = LIST.read_text().split("\n## Code and documents\n")
    return [
        (re.compile(pattern.replace(r"\|", "|"), re.IGNORECASE), alternative)
        for pattern, alternative in ROW.findall(section)
    ]


def source_files() -> Iterator[Path]:
    for folder in CODE_FOLDERS:
        yield from sorted((ROOT / folder).rglob("*.py"))


def documents() -> Iterator[Path]:
    yield from sorted(ROOT.glob("*.md"))
    yield from sorted((ROOT / "docs").rglob("*.md"))


def prose_of_code(source: str) -> Iterator[tuple[int, str]]:
    """Yield the line and text of each docstring and comment."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Expr(value=ast.Constant(value=str(text))):
                yield node.lineno, text
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string.lstrip("#: ")


def paragraphs(markdown: str) -> Iterator[tuple[int, str]]:
    """Yield the line and text of each paragraph that is not code or a table."""
    line = 1
    for block in markdown.split("\n\n"):
        if not block.lstrip().startswith(("```", "    ", "|")):
            text = re.sub(r"^#.*\n?", "", block.strip())
            yield line, re.sub(r"^[\s\-*>\d.]+", "", text)
        line += block.count("\n") + 2


def found_in(text: str) -> list[str]:
    """Return the avoided expressions of a text, each with its alternative."""
    plain = " ".join(text.split())
    return [
        f'"{match[0]}" (rather: {alternative}) in: {plain[:100]}'
        for pattern, alternative in avoided()
        if (match := pattern.search(plain))
    ]


def test_docstrings_and_comments_avoid_the_listed_words():
    found = [
        f"{path.relative_to(ROOT)}:{line}: {problem}"
        for path in source_files()
        if "migrations" not in path.parts
        for line, text in prose_of_code(path.read_text())
        for problem in found_in(text)
    ]

    assert found == []


def test_documents_avoid_the_listed_words():
    found = [
        f"{path.relative_to(ROOT)}:{line}: {problem}"
        for path in documents()
        if path != LIST
        for line, text in paragraphs(path.read_text())
        for problem in found_in(text)
    ]

    assert found == []


def test_no_loop_variable_is_named_it():
    assert [
        str(path.relative_to(ROOT))
        for path in source_files()
        if LOOP_VARIABLE_IT.search(path.read_text())
    ] == []


@pytest.mark.parametrize(
    "text",
    [
        "Whoever asks gets an answer.",
        "Of two labels one is moved.",
        "What a request sees.",
        "Start\nanew after a failure.",
    ],
)
def test_an_avoided_expression_is_found(text):
    [problem] = found_in(text)

    assert "rather:" in problem


@pytest.mark.parametrize(
    "text",
    [
        "What is stored?",
        "Of course this may fail.",
        "There are none.",
        "The studies of two labs.",
    ],
)
def test_good_english_is_left_alone(text):
    assert found_in(text) == []
