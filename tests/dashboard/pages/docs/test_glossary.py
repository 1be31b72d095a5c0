"""The glossary, and its buttons on pages."""

import re
from pathlib import Path

import pytest
from django.utils.html import escape

from dashboard.wording import verdicts
from dashboard.wording.glossary import GLOSSARY, TERMS_BY_SLUG

TEMPLATES = Path(__file__).parents[4] / "dashboard"


def test_page_explains_every_term(text, db):
    page = text("/glossary/")

    for slug, word in TERMS_BY_SLUG.items():
        assert f'id="{slug}"' in page
        assert str(word.term) in page


def test_every_page_links_to_glossary(text, db):
    assert 'href="/glossary/"' in text("/")


def test_no_term_is_explained_twice():
    everywhere = [word for chapter in GLOSSARY for word in chapter.terms]

    assert len(TERMS_BY_SLUG) == len(everywhere)
    assert len({str(word.term) for word in everywhere}) == len(everywhere)


@pytest.mark.parametrize("verdict", verdicts.VERDICT_SIGNS)
def test_symbols_are_those_of_cells(verdict):
    assert TERMS_BY_SLUG[verdict].sign == verdicts.verdict_sign(verdict)
    assert TERMS_BY_SLUG["flag"].sign == verdicts.FLAG_SIGN


def test_glossary_has_all_terms_of_templates():
    sources = [path.read_text() for path in TEMPLATES.rglob("*.html")]
    used = {
        slug
        for each in sources
        for slug in re.findall(r'{% glossary_term "([\w-]+)"', each)
    }

    assert {"efficiency", "interval", "verdict"} <= used <= TERMS_BY_SLUG.keys()


def test_cell_page_explains_each_term_once(text, pair):
    page = text(f"/studies/alpha-lab/study/cells/{pair.pk}/")

    ids = re.findall(r'id="(term-[\w-]+)" popover', page)
    assert {"term-efficiency-sum", "term-baseline-sum", "term-verdict-judged"} == set(
        ids
    )
    assert len(ids) == len(set(ids))
    assert escape(str(TERMS_BY_SLUG["efficiency"].definition)) in page
