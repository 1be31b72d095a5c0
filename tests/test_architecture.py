"""The allowed arrows between packages. This guard needs no tool and never skips."""

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
OURS = {
    *("agents", "api", "benchmarks", "client", "config", "dashboard", "devtools"),
    *("lab", "running", "tests"),
}

STATISTICS = {
    f"benchmarks.{name}" for name in ("analysis", "errors", "sentences", "units")
}
# Package -> what it may import of ours. The longest matching name decides.
ALLOWED = {
    "agents": {"agents"},
    "api": {"api", "benchmarks"},
    "dashboard": {"dashboard", "benchmarks"},
    "benchmarks": {"benchmarks"},
    # Statistics know nothing of who judges by them.
    "benchmarks.analysis": STATISTICS,
    "benchmarks.plausibility": STATISTICS
    | {"benchmarks.platforms", "benchmarks.plausibility"},
    "devtools": {"devtools", "agents", "benchmarks", "running", "tests.benchmarks"},
    # The registered pages.
    "devtools.routes": {"dashboard.kit.routes"},
    "config": OURS - {"devtools", "lab", "tests"},
    "running": OURS - {"devtools", "lab", "tests"},
    # In its wheel the agent's client stands beside it.
    "client": {"client"},
    "lab": {"lab", "agents.client"},
    # It runs in guests, beside the agent's file.
    "lab.files.clock": {"agents.timing"},
}
# What pages share; it knows none of them.
BELOW_PAGES = tuple(
    f"dashboard.{room}"
    for room in ("charts", "exports", "kit", "templatetags", "wording")
)
# The rooms of the domain that write.
ROOMS = (
    "keeping",
    "labs",
    "own_tools",
    "plans",
    "publishing",
    "studies",
    "unattended",
    "uploads",
)
PURE = (
    "benchmarks.analysis",
    "benchmarks.errors",
    "benchmarks.fingerprints",
    "benchmarks.own_tools.declaration",
    "benchmarks.own_tools.samples",
    "benchmarks.platforms",
    "benchmarks.parsing",
    "benchmarks.plausibility",
    "benchmarks.reference",
    "benchmarks.sentences",
    "benchmarks.text",
    "benchmarks.tools",
    "benchmarks.units",
    "benchmarks.work_classes",
    "dashboard.pages.cell.charts",
    "dashboard.charts.bars",
    "dashboard.charts.chart",
    "dashboard.charts.dots",
    "dashboard.charts.paper",
    "dashboard.charts.plotly",
    "dashboard.charts.scales",
    "dashboard.charts.sketch",
    "dashboard.exports.escaping",
    "dashboard.exports.records",
    "dashboard.kit.upload_text",
)
# Pure as well, but for the language of the page, which is Django's to know.
SPEAKING = ("dashboard.kit.figures",)
WEB = {"django", "rest_framework", "celery", "redis", "psycopg"}
LATER = {
    *("api", "dashboard", "config", "running", "benchmarks.models"),
    *(f"benchmarks.{room}" for room in ROOMS),
}


def modules() -> Iterator[tuple[str, Path]]:
    for package in sorted(OURS - {"tests"}):
        for path in sorted((ROOT / package).rglob("*.py")):
            parts = path.relative_to(ROOT).with_suffix("").parts
            yield ".".join(part for part in parts if part != "__init__"), path


def imports(path: Path) -> set[str]:
    """Return the full names of the modules a file imports, wherever it does."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} imports relatively"
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return names


def is_within(name: str, packages: object) -> bool:
    assert isinstance(packages, (set, tuple))
    return any(name == each or name.startswith(f"{each}.") for each in packages)


def allowed_for(module: str) -> set[str]:
    longest = max((name for name in ALLOWED if is_within(module, {name})), key=len)
    return ALLOWED[longest]


def page_of(name: str) -> str:
    """Return the page a module belongs to; nothing of others."""
    parts = name.split(".")
    return parts[2] if parts[:2] == ["dashboard", "pages"] and parts[2:] else ""


def is_another_page(module: str, name: str) -> bool:
    """Whether a page imports another one, or what pages share imports any."""
    if is_within(module, BELOW_PAGES):
        return is_within(name, ("dashboard.pages",))
    page = page_of(module)
    return bool(page and page_of(name)) and page_of(name) != page


def wrong_imports(module: str, path: Path) -> list[str]:
    ours = {name for name in imports(path) if name.split(".")[0] in OURS}
    wrong = {name for name in ours if not is_within(name, allowed_for(module))}
    wrong |= {name for name in ours if is_another_page(module, name)}
    if is_within(module, PURE):
        not_pure = (
            name for name in imports(path) if not is_within(name, PURE + SPEAKING)
        )
        wrong |= {name for name in not_pure if is_within(name, WEB | LATER)}
    return sorted(wrong)


def test_imports_follow_the_arrows():
    wrong = {module: wrong_imports(module, path) for module, path in modules()}

    assert {module: names for module, names in wrong.items() if names} == {}


def test_agents_import_the_standard_library_only():
    for path in (ROOT / "agents").rglob("*.py"):
        tops = {name.split(".")[0] for name in imports(path)}
        assert tops <= set(sys.stdlib_module_names) | {"agents"}, path


def test_what_queues_and_what_runs_are_different_modules():
    processing = ROOT / "benchmarks/uploads/processing.py"

    assert not is_within("benchmarks.tasks", imports(processing))
    assert "benchmarks.tasks" not in {
        name.rpartition(".")[0] for name in imports(processing)
    }


def names_of_the_dashboard(path: Path) -> list[str]:
    """Return the texts by which a module would name what only the dashboard has."""
    texts = (
        node.value
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    )
    return [text for text in texts if re.match(r"(api|dashboard)[.:]\w", text)]


def test_the_domain_names_nothing_of_the_pages():
    named = {
        path: names_of_the_dashboard(path)
        for path in (ROOT / "benchmarks").rglob("*.py")
    }

    assert {path: names for path, names in named.items() if names} == {}


@pytest.mark.parametrize("name", ["dashboard.tasks.make_report", "dashboard:overview"])
def test_the_guard_sees_a_name_of_the_dashboard(tmp_path, name):
    path = tmp_path / "module.py"
    path.write_text(f"send({name!r})")

    assert names_of_the_dashboard(path) == [name]


@pytest.mark.parametrize(
    ("module", "line"),
    [
        ("benchmarks.units", "import django"),
        ("benchmarks.tools.stream", "from benchmarks.models import Run"),
        ("benchmarks.uploads.intake", "from api import errors"),
        ("benchmarks.analysis.order", "from benchmarks.plausibility import facts"),
        ("benchmarks.plausibility.facts", "from benchmarks.tools import TOOLS"),
        ("agents.client", "import benchmarks.units"),
        ("lab.results", "from benchmarks.models import Run"),
        ("devtools.leaks", "from tests.dashboard.browsing import window"),
        ("devtools.answers", "from dashboard.pages.cell.page import cell_page"),
        ("dashboard.pages.runs.views", "from api.kit.errors import answer"),
        ("dashboard.pages.trend.views", "from dashboard.pages.sweep import views"),
        ("dashboard.pages.runs", "from dashboard.pages.cell.page import cell_page"),
        ("dashboard.kit.viewers", "from dashboard.pages.upload import views"),
        ("dashboard.templatetags.virtlab", "import dashboard.pages.flags.views"),
    ],
)
def test_the_guard_sees_a_wrong_arrow(tmp_path, module, line):
    path = tmp_path / "module.py"
    path.write_text(line)

    assert wrong_imports(module, path)
