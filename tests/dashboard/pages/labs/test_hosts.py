"""Machines are registered in the browser, from what they print of themselves."""

import pytest

from benchmarks.models import Host

ADDRESS = "/labs/alpha-lab/new-host/"
LSCPU = """Architecture:            x86_64
CPU(s):                  4
Model name:              Xeon <b>E3</b>
Core(s) per socket:      4
Socket(s):               1
"""


@pytest.fixture
def carol(client, person):
    client.force_login(person)
    return client


def sent(**facts):
    return {"fact-name": list(facts), "fact-value": list(facts.values())}


def test_what_was_pasted_comes_back_as_facts_and_nothing_is_stored(carol):
    answer = carol.post(ADDRESS, {"do": "read", "output": LSCPU})

    page = answer.content.decode()
    assert answer.status_code == 200
    assert 'value="cores"' in page
    assert 'value="Xeon &lt;b&gt;E3&lt;/b&gt;"' in page
    assert not Host.objects.exists()


def test_what_was_typed_goes_before_what_was_read(carol):
    answer = carol.post(
        ADDRESS, {"do": "read", "output": LSCPU, **sent(cores="8", disk="SSD")}
    )

    page = answer.content.decode()
    assert 'value="8"' in page
    assert 'value="SSD"' in page


def test_a_text_that_says_nothing_is_told(carol):
    page = carol.post(ADDRESS, {"do": "read", "output": "hello"}).content.decode()

    assert "Nothing was recognised" in page


def test_it_is_registered_under_a_short_name_of_its_own(carol, lab):
    answer = carol.post(
        ADDRESS, {"title": "Rack 7, left", **sent(cores="4", kernel="6.1", disk="")}
    )

    host = Host.objects.get()
    assert (host.lab, host.slug, host.title) == (lab, "rack-7-left", "Rack 7, left")
    assert host.facts == {"cores": 4, "kernel": "6.1"}
    assert answer.url == "/labs/alpha-lab/hosts/rack-7-left/"


@pytest.mark.parametrize(
    ("changes", "status"),
    [
        ({"title": ""}, 422),
        ({"slug": "a b"}, 422),
        ({"fact-name": ["", "x"], "fact-value": ["4", "5"]}, 422),
        ({"fact-name": ["x", "x"], "fact-value": ["4", "5"]}, 422),
        ({"fact-name": ["x" * 101], "fact-value": ["4"]}, 422),
        ({"fact-name": ["x"], "fact-value": ["\u202e"]}, 422),
        ({"slug": "alpha"}, 409),
    ],
)
def test_what_is_wrong_is_said_and_what_was_filled_in_stays(
    carol, host, changes, status
):
    answer = carol.post(ADDRESS, {"title": "Rack 7", **changes})

    assert answer.status_code == status
    assert 'role="alert"' in answer.content.decode() or "field-error" in (
        answer.content.decode()
    )
    assert Host.objects.count() == 1


def test_its_facts_are_corrected_and_what_an_agent_told_by_disk_stays(carol, host):
    Host.objects.update(facts={"cores": 2, "disks": {"sda": {"model": "X"}}})

    answer = carol.post(
        "/labs/alpha-lab/hosts/alpha/facts/", {"title": "Alpha", **sent(cores="4")}
    )

    assert answer.status_code == 302
    facts = Host.objects.get().facts
    assert facts == {"cores": 4, "disks": {"sda": {"model": "X"}}}


def test_a_page_of_a_host_shows_what_was_measured_on_it(carol, pair):
    page = carol.get("/labs/alpha-lab/hosts/alpha/").content.decode()

    assert "Xen 3.3" in page
    assert 'href="/studies/alpha-lab/study/"' in page
