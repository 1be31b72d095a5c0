"""Documents become pages: what of Markdown arrives, and where words are found."""

import re

import pytest

from dashboard.pages.docs.views import found, html_of, manuals, parts_of, written
from tests.every import for_each

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


def test_a_text_falls_into_its_headings():
    parts = list(parts_of(TEXT))

    assert [(each.anchor, each.level) for each in parts] == [
        ("title", 1),
        ("a-part", 2),
        ("a-part-1", 2),
    ]
    assert parts[0].text == "First words, with a link and code."
    assert "# no heading" in parts[1].text


def test_a_text_without_a_title_is_refused():
    with pytest.raises(ValueError, match="title"):
        list(parts_of("Words."))


def test_links_lead_to_pages_and_tables_scroll():
    page = written(TEXT, known={"other"})

    assert '<a href="/docs/other/#part">link</a>' in page
    assert '<td class="num">0.9</td>' in page
    assert page.index('class="scroll"') < page.index("<table")
    assert "<h1" not in page


def test_a_table_has_the_name_of_its_heading_and_heads_where_words_stand():
    page = written("# T\n\n## Of x\n\n| n | |\n|---|---|\n| 5 | a |\n| | b |\n")

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
def test_links_are_as_seen_from_their_folder(text, address):
    page = written(f"# T\n\n{text}\n", "decisions", {"method", "decisions/charts"})

    assert f'="{address}"' in page


@pytest.mark.parametrize("text", ["<script>x()</script>", "[x](javascript:alert(1))"])
def test_markup_of_a_text_is_only_shown(text):
    page = written(f"# T\n\n{text}\n")

    assert "<script" not in page
    assert "href" not in page


@for_each("name", manuals())
def test_every_part_has_its_address(name):
    page = html_of(name)

    for part in manuals()[name].parts[1:]:
        assert f'id="{part.anchor}"' in page


@for_each("name", manuals())
def test_what_is_written_keeps_the_policy(name):
    page = html_of(name)

    assert not re.search(r"<[^>]*\sstyle=|<script|<style", page)


def test_words_are_found_in_other_forms_and_headings_first(db):
    hits = found("quarantining")
    of_headings = found("co-runs")

    assert "reliability" in {each.manual.name for each in hits}
    assert of_headings[0].part.heading == "Co-runs"
    assert of_headings[0].excerpt[1::2]


@pytest.mark.parametrize("words", ["xyzzy", '"', "-", "a & | ! :*", "\0", "the"])
def test_words_that_stand_nowhere_find_nothing(db, words):
    assert found(words) == []
