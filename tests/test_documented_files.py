"""Files named in documents and docstrings exist."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from tests.for_each import for_each

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = sorted({path.parent.name for path in ROOT.glob("*/__init__.py")} | {"docs"})
PATHS = [
    *ROOT.glob("*.*"),
    *(path for folder in FOLDERS for path in (ROOT / folder).rglob("*.*")),
]
TREE = [f"/{path.relative_to(ROOT).as_posix()}" for path in PATHS]
# The changelog names removed files.
DOCUMENTS = [
    path for path in PATHS if path.suffix == ".md" and path.name != "CHANGELOG.md"
]
MODULES = [path for path in PATHS if path.suffix == ".py"]
# Only files of this repository: a tool's output may have any name.
NAMED = re.compile(r"`(?:\.{0,2}/)?([\w./-]+\.(?:py|md|html|css))(?:::\w+)?`")
LINKED = re.compile(r"\]\((?!\w+:)([^)#\s]+)[^)]*\)")


def missing(text: str) -> set[str]:
    """Return the named files that no path of the repository ends with."""
    names = set(NAMED.findall(text))
    return {name for name in names if not any(p.endswith(f"/{name}") for p in TREE)}


def docstrings(module: Path) -> Iterator[str]:
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
        if isinstance(node, documented):
            yield ast.get_docstring(node) or ""


@for_each("document", DOCUMENTS)
def test_files_in_documents_exist(document):
    text = document.read_text(encoding="utf-8")
    links = LINKED.findall(re.sub(r"```.*?```", "", text, flags=re.DOTALL))

    assert not missing(text)
    assert not [link for link in links if not (document.parent / link).exists()]


def test_files_in_docstrings_exist():
    found = {module: missing("\n".join(docstrings(module))) for module in MODULES}

    assert not {module.name: names for module, names in found.items() if names}


def test_guard_detects_a_missing_file():
    assert missing("`advise.py`, `docs/advise.md`, `verdicts.py`") == {
        "advise.py",
        "docs/advise.md",
    }
