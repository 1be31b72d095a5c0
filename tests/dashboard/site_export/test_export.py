"""Static copies of a study and of all public pages."""

import json
import re
from html import unescape
from urllib.parse import unquote, urldefrag, urljoin

import pytest
from django.core.management import CommandError, call_command

from benchmarks.models import Study
from dashboard.site_export import addresses

ORIGIN = "https://virtlab.example"
TAG = re.compile(r"<[a-z][^>]*>")
LINK = re.compile(r'\s(href|src|action|data-[a-z-]+)="([^"]*)"')
JSON_SCRIPT = re.compile(r"<script[^>]*json.*?</script>", re.DOTALL)


@pytest.fixture
def export(tmp_path, monkeypatch):
    # Pages that do not depend on the data, or are alike, take most of the time.
    alike = {"docs-page", "docs-image", "setting", "setting-file", "work", "flags"}
    monkeypatch.setattr(addresses, "NEEDS_SERVER", addresses.NEEDS_SERVER | alike)

    def run(study="", folder=tmp_path / "copies" / "copy"):
        call_command("export_site", folder, study=study, url=ORIGIN, verbosity=0)
        return folder

    return run


@pytest.fixture
def hidden(pair, submit, run_document, study):
    """Store a private study beside a public one; return the name of the latter."""
    Study.objects.create(lab=study.lab, slug="secret-study", title="Secret title")
    submit(run_document(77.125, study="secret-study", note="Secret note"))
    return f"{study.lab.slug}/{study.slug}"


def broken_links(folder):
    """Return links without a file, and links to the server that are not marked."""
    for path in folder.rglob("*.html"):
        name = path.relative_to(folder)
        for tag in TAG.findall(JSON_SCRIPT.sub("", path.read_text())):
            for attribute, link in LINK.findall(tag):
                if not is_valid(folder, f"file:///{name}", tag, attribute, link):
                    yield str(name), tag


def is_valid(folder, base, tag, attribute, link):
    link = unescape(link)
    if link.startswith(ORIGIN):
        return "data-server-link" in tag or 'rel="canonical"' in tag
    if attribute.startswith("data-") and attribute != "data-plotly-src":
        return not link.startswith("/")
    url = urldefrag(urljoin(base, link))[0]
    file = folder / unquote(url.removeprefix("file:///"))
    return not url.startswith("file:") or file.is_file()


def test_portal_contains_all_public_pages_and_nothing_private(export, hidden):
    folder = export()

    assert list(broken_links(folder)) == []
    content = [path.read_bytes() for path in folder.rglob("*") if path.is_file()]
    for secret in (b"secret-study", b"Secret title", b"Secret note", b"77.125"):
        assert not any(secret in text for text in content)
    manifest = json.loads((folder / "export.json").read_text())
    assert manifest["not_exported"] == []
    assert (folder / "api/v1/data/cells/parquet/cells.parquet").stat().st_size
    assert (folder / f"studies/{hidden}/compare.csv").is_file()


def test_failed_export_leaves_the_earlier_copy(export, hidden):
    folder = export(hidden)
    assert list(broken_links(folder)) == []

    with pytest.raises(CommandError, match="no public page"):
        export("alpha-lab/secret-study")

    assert (folder / "index.html").is_file()
    assert [path.name for path in folder.parent.iterdir()] == [folder.name]


def test_other_files_are_not_replaced(export, tmp_path, db):
    (tmp_path / "thesis.tex").write_text("mine")

    with pytest.raises(CommandError, match="not an earlier export"):
        export(folder=tmp_path)

    assert (tmp_path / "thesis.tex").read_text() == "mine"
