"""Registration of machines from the output of their tools."""

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


def test_pasted_output_prefills_facts_without_storing(carol):
    answer = carol.post(ADDRESS, {"do": "read", "output": LSCPU})

    page = answer.content.decode()
    assert answer.status_code == 200
    assert 'value="cores"' in page
    assert 'value="Xeon &lt;b&gt;E3&lt;/b&gt;"' in page
    assert not Host.objects.exists()


def test_entered_facts_replace_parsed_ones(carol):
    answer = carol.post(
        ADDRESS, {"do": "read", "output": LSCPU, **sent(cores="8", disk="SSD")}
    )

    page = answer.content.decode()
    assert 'value="8"' in page
    assert 'value="SSD"' in page


def test_unrecognized_text_is_reported(carol):
    page = carol.post(ADDRESS, {"do": "read", "output": "hello"}).content.decode()

    assert "No facts were recognized" in page


def test_host_is_registered_with_slug(carol, lab):
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
def test_errors_are_shown_and_input_is_kept(carol, host, changes, status):
    answer = carol.post(ADDRESS, {"title": "Rack 7", **changes})

    assert answer.status_code == status
    assert 'role="alert"' in answer.content.decode() or "field-error" in (
        answer.content.decode()
    )
    assert Host.objects.count() == 1


def test_facts_are_corrected_and_disk_facts_kept(carol, host):
    Host.objects.update(facts={"cores": 2, "disks": {"sda": {"model": "X"}}})

    answer = carol.post(
        "/labs/alpha-lab/hosts/alpha/edit/", {"title": "Alpha", **sent(cores="4")}
    )

    assert answer.status_code == 302
    facts = Host.objects.get().facts
    assert facts == {"cores": 4, "disks": {"sda": {"model": "X"}}}


def test_host_page_shows_measurements(carol, pair):
    page = carol.get("/labs/alpha-lab/hosts/alpha/").content.decode()

    assert "Xen 3.3" in page
    assert 'href="/studies/alpha-lab/study/"' in page
