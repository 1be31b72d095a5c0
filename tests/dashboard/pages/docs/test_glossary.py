"""The words of the pages: one list, a page, and buttons where they stand."""

import re
from pathlib import Path

import pytest
from django.utils.html import escape

from dashboard.wording import verdicts
from dashboard.wording.glossary import CHAPTERS, WORDS

TEMPLATES = Path(__file__).parents[4] / "dashboard"


def test_the_page_explains_every_word(text, db):
    page = text("/glossary/")

    for slug, word in WORDS.items():
        assert f'id="{slug}"' in page
        assert str(word.term) in page


def test_every_page_leads_there(text, db):
    assert 'href="/glossary/"' in text("/")


def test_no_word_is_explained_twice():
    everywhere = [word for chapter in CHAPTERS for word in chapter.words]

    assert len(WORDS) == len(everywhere)
    assert len({str(word.term) for word in everywhere}) == len(everywhere)


@pytest.mark.parametrize("verdict", verdicts.SIGNS)
def test_the_signs_are_those_of_the_cells(verdict):
    assert WORDS[verdict].sign == verdicts.verdict_sign(verdict)
    assert WORDS["flag"].sign == verdicts.FLAGGED


def test_the_words_in_the_templates_are_all_there():
    sources = [path.read_text() for path in TEMPLATES.rglob("*.html")]
    used = {
        slug for each in sources for slug in re.findall(r'{% word "([\w-]+)"', each)
    }

    assert {"efficiency", "interval", "verdict"} <= used <= WORDS.keys()


def test_a_cell_explains_its_words_once_each(text, pair):
    page = text(f"/studies/alpha-lab/study/cells/{pair.pk}/")

    ids = re.findall(r'id="(word-[\w-]+)" popover', page)
    assert {"word-efficiency-sum", "word-baseline-sum", "word-verdict-judged"} == set(
        ids
    )
    assert len(ids) == len(set(ids))
    assert escape(str(WORDS["efficiency"].meaning)) in page
