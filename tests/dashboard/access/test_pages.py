"""Every page: axe, keyboard, zoom, text spacing and target sizes.

Everything is unfolded and drawn. The content security policy is active: axe is injected
by the debugger.
"""

import pytest

from tests.dashboard import routes
from tests.dashboard.access import axe, page_checks

pytestmark = [
    pytest.mark.browser,
    pytest.mark.django_db,
    pytest.mark.slow,
    pytest.mark.walk,
]

# Maintainers see every state of a page; for strangers, only the frame differs.
WALKS = [
    pytest.param(who, name, address, id=f"{who} {address}")
    for who, most in (("nobody", 1), ("maintainer", None))
    for name, addresses in routes.PAGES.items()
    for address in addresses[:most]
]


@pytest.mark.parametrize(("who", "name", "address"), WALKS)
def test_every_page_is_accessible(windows, site, who, name, address):
    visit = windows[who]
    page = visit.open(site.address(address))
    assert ("/login/" in page.url) is is_refused(who, name)
    wrong = page_checks.layout_shifts(page)
    if who == "maintainer" or name == "login":
        if address == routes.PAGES[name][0]:
            sizes = page_checks.SIZES if "compare" in address else page_checks.SIZES[:1]
            for size in sizes:
                wrong += page_checks.keyboard_problems(page, *size)
        wrong += page_checks.zoom_problems(page)
    page.set_viewport_size(axe.SIZES[0])
    page_checks.unfold(page)
    if who == "maintainer":
        wrong += page_checks.small_targets(page)
    wrong += page_checks.visible_problems(page)
    page.close()
    errors, visit.errors = visit.errors, []

    assert wrong + errors == []


def is_refused(who, name):
    """Return whether the user is redirected: to sign-in, or away from sign-in."""
    return who == "nobody" and name in {*routes.PERSONAL, "login"}
