"""Every address of the dashboard is classified, so that none escapes the walks."""

from tests.dashboard import routes


def test_every_address_is_said_to_be_one_thing():
    kinds = [set(routes.PAGES), routes.PARTS, routes.FILES, routes.ACTIONS]

    assert set().union(*kinds) == routes.names()
    assert sum(map(len, kinds)) == len(routes.names())
    assert set(routes.PAGES) >= routes.PERSONAL
