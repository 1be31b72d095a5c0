"""Phone width, content security policy and escaping on pages."""

import re

import pytest
from playwright.sync_api import expect

from benchmarks.models import Cell
from tests.dashboard import browser_site
from tests.dashboard.browser.site import (
    COMPARE,
    CORUNS,
    ENERGY,
    FACTOR_EFFECTS,
    HOSTILE,
    STUDY,
)
from tests.dashboard.routes import TABS

pytestmark = [pytest.mark.browser, pytest.mark.django_db]

ADDRESSES = [
    *("/nothing/", FACTOR_EFFECTS, f"{HOSTILE}report/"),
    *(f"{HOSTILE}{tab}" for tab in TABS),
]
PHONE = {"viewport": {"width": 360, "height": 740}, "color_scheme": "dark"}
SMALLER = {**PHONE, "viewport": {"width": 320, "height": 640}}


# `access/` checks all other pages.
def test_pages_with_hostile_names_fit_phone_and_policy(chromium, site):
    with browser_site.window(chromium, site, **SMALLER) as visit:
        cell = Cell.objects.filter(study__slug="hostile").first()
        own = [f"/runs/{cell.study.runs.first().pk}/", f"{HOSTILE}cells/{cell.pk}/"]
        for address in [*ADDRESSES, *own]:
            page = visit.open(address)
            assert browser_site.too_wide(page) == [], address
            page.set_viewport_size(PHONE["viewport"])
            assert browser_site.too_wide(page) == [], address
            assert browser_site.violations(page) == [], address
            page.close()
    assert [each for each in visit.errors if "404" not in each] == []


@pytest.mark.parametrize("address", [CORUNS, ENERGY])
def test_pages_with_charts_fit_phone_and_policy(chromium, site, address):
    with browser_site.window(chromium, site, **PHONE) as visit:
        page = visit.open(address)
        page.locator("[data-chart]").first.scroll_into_view_if_needed()
        page.wait_for_selector("[data-rendered]")
        assert browser_site.too_wide(page) == []
        assert browser_site.violations(page) == []
        assert visit.errors == []


def test_report_fits_phone_and_links_to_sections(chromium, site):
    with browser_site.window(
        chromium, site, viewport={"width": 360, "height": 740}
    ) as it:
        page = it.open(f"{STUDY}report/")
        page.get_by_role("link", name="The study's own tables").click()

        assert page.url.endswith("#tables")
        assert page.get_by_role("group", name="Net Linux").first.is_visible()
        assert browser_site.too_wide(page) == []
        assert browser_site.violations(page) == []
        assert it.errors == []


@pytest.mark.parametrize("page_name", ["", "compare/", "runs/", "co-runs/"])
def test_hostile_names_are_escaped(visit, page_name):
    page = visit.open(HOSTILE + page_name)
    if page_name == "compare/":
        browser_site.draw_chart(page)
        page.locator(".chart .point").first.hover(force=True)

    assert page.evaluate("window.intrusions") == []
    assert browser_site.violations(page) == []
    assert visit.errors == []
    assert "<script>alert(1)</script>" in page.locator("main").inner_text()
    assert page.locator("a[href^='javascript:']").count() == 0
    assert page.locator("img").count() == 0


def background(page):
    return page.evaluate("getComputedStyle(document.body).backgroundColor")


def test_theme_follows_system_unless_chosen(chromium, site):
    with browser_site.window(chromium, site, color_scheme="dark") as visit:
        page = visit.open(COMPARE)
        dark = background(page)
        browser_site.draw_chart(page)
        ink = "document.querySelector('.xtick text').style.fill"
        before = page.evaluate(ink)

        toggle = page.get_by_role("button", name=re.compile("^Theme"))
        toggle.click()
        assert background(page) == dark  # "dark" was chosen
        toggle.click()
        light = background(page)
        page.wait_for_function(f"{ink} !== '{before}'")

        assert light != dark
        page.reload()
        assert background(page) == light
        assert visit.errors == []


def test_citation_is_copied(chromium, site):
    permissions = ["clipboard-read", "clipboard-write"]
    with browser_site.window(chromium, site, permissions=permissions) as visit:
        page = visit.open(STUDY)
        page.get_by_role("button", name="Copy").click()

        expect(page.get_by_role("button", name="Copied")).to_be_visible()
        copied = page.evaluate("navigator.clipboard.readText()")
        assert copied.startswith("@techreport{lmu-2010-xen,")
        assert visit.errors == []


def test_copied_link_has_current_view(chromium, site):
    permissions = ["clipboard-read", "clipboard-write"]
    with browser_site.window(chromium, site, permissions=permissions) as visit:
        page = visit.open(COMPARE)
        page.get_by_label("Component").select_option("network")
        page.wait_for_url(re.compile("component=network"))
        page.get_by_role("button", name="Copy link").click()

        expect(page.get_by_role("button", name="Copied")).to_be_visible()
        expect(page.get_by_role("button", name="Copy link")).to_be_visible()
        assert page.evaluate("navigator.clipboard.readText()") == page.url


def test_denied_copying_is_reported_and_text_selected(visit):
    deny = "() => { navigator.clipboard.writeText = () => Promise.reject() }"
    page = visit.open(STUDY)
    page.evaluate(deny)
    page.get_by_role("button", name="Copy").click()
    expect(page.get_by_role("alert")).to_contain_text(
        "does not allow this page to copy"
    )
    marked = page.evaluate("getSelection().toString()")
    assert marked.startswith("@techreport{lmu-2010-xen,")

    page = visit.open(COMPARE)
    page.evaluate(deny)
    page.get_by_role("button", name="Copy link").click()
    expect(page.get_by_role("alert")).to_contain_text("is in the address bar")
    assert visit.errors == []


def test_cell_links_to_both_runs_and_uploads(visit):
    page = visit.open(f"{COMPARE}?component=network")

    page.get_by_role("link", name=re.compile("^0.247")).first.click()
    assert page.locator(".sum b").all_inner_texts() == [
        "0.247",
        "13.08\xa0MB/s",
        "52.97\xa0MB/s",
    ]
    page.locator("tbody th a").first.click()
    assert "Gebhardt 2010" in page.locator("pre").inner_text()
