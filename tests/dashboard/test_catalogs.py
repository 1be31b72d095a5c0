"""Each translation is complete enough, correct, compiled, and uses the listed terms."""

import re
import tomllib

import pytest
from babel.messages.catalog import Catalog
from django.conf import settings

from dashboard.management.commands.update_translation import (
    COMPLETE_FROM,
    LOCALE_FOLDER,
    PLACEHOLDER,
    catalog_path,
    catalog_problems,
    compiled,
    completeness,
    read_catalog,
    updated_catalog,
)

ACCEPTED_FROM = COMPLETE_FROM - 0.05
"""Changed messages are in English until they are translated."""
TERMS = tomllib.loads((LOCALE_FOLDER / "terms.toml").read_text())
CODES = sorted(path.parts[-3] for path in LOCALE_FOLDER.glob("*/LC_MESSAGES/django.po"))


@pytest.fixture(scope="module", params=CODES)
def catalog(request):
    return read_catalog(catalog_path(request.param), request.param)


def test_offered_languages_are_nearly_complete():
    for code, _name in settings.LANGUAGES:
        if code != settings.LANGUAGE_CODE:
            share = completeness(updated_catalog(code))
            assert share >= ACCEPTED_FROM, f"make messages LANGUAGE={code}"


def test_translations_have_their_placeholders_and_plural_forms(catalog):
    assert list(catalog_problems(catalog)) == []


def test_compiled_translations_are_current(catalog):
    path = catalog_path(str(catalog.locale))
    assert path.with_suffix(".mo").read_bytes() == compiled(catalog), "make messages"


def test_translations_use_the_listed_terms(catalog):
    language = str(catalog.locale)
    for term, entry in TERMS.items():
        avoided = entry.get(f"{language}_avoid")
        for message in catalog:
            text = PLACEHOLDER.sub("", str(message.string))
            assert not (avoided and re.search(avoided, text)), (
                f"{text!r}: write {entry[language]!r} for {term!r}"
            )


@pytest.mark.parametrize(
    ("original", "translation"),
    [
        ("{n:g} of {most} runs", "{most} Läufe"),
        ("{n:,} runs", "{n} Läufe"),
        (("one", "%(n)s runs"), ("einer", "%(m)s")),
        (("one", "%(n)s runs"), ("einer", "")),
        ("%(n)s of 5 %%", "%(n)s von 5 %"),
        ("above 5 %", "über 5 %%"),
        ("<b>bold</b>", "fett"),
    ],
)
def test_wrong_placeholders_are_reported(original, translation):
    catalog = Catalog("de")
    catalog.add(original, translation)

    assert list(catalog_problems(catalog)) != []


def test_placeholders_may_be_reordered_and_singulars_omit_the_number():
    catalog = Catalog("de")
    catalog.add("{n:g} of {most} runs", "{most} Läufe, davon {n:g}")
    catalog.add(("%(n)s run", "%(n)s runs"), ("ein Lauf", "%(n)s Läufe"))
    catalog.add(("{one} is", "{n} are"), ("{one} ist", "{n} sind"))
    catalog.add("not yet translated", "")

    assert list(catalog_problems(catalog)) == []
    assert completeness(catalog) == pytest.approx(3 / 4)


def test_compiled_catalogs_omit_untranslated_messages():
    catalog = Catalog("de")
    catalog.add("run", "")
    catalog.add("result", "Ergebnis")

    assert b"run" not in compiled(catalog)
    assert b"Ergebnis" in compiled(catalog)
