"""What is pressed: large enough for a finger, or with room around it, on every page."""

from pathlib import Path

import pytest

from tests.dashboard import routes
from tests.dashboard.access.axe import SIZES
from tests.dashboard.access.test_axe import unfold

pytestmark = [pytest.mark.browser, pytest.mark.django_db, pytest.mark.proof]

SMALL = (Path(__file__).parent / "targets.js").read_text()
ADDRESSES = [
    pytest.param(address, id=address)
    for addresses in routes.PAGES.values()
    for address in addresses[:1]
]
SHRINK = """
() => document.querySelectorAll(".site-nav a").forEach((each) => {
  each.textContent = "·";
  each.parentElement.style.gap = "0";
})
"""


@pytest.mark.parametrize("address", ADDRESSES)
def test_what_is_pressed_is_large_enough(windows, site, address):
    who = "nobody" if address == "/login/" else "maintainer"
    page = windows[who].open(site.address(address))
    unfold(page)

    found = []
    for size in SIZES:
        page.set_viewport_size(size)
        page.evaluate(
            "document.querySelectorAll('details').forEach(d => d.open = true)"
        )
        found += [f"{size['width']} px: {each}" for each in page.evaluate(SMALL)]
    page.close()

    assert found == []


def test_links_that_are_small_and_close_would_be_found(windows):
    """The control: what must not be there is seen when it is."""
    page = windows["nobody"].open("/")
    page.evaluate(SHRINK)

    assert page.evaluate(SMALL) != []
    page.close()
