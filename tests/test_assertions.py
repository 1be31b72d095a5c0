"""Every test says what it proves: it asserts, expects, or awaits an error."""

import ast
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent


def is_proof(node: ast.AST) -> bool:
    if isinstance(node, ast.Assert):
        return True
    called = ast.unparse(node.func) if isinstance(node, ast.Call) else ""
    name = called.rpartition(".")[2]
    return name in {"raises", "expect"} or "assert" in name


def silent_tests(source: str) -> list[str]:
    """Return the tests that would pass whatever was computed."""
    functions = (
        each for each in ast.parse(source).body if isinstance(each, ast.FunctionDef)
    )
    return [
        each.name
        for each in functions
        if each.name.startswith("test_") and not any(map(is_proof, ast.walk(each)))
    ]


def test_every_test_says_what_it_proves():
    silent = {
        str(path.relative_to(FOLDER)): names
        for path in FOLDER.rglob("test_*.py")
        if (names := silent_tests(path.read_text(encoding="utf-8")))
    }

    assert silent == {}


@pytest.mark.parametrize(
    ("body", "is_silent"),
    [
        ("run()", True),
        ("made = run()\n    made.close()", True),
        ("assert run()", False),
        ("with pytest.raises(ValueError):\n        run()", False),
        ("expect(page.locator('h1')).to_have_text('Runs')", False),
        ("run.assert_called_once()", False),
    ],
)
def test_the_guard_sees_a_silent_test(body, is_silent):
    source = f"def test_it():\n    {body}\n"

    assert silent_tests(source) == (["test_it"] if is_silent else [])
