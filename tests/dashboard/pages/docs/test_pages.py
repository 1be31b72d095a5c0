"""The pages of the documents: links and search."""

import re

import pytest

from dashboard.kit.documents import doc_pages


def test_every_document_is_listed(text):
    page = text("/docs/")

    for name in doc_pages():
        assert f'href="/docs/{name}/"' in page


@pytest.mark.parametrize("name", doc_pages())
def test_every_link_of_documents_works(client, db, name):
    page = client.get(f"/docs/{name}/").content.decode()

    links = set(re.findall(r'(?:href|src)="(/docs/[^"]*|#[^"]+)"', page))
    for address in links:
        path, _, anchor = address.partition("#")
        answer = client.get(path or f"/docs/{name}/")
        assert answer.status_code == 200, address
        if anchor:
            assert f'id="{anchor}"' in answer.content.decode(), address
        answer.close()


def test_search_results_link_to_sections(client, db):
    page = client.get("/docs/", {"q": "quarantined"}).content.decode()

    found = page[page.index("doc-hits") :]
    link = re.search(r'href="(/docs/[^"#]+)#([^"]+)"', found)
    assert f'id="{link[2]}"' in client.get(link[1]).content.decode()
    assert "<mark>" in page


def test_search_words_are_escaped(text, db):
    assert "<b>bold" not in text("/docs/?q=<b>bold")


@pytest.mark.parametrize("address", ["nothing/", "../README/", "screens/nothing.png"])
def test_unknown_document_is_404(client, db, address):
    assert client.get(f"/docs/{address}").status_code == 404


@pytest.mark.parametrize(
    ("address", "manual"),
    [
        ("/evidence/", "/docs/method/#across-studies"),
        ("/studies/alpha-lab/study/compare/", "/docs/method/#relative-performance"),
        ("/studies/alpha-lab/study/cells/{cell}/", "/docs/flags/"),
    ],
)
def test_pages_link_to_manual(text, pair, address, manual):
    page = text(address.format(cell=pair.pk))

    assert "How to read this" in page
    assert f'href="{manual}"' in page
