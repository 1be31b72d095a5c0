"""Every page as readers bend it: zoom, large text, wide letters, less motion."""

import pytest

from running.browser import started
from tests.dashboard import browsing, routes

pytestmark = [pytest.mark.browser, pytest.mark.django_db, pytest.mark.proof]

ADDRESSES = [
    pytest.param(address, id=address)
    for addresses in routes.PAGES.values()
    for address in addresses[:2]
]
# 1280 x 1024 at 400 %.
ZOOMED = {"width": 320, "height": 256}
# WCAG 1.4.12, in a sheet that the policy lets in: the page's own script makes it.
WIDE = """
() => {
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(`* { line-height: 1.5 !important; letter-spacing: 0.12em !important;
    word-spacing: 0.16em !important; } p { margin-block-end: 2em !important; }`);
  document.adoptedStyleSheets.push(sheet);
}
"""
# A browser set to letters of twice the size (1.4.4): no page fixes its own.
LARGE = "--blink-settings=defaultFontSize=32"
PUBLIC = [
    pytest.param(addresses[0], id=addresses[0])
    for name, addresses in routes.PAGES.items()
    if name not in routes.PERSONAL
]
# Boxes that hide a part of their own text and cannot be scrolled.
CUT = """
() => [...document.body.querySelectorAll("*")].filter((each) => {
  const { overflowX, overflowY, clipPath } = getComputedStyle(each);
  if (clipPath !== "none" || each.closest("svg, select, .js-plotly-plot")) return false;
  if (!each.checkVisibility() || !each.textContent.trim()) return false;
  return (overflowX === "hidden" && each.scrollWidth > each.clientWidth + 1)
    || (overflowY === "hidden" && each.scrollHeight > each.clientHeight + 1);
}).map((each) => each.outerHTML.slice(0, 120))
"""
MOVING = """
() => [...document.body.querySelectorAll("*")].filter((each) => {
  const { transitionDuration, animationName } = getComputedStyle(each);
  return animationName !== "none" || parseFloat(transitionDuration) > 0;
}).map((each) => each.outerHTML.slice(0, 120))
"""


@pytest.mark.parametrize("address", ADDRESSES)
def test_a_page_can_be_zoomed_spaced_and_stilled(windows, site, address):
    who = "nobody" if address == "/login/" else "maintainer"
    page = windows[who].open(site.address(address))
    page.set_viewport_size(ZOOMED)

    assert browsing.too_wide(page) == []
    assert page.evaluate(MOVING) == []
    page.evaluate(WIDE)
    assert page.evaluate(CUT) == []
    assert browsing.too_wide(page) == []
    assert browsing.violations(page) == []
    page.close()


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
