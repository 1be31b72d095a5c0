"""The search page: matches, permissions and links."""

import re

import pytest

from benchmarks.labs.quotas import MISSES_PER_HOUR
from benchmarks.models import Host, SearchMiss, Study, System

LINKS = re.compile(r'data-result-link\s+href="([^"]+)"')


@pytest.fixture
def links_for(client):
    """Return a function that returns the links of the results for some words."""

    def asked(words):
        answer = client.get("/search/", {"q": words})
        assert answer.status_code == 200
        text = answer.content.decode()
        return [link.replace("&amp;", "&") for link in LINKS.findall(text)]

    return asked


@pytest.mark.parametrize(
    ("words", "place"),
    [
        ("study", "/studies/alpha-lab/study/"),
        ("xen 3.3", "/studies/alpha-lab/study/runs/?system="),
        ("alpha", "/labs/alpha-lab/hosts/alpha/"),
        (
            "through netw",
            "/studies/alpha-lab/study/compare/?scenario=all&metrics=all&q=",
        ),
        (
            "xen through",
            "/studies/alpha-lab/study/compare/?scenario=all&metrics=all&q=",
        ),
        ("ALPHA lab", "/labs/alpha-lab/"),
    ],
)
def test_search_matches_beginnings_of_all_words(client, links_for, pair, words, place):
    links = links_for(words)

    assert any(link.startswith(place) for link in links), links
    statuses = {client.get(link).status_code for link in links}
    assert statuses <= {200, 302}  # uploading needs an account


WORDS_OF_VISITORS = {
    "database": "/work/databases/",
    "databases": "/work/databases/",
    "postgres": "/work/databases/",
    "oltp": "/work/databases/",
    "http server": "/work/web-servers/",
    "ssd": "/work/disk-random-read/",
    "proxmox": "/hypervisors/kvm/",
    "vsphere": "/hypervisors/vmware-esxi/",
    "AMD-V": "/settings/hw-virt/",
    "nested": "/settings/nested/",
    "boot time": "/start-up/",
    "how many VMs": "/density/",
    "cpu pinning": "/settings/pinning/",
    "nonsuch_option": "/studies/alpha-lab/study/",
    "confidence interval": "/glossary/#interval",
    "export csv": "/data/",
    "alpha": "/machines/alpha/",
}


@pytest.mark.parametrize(("words", "place"), WORDS_OF_VISITORS.items())
def test_words_of_visitors_lead_to_a_page(client, links_for, pair, words, place):
    System.objects.exclude(hypervisor="native").update(
        options={"hw_virt": "on", "nonsuch_option": "on"}
    )

    links = links_for(words)

    assert any(link.startswith(place) for link in links), links
    assert {client.get(link.partition("#")[0]).status_code for link in links} == {200}
    assert not SearchMiss.objects.exists()


@pytest.mark.parametrize(
    "words", ["", "   ", "&|!:*()'\"\\", "%", "nonsense", "xen nonsense"]
)
def test_search_without_a_match_has_suggestions(client, links_for, pair, words):
    links = links_for(words)

    assert "/work/databases/" in links
    assert ("/hypervisors/xen/" in links) == ("xen" in words)


def test_misses_are_counted_by_their_words_for_editors(client, person, pair):
    for words in ("Xyzzy  Plugh", "xyzzy plugh", "a@example.org", "%", "xen"):
        client.get("/search/", {"q": words})

    assert list(SearchMiss.objects.values_list("words", "count")) == [
        ("xyzzy plugh", 2)
    ]
    client.force_login(person)
    assert b"xyzzy plugh" in client.get("/search/misses/").content


def test_words_of_members_stay_in_their_lab(client, person, other_lab):
    client.force_login(person)
    client.get("/search/", {"q": "secretname"})

    assert not SearchMiss.objects.exists()


def test_counted_misses_are_limited_by_network_and_number(client, db, monkeypatch):
    monkeypatch.setattr("benchmarks.collaboration.search_misses.MAX_ROWS", 3)
    for number in range(MISSES_PER_HOUR + 1):
        client.get("/search/", {"q": f"zz{number:02}zz"}, REMOTE_ADDR="192.0.2.7")

    words = list(SearchMiss.objects.order_by("words").values_list("words", flat=True))
    assert words == [f"zz{MISSES_PER_HOUR - 1 - n:02}zz" for n in (2, 1, 0)]


@pytest.mark.parametrize(
    ("slip", "meant"),
    [
        ("throughptu", "throughput"),
        ("xne 3.3 xen", ""),
        ("alpha netwrok", "alpha network"),
    ],
)
def test_typo_suggests_similar_words(links_for, pair, slip, meant):
    links = [link for link in links_for(slip) if link.startswith("?q=")]

    assert links == ([f"?q={meant.replace(' ', '%20')}"] if meant else [])


def test_slug_matches_by_parts(links_for, study):
    Study.objects.filter(pk=study.pk).update(slug="lmu-2010-xen", title="Other")

    for words in ("lmu-2010-xen", "2010", "lmu_2010", "xen lmu"):
        links = [link for link in links_for(words) if link.startswith("/studies/alpha")]
        assert links == ["/studies/alpha-lab/lmu-2010-xen/"], words


def test_private_studies_match_for_own_lab_only(
    client, links_for, submit, run_document, private_study, person
):
    Study.objects.filter(slug="study").delete()
    Host.objects.update(title="A hidden machine")
    submit(run_document(study=private_study.slug))
    asked = ("secret", "native", "hidden", "network", "alpha", "hiden")

    def objects_for(words):
        kinds = ("/studies/alpha-lab/", "/labs/", "/machines/", "?q=")
        return [link for link in links_for(words) if link.startswith(kinds)]

    assert not any(objects_for(words) for words in asked)

    client.force_login(person)
    assert all(objects_for(words) for words in asked)
