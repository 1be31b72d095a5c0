"""The search by keyboard: its box in the header, and its page."""

import re

import pytest
from playwright.sync_api import expect

from tests.dashboard.browser.site import COMPARE

pytestmark = [pytest.mark.browser, pytest.mark.django_db]


@pytest.mark.parametrize("width", [1440, 390])
def test_ctrl_k_opens_search_with_results(visit, width):
    page = visit.open(COMPARE)
    page.set_viewport_size({"width": width, "height": 800})

    page.keyboard.press("Control+k")
    # The box in the header, or on phones, without space there, the one on the search
    # page.
    expect(page.locator("[type=search][name=q]:focus")).to_be_visible()
    page.keyboard.type("xen throughput")
    page.keyboard.press("Enter")

    expect(page).to_have_url(re.compile(r"/search/\?q=xen\+throughput$"))
    found = page.locator("a[data-result-link]")
    expect(found.first).to_be_visible()
    # The search page has one box only.
    assert page.locator("[type=search]").count() == 1
    found.first.click()
    expect(page.locator("h1")).to_be_visible()
    assert visit.errors == []
