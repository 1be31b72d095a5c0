"""Numbers in the format of the language, dates in one format."""

from datetime import UTC, datetime

import pytest
from django.conf.locale import LANG_INFO
from django.utils import translation

from benchmarks.models import Run, Study
from dashboard.kit import formatting
from dashboard.kit.formatting import NumberFormat
from dashboard.wording import verdicts
from tests.dashboard.marked_language import translated

STUDY = "/studies/alpha-lab/study"
SPACED = "\N{NO-BREAK SPACE}%"
DAY = datetime(2026, 11, 21, 15, 4, tzinfo=UTC)
GERMAN = {"accept-language": "de-AT,de;q=0.9,en;q=0.8"}
FRENCH = {"accept-language": "fr"}


@pytest.mark.parametrize(
    ("language", "locale"),
    [
        ("de", NumberFormat(",", ".", SPACED)),
        ("en", NumberFormat(".", ",")),
        ("fr", NumberFormat(",", "\N{NO-BREAK SPACE}", SPACED)),
        ("ja", NumberFormat(".", ",")),
    ],
)
def test_languages_have_their_separators_and_a_common_date_format(language, locale):
    with translation.override(language):
        assert formatting.current_number_format() == locale
        assert formatting.day_text(DAY) == "2026-11-21"
        assert formatting.moment_text(DAY) == "2026-11-21 15:04 UTC"


def test_separators_differ_in_every_language():
    for code in LANG_INFO:
        written = formatting.language_number_format(code)
        assert len(written.separators) == 2, code
        assert written.decimal != written.thousands, code


def test_all_number_formats_follow_the_language():
    with translation.override("de"):
        assert formatting.exact(1234567.25) == "1.234.567,25"
        assert formatting.measurement(0.123456789) == "0,1235"
        assert formatting.ratio(0.984) == "0,984"
        assert formatting.ratio(0.0012) == "0,0012"
        assert formatting.overhead(0.984) == "1,6\N{NO-BREAK SPACE}%"
        assert formatting.memory_size(1_500) == "1.500 B"
        assert verdicts.shade_legend("efficiency")[0] == ("slow-5", "≤ 0,25")


def test_coordinates_keep_the_decimal_point():
    with translation.override("de"):
        assert formatting.axis_position(0.5, 0.25, 1.0) == 0.5


@pytest.mark.parametrize("language", ["de", "en", None])
def test_files_have_decimal_points(language):
    with translation.override(language), formatting.number_format_for_files():
        assert formatting.number(1234.5, ",.1f") == "1,234.5"


def test_german_pages_have_decimal_commas(pair, text, tmp_path):
    with translated("de", tmp_path):
        page = text(f"{STUDY}/compare/", headers=GERMAN)
        english = text(f"{STUDY}/compare/", headers=FRENCH)

    assert "0,247" in page
    assert 'data-separators=",."' in page
    assert "0.247" in english
    assert 'data-separators=".,"' in english


@pytest.mark.parametrize("page", ["compare/", "runs/", "report/", "flags/", ""])
def test_untranslated_pages_are_entirely_english(page, pair, client):
    answer = client.get(f"{STUDY}/{page}", headers=FRENCH)

    assert b'<html lang="en" data-separators=".,"' in answer.content
    assert answer.headers["Content-Language"] == "en"
    assert "Accept-Language" in answer.headers["Vary"]


def test_run_times_follow_the_page_format(pair, text, tmp_path):
    Run.objects.update(received_at=DAY)
    address = f"/runs/{Run.objects.latest('pk').pk}/"

    with translated("de", tmp_path):
        assert "2026-11-21 15:04 UTC" in text(address, headers=GERMAN)
    assert "2026-11-21 15:04 UTC" in text(address)


@pytest.mark.parametrize("form", ["csv", "json", "tex"])
def test_exported_files_keep_the_decimal_point(form, pair, text, tmp_path):
    with translated("de", tmp_path):
        file = text(f"{STUDY}/compare.{form}", headers=GERMAN)

    assert "0.24" in file
    assert "0,24" not in file


def test_the_report_page_has_the_numbers_of_the_pdf(pair, text, tmp_path):
    with translated("de", tmp_path):
        report = text(f"{STUDY}/report/", headers=GERMAN)

    assert "0.247" in report
    assert "0,247" not in report


def test_the_api_is_english_with_decimal_points(pair, client, tmp_path):
    address = "/api/v1/comparisons/?study=alpha-lab/study"
    english = client.get(address)
    with translated("de", tmp_path):
        there = client.get(address, headers=GERMAN)

    assert there.json() == english.json()
    assert there.headers["Content-Language"] == "en"


@pytest.mark.parametrize("stated", ["2010-07-29", "2010-07"])
def test_publication_dates_are_machine_readable(stated, pair, client):
    Study.objects.update(published=stated)

    for address in ("/", f"{STUDY}/"):
        assert f'<time datetime="{stated}">{stated}</time>' in client.get(address).text


@pytest.mark.parametrize("stated", ["2010", "2010-02-31", "2010-13", "spring 2010"])
def test_invalid_publication_dates_are_unchanged(stated, pair, client):
    Study.objects.update(published=stated)

    page = client.get(f"{STUDY}/").text

    assert stated in page
    assert f'datetime="{stated}"' not in page
