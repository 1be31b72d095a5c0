"""A pytest plugin that skips tests which need our servers, a browser or the product.

Loaded with ``-p tests.pure_plugin`` instead of ``-p tests.server_plugin``: no server is
started. Fixtures and markers show what a test needs, so there is no list.
"""

from pathlib import Path
from zlib import crc32

import pytest

FIXTURES = {"db", "transactional_db", "live_server", "valkey"}
MARKS = (
    "django_db",
    "metafor",
    "packages",
    "readers",
    "product",
    "browser",
    "citus",
    "compose",
    "kubernetes",
    "prometheus",
    "slow",
    "tex",
    "walk",
    "wine",
)
# Users run these folders of the product with other Pythons than the server's.
EVERY_DAY = ("tests/agents", "tests/client")
SIXTHS = 6


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(
    config: pytest.Config, items: list[pytest.Item]
) -> None:
    """Keep only the pure tests."""
    left_out = [item for item in items if not is_pure(item)]
    config.hook.pytest_deselected(items=left_out)
    items[:] = filter(is_pure, items)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """With ``--day``, do not import the files of the other five days."""
    day = config.getoption("day", None)
    if day is None or not collection_path.match("test_*.py"):
        return None
    name = collection_path.relative_to(config.rootpath).as_posix()
    return not is_of_day(name, day) or None


def is_of_day(name: str, day: int) -> bool:
    sixth = crc32(name.encode()) % SIXTHS
    return name.startswith(EVERY_DAY) or sixth == day % SIXTHS


def is_pure(item: pytest.Item) -> bool:
    """Whether a test needs no server, browser or product."""
    fixtures = set(getattr(item, "fixturenames", ()))
    return not fixtures & FIXTURES and not any(map(item.get_closest_marker, MARKS))
