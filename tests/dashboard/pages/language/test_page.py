"""The reader selects the language of the pages."""

import pytest

from tests.dashboard.marked_language import translated

STUDY = "/studies/alpha-lab/study/"


@pytest.fixture
def german(tmp_path):
    with translated("de", tmp_path):
        yield


def test_a_selected_language_is_kept(pair, client, german):
    page = client.get(STUDY).text
    assert '<a href="/language/de/" lang="de" rel="nofollow">' in page
    origin = f"http://testserver{STUDY}?a=b"

    answer = client.get("/language/de/", headers={"referer": origin})
    assert (answer.status_code, answer.url) == (302, origin)

    page = client.get(STUDY)
    assert '<html lang="de"' in page.text
    assert 'lang="de" rel="nofollow" aria-current="true"' in page.text
    assert "Cookie" in page.headers["Vary"]

    client.get("/language/en/")
    assert (
        '<html lang="en"' in client.get(STUDY, headers={"accept-language": "de"}).text
    )


def test_only_pages_of_this_site_are_returned_to(db, client, german):
    answer = client.get("/language/de/", headers={"referer": "https://evil.example/"})

    assert answer.url == "/"


def test_unknown_languages_are_not_found(db, client):
    assert client.get("/language/xx/").status_code == 404


def test_one_language_needs_no_choice(db, client, settings):
    settings.LANGUAGES = [("en", "English")]

    assert 'class="languages"' not in client.get("/").text


def test_documents_state_that_they_are_in_english(db, client, german):
    note = "This document is in English"

    assert note in client.get("/docs/method/", headers={"accept-language": "de"}).text
    assert note not in client.get("/docs/method/").text


def test_files_are_in_english(pair, client, german):
    for file in ("compare.csv", "compare.tex", "cite.bib"):
        pages = [
            client.get(f"{STUDY}{file}", headers={"accept-language": code})
            for code in ("de", "en")
        ]
        assert [page.status_code for page in pages] == [200, 200]
        assert [page.headers["Content-Language"] for page in pages] == ["en", "en"]
        assert pages[0].content == pages[1].content
