"""Every page in one visit: by axe, by the keyboard, zoomed, spaced and by its targets.

With everything unfolded and drawn. The policy stays on: axe comes in through the
debugger.
"""

import pytest

from tests.dashboard import routes
from tests.dashboard.access import axe, questions

pytestmark = [
    pytest.mark.browser,
    pytest.mark.django_db,
    pytest.mark.proof,
    pytest.mark.walk,
]

# A maintainer sees every state of a page; for a passer-by only its frame differs.
WALKS = [
    pytest.param(who, name, address, id=f"{who} {address}")
    for who, most in (("nobody", 1), ("maintainer", None))
    for name, addresses in routes.PAGES.items()
    for address in addresses[:most]
]


@pytest.mark.parametrize(("who", "name", "address"), WALKS)
def test_every_page_is_for_everybody(windows, site, who, name, address):
    visit = windows[who]
    page = visit.open(site.address(address))
    assert ("/login/" in page.url) is is_refused(who, name)
    wrong = questions.moved(page)
    if who == "maintainer" or name == "login":
        if address == routes.PAGES[name][0]:
            sizes = questions.SIZES if "compare" in address else questions.SIZES[:1]
            for size in sizes:
                wrong += questions.lost_on_the_way(page, *size)
        wrong += questions.bent(page)
    page.set_viewport_size(axe.SIZES[0])
    questions.unfold(page)
    if who == "maintainer":
        wrong += questions.small_targets(page)
    wrong += questions.accessible(page)
    page.close()
    errors, visit.errors = visit.errors, []

    assert wrong + errors == []


def is_refused(who, name):
    """Tell who is asked to sign in: at the sign-in page, who is in is led away."""
    return who == "nobody" and name in {*routes.PERSONAL, "login"}
