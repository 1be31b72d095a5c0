"""Atom feeds: public ones, and private ones by a secret URL."""

import re
from xml.etree import ElementTree

import pytest
from django.contrib.auth import get_user_model

from benchmarks.collaboration.study_events import notify_version_published
from benchmarks.models import FeedToken, Membership

ATOM = "{http://www.w3.org/2005/Atom}"


@pytest.fixture
def feed_events(study, private_study, other_lab):
    """Record events of a public study with a hostile title and of a private one."""
    study.title = "A <b>study</b> & more"
    study.save()
    notify_version_published(study, 1, 7)
    notify_version_published(private_study, 2, 8)


def titles(answer):
    assert answer.status_code == 200
    assert answer["Content-Type"].startswith("application/atom+xml")
    feed = ElementTree.fromstring(answer.content)
    return [it.findtext(f"{ATOM}title") for it in feed.iter(f"{ATOM}entry")]


def secret_address(client):
    page = client.post("/subscriptions/feed-url/").content.decode()
    found = re.search(r"token=(vf_[\w-]+)", page)
    return f"/feed.atom?token={found[1]}"


OPEN = "A <b>study</b> & more: Version 1 was published"
HIDDEN = "A secret: Version 2 was published"


def test_public_events_are_in_public_feed(client, feed_events):
    for query in ("", "?lab=alpha-lab", "?study=alpha-lab/study"):
        answer = client.get(f"/feed.atom{query}")
        assert titles(answer) == [OPEN]
        assert "public" in answer["Cache-Control"]
    assert titles(client.get("/feed.atom?lab=beta-lab")) == []
    assert client.get("/feed.atom?study=alpha-lab/secret-study").status_code == 404
    assert client.get("/feed.atom?study=alpha-lab/missing").status_code == 404


def test_secret_url_shows_what_user_may_see(client, person, feed_events):
    client.force_login(person)
    address = secret_address(client)
    client.logout()

    answer = client.get(address)

    assert titles(answer) == [HIDDEN, OPEN]
    assert "no-store" in answer["Cache-Control"]
    assert b"vf_" not in answer.content
    assert titles(client.get(f"{address}&study=alpha-lab/secret-study")) == [HIDDEN]
    Membership.objects.all().delete()
    assert titles(client.get(address)) == [OPEN]


def test_secret_is_stored_as_digest_and_can_be_revoked(client, person, feed_events):
    client.force_login(person)
    first = secret_address(client)
    assert first.rpartition("_")[2] not in FeedToken.objects.get().digest
    second = secret_address(client)

    assert client.get(first).status_code == 404
    assert client.get(second).status_code == 200
    client.post("/subscriptions/feed-url/revoke/")
    assert client.get(second).status_code == 404


def test_inactive_user_reads_nothing(client, person, feed_events):
    client.force_login(person)
    address = secret_address(client)
    get_user_model().objects.update(is_active=False)

    assert client.get(address).status_code == 404


@pytest.mark.parametrize(
    "token", ["x", "vf_", "vf_a_b", "vf_\0_b", "vf_é_b", "_" * 999]
)
def test_wrong_secret_is_404(client, feed_events, token):
    answer = client.get("/feed.atom", {"token": token})

    assert answer.status_code == 404


def test_study_page_links_to_feed(text, study):
    page = text("/studies/alpha-lab/study/")

    assert 'type="application/atom+xml"' in page
    assert "/feed.atom?study=alpha-lab/study" in page


@pytest.mark.parametrize("character", ["\ufffe", "\uffff", "\x1f", "\x0b"])
def test_feed_is_valid_xml_for_texts_stored_by_older_versions(
    client, study, lab, character
):
    study.title, lab.name = f"a{character}b", f"c{character}d"
    study.save()
    lab.save()
    notify_version_published(study, 1, 7)

    for query in ("", "?study=alpha-lab/study"):
        assert titles(client.get(f"/feed.atom{query}")) == [
            "a\ufffdb: Version 1 was published"
        ]
