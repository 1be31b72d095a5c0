"""Pages with large fonts, with motion and without colors."""

import pytest

from running.headless_browser import start_browser
from tests.dashboard import browser_site, routes
from tests.dashboard.access.page_checks import CUT, MOVING

pytestmark = [pytest.mark.browser, pytest.mark.django_db, pytest.mark.slow]

# A browser with a doubled font size (WCAG 1.4.4): pages must not fix their own.
LARGE = "--blink-settings=defaultFontSize=32"
PUBLIC = [
    pytest.param(addresses[0], id=addresses[0])
    for name, addresses in routes.PAGES.items()
    if name not in routes.PERSONAL
]


@pytest.fixture(scope="module")
def large(chromium, site):
    """Return a stranger's window with a large font."""
    with (
        start_browser(chromium.browser_type, LARGE) as browser,
        browser_site.window(browser, site.url) as visit,
    ):
        yield visit


@pytest.mark.walk
@pytest.mark.parametrize("address", PUBLIC)
def test_page_scales_with_browser_font_size(large, site, address):
    page = large.open(site.address(address))

    assert page.evaluate("parseFloat(getComputedStyle(document.body).fontSize)") >= 28
    assert page.evaluate(CUT) == []
    assert browser_site.too_wide(page) == []
    page.close()


def test_buttons_animate_without_reduced_motion(chromium, site):
    """Control: without the preference for reduced motion, buttons animate."""
    with browser_site.window(chromium, site.url) as visit:
        assert visit.open("/").evaluate(MOVING) != []


def test_current_page_is_marked_without_color(windows):
    page = windows["nobody"].open(f"{routes.XEN_STUDY}runs/")
    page.emulate_media(forced_colors="active")

    line = "each => getComputedStyle(each).borderBottomColor"
    tabs = {tab.inner_text(): tab.evaluate(line) for tab in tabs_of(page)}
    marked = [name for name, color in tabs.items() if color == tabs["Runs"]]
    assert marked == ["Runs"]
    page.close()


def tabs_of(page):
    return page.locator(".tabs a").all()
