"""A pytest plugin that skips tests which need our servers, a browser or the product.

Loaded with ``-p tests.pure_plugin`` instead of ``-p tests.server_plugin``: no server is
started. Fixtures and markers show what a test needs, so there is no list.
"""

import pytest

FIXTURES = {"db", "transactional_db", "live_server", "valkey"}
MARKS = (
    "django_db",
    "metafor",
    "product",
    "browser",
    "citus",
    "compose",
    "prometheus",
    "slow",
    "tex",
    "walk",
    "wine",
)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(
    config: pytest.Config, items: list[pytest.Item]
) -> None:
    """Keep only the pure tests."""
    left_out = [item for item in items if not is_pure(item)]
    config.hook.pytest_deselected(items=left_out)
    items[:] = filter(is_pure, items)


def is_pure(item: pytest.Item) -> bool:
    """Whether a test needs no server, browser or product."""
    fixtures = set(getattr(item, "fixturenames", ()))
    return not fixtures & FIXTURES and not any(map(item.get_closest_marker, MARKS))
