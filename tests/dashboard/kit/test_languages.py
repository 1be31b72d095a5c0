"""Numbers are written as the language of their text writes them, days in one form."""

from datetime import UTC, datetime

import pytest
from django.conf.locale import LANG_INFO
from django.utils import translation

from benchmarks.models import Run, Study
from dashboard.kit import figures
from dashboard.kit.figures import Locale
from dashboard.wording import verdicts
from tests.dashboard.marking import translated

STUDY = "/studies/alpha-lab/study"
DAY = datetime(2026, 11, 21, 15, 4, tzinfo=UTC)
GERMAN = {"accept-language": "de-AT,de;q=0.9,en;q=0.8"}
FRENCH = {"accept-language": "fr"}


@pytest.mark.parametrize(
    ("language", "locale"),
    [
        ("de", Locale(",", ".")),
        ("en", Locale(".", ",")),
        ("fr", Locale(",", "\N{NO-BREAK SPACE}")),
        ("ja", Locale(".", ",")),
    ],
)
def test_a_language_has_its_signs_and_one_form_of_days(language, locale):
    with translation.override(language):
        assert figures.locale() == locale
        assert figures.day_text(DAY) == "2026-11-21"
        assert figures.moment_text(DAY) == "2026-11-21 15:04 UTC"


def test_every_language_tells_its_two_signs_apart():
    for code in LANG_INFO:
        written = figures.locale_of(code)
        assert len(written.separators) == 2, code
        assert written.decimal != written.thousands, code


def test_each_kind_of_number_follows_the_language():
    with translation.override("de"):
        assert figures.exact(1234567.25) == "1.234.567,25"
        assert figures.brief(0.123456789) == "0,1235"
        assert figures.ratio(0.984) == "0,984"
        assert figures.ratio(0.0012) == "0,0012"
        assert figures.overhead(0.984) == "1,6\N{NO-BREAK SPACE}%"
        assert figures.amount_of_memory(1_500) == "1.500 B"
        assert verdicts.legend("efficiency")[0] == ("slow-5", "≤ 0,25")


def test_places_in_a_picture_keep_the_point():
    with translation.override("de"):
        assert figures.place(0.5, 0.25, 1.0) == 0.5


@pytest.mark.parametrize("language", ["de", "en", None])
def test_files_have_a_point(language):
    with translation.override(language), figures.for_files():
        assert figures.number(1234.5, ",.1f") == "1,234.5"


def test_who_reads_german_text_reads_a_decimal_comma(pair, text, tmp_path):
    with translated("de", tmp_path):
        page = text(f"{STUDY}/compare/", headers=GERMAN)
        english = text(f"{STUDY}/compare/", headers=FRENCH)

    assert "0,247" in page
    assert 'data-separators=",."' in page
    assert "0.247" in english
    assert 'data-separators=".,"' in english


@pytest.mark.parametrize("page", ["compare/", "runs/", "report/", "flags/", ""])
def test_a_page_without_a_translation_is_english_in_all(page, pair, client):
    answer = client.get(f"{STUDY}/{page}", headers=GERMAN)

    assert b'<html lang="en" data-separators=".,"' in answer.content
    assert answer.headers["Content-Language"] == "en"
    assert "Accept-Language" in answer.headers["Vary"]


def test_a_run_says_its_moment_as_its_page_does(pair, text, tmp_path):
    Run.objects.update(received_at=DAY)
    address = f"/runs/{Run.objects.latest('pk').pk}/"

    with translated("de", tmp_path):
        assert "2026-11-21 15:04 UTC" in text(address, headers=GERMAN)
    assert "2026-11-21 15:04 UTC" in text(address)


@pytest.mark.parametrize("form", ["csv", "json", "tex"])
def test_what_leaves_the_site_keeps_the_point(form, pair, text, tmp_path):
    with translated("de", tmp_path):
        file = text(f"{STUDY}/compare.{form}", headers=GERMAN)

    assert "0.24" in file
    assert "0,24" not in file


def test_the_report_has_the_numbers_of_its_file(pair, text, tmp_path):
    with translated("de", tmp_path):
        report = text(f"{STUDY}/report/", headers=GERMAN)

    assert "0.247" in report
    assert "0,247" not in report


def test_the_api_speaks_english_and_writes_points(pair, client, tmp_path):
    address = "/api/v1/comparisons/?study=alpha-lab/study"
    english = client.get(address)
    with translated("de", tmp_path):
        there = client.get(address, headers=GERMAN)

    assert there.json() == english.json()


@pytest.mark.parametrize("stated", ["2010-07-29", "2010-07"])
def test_a_study_says_its_day_or_month_for_programs_too(stated, pair, client):
    Study.objects.update(published=stated)

    for address in ("/", f"{STUDY}/"):
        assert f'<time datetime="{stated}">{stated}</time>' in client.get(address).text


@pytest.mark.parametrize("stated", ["2010", "2010-02-31", "2010-13", "spring 2010"])
def test_what_is_no_day_stays_as_it_was_stated(stated, pair, client):
    Study.objects.update(published=stated)

    page = client.get(f"{STUDY}/").text

    assert stated in page
    assert f'datetime="{stated}"' not in page
