"""One site for the whole folder."""

import pytest

from tests.dashboard import serving
from tests.dashboard.browser.site import (
    load,
)


@pytest.fixture(scope="package")
def site(django_db_setup, django_db_blocker):
    """Serve what is loaded; the tests look at it and change nothing."""
    with serving.committed(django_db_blocker):
        load()
        with serving.served() as address:
            yield address
