"""Charts and badges for other sites: of public data, without script or cookie."""

import re
from xml.etree import ElementTree

import pytest
from django.test import Client

from benchmarks.models import Study

FOREST = "hypervisor=Xen&work=network-throughput-out"


@pytest.fixture
def addresses(pair):
    place = "/embed/studies/alpha-lab/study/"
    return [
        f"{place}compare/",
        f"{place}cells/{pair.pk}/",
        f"{place}cells/{pair.pk}.svg",
        f"/embed/evidence/?{FOREST}",
        f"/embed/evidence.svg?{FOREST}",
    ]


def test_only_they_may_be_framed_and_they_ask_for_no_cookie(addresses, person):
    client = Client()
    client.force_login(person)
    for address in addresses:
        answer = client.get(address)

        assert answer.status_code == 200, address
        assert "X-Frame-Options" not in answer
        policy = answer["Content-Security-Policy"]
        assert "frame-ancestors *" in policy
        assert "default-src 'none'" in policy
        assert "max-age=300" in answer["Cache-Control"]
        assert Client().get(address)["Cache-Control"] == "public, max-age=300"
        assert "Cookie" not in answer.get("Vary", "")
        assert not answer.cookies
        assert "<script" not in answer.text
        assert "carol" not in answer.text
    framed = Client().get("/studies/alpha-lab/study/compare/")
    assert framed["X-Frame-Options"] == "DENY"
    assert "frame-ancestors 'none'" in framed["Content-Security-Policy"]


def test_what_is_private_is_not_there_even_for_its_own_people(addresses, person):
    Study.objects.update(visibility="private")
    client = Client()
    client.force_login(person)

    answers = [client.get(address) for address in addresses]

    assert [it.status_code for it in answers] == [404, 404, 404, 200, 200]
    assert "not measured yet" in answers[-1].text


def test_a_badge_says_it_in_a_line_and_is_an_image(addresses):
    cell, forest = (Client().get(it) for it in addresses if ".svg" in it)
    for answer in (cell, forest):
        assert answer["Content-Type"] == "image/svg+xml; charset=utf-8"
        assert ElementTree.fromstring(answer.text).tag.endswith("svg")
    assert "of native" in cell.text


def test_no_parameter_becomes_markup(addresses):
    evil = '"><script>alert(1)</script>'
    for address in addresses:
        joined = "&" if "?" in address else "?"
        answer = Client().get(
            f"{address}{joined}theme={evil}&tool={evil}&search={evil}"
        )
        assert "<script" not in answer.text
        assert answer.status_code in (200, 404)
    answer = Client().get(
        "/embed/evidence.svg", {"hypervisor": evil, "work": "cpu-integer"}
    )
    assert "<script" not in answer.text
    ElementTree.fromstring(answer.text)


def test_a_theme_is_chosen_by_the_address(addresses):
    assert 'data-theme="dark"' in Client().get(f"{addresses[0]}?theme=dark").text
    assert "data-theme" not in Client().get(addresses[0]).text


def test_pages_show_what_other_sites_copy_where_it_is_public(addresses, pair, client):
    page = client.get(f"/studies/alpha-lab/study/cells/{pair.pk}/").text
    snippets = re.findall(
        r'<pre class="raw"[^>]*id="embed-\w+">(.*?)</pre>', page, re.S
    )

    assert len(snippets) == 2
    assert f"/embed/studies/alpha-lab/study/cells/{pair.pk}/" in snippets[0]
    assert "[![" in snippets[1]
    compare = client.get("/studies/alpha-lab/study/compare/").text
    assert "/embed/studies/alpha-lab/study/compare/" in compare
