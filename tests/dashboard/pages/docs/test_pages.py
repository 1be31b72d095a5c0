"""The documents in the browser: every link leads somewhere, and words are found."""

import re

import pytest

from dashboard.pages.docs.views import manuals


def test_every_document_is_on_the_page(text):
    page = text("/docs/")

    for name in manuals():
        assert f'href="/docs/{name}/"' in page


@pytest.mark.parametrize("name", manuals())
def test_every_link_of_a_document_leads_somewhere(client, db, name):
    page = client.get(f"/docs/{name}/").content.decode()

    links = set(re.findall(r'(?:href|src)="(/docs/[^"]*|#[^"]+)"', page))
    for address in links:
        path, _, anchor = address.partition("#")
        answer = client.get(path or f"/docs/{name}/")
        assert answer.status_code == 200, address
        if anchor:
            assert f'id="{anchor}"' in answer.content.decode(), address
        answer.close()


def test_found_parts_lead_to_where_they_stand(client, db):
    page = client.get("/docs/", {"q": "quarantined"}).content.decode()

    found = page[page.index("docs-found") :]
    link = re.search(r'href="(/docs/[^"#]+)#([^"]+)"', found)
    assert f'id="{link[2]}"' in client.get(link[1]).content.decode()
    assert "<mark>" in page


def test_what_is_sought_is_only_shown(text, db):
    assert "<b>bold" not in text("/docs/?q=<b>bold")


@pytest.mark.parametrize("address", ["nothing/", "../README/", "screens/nothing.png"])
def test_there_is_no_other_document(client, db, address):
    assert client.get(f"/docs/{address}").status_code == 404


@pytest.mark.parametrize(
    ("address", "manual"),
    [
        ("/evidence/", "/docs/method/#across-studies"),
        ("/studies/alpha-lab/study/compare/", "/docs/method/#relative-performance"),
        ("/studies/alpha-lab/study/cells/{cell}/", "/docs/flags/"),
    ],
)
def test_pages_say_how_they_are_read(text, pair, address, manual):
    page = text(address.format(cell=pair.pk))

    assert "How to read this" in page
    assert f'href="{manual}"' in page
