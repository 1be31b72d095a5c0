"""Every address of the dashboard is said, so that none escapes the walks."""

from bench.routes import PAGES, ROUTES
from dashboard.urls import urlpatterns


def test_every_address_is_said_to_be_one_thing():
    assert set(ROUTES) == {str(pattern.name) for pattern in urlpatterns}


def test_every_page_is_walked_and_nothing_else():
    assert all(PAGES.values())
    assert not any(it.walked for it in ROUTES.values() if it.kind != "page")
