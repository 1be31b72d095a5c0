"""Addresses of before the words of the field still lead somewhere."""

import pytest

BEFORE = {
    "/campaigns/lmu/xen/": "/studies/lmu/xen/",
    "/campaigns/lmu/xen/compare/?scenario=single&pin=1,2": (
        "/studies/lmu/xen/compare/?scenario=single&pin=1,2"
    ),
    "/campaigns/lmu/xen/influence/?component=network": (
        "/studies/lmu/xen/factor-effects/?component=network"
    ),
    "/campaigns/lmu/xen/history/": "/studies/lmu/xen/trend/",
    "/campaigns/lmu/history/": "/studies/lmu/history/",
    "/snapshots/7/": "/versions/7/",
    "/snapshots/7.csv": "/versions/7.csv",
    "/freezings/3/": "/publishing/3/",
    "/words/": "/glossary/",
    "/labs/lmu/deeds/": "/labs/lmu/audit-log/",
}


@pytest.mark.parametrize(("before", "now"), BEFORE.items())
def test_it_leads_to_where_the_page_is_now(client, before, now):
    answer = client.get(before)

    assert (answer.status_code, answer["Location"]) == (301, now)


def test_nothing_is_changed_through_an_old_address(client):
    assert client.post("/campaigns/lmu/xen/freeze/").status_code == 405


def test_what_was_cited_is_found(client, published_version):
    answer = client.get(f"/snapshots/{published_version.pk}/", follow=True)

    assert answer.status_code == 200


@pytest.fixture
def published_version(pair, publish):
    return publish(pair.study)
