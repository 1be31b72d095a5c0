"""Files that the documents and docstrings name are in the tree."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = sorted({path.parent.name for path in ROOT.glob("*/__init__.py")} | {"docs"})
PATHS = [
    *ROOT.glob("*.*"),
    *(path for folder in FOLDERS for path in (ROOT / folder).rglob("*.*")),
]
TREE = [f"/{path.relative_to(ROOT).as_posix()}" for path in PATHS]
# The changelog tells of files that went.
DOCUMENTS = [
    path for path in PATHS if path.suffix == ".md" and path.name != "CHANGELOG.md"
]
MODULES = [path for path in PATHS if path.suffix == ".py"]
# Only what nobody but this repository makes: a tool's output may have any name.
NAMED = re.compile(r"`(?:\.{0,2}/)?([\w./-]+\.(?:py|md|html|css))(?:::\w+)?`")
# Whose modules the map of ARCHITECTURE.md says one by one.
ROOMS = (
    *("parsing", "analysis", "plausibility", "uploads", "comparing"),
    *("power", "plans", "labs", "own_tools", "studies", "publishing", "together"),
)
LINKED = re.compile(r"\]\((?!\w+:)([^)#\s]+)[^)]*\)")


def missing(text: str) -> set[str]:
    """Return the named files that no path of the tree ends with."""
    names = set(NAMED.findall(text))
    return {name for name in names if not any(p.endswith(f"/{name}") for p in TREE)}


def docstrings(module: Path) -> Iterator[str]:
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
        if isinstance(node, documented):
            yield ast.get_docstring(node) or ""


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_a_document_names_and_links_files_that_exist(document):
    text = document.read_text(encoding="utf-8")
    links = LINKED.findall(re.sub(r"```.*?```", "", text, flags=re.DOTALL))

    assert not missing(text)
    assert not [link for link in links if not (document.parent / link).exists()]


def test_docstrings_name_files_that_exist():
    found = {module: missing("\n".join(docstrings(module))) for module in MODULES}

    assert not {module.name: names for module, names in found.items() if names}


def test_a_name_that_nothing_has_is_found():
    assert missing("`advise.py`, `docs/advise.md`, `verdicts.py`") == {
        "advise.py",
        "docs/advise.md",
    }


def rows_of_map() -> dict[str, str]:
    """Return the rows of the map of ARCHITECTURE.md, each by its first column."""
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (`.+?) \| (.+) \|$", text.partition("## Inv")[0], re.M)
    assert len(rows) == len(dict(rows)), "two rows of the map are about one thing"
    return dict(rows)


def parts_of(room: str) -> set[str]:
    """Return the modules and the folders of a room, but those that Django wants."""
    parts = {path.stem for path in (ROOT / room).glob("*.py")}
    parts |= {path.parent.name for path in (ROOT / room).glob("*/__init__.py")}
    return parts - {"__init__", "apps", "migrations"}


@pytest.mark.parametrize("room", ROOMS)
def test_the_map_names_every_module_of_a_room(room):
    named = set(re.findall(r"`([\w/]+)`", rows_of_map()[f"`- {room}/`"]))

    assert parts_of(f"benchmarks/{room}") <= {name.rstrip("/") for name in named}


def test_the_map_has_every_part_of_the_domain_and_the_dashboard():
    first = " ".join(rows_of_map())
    named = set(re.findall(r"`(?:- |dashboard/)?([\w-]+)/?`", first))

    assert parts_of("benchmarks") | parts_of("dashboard") <= named
