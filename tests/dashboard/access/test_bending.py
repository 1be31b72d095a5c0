"""Pages in large letters, in motion and without colours."""

import pytest

from running.browser import started
from tests.dashboard import browsing, routes
from tests.dashboard.access.questions import CUT, MOVING

pytestmark = [pytest.mark.browser, pytest.mark.django_db, pytest.mark.proof]

# A browser set to letters of twice the size (1.4.4): no page fixes its own.
LARGE = "--blink-settings=defaultFontSize=32"
PUBLIC = [
    pytest.param(addresses[0], id=addresses[0])
    for name, addresses in routes.PAGES.items()
    if name not in routes.PERSONAL
]


@pytest.fixture(scope="module")
def large(chromium, site):
    """The window of somebody whose letters are large; nobody is signed in."""
    with (
        started(chromium.browser_type, LARGE) as browser,
        browsing.window(browser, site.url) as visit,
    ):
        yield visit


@pytest.mark.parametrize("address", PUBLIC)
def test_a_page_grows_with_the_letters_of_the_browser(large, site, address):
    page = large.open(site.address(address))

    assert page.evaluate("parseFloat(getComputedStyle(document.body).fontSize)") >= 28
    assert page.evaluate(CUT) == []
    assert browsing.too_wide(page) == []
    page.close()


def test_buttons_do_move_for_who_has_nothing_against_it(chromium, site):
    """The control: without the wish for less motion there is some."""
    with browsing.window(chromium, site.url) as visit:
        assert visit.open("/").evaluate(MOVING) != []


def test_the_page_one_is_on_is_marked_without_colours(windows):
    page = windows["nobody"].open(f"{routes.XEN}runs/")
    page.emulate_media(forced_colors="active")

    line = "each => getComputedStyle(each).borderBottomColor"
    tabs = {tab.inner_text(): tab.evaluate(line) for tab in tabs_of(page)}
    marked = [name for name, colour in tabs.items() if colour == tabs["Runs"]]
    assert marked == ["Runs"]
    page.close()


def tabs_of(page):
    return page.locator(".tabs a").all()
