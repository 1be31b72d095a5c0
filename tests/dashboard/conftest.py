"""Pages with something on them."""

import pytest

from benchmarks.models import Cell


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
    """Get a page and return its text as a reader sees it: words without tags."""

    def get(address, **kwargs):
        answer = client.get(address, **kwargs)
        assert answer.status_code == 200, answer.status_code
        return answer.content.decode()

    return get
