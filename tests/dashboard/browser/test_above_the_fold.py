"""The compare page shows three rows of data without scrolling."""

import pytest
from playwright.sync_api import expect

from tests.dashboard import browser_site
from tests.dashboard.browser.site import COMPARE, ENERGY

pytestmark = [pytest.mark.browser, pytest.mark.django_db]

WINDOWS = [(1400, 900), (390, 844)]
OTHER = ENERGY.replace("energy", "compare")
ROWS = 3
# Bottom edges of the numbers in the first rows, relative to the window.
BOTTOMS = """
() => [...document.querySelectorAll("[data-rows] tr:not(.group)")].slice(0, 3)
  .map((row) => row.querySelector("td b, td").getBoundingClientRect().bottom)
"""


@pytest.mark.parametrize("address", [COMPARE, OTHER])
@pytest.mark.parametrize(("width", "height"), WINDOWS)
def test_three_rows_are_above_the_fold(chromium, site, address, width, height):
    size = {"width": width, "height": height}
    with browser_site.window(chromium, site, viewport=size) as visit:
        page = visit.open(address)
        expect(page.locator("[data-grid]")).to_be_visible()

        bottoms = page.evaluate(BOTTOMS)

    assert len(bottoms) == ROWS
    assert max(bottoms) <= height


def test_query_sorts_and_filters_rows(visit):
    page = visit.open(COMPARE)
    page.get_by_text("More filters").click()
    page.get_by_label("Sort rows").select_option("slowest")
    expect(page.locator(".group")).to_have_count(1)
    page.get_by_label("Effect size").select_option("100")
    expect(page.locator(".chip", has_text="Effect size")).to_be_visible()

    assert browser_site.query(page)["sort"] == "slowest"
    assert browser_site.query(page)["effect"] == "100"
    shown = page.locator("tbody .benchmark-name").all_text_contents()
    page.reload()
    assert page.locator("tbody .benchmark-name").all_text_contents() == shown
    assert page.get_by_label("Sort rows").is_visible()  # active filters are unfolded
    assert visit.errors == []


def test_medians_are_those_of_found_rows(visit):
    page = visit.open(COMPARE)
    before = page.locator("[data-medians]").inner_text()
    page.get_by_label("Find rows").fill("iometer")
    expect(page.locator("[data-medians]")).not_to_have_text(before)

    after = page.locator("[data-medians] b").all_text_contents()
    page.reload()
    assert page.locator("[data-medians] b").all_text_contents() == after
    assert visit.errors == []
