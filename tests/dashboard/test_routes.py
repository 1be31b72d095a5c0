"""Every address of the dashboard is said, so that none escapes the walks."""

import re

from django.urls import reverse

from bench.routes import PAGES, ROUTES
from benchmarks.studies.lists import has_pages
from dashboard.urls import urlpatterns


def test_every_address_is_said_to_be_one_thing():
    assert set(ROUTES) == {str(pattern.name) for pattern in urlpatterns}


def test_every_page_is_walked_and_nothing_else():
    assert all(PAGES.values())
    assert not any(it.walked for it in ROUTES.values() if it.kind != "page")


def test_a_full_study_leads_to_every_page_that_is_a_tab(text, grow):
    grow(2)
    page = text("/studies/alpha-lab/study/")

    links = set(re.findall(r'href="([^"]+)"', tabs_of(page)))
    on_request = {name for name in ROUTES if f"has_{name}" in has_pages()}
    tabs = {name for name, it in ROUTES.items() if it.is_tab} | on_request
    assert links == {
        reverse(f"dashboard:{name}", args=["alpha-lab", "study"]) for name in tabs
    }


def tabs_of(page):
    (found,) = re.findall(r'<nav class="tabs".*?</nav>', page, re.DOTALL)
    return found
