"""A site for all tests of this folder."""

import pytest

from tests.dashboard import served_studies
from tests.dashboard.browser.site import (
    load,
)


@pytest.fixture(scope="package")
def site(django_db_setup, django_db_blocker):
    """Serve the loaded studies; tests do not change them."""
    with served_studies.committed(django_db_blocker):
        load()
        with served_studies.served() as address:
            yield address
