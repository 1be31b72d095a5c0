"""Every URL of the dashboard is registered, so that tests visit all of them."""

import re

from django.urls import reverse

from dashboard.kit.routes import study_tabs
from dashboard.urls import urlpatterns
from tests.dashboard.routes import PAGES, ROUTES


def test_every_url_is_registered():
    assert set(ROUTES) == {str(pattern.name) for pattern in urlpatterns}


def test_exactly_all_pages_have_examples():
    assert all(PAGES.values())
    assert not any(
        route.example_urls for route in ROUTES.values() if route.kind != "page"
    )


def test_a_study_with_all_content_links_to_every_tab(text, grow):
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
