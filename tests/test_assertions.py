"""Every test checks something: it asserts, or expects a call or an error."""

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
    """Return the tests that would pass whatever the code does."""
    functions = (
        function
        for function in ast.parse(source).body
        if isinstance(function, ast.FunctionDef)
    )
    return [
        function.name
        for function in functions
        if function.name.startswith("test_")
        and not any(map(is_proof, ast.walk(function)))
    ]


def test_every_test_asserts_something():
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
def test_guard_detects_a_test_without_assertion(body, is_silent):
    source = f"def test_it():\n    {body}\n"

    assert silent_tests(source) == (["test_it"] if is_silent else [])
