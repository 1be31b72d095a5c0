import re

import pytest

from benchmarks.reference.data_files import (
    data_set_names,
    published_studies,
    read_rows,
    study_description,
    study_sources,
)
from benchmarks.study_sources import (
    DOI_PATTERN,
    FILE_URL_PATTERN,
    URL_PATTERN,
    Source,
    sources_from_json,
    sources_of_run,
)

SLUGS = (*published_studies()["studies"], *data_set_names())


def test_a_doi_is_the_address_of_a_work():
    source = Source(title="A", doi="10.1000/182", url="https://example.org/a.pdf")

    assert source.address == "https://doi.org/10.1000/182"


def test_a_place_is_a_file_of_the_source():
    source = Source(title="A", file_url="https://example.org/data/{place}")

    assert source.place_url("raw/a b.log") == "https://example.org/data/raw/a%20b.log"
    assert source.place_url("") == Source(title="A").place_url("Table 1") == ""


def test_a_run_has_the_sources_of_its_document():
    book, paper, every = (
        Source(title="Book", document="book"),
        Source(title="Paper", document="paper"),
        Source(title="Data"),
    )

    assert sources_of_run((book, paper, every), "paper") == (paper, every)
    assert sources_of_run((book, paper, every), "other") == (every,)
    assert sources_of_run((book, paper), "") == (book, paper)


def test_unknown_fields_of_stored_sources_are_ignored():
    stored = [{"title": "A", "later": 1}, {"kind": "report"}]

    assert sources_from_json(stored) == (Source(title="A"),)


@pytest.mark.parametrize("slug", SLUGS)
def test_each_reference_study_names_an_original_work(slug):
    sources = sources_from_json(study_sources(slug))

    assert any(source.relation != "described" for source in sources)
    for source in sources:
        assert source.authors or source.institution
        assert source.published
        assert re.fullmatch(DOI_PATTERN, source.doi) or not source.doi
        assert re.fullmatch(URL_PATTERN, source.url) or not source.url
        assert re.fullmatch(FILE_URL_PATTERN, source.file_url) or not source.file_url
    documents = {row.document for row in read_rows(slug)}
    assert {source.document for source in sources} <= {*documents, ""}


@pytest.mark.parametrize("slug", SLUGS)
def test_studies_copied_from_a_repository_link_to_its_commit(slug):
    stated = study_description(slug).get("source", "")
    if commit := re.search(r"@([0-9a-f]{40})", stated):
        assert any(commit[1] in source["url"] for source in study_sources(slug))
