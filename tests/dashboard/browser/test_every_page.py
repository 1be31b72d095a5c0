"""What holds on every page: it fits, keeps the policy, shows names as text."""

import re

import pytest
from playwright.sync_api import expect

from benchmarks.models import Cell
from tests.dashboard import browsing
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


# All other pages are walked in `access/`.
def test_pages_of_odd_names_fit_a_phone_and_keep_the_policy(chromium, site):
    with browsing.window(chromium, site, **SMALLER) as visit:
        cell = Cell.objects.filter(study__slug="hostile").first()
        own = [f"/runs/{cell.study.runs.first().pk}/", f"{HOSTILE}cells/{cell.pk}/"]
        for address in [*ADDRESSES, *own]:
            page = visit.open(address)
            assert browsing.too_wide(page) == [], address
            page.set_viewport_size(PHONE["viewport"])
            assert browsing.too_wide(page) == [], address
            assert browsing.violations(page) == [], address
            page.close()
    assert [each for each in visit.errors if "404" not in each] == []


@pytest.mark.parametrize("address", [CORUNS, ENERGY])
def test_pages_of_charts_fit_a_phone_and_keep_the_policy(chromium, site, address):
    with browsing.window(chromium, site, **PHONE) as visit:
        page = visit.open(address)
        page.locator("[data-chart]").first.scroll_into_view_if_needed()
        page.wait_for_selector("[data-drawn]")
        assert browsing.too_wide(page) == []
        assert browsing.violations(page) == []
        assert visit.errors == []


def test_the_report_fits_a_phone_and_leads_to_its_parts(chromium, site):
    with browsing.window(chromium, site, viewport={"width": 360, "height": 740}) as it:
        page = it.open(f"{STUDY}report/")
        page.get_by_role("link", name="The study's own tables").click()

        assert page.url.endswith("#tables")
        assert page.get_by_role("group", name="Net Linux").first.is_visible()
        assert browsing.too_wide(page) == []
        assert browsing.violations(page) == []
        assert it.errors == []


@pytest.mark.parametrize("page_name", ["", "compare/", "runs/", "co-runs/"])
def test_names_that_are_attacks_are_only_shown(visit, page_name):
    page = visit.open(HOSTILE + page_name)
    if page_name == "compare/":
        browsing.draw_chart(page)
        page.locator(".chart .point").first.hover(force=True)

    assert page.evaluate("window.intrusions") == []
    assert browsing.violations(page) == []
    assert visit.errors == []
    assert "<script>alert(1)</script>" in page.locator("main").inner_text()
    assert page.locator("a[href^='javascript:']").count() == 0
    assert page.locator("img").count() == 0


def background(page):
    return page.evaluate("getComputedStyle(document.body).backgroundColor")


def test_the_theme_follows_the_system_until_one_is_chosen(chromium, site):
    with browsing.window(chromium, site, color_scheme="dark") as visit:
        page = visit.open(COMPARE)
        dark = background(page)
        browsing.draw_chart(page)
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


def test_the_citation_is_copied(chromium, site):
    permissions = ["clipboard-read", "clipboard-write"]
    with browsing.window(chromium, site, permissions=permissions) as visit:
        page = visit.open(STUDY)
        page.get_by_role("button", name="Copy").click()

        expect(page.get_by_role("button", name="Copied")).to_be_visible()
        copied = page.evaluate("navigator.clipboard.readText()")
        assert copied.startswith("@techreport{lmu-2010-xen,")
        assert visit.errors == []


def test_the_link_to_a_view_is_copied_as_it_is_now(chromium, site):
    permissions = ["clipboard-read", "clipboard-write"]
    with browsing.window(chromium, site, permissions=permissions) as visit:
        page = visit.open(COMPARE)
        page.get_by_label("Component").select_option("network")
        page.wait_for_url(re.compile("component=network"))
        page.get_by_role("button", name="Copy link").click()

        expect(page.get_by_role("button", name="Copied")).to_be_visible()
        expect(page.get_by_role("button", name="Copy link")).to_be_visible()
        assert page.evaluate("navigator.clipboard.readText()") == page.url


def test_what_may_not_be_copied_is_marked_and_said(visit):
    deny = "() => { navigator.clipboard.writeText = () => Promise.reject() }"
    page = visit.open(STUDY)
    page.evaluate(deny)
    page.get_by_role("button", name="Copy").click()
    expect(page.get_by_role("alert")).to_contain_text("does not let this page copy")
    marked = page.evaluate("getSelection().toString()")
    assert marked.startswith("@techreport{lmu-2010-xen,")

    page = visit.open(COMPARE)
    page.evaluate(deny)
    page.get_by_role("button", name="Copy link").click()
    expect(page.get_by_role("alert")).to_contain_text("is in the address bar")
    assert visit.errors == []


def test_a_cell_leads_to_both_runs_and_their_uploads(visit):
    page = visit.open(f"{COMPARE}?component=network")

    page.get_by_role("link", name=re.compile("^0.247")).first.click()
    assert page.locator(".sum b").all_inner_texts() == [
        "0.247",
        "13.08\xa0MB/s",
        "52.97\xa0MB/s",
    ]
    page.locator("tbody th a").first.click()
    assert "Gebhardt 2010" in page.locator("pre").inner_text()
