"""Loading, failed and missing content."""

import re

import pytest
from playwright.sync_api import expect

from tests.dashboard import browser_site, routes
from tests.dashboard.access import axe

pytestmark = [pytest.mark.browser, pytest.mark.django_db]

COMPARE = f"{routes.XEN_STUDY}compare/?component=network"
LONG = f"{routes.XEN_STUDY}compare/?scenario=all"
ROWS_IN_SIGHT = 20


@pytest.fixture
def visit(chromium, site):
    """Return a separate window, so that held requests do not block other tests."""
    with browser_site.window(chromium, site.url) as opened:
        yield opened


def hold(visit, address):
    """Hold matching requests; return the list of held requests."""
    held = []
    visit.context.route(address, lambda route: held.append(route))
    return held


def test_failed_chart_is_reported_and_retried(visit):
    held = hold(visit, "**/compare/chart/**")
    page = visit.open(COMPARE)
    chart = page.locator("[data-chart]")
    chart.scroll_into_view_if_needed()
    assert chart.locator(".chart-canvas").get_attribute("aria-busy") == "true"

    while not held:
        page.wait_for_timeout(20)
    held.pop().abort()
    expect(chart.get_by_role("alert")).to_contain_text("The table has the same")
    assert not chart.get_by_role("button", name="PNG").is_visible()
    assert axe.violations(page) == []
    visit.context.unroute("**/compare/chart/**")
    chart.get_by_role("button", name="Try again").press("Enter")

    expect(chart).to_have_attribute("data-rendered", "")
    picture = chart.get_by_role("img", name="Ratio chart")
    expect(picture).to_be_focused()
    assert not chart.get_by_role("alert").is_visible()
    assert browser_site.violations(page) == []


def test_late_chart_keeps_scroll_position(visit):
    held = hold(visit, "**/compare/chart/**")
    page = visit.open(COMPARE)
    page.set_viewport_size({"width": 320, "height": 400})
    last = page.get_by_role("contentinfo").get_by_role("link").last
    last.focus()

    while not held:
        page.wait_for_timeout(20)
    before = last.bounding_box()["y"]
    held.pop().continue_()
    expect(page.locator("[data-rendered]")).to_have_count(1)

    assert abs(last.bounding_box()["y"] - before) <= 1


def test_missing_plotly_is_requested_again(visit):
    visit.context.route("**/plotly*", lambda route: route.abort())
    page = visit.open(COMPARE)
    chart = page.locator("[data-chart]")
    chart.scroll_into_view_if_needed()
    expect(chart.get_by_role("alert")).to_be_visible()

    visit.context.unroute("**/plotly*")
    chart.get_by_role("button", name="Try again").click()

    expect(chart).to_have_attribute("data-rendered", "")


def test_card_shows_loading_state(visit):
    held = hold(visit, "**/compare/cell/**")
    page = visit.open(COMPARE)
    card = page.locator("#cell-card")
    page.locator(".cell[class*=heat-] a").first.hover()

    expect(card).to_have_attribute("aria-busy", "true")
    expect(card).to_contain_text("Loading")
    held[0].continue_()

    expect(card).to_contain_text("MB/s")
    expect(card).to_have_attribute("aria-busy", "false")


def test_failed_card_links_to_result_page(visit):
    visit.context.route("**/compare/cell/**", lambda route: route.abort())
    page = visit.open(COMPARE)
    page.locator(".cell[class*=heat-] a").first.hover()

    card = page.locator("#cell-card")
    expect(card).to_contain_text("Click or press Enter to open the result page")
    page.keyboard.press("Escape")
    expect(card).to_be_hidden()


def test_unreachable_server_is_reported_until_back(visit):
    page = visit.open(COMPARE)
    before = page.locator(".cell b").all_inner_texts()
    visit.context.route(re.compile("compare/.*component="), lambda route: route.abort())
    page.get_by_label("Component").select_option("CPU")

    alert = page.locator("[data-connection-error]")
    expect(alert).to_contain_text("The server could not be reached")
    assert page.locator(".cell b").all_inner_texts() == before
    visit.context.unroute(re.compile("compare/.*component="))
    page.get_by_label("Component").select_option("memory")

    expect(alert).to_be_hidden()
    expect(page.locator(".group")).to_have_count(1)


def test_server_error_is_reported_and_table_kept(visit):
    def fail(route):
        route.fulfill(status=500, body="")

    page = visit.open(LONG)
    before = page.locator("tbody tr").count()
    visit.context.route(re.compile("compare/.*component="), fail)
    page.get_by_label("Component").select_option("CPU")

    expect(page.locator("[data-connection-error]")).to_contain_text("could not process")
    assert page.locator("tbody tr").count() == before > ROWS_IN_SIGHT
