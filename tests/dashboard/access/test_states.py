"""What a page says while something is on its way, does not come, or is not there."""

import re

import pytest
from playwright.sync_api import expect

from tests.dashboard import browsing, routes
from tests.dashboard.access import axe

pytestmark = [pytest.mark.browser, pytest.mark.django_db]

COMPARE = f"{routes.XEN}compare/?component=network"
LONG = f"{routes.XEN}compare/?scenario=all"
ROWS_IN_SIGHT = 20


@pytest.fixture
def visit(chromium, site):
    """A window of its own: what is held up here must not hold up other tests."""
    with browsing.window(chromium, site.url) as opened:
        yield opened


def hold(visit, address):
    """Keep what is asked for from being answered; return the list it is kept in."""
    held = []
    visit.context.route(address, lambda route: held.append(route))
    return held


def test_a_chart_that_was_not_fetched_says_so_and_is_fetched_again(visit):
    held = hold(visit, "**/compare/chart/**")
    page = visit.open(COMPARE)
    chart = page.locator("[data-chart]")
    chart.scroll_into_view_if_needed()
    assert chart.locator(".chart-canvas").get_attribute("aria-busy") == "true"

    while not held:
        page.wait_for_timeout(20)
    held.pop().abort()
    expect(chart.get_by_role("alert")).to_contain_text("The table holds the same")
    assert not chart.get_by_role("button", name="PNG").is_visible()
    assert axe.complaints(page) == []
    visit.context.unroute("**/compare/chart/**")
    chart.get_by_role("button", name="Try again").press("Enter")

    expect(chart).to_have_attribute("data-drawn", "")
    picture = chart.get_by_role("img", name="Chart of the ratios")
    expect(picture).to_be_focused()
    assert not chart.get_by_role("alert").is_visible()
    assert browsing.violations(page) == []


def test_a_chart_that_comes_late_leaves_who_is_below_it_in_place(visit):
    held = hold(visit, "**/compare/chart/**")
    page = visit.open(COMPARE)
    page.set_viewport_size({"width": 320, "height": 400})
    last = page.get_by_role("contentinfo").get_by_role("link").last
    last.focus()

    while not held:
        page.wait_for_timeout(20)
    before = last.bounding_box()["y"]
    held.pop().continue_()
    expect(page.locator("[data-drawn]")).to_have_count(1)

    assert abs(last.bounding_box()["y"] - before) <= 1


def test_without_plotly_the_next_attempt_asks_for_it_again(visit):
    visit.context.route("**/plotly*", lambda route: route.abort())
    page = visit.open(COMPARE)
    chart = page.locator("[data-chart]")
    chart.scroll_into_view_if_needed()
    expect(chart.get_by_role("alert")).to_be_visible()

    visit.context.unroute("**/plotly*")
    chart.get_by_role("button", name="Try again").click()

    expect(chart).to_have_attribute("data-drawn", "")


def test_a_card_shows_that_it_is_on_its_way(visit):
    held = hold(visit, "**/compare/cell/**")
    page = visit.open(COMPARE)
    card = page.locator("#cell-card")
    page.locator(".cell[class*=heat-] a").first.hover()

    expect(card).to_have_attribute("aria-busy", "true")
    expect(card).to_contain_text("Loading")
    held[0].continue_()

    expect(card).to_contain_text("MB/s")
    expect(card).to_have_attribute("aria-busy", "false")


def test_a_card_that_does_not_come_says_where_the_same_stands(visit):
    visit.context.route("**/compare/cell/**", lambda route: route.abort())
    page = visit.open(COMPARE)
    page.locator(".cell[class*=heat-] a").first.hover()

    card = page.locator("#cell-card")
    expect(card).to_contain_text("Enter or a click opens its page")
    page.keyboard.press("Escape")
    expect(card).to_be_hidden()


def test_a_server_that_is_away_is_told_until_it_is_back(visit):
    page = visit.open(COMPARE)
    before = page.locator(".cell b").all_inner_texts()
    visit.context.route(re.compile("compare/.*component="), lambda route: route.abort())
    page.get_by_label("Component").select_option("CPU")

    alert = page.locator("[data-away]")
    expect(alert).to_contain_text("The server was not reached")
    assert page.locator(".cell b").all_inner_texts() == before
    visit.context.unroute(re.compile("compare/.*component="))
    page.get_by_label("Component").select_option("memory")

    expect(alert).to_be_hidden()
    expect(page.locator(".group")).to_have_count(1)


def test_a_server_that_fails_is_told_and_the_table_stays_whole(visit):
    def fail(route):
        route.fulfill(status=500, body="")

    page = visit.open(LONG)
    before = page.locator("tbody tr").count()
    visit.context.route(re.compile("compare/.*component="), fail)
    page.get_by_label("Component").select_option("CPU")

    expect(page.locator("[data-away]")).to_contain_text("could not answer")
    assert page.locator("tbody tr").count() == before > ROWS_IN_SIGHT
