"""A pytest plugin that leaves out what needs our servers, a browser or the product.

Loaded with ``-p tests.pure`` instead of ``-p tests.services``: nothing is started then.
What a test needs is told by its fixtures and marks, so there is no list to be kept.
"""

import pytest

FIXTURES = {"db", "transactional_db", "live_server", "valkey"}
MARKS = (
    "django_db",
    "product",
    "browser",
    "citus",
    "compose",
    "prometheus",
    "proof",
    "tex",
    "walk",
    "wine",
)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(
    config: pytest.Config, items: list[pytest.Item]
) -> None:
    """Keep the pure tests."""
    left_out = [item for item in items if not is_pure(item)]
    config.hook.pytest_deselected(items=left_out)
    items[:] = filter(is_pure, items)


def is_pure(item: pytest.Item) -> bool:
    """Whether a test needs nothing that somebody has to start for it."""
    fixtures = set(getattr(item, "fixturenames", ()))
    return not fixtures & FIXTURES and not any(map(item.get_closest_marker, MARKS))
