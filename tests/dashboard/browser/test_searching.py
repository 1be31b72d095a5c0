"""The search from anywhere: its box in the header, its page, by the keyboard alone."""

import re

import pytest
from playwright.sync_api import expect

from tests.dashboard.browser.site import COMPARE

pytestmark = [pytest.mark.browser, pytest.mark.django_db]


@pytest.mark.parametrize("width", [1440, 390])
def test_ctrl_k_and_some_words_lead_to_what_has_them(visit, width):
    page = visit.open(COMPARE)
    page.set_viewport_size({"width": width, "height": 800})

    page.keyboard.press("Control+k")
    # The header's, or on a phone, where that has no room, the one of the search's page.
    expect(page.locator("[type=search][name=q]:focus")).to_be_visible()
    page.keyboard.type("xen throughput")
    page.keyboard.press("Enter")

    expect(page).to_have_url(re.compile(r"/search/\?q=xen\+throughput$"))
    found = page.locator("a[data-found]")
    expect(found.first).to_be_visible()
    # On its own page there is but one box.
    assert page.locator("[type=search]").count() == 1
    found.first.click()
    expect(page.locator("h1")).to_be_visible()
    assert visit.errors == []
