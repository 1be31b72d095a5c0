"""Every address of the dashboard is registered, so that tests walk all of them."""

import re

from django.urls import reverse

from dashboard.kit.routes import study_tabs
from dashboard.urls import urlpatterns
from tests.dashboard.routes import PAGES, ROUTES


def test_every_address_is_registered():
    assert set(ROUTES) == {str(pattern.name) for pattern in urlpatterns}


def test_every_page_is_walked_and_nothing_else():
    assert all(PAGES.values())
    assert not any(it.walked for it in ROUTES.values() if it.kind != "page")


def test_a_full_study_leads_to_every_page_that_is_a_tab(text, grow):
    grow(2)
    page = text("/studies/alpha-lab/study/")

    links = re.findall(r'href="([^"]+)"', tabs_of(page))
    assert links == [
        reverse(f"dashboard:{name}", args=["alpha-lab", "study"])
        for name, _tab in study_tabs()
    ]


def tabs_of(page):
    (found,) = re.findall(r'<nav class="tabs".*?</nav>', page, re.DOTALL)
    return found
