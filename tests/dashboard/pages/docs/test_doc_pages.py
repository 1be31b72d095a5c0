"""Rendering and search of the documents."""

import re

import pytest

from dashboard.kit.documents import doc_pages, doc_sections, search_documents
from dashboard.pages.docs.views import doc_html, render_markdown
from tests.for_each import for_each

TEXT = """# Title

First words, with a [link](other.md#part) and `code`.

## A part

| n | ratio |
|---|---:|
| 5 | 0.9 |

```
# no heading
```

## A part

Last words.
"""


def test_text_is_split_by_headings():
    parts = list(doc_sections(TEXT))

    assert [(each.anchor, each.level) for each in parts] == [
        ("title", 1),
        ("a-part", 2),
        ("a-part-1", 2),
    ]
    assert parts[0].text == "First words, with a link and code."
    assert "# no heading" in parts[1].text


def test_text_without_title_is_rejected():
    with pytest.raises(ValueError, match="title"):
        list(doc_sections("Words."))


def test_links_lead_to_pages_and_tables_scroll():
    page = render_markdown(TEXT, doc_names={"other"})

    assert '<a href="/docs/other/#part">link</a>' in page
    assert '<td class="num">0.9</td>' in page
    assert page.index('class="scroll"') < page.index("<table")
    assert "<h1" not in page


def test_table_is_labeled_and_has_header_cells():
    page = render_markdown("# T\n\n## Of x\n\n| n | |\n|---|---|\n| 5 | a |\n| | b |\n")

    assert page.count('aria-labelledby="of-x"') == 2
    assert '<th scope="col">n</th>\n<td></td>' in page
    assert '<th scope="row">5</th>\n<td>a</td>' in page
    assert '<td></td>\n<th scope="row">b</th>' in page


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("[x](../method.md)", "/docs/method/"),
        ("[x](charts.md#pens)", "/docs/decisions/charts/#pens"),
        ("[x](https://example.org/a.md)", "https://example.org/a.md"),
        ("![x](../screens/a.png)", "/docs/screens/a.png"),
    ],
)
def test_links_are_relative_to_folder(text, address):
    page = render_markdown(
        f"# T\n\n{text}\n", "decisions", {"method", "decisions/charts"}
    )

    assert f'="{address}"' in page


@pytest.mark.parametrize("text", ["<script>x()</script>", "[x](javascript:alert(1))"])
def test_html_in_text_is_escaped(text):
    page = render_markdown(f"# T\n\n{text}\n")

    assert "<script" not in page
    assert "href" not in page


@for_each("name", doc_pages())
def test_every_section_has_anchor(name):
    page = doc_html(name)

    for part in doc_pages()[name].sections[1:]:
        assert f'id="{part.anchor}"' in page


@for_each("name", doc_pages())
def test_rendered_html_follows_content_security_policy(name):
    page = doc_html(name)

    assert not re.search(r"<[^>]*\sstyle=|<script|<style", page)


def test_search_stems_words_and_prefers_headings(db):
    hits = search_documents("quarantining", 20)
    of_headings = search_documents("co-runs", 20)

    assert "reliability" in {each.document.name for each in hits}
    assert of_headings[0].section.heading == "Co-runs"
    assert of_headings[0].excerpt[1::2]


@pytest.mark.parametrize("words", ["xyzzy", '"', "-", "a & | ! :*", "\0", "the"])
def test_unknown_words_match_nothing(db, words):
    assert search_documents(words, 20) == []
