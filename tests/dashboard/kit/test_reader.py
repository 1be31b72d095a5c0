"""Numbers and days as the reader writes them, whatever the language of the text."""

from datetime import UTC, datetime

import pytest
from django.conf.locale import LANG_INFO

from benchmarks.models import Run, Study
from dashboard.kit import days, figures
from dashboard.kit.figures import NEUTRAL, Locale, written_as
from dashboard.kit.reader import locale_of
from dashboard.wording import ratios

STUDY = "/studies/alpha-lab/study"
GERMAN = Locale(",", ".", "d.m.Y")
DAY = datetime(2026, 11, 21, 15, 4, tzinfo=UTC)


@pytest.mark.parametrize(
    ("accepted", "locale", "day"),
    [
        ("de-DE,de;q=0.9,en;q=0.8", GERMAN, "21.11.2026"),
        ("en-US,en;q=0.9", Locale(".", ",", "N j, Y"), "Nov. 21, 2026"),
        ("en-GB", Locale(".", ",", "j M Y"), "21 Nov 2026"),
        ("fr", Locale(",", "\N{NO-BREAK SPACE}", "d/m/Y"), "21/11/2026"),
        ("tlh, sv;q=0.5", Locale(",", "\N{NO-BREAK SPACE}", "Y-m-d"), "2026-11-21"),
        ("*", NEUTRAL, "2026-11-21"),
        ("", NEUTRAL, "2026-11-21"),
        ("no such thing ;;", NEUTRAL, "2026-11-21"),
    ],
)
def test_it_is_the_first_that_the_browser_accepts(accepted, locale, day):
    assert locale_of(accepted) == locale
    with written_as(locale):
        assert days.day_text(DAY) == day


def test_every_known_locale_tells_its_two_signs_apart():
    for code in LANG_INFO:
        found = locale_of(code)
        assert len(found.separators) == 2, code
        assert found.decimal != found.thousands, code


def test_each_kind_of_number_follows_the_reader():
    with written_as(GERMAN):
        assert figures.exact(1234567.25) == "1.234.567,25"
        assert figures.brief(0.123456789) == "0,123457"
        assert figures.ratio(0.984) == "0,984"
        assert figures.ratio(0.0012) == "0,0012"
        assert figures.overhead(0.984) == "1,6\N{NO-BREAK SPACE}%"
        assert figures.amount_of_memory(1_500) == "1.500 B"
        assert ratios.legend("efficiency")[0] == ("slow-5", "≤ 0,25")


def test_places_in_a_picture_keep_the_point():
    with written_as(GERMAN):
        assert figures.place(0.5, 0.25, 1.0) == 0.5
    assert figures.locale() is NEUTRAL


def test_a_german_reads_a_decimal_comma(pair, text):
    assert "0,247" in text(f"{STUDY}/compare/", headers={"accept-language": "de"})
    assert "0.247" in text(f"{STUDY}/compare/", headers={"accept-language": "en"})


@pytest.mark.parametrize("page", ["compare/", "runs/", "report/", "flags/", ""])
def test_the_language_of_a_page_is_that_of_its_text(page, pair, client):
    answer = client.get(f"{STUDY}/{page}", headers={"accept-language": "de"})

    assert b'<html lang="en"' in answer.content
    assert answer.headers["Content-Language"] == "en"
    assert "Accept-Language" in answer.headers["Vary"]


def test_the_charts_get_the_signs_of_the_reader(pair, text):
    page = text(f"{STUDY}/compare/", headers={"accept-language": "de"})

    assert 'data-separators=",."' in page


def test_a_run_says_its_moment_as_the_reader_does(pair, text):
    Run.objects.update(received_at=DAY)
    address = f"/runs/{Run.objects.latest('pk').pk}/"

    assert "21.11.2026 15:04 UTC" in text(address, headers={"accept-language": "de"})
    assert "2026-11-21 15:04 UTC" in text(address)


@pytest.mark.parametrize("form", ["csv", "json", "tex"])
def test_what_leaves_the_site_keeps_the_point(form, pair, text):
    german = text(f"{STUDY}/compare.{form}", headers={"accept-language": "de"})

    assert german == text(f"{STUDY}/compare.{form}")
    assert "0.24" in german


def test_the_report_is_the_same_for_all_readers(pair, text):
    report = text(f"{STUDY}/report/", headers={"accept-language": "de"})

    assert "0.247" in report
    assert "0,247" not in report


def test_the_api_speaks_english_and_writes_points(pair, client):
    address = "/api/v1/comparisons/?study=alpha-lab/study"
    german = client.get(address, headers={"accept-language": "de"})

    assert german.content == client.get(address).content


@pytest.mark.parametrize(
    ("accepted", "day", "month"),
    [
        ("en-US", "July 29, 2010", "July 2010"),
        ("en-GB", "29 Jul 2010", "Jul 2010"),
        ("de", "29.07.2010", "07.2010"),
        ("hu", "2010.07.29.", "2010.07"),
        ("ja", "2010/07/29", "2010/07"),
        ("", "2010-07-29", "2010-07"),
    ],
)
def test_a_study_is_of_a_day_or_a_month(accepted, day, month):
    with written_as(locale_of(accepted)):
        assert days.published_text("2010-07-29") == day
        assert days.published_text("2010-07") == month


@pytest.mark.parametrize("stated", ["2010", "2010-02-31", "spring 2010", ""])
def test_what_is_no_day_stays_as_it_was_stated(stated):
    with written_as(GERMAN):
        assert days.published_text(stated) == stated


def test_a_study_says_its_day_as_the_reader_does(pair, text):
    Study.objects.update(published="2010-07-29")

    assert "29.07.2010" in text(f"{STUDY}/", headers={"accept-language": "de"})
    assert "July 29, 2010" in text("/", headers={"accept-language": "en-US"})
