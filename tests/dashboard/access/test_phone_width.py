"""Every page on a phone, in the widest font that readers have and in narrow ones.

Pages fit, follow the policy, do not shift and log no errors.
"""

from contextlib import ExitStack

import pytest
from django.conf import settings

from running.headless_browser import FAMILIES, start_browser
from tests.dashboard import browser_site, routes
from tests.dashboard.access.page_checks import NOTE, layout_shifts, visible_problems

pytestmark = [pytest.mark.browser, pytest.mark.django_db]

# The smaller width first: a chart drawn for it also fits the larger one.
WIDTHS = (320, 360)


# The widest font is the hardest case; `make test-slow` also uses the narrow ones.
TRANSLATED = [code for code, _name in settings.LANGUAGES if code != "en"]
WIDEST, *NARROW = FAMILIES
SLOW = (pytest.mark.slow, pytest.mark.walk)


@pytest.fixture(
    scope="module",
    params=[WIDEST, *(pytest.param(each, marks=SLOW) for each in NARROW)],
)
def phones(request, chromium, site):
    """Return a font family and the windows of two users in that font."""
    with ExitStack() as stack:
        family = request.param
        browser = start_browser(chromium.browser_type, family=family)
        phone = stack.enter_context(browser)
        small = {"viewport": {"width": WIDTHS[0], "height": 740}}
        windows = {
            who: stack.enter_context(browser_site.window(phone, site.url, **small))
            for who in ("nobody", "maintainer")
        }
        for visit in windows.values():
            visit.context.add_init_script(NOTE)
        site.sign_in(windows["maintainer"], "maintainer")
        yield family, windows


@pytest.mark.parametrize("name", routes.PAGES)
def test_page_fits_phone(phones, site, name):
    _family, windows = phones
    for address in routes.PAGES[name]:
        who = "nobody" if name == "login" else "maintainer"
        page = windows[who].open(site.address(address))
        assert layout_shifts(page) == [], address
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 740})
            where = f"{address} at {width} px"
            assert browser_site.too_wide(page) == [], where
            assert browser_site.spilled(page) == [], where
        assert browser_site.violations(page) == [], address
        page.close()
        errors, windows[who].errors = windows[who].errors, []
        assert errors == [], address


@pytest.mark.parametrize("name", ["home", "compare", "cell", "upload"])
@pytest.mark.parametrize("language", TRANSLATED)
def test_translated_page_fits_and_is_accessible(phones, site, language, name):
    _family, windows = phones
    visit = windows["maintainer"]
    visit.context.set_extra_http_headers({"Accept-Language": language})
    page = visit.open(site.address(routes.PAGES[name][0]))
    assert page.locator("html").get_attribute("lang") == language
    for width in (390, 1400):
        page.set_viewport_size({"width": width, "height": 844})
        assert browser_site.too_wide(page) == [], width
        assert browser_site.spilled(page) == [], width
    page.emulate_media(reduced_motion="reduce")
    assert visible_problems(page) == []
    page.close()
    visit.context.set_extra_http_headers({})
    errors, visit.errors = visit.errors, []
    assert errors == []


def test_page_uses_bundled_font(phones):
    """Control: fonts of this machine are not used."""
    family, windows = phones
    page = windows["nobody"].open("/")

    assert browser_site.drawn_in(page.locator("h1")) == {family}
    assert browser_site.drawn_in(page.locator(".answer-sentence")) == {family}
    page.close()


def test_too_wide_page_is_detected(phones):
    """Control: a long word makes the page too wide, or overflows its box."""
    _family, windows = phones
    page = windows["nobody"].open("/")
    page.locator(".answer-sentence").evaluate(
        "node => { node.style.cssText = 'min-width: 60rem; white-space: nowrap'; }"
    )

    assert any("answer-sentence" in each for each in browser_site.too_wide(page))
    page.locator(".answer-sentence").evaluate(
        "node => { node.style.cssText = 'width: 5rem; white-space: nowrap'; }"
    )
    assert any("answer-sentence" in each for each in browser_site.spilled(page))
    page.close()
