"""The allowed imports between packages. Needs no tool and is never skipped."""

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
OURS = {
    *("agents", "api", "benchmarks", "client", "config", "dashboard", "devtools"),
    *("running", "testbed", "tests"),
}

STATISTICS = {
    f"benchmarks.{name}" for name in ("analysis", "errors", "sentences", "units")
}
# Package -> our modules that it may import. The longest matching name decides.
ALLOWED = {
    "agents": {"agents"},
    "api": {"api", "benchmarks"},
    "dashboard": {"dashboard", "benchmarks"},
    "benchmarks": {"benchmarks"},
    # Statistics do not know what they are used for.
    "benchmarks.analysis": STATISTICS,
    "benchmarks.plausibility": STATISTICS
    | {"benchmarks.hypervisor_names", "benchmarks.plausibility"},
    "devtools": {"devtools", "agents", "benchmarks", "running", "tests.benchmarks"},
    # The registered pages.
    "devtools.routes": {"dashboard.kit.routes"},
    "config": OURS - {"devtools", "testbed", "tests"},
    "running": OURS - {"devtools", "testbed", "tests"},
    # Its wheel also contains the agent's client.
    "client": {"client"},
    "client.build": {"agents.packages"},
    "testbed": {"testbed", "agents.client"},
    # Runs in guests, beside the agent's file.
    "testbed.files.clock": {"agents.timing"},
}
# Code that pages share; it imports no page.
BELOW_PAGES = tuple(
    f"dashboard.{room}"
    for room in ("charts", "exports", "kit", "templatetags", "wording")
)
# The packages of the domain that write.
ROOMS = (
    "custom_tools",
    "jobs",
    "labs",
    "maintenance",
    "plans",
    "publishing",
    "studies",
    "uploads",
)
PURE = (
    "benchmarks.analysis",
    "benchmarks.comparison.setting_changes",
    "benchmarks.errors",
    "benchmarks.fingerprints",
    "benchmarks.custom_tools.declaration",
    "benchmarks.custom_tools.sample_tables",
    "benchmarks.custom_tools.table_columns",
    "benchmarks.host_facts",
    "benchmarks.hypervisor_names",
    "benchmarks.natural_sort",
    "benchmarks.parsing",
    "benchmarks.plausibility",
    "benchmarks.reference",
    "benchmarks.sentences",
    "benchmarks.study_sources",
    "benchmarks.system_options",
    "benchmarks.text_validation",
    "benchmarks.tools",
    "benchmarks.units",
    "benchmarks.work_classes",
    "dashboard.pages.cell.charts",
    "dashboard.charts.bars_and_lines",
    "dashboard.charts.chart",
    "dashboard.charts.dot_plot",
    "dashboard.charts.matplotlib_renderer",
    "dashboard.charts.plotly_renderer",
    "dashboard.charts.scales",
    "dashboard.charts.svg_renderer",
    "dashboard.exports.latex_escaping",
    "dashboard.exports.comparison_records",
    "dashboard.kit.upload_excerpt",
)
# Also pure, except for the language of the page, which Django knows.
SPEAKING = ("dashboard.kit.formatting",)
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
    """Return the full names of all modules that a file imports, also in functions."""
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
    return any(
        name == package or name.startswith(f"{package}.") for package in packages
    )


def allowed_for(module: str) -> set[str]:
    longest = max((name for name in ALLOWED if is_within(module, {name})), key=len)
    return ALLOWED[longest]


def page_of(name: str) -> str:
    """Return the page that a module belongs to, or nothing."""
    parts = name.split(".")
    return parts[2] if parts[:2] == ["dashboard", "pages"] and parts[2:] else ""


def is_another_page(module: str, name: str) -> bool:
    """Whether a page imports another one, or shared code imports any page."""
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


def test_imports_follow_the_layers():
    wrong = {module: wrong_imports(module, path) for module, path in modules()}

    assert {module: names for module, names in wrong.items() if names} == {}


def test_agents_import_only_the_standard_library():
    for path in (ROOT / "agents").rglob("*.py"):
        tops = {name.split(".")[0] for name in imports(path)}
        assert tops <= set(sys.stdlib_module_names) | {"agents"}, path


def test_queueing_and_running_are_separate_modules():
    processing = ROOT / "benchmarks/uploads/processing.py"

    assert not is_within("benchmarks.tasks", imports(processing))
    assert "benchmarks.tasks" not in {
        name.rpartition(".")[0] for name in imports(processing)
    }


def names_of_the_dashboard(path: Path) -> list[str]:
    """Return strings by which a module would refer to parts of the dashboard."""
    texts = (
        node.value
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    )
    return [text for text in texts if re.match(r"(api|dashboard)[.:]\w", text)]


def test_domain_does_not_mention_the_dashboard():
    texts = {
        path: names_of_the_dashboard(path)
        for path in (ROOT / "benchmarks").rglob("*.py")
    }

    assert {path: names for path, names in texts.items() if names} == {}


@pytest.mark.parametrize("name", ["dashboard.tasks.make_report", "dashboard:home"])
def test_guard_detects_a_mention_of_the_dashboard(tmp_path, name):
    path = tmp_path / "module.py"
    path.write_text(f"send({name!r})")

    assert names_of_the_dashboard(path) == [name]


@pytest.mark.parametrize(
    ("module", "line"),
    [
        ("benchmarks.units", "import django"),
        ("benchmarks.tools.stream", "from benchmarks.models import Run"),
        ("benchmarks.uploads.intake", "from api import errors"),
        (
            "benchmarks.analysis.run_order",
            "from benchmarks.plausibility import study_facts",
        ),
        ("benchmarks.plausibility.study_facts", "from benchmarks.tools import TOOLS"),
        ("agents.client", "import benchmarks.units"),
        ("testbed.results", "from benchmarks.models import Run"),
        ("devtools.privacy_crawl", "from tests.dashboard.browser_site import window"),
        (
            "devtools.response_snapshots",
            "from dashboard.pages.cell.page import cell_page",
        ),
        ("dashboard.pages.runs.views", "from api.kit.errors import answer"),
        ("dashboard.pages.trend.views", "from dashboard.pages.sweep import views"),
        ("dashboard.pages.runs", "from dashboard.pages.cell.page import cell_page"),
        ("dashboard.kit.viewers", "from dashboard.pages.upload import views"),
        ("dashboard.templatetags.virtlab", "import dashboard.pages.flags.views"),
    ],
)
def test_guard_detects_a_forbidden_import(tmp_path, module, line):
    path = tmp_path / "module.py"
    path.write_text(line)

    assert wrong_imports(module, path)
