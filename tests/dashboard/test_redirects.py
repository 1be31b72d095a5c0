"""Redirects of old URLs."""

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
def test_old_urls_redirect_to_the_current_page(client, before, now):
    answer = client.get(before)

    assert (answer.status_code, answer["Location"]) == (301, now)


def test_old_urls_do_not_accept_post(client):
    assert client.post("/campaigns/lmu/xen/freeze/").status_code == 405


def test_cited_urls_are_found(client, published_version):
    answer = client.get(f"/snapshots/{published_version.pk}/", follow=True)

    assert answer.status_code == 200


@pytest.fixture
def published_version(pair, publish):
    return publish(pair.study)
