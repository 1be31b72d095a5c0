"""Print the longest functions, modules and templates: a look, not a gate."""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = (
    *("agents", "api", "benchmarks", "config", "dashboard", "devtools", "lab"),
    *("running", "tests"),
)
COUNT = 10

Size = tuple[int, str]


def files(root: Path, pattern: str) -> Iterator[Path]:
    """Yield the product's files of a kind; migrations are generated."""
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob(pattern)):
            if "migrations" not in path.parts:
                yield path


def functions(root: Path) -> Iterator[Size]:
    """Yield each function's length, docstring included."""
    for path in files(root, "*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                length = (node.end_lineno or node.lineno) - node.lineno + 1
                yield length, f"{path.relative_to(root)}:{node.lineno} {node.name}"


def lengths(root: Path, pattern: str) -> Iterator[Size]:
    """Yield each file's number of lines."""
    for path in files(root, pattern):
        yield len(path.read_text().splitlines()), str(path.relative_to(root))


def report(root: Path) -> str:
    """Return the three lists, longest first."""
    kinds = {
        "functions": functions(root),
        "modules": lengths(root, "*.py"),
        "templates": lengths(root, "*.html"),
    }
    lines = []
    for title, sizes in kinds.items():
        lines += ["", f"longest {title}"]
        lines += [f"{size:5} {name}" for size, name in sorted(sizes)[: -COUNT - 1 : -1]]
    return "\n".join(lines[1:])


if __name__ == "__main__":
    sys.stdout.write(report(ROOT) + "\n")
