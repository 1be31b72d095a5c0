"""Rules for all templates and static files."""

import re
from pathlib import Path

import plotly
from django.contrib.staticfiles import finders
from django.core.management import call_command
from django.template.loader import get_template

from dashboard.charts.chart import NARROW_LABEL_PX, SYMBOLS
from tests.for_each import for_each

DASHBOARD = Path(__file__).parents[2] / "dashboard"
TEMPLATES = sorted(DASHBOARD.rglob("*.html"))
STATIC = sorted(
    path
    for path in DASHBOARD.rglob("static/*")
    if path.suffix in {".css", ".js", ".svg"}
)
ROOTS = [DASHBOARD / "pages", DASHBOARD / "kit/templates"]
NAMES = [
    str(path.relative_to(root))
    for path in TEMPLATES
    for root in ROOTS
    if path.is_relative_to(root)
]


def test_every_template_is_in_a_searched_folder():
    assert len(NAMES) == len(TEMPLATES) > 0


@for_each("name", NAMES)
def test_every_template_compiles(name):
    assert get_template(name)


@for_each("path", TEMPLATES)
def test_templates_comply_with_the_content_security_policy(path):
    source = path.read_text()

    assert not re.search(r"\sstyle=|<style|\son[a-z]+=|javascript:", source)
    assert all("src=" in tag for tag in re.findall(r"<script[^>]*>", source))


@for_each("path", [*TEMPLATES, *STATIC])
def test_templates_load_no_external_resources(path):
    # Links are allowed: they do not load anything.
    loading = re.sub(r'<a href="https://[^"]*"', "", path.read_text())
    addresses = re.findall(r"(?:https?:)?//[\w.-]+\.\w+", loading)

    assert set(addresses) <= {"http://www.w3.org"}


@for_each("path", TEMPLATES)
def test_texts_of_templates_are_translatable(path):
    if path.name in {
        "500.html",
        "503.html",
    }:  # rendered without request, language and database
        return
    source = re.sub(r"\{#.*?#\}|\{%.*?%\}|\{\{.*?\}\}|<[^>]*>", " ", _outside(path))

    words = set(re.findall(r"[A-Za-z]{3,}", source)) - {
        "Virtlab",
        "OpenAPI",
        "vCPU",
        "doi",
    }
    assert words == set()


SCRIPTS = [path for path in STATIC if path.suffix == ".js"]


@for_each("path", SCRIPTS)
def test_scripts_contain_no_user_visible_texts(path):
    source = re.sub(r"/\*.*?\*/|^\s*//.*?$", "", path.read_text(), flags=re.S | re.M)
    literals = re.findall(r"\"[^\"\n]*\"|`[^`\n]*`", source)

    sentences = [
        literal
        for literal in literals
        if re.search(r"[a-z]{2,} (?!>)[a-z]{2,} ", literal)
    ]
    assert [sentence for sentence in sentences if "find(" not in sentence] == []


def _outside(path):
    """Return a template without its translated blocks."""
    blocks = r"\{% blocktranslate.*?endblocktranslate %\}"
    return re.sub(blocks, " ", path.read_text(), flags=re.DOTALL)


def test_plotly_is_served_from_its_wheel():
    found = finders.find("vendor/plotly.min.js")

    assert Path(found).is_relative_to(Path(plotly.__file__).parent)
    assert finders.find("vendor/widgetbundle.js") is None


def test_plotly_still_uses_elements_allowed_by_the_policy():
    source = Path(finders.find("vendor/plotly.min.js")).read_text(encoding="utf-8")
    page = (DASHBOARD / "kit/templates/kit/_plotly_assets.html").read_text()
    (map_sheet,) = re.findall(r'<meta id="(\w+)"', page)

    assert "js-style-" in source
    assert f'getElementById("{map_sheet}")' in source
    assert source.count('createElement("style")') == 2


def test_collectstatic_copies_only_plotly_js_from_the_wheel(tmp_path, settings):
    settings.STATIC_ROOT = tmp_path
    call_command("collectstatic", interactive=False, verbosity=0)

    assert [path.name for path in (tmp_path / "vendor").iterdir()] == ["plotly.min.js"]
    assert (tmp_path / "kit/virtlab.css").exists()


SHEETS = [path for path in STATIC if path.suffix == ".css"]


@for_each("path", SHEETS)
def test_style_sheets_have_balanced_braces(path):
    """A rule without closing brace would include the rules that follow it."""
    depth = 0
    for brace in re.findall(r"[{}]", path.read_text()):
        depth += 1 if brace == "{" else -1
        assert depth >= 0
    assert depth == 0


def test_legend_buttons_support_every_chart_symbol():
    source = (DASHBOARD / "kit/static/chart-series.js").read_text()
    drawn = set(re.findall(r'^    "?([\w-]+)"?: "M', source, re.MULTILINE))

    assert drawn == {*SYMBOLS, "bar", "line"}


def test_chart_heights_match_the_script():
    script = (DASHBOARD / "kit/static/chart.js").read_text()
    sheet = (DASHBOARD / "kit/static/data.css").read_text()
    (narrow,) = re.findall(r"NARROW_PX = (\d+);", script)

    assert f"const LABEL_LINE_PX = {NARROW_LABEL_PX};" in script
    assert f"@container (width < {narrow}px) {{ .chart-placeholder {{" in sheet
