"""Every page on a phone, in the widest letters that readers have and in narrow ones.

It fits, keeps the policy, stays in its place and writes no error.
"""

from contextlib import ExitStack

import pytest

from running.browser import FAMILIES, started
from tests.dashboard import browsing, routes
from tests.dashboard.access.questions import NOTE, moved

pytestmark = [pytest.mark.browser, pytest.mark.django_db]

# The smaller one first: a chart that was drawn for it fits the other at once.
WIDTHS = (320, 360)


# The widest letters are the hardest; `make test-proofs` walks with the narrow ones.
WIDEST, *NARROW = FAMILIES


@pytest.fixture(
    scope="module",
    params=[WIDEST, *(pytest.param(each, marks=pytest.mark.proof) for each in NARROW)],
)
def phones(request, chromium, site):
    """Return a family of letters and the windows of two people that show it."""
    with ExitStack() as stack:
        family = request.param
        browser = started(chromium.browser_type, family=family)
        phone = stack.enter_context(browser)
        small = {"viewport": {"width": WIDTHS[0], "height": 740}}
        windows = {
            who: stack.enter_context(browsing.window(phone, site.url, **small))
            for who in ("nobody", "maintainer")
        }
        for visit in windows.values():
            visit.context.add_init_script(NOTE)
        site.sign_in(windows["maintainer"], "maintainer")
        yield family, windows


@pytest.mark.parametrize("name", routes.PAGES)
def test_a_page_fits_a_phone(phones, site, name):
    _family, windows = phones
    for address in routes.PAGES[name]:
        who = "nobody" if name == "login" else "maintainer"
        page = windows[who].open(site.address(address))
        assert moved(page) == [], address
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 740})
            where = f"{address} at {width} px"
            assert browsing.too_wide(page) == [], where
            assert browsing.spilled(page) == [], where
        assert browsing.violations(page) == [], address
        page.close()
        errors, windows[who].errors = windows[who].errors, []
        assert errors == [], address


def test_the_letters_are_those_that_were_asked_for(phones):
    """The control: what this machine has installed plays no part."""
    family, windows = phones
    page = windows["nobody"].open("/")

    assert browsing.drawn_in(page.locator("h1")) == {family}
    assert browsing.drawn_in(page.locator(".lede")) == {family}
    page.close()


def test_a_page_that_does_not_fit_is_found(phones):
    """The control: one long word makes a page too wide, or runs out of its box."""
    _family, windows = phones
    page = windows["nobody"].open("/")
    page.locator(".lede").evaluate("node => { node.style.whiteSpace = 'nowrap'; }")

    assert any("lede" in each for each in browsing.too_wide(page))
    page.locator(".lede").evaluate("node => { node.style.width = '5rem'; }")
    assert any("lede" in each for each in browsing.spilled(page))
    page.close()
