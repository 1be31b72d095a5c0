"""Numbers and dates in the format of the language."""

from datetime import UTC, datetime

import pytest
from django.conf import settings
from django.conf.locale import LANG_INFO
from django.utils import translation

from benchmarks.models import Run, Study
from benchmarks.sentences import Sentence
from dashboard import wording
from dashboard.charts.bars_and_lines import trend_plot
from dashboard.charts.chart import Points
from dashboard.charts.plotly_renderer import plotly_figure
from dashboard.kit import formatting
from dashboard.kit.formatting import NumberFormat
from dashboard.wording import verdicts
from tests.dashboard.marked_language import translated

STUDY = "/studies/alpha-lab/study"
SPACED = "\N{NO-BREAK SPACE}%"
DAY = datetime(2026, 11, 21, 15, 4, tzinfo=UTC)
STAMP = DAY.isoformat()
GERMAN = {"accept-language": "de-AT,de;q=0.9,en;q=0.8"}
ISO = ("en", "en-gb", "fr", "ja", None)
FRENCH = {"accept-language": "fr"}


@pytest.mark.parametrize(
    ("language", "locale"),
    [
        ("de", NumberFormat(",", ".", SPACED)),
        ("es", NumberFormat(",", "\N{NO-BREAK SPACE}", SPACED)),
        ("en", NumberFormat(".", ",")),
        ("fr", NumberFormat(",", "\N{NO-BREAK SPACE}", SPACED)),
        ("ja", NumberFormat(".", ",")),
    ],
)
def test_languages_have_their_separators(language, locale):
    with translation.override(language):
        assert formatting.current_number_format() == locale


@pytest.mark.parametrize(
    ("language", "dates"),
    [
        *((code, ("2026-11-21", "2026-11-21 15:04 UTC", "2026-11")) for code in ISO),
        ("de", ("21. November 2026", "21.11.2026 15:04 UTC", "November 2026")),
        (
            "es",
            ("21 de noviembre de 2026", "21/11/2026 15:04 UTC", "noviembre de 2026"),
        ),
    ],
)
def test_dates_follow_the_language(language, dates):
    with translation.override(language):
        assert formatting.day_text(DAY) == dates[0]
        assert formatting.moment_text(DAY) == dates[1]
        assert formatting.month_text(DAY) == dates[2]
        with formatting.number_format_for_files():
            assert formatting.day_text(DAY) == "2026-11-21"


def test_offered_languages_have_date_patterns():
    offered = {code for code, _name in settings.LANGUAGES}

    assert offered - {settings.LANGUAGE_CODE} == set(formatting.DATE_PATTERNS)


@pytest.mark.parametrize("text", ["2026-13-01", "2026-11-21 15:04", "v1.2", ""])
def test_only_days_within_sentences_are_formatted(text):
    with translation.override("de"):
        assert formatting.localize_day(text) == text
        assert formatting.localize_day("2026-11-21") == "21. November 2026"


@pytest.mark.parametrize(
    ("language", "forms"),
    [
        ("de", ["%H:%M\n%d.%m.%Y", "%d.%m.%Y", "%m.%Y", "%Y"]),
        ("en", ["%H:%M\n%Y-%m-%d", "%Y-%m-%d", "%Y-%m", "%Y"]),
    ],
)
def test_date_axes_follow_the_language(language, forms):
    curve = Points(name="KVM", x=[1.0], y=[1.0])

    with translation.override(language):
        axis = plotly_figure(trend_plot([curve], [], "seconds"))["layout"]["xaxis"]
    assert [stop["value"] for stop in axis["tickformatstops"]] == forms


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


def test_percentages_in_sentences_follow_the_language():
    faster = Sentence("{off:.1%} on {day}", off=0.247, day="2026-11-21")

    with translation.override("es"):
        text = wording.translate_text(faster)
    assert text == f"24,7{SPACED} on 21 de noviembre de 2026"


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


def test_run_times_follow_the_language(pair, text):
    Run.objects.update(received_at=DAY)
    address = f"/runs/{Run.objects.latest('pk').pk}/"

    german = f'<time datetime="{STAMP}">21.11.2026 15:04 UTC</time>'
    assert german in text(address, headers=GERMAN)
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


@pytest.mark.parametrize(
    ("stated", "spanish"),
    [("2010-07-29", "29 de julio de 2010"), ("2010-07", "julio de 2010")],
)
def test_publication_dates_are_machine_readable(stated, spanish, pair, client):
    Study.objects.update(published=stated)
    page = client.get(f"{STUDY}/", headers={"accept-language": "es"}).text
    assert f'<time datetime="{stated}">{spanish}</time>' in page

    for address in ("/", f"{STUDY}/"):
        assert f'<time datetime="{stated}">{stated}</time>' in client.get(address).text


@pytest.mark.parametrize("stated", ["2010", "2010-02-31", "2010-13", "spring 2010"])
def test_invalid_publication_dates_are_unchanged(stated, pair, client):
    Study.objects.update(published=stated)

    page = client.get(f"{STUDY}/").text

    assert stated in page
    assert f'datetime="{stated}"' not in page
