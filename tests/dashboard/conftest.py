"""Pages with something on them."""

from collections.abc import Iterator
from typing import Any

import pytest

from benchmarks.models import Cell
from running import browser
from tests.dashboard import browsing


@pytest.fixture(scope="session", autouse=True)
def orm_beside_playwright() -> Iterator[None]:
    """Let the tests query while Playwright's event loop runs in the same thread."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "true")
        yield


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    """One Chromium for the tests of a module."""
    with browser.chromium() as started:
        yield started


@pytest.fixture
def visit(chromium: Any, site: str) -> Iterator[browsing.Visit]:
    """One window on the site that a module serves."""
    with browsing.window(chromium, site) as opened:
        yield opened


@pytest.fixture
def pair(submit, run_document, xen):
    """Submit a native and a Xen run of one case; return the Xen cell."""
    submit(
        run_document(52.97, document="Gebhardt 2010", table="Net Linux"),
        run_document(13.08, document="Gebhardt 2010", system=xen),
    )
    return Cell.objects.get(system__hypervisor="Xen")


@pytest.fixture
def text(client):
    """Get a page that is there and return its HTML."""

    def get(address, **kwargs):
        answer = client.get(address, **kwargs)
        assert answer.status_code == 200, answer.status_code
        return answer.content.decode()

    return get
