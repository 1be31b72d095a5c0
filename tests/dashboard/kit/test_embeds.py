"""Charts and badges for other sites: public data without scripts or cookies."""

import re
from xml.etree import ElementTree

import pytest
from django.template.loader import render_to_string
from django.test import Client

from benchmarks.models import Study
from dashboard.kit.embeds import badge

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


def test_only_embeds_may_be_framed_and_set_no_cookies(addresses, person):
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


def test_private_data_cannot_be_embedded_even_by_members(addresses, person):
    Study.objects.update(visibility="private")
    client = Client()
    client.force_login(person)

    answers = [client.get(address) for address in addresses]

    assert [answer.status_code for answer in answers] == [404, 404, 404, 200, 200]
    assert "not measured yet" in answers[-1].text


def test_badges_are_svg_images_with_a_summary(addresses):
    cell, forest = (Client().get(address) for address in addresses if ".svg" in address)
    for answer in (cell, forest):
        assert answer["Content-Type"] == "image/svg+xml; charset=utf-8"
        assert ElementTree.fromstring(answer.text).tag.endswith("svg")
    assert "of native" in cell.text


def test_query_parameters_are_escaped(addresses):
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


def test_the_url_selects_a_theme(addresses):
    assert 'data-theme="dark"' in Client().get(f"{addresses[0]}?theme=dark").text
    assert "data-theme" not in Client().get(addresses[0]).text


def test_public_pages_show_embed_snippets(addresses, pair, client):
    page = client.get(f"/studies/alpha-lab/study/cells/{pair.pk}/").text
    snippets = re.findall(
        r'<pre class="raw"[^>]*id="embed-\w+">(.*?)</pre>', page, re.S
    )

    assert len(snippets) == 2
    assert f"/embed/studies/alpha-lab/study/cells/{pair.pk}/" in snippets[0]
    assert "[![" in snippets[1]
    compare = client.get("/studies/alpha-lab/study/compare/").text
    assert "/embed/studies/alpha-lab/study/compare/" in compare


def test_badge_is_valid_xml_for_texts_stored_by_older_versions():
    content = badge("a\uffff<", "b\x1f&")

    svg = ElementTree.fromstring(render_to_string(content.template, content.context))

    assert svg.get("aria-label") == "a\ufffd<: b\ufffd&"
