"""The agent needs only Python 3.6 and its standard library."""

import ast
import re
from pathlib import Path

import pytest

import agents
from tests.for_each import for_each

FOLDER = Path(agents.__file__).parent
MODULES = sorted(FOLDER.rglob("*.py"))
NAMES = [str(path.relative_to(FOLDER)) for path in MODULES]

# Modules, functions, methods and arguments that Python 3.6 does not have.
NEWER_MODULES = {"dataclasses", "contextvars", "zoneinfo", "graphlib", "tomllib"}
NEWER_MODULES |= {"importlib.metadata", "importlib.resources", "__future__"}
NEWER_ATTRIBUTES = {
    *("asyncio.run", "contextlib.nullcontext", "datetime.UTC", "functools.cache"),
    *("functools.cached_property", "http.server.ThreadingHTTPServer", "math.dist"),
    *("math.prod", "os.posix_spawn", "os.register_at_fork", "shlex.join"),
    *("socket.create_server", "statistics.fmean", "sys.orig_argv"),
    *("sys.stdlib_module_names", "subprocess.run", "time.monotonic_ns"),
    *("time.perf_counter_ns", "time.time_ns", "time.thread_time", "typing.Final"),
    *("typing.Literal", "typing.Protocol", "typing.TypedDict"),
}
NEWER_METHODS = {"removeprefix", "removesuffix", "fromisoformat", "isascii"}
NEWER_METHODS |= {"is_relative_to", "bit_count"}
NEWER_ARGUMENTS = {"capture_output", "text", "strict", "dirs_exist_ok"}
NEWER_ARGUMENTS |= {"exit_on_error", "missing_ok", "encoding_errors"}


def newer_names(source: str) -> list[str]:
    """Return names in a module that are newer than 3.6; newer syntax is an error."""
    nodes = ast.walk(ast.parse(source, feature_version=(3, 6)))
    return [name for node in nodes for name in _newer(node)]


def _newer(node: ast.AST) -> set[str]:
    if isinstance(node, ast.Import):
        return {alias.name for alias in node.names} & NEWER_MODULES
    if isinstance(node, ast.ImportFrom):
        names = {f"{node.module}.{alias.name}" for alias in node.names}
        return names & NEWER_ATTRIBUTES | {str(node.module)} & NEWER_MODULES
    if isinstance(node, ast.Attribute):
        return {ast.unparse(node)} & NEWER_ATTRIBUTES | {node.attr} & NEWER_METHODS
    if isinstance(node, ast.Call):
        keywords = {str(alias.arg) for alias in node.keywords}
        subparsers = ast.unparse(node.func).endswith("add_subparsers")
        return keywords & (NEWER_ARGUMENTS | ({"required"} if subparsers else set()))
    return set()


@for_each("path", MODULES)
def test_modules_are_python_3_6(path):
    assert newer_names(path.read_text()) == []


@for_each("path", MODULES)
def test_modules_import_nothing_of_the_server(path):
    source = path.read_text()

    assert not re.search(r"^\s*(import|from) (benchmarks|api|dashboard)", source, re.M)


@pytest.mark.parametrize(
    "line",
    [
        "from __future__ import annotations",
        "import dataclasses",
        "subprocess.run(['ls'])",
        "popen(text=True)",
        "from time import time_ns",
        "'a'.removeprefix('b')",
        "parser.add_subparsers(dest='command', required=True)",
    ],
)
def test_guard_detects_newer_names(line):
    assert newer_names(line)


@pytest.mark.parametrize(
    "line", ["(a := 1)", "def f(a, /): pass", "match a:\n case 1: 0"]
)
def test_guard_detects_newer_syntax(line):
    with pytest.raises(SyntaxError):
        newer_names(line)
