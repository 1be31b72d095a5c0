"""A static copy in a browser, without the server."""

import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest
from django.core.management import call_command

from benchmarks.models import Agent, Lab
from dashboard.site_export import addresses
from tests.dashboard import browser_site
from tests.dashboard.served_studies import committed
from tests.reference_studies import load_study

pytestmark = pytest.mark.browser

# Pages that the tests do not open.
SKIPPED = {
    *("docs-page", "docs-image", "run-detail", "run-upload", "factor-effects"),
    *("report", "data", "data-file", "study-file", "sessions", "cell-samples"),
}


class QuietHandler(SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


def is_simple(run):
    return run["tool"] == "linpack" and run.get("scenario", "single") == "single"


@pytest.fixture(scope="module")
def copy(django_db_setup, django_db_blocker, tmp_path_factory):
    """Export a study of few runs."""
    folder = tmp_path_factory.mktemp("web") / "copy"
    with pytest.MonkeyPatch.context() as patch, committed(django_db_blocker):
        patch.setattr(addresses, "NEEDS_SERVER", addresses.NEEDS_SERVER | SKIPPED)
        lab = Lab.objects.create(slug="alpha-lab", name="Alpha lab")
        agent = Agent.objects.create(lab=lab, name="alice")
        load_study(agent, "lmu-2010-xen", is_simple)
        call_command("export_site", folder, study="alpha-lab/lmu-2010-xen", verbosity=0)
    return folder


@pytest.fixture(params=["http", "file"])
def address(request, copy):
    if request.param == "file":
        yield copy.as_uri()
        return
    handler = partial(QuietHandler, directory=copy.parent)
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/{copy.name}"
        server.shutdown()


def test_copy_works_in_any_folder_without_the_server(address, chromium):
    with browser_site.window(chromium, address) as opened:
        page = opened.open("/index.html")
        page.get_by_role("link", name="Compare", exact=True).click()
        browser_site.draw_chart(page)
        page.locator("#search-rows").fill("no such benchmark")
        page.locator("#search-rows").fill("")
        page.locator(".cell a").first.click()

        browser_site.expect(page.locator("[data-export-note]")).to_be_visible()
        assert page.get_by_role("link", name="Sign in").count() == 0
        assert opened.errors == []


def test_search_field_lists_pages_of_the_copy(address, chromium):
    with browser_site.window(chromium, address) as opened:
        page = opened.open("/glossary/index.html")
        page.locator(".site-search input").fill("flags")
        page.keyboard.press("Enter")

        found = page.locator("[data-pages] li:visible")
        browser_site.expect(found.first).to_contain_text("lags")
        assert opened.errors == []
