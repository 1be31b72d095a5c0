"""Citations of studies."""

import json
import re
from dataclasses import replace
from datetime import date

import pytest

from dashboard.exports.citation import Citation, bibtex, csl_json
from tests.dashboard.exports.conftest import HOSTILE

STUDY = Citation(
    key="lmu-2010-xen",
    title="Parameters that influence the efficiency of virtualization: Xen 3.3",
    author="Bastian Gebhardt",
    institution="LMU Munich, Institut für Informatik",
    published="2010-07-29",
    language="de",
    url="http://localhost/studies/reference/lmu-2010-xen/",
    note="Study reference/lmu-2010-xen in Virtlab 1.0",
    accessed_on=date(2026, 11, 21),
)


def test_studies_with_an_institution_are_technical_reports():
    entry = bibtex(STUDY)

    assert entry.startswith("@techreport{lmu-2010-xen,\n")
    assert "  author = {Bastian Gebhardt},\n" in entry
    assert "  institution = {LMU Munich, Institut für Informatik},\n" in entry
    assert "  year = {2010},\n" in entry
    assert "  month = jul,\n" in entry
    assert "  url = {http://localhost/studies/reference/lmu-2010-xen/},\n" in entry
    assert "  urldate = {2026-11-21},\n" in entry


def test_csl_has_authors_date_and_url():
    (item,) = json.loads(csl_json(STUDY))

    assert item["author"] == [{"family": "Gebhardt", "given": "Bastian"}]
    assert item["issued"] == {"date-parts": [[2010, 7, 29]]}
    assert item["accessed"] == {"date-parts": [[2026, 11, 21]]}
    assert item["type"] == "report"
    assert item["URL"] == STUDY.url


def test_missing_fields_are_omitted():
    bare = replace(STUDY, author="", institution="", published="", language="")

    assert bibtex(bare).startswith("@misc{")
    assert not re.search(r"author|institution|year|month|language", bibtex(bare))
    (item,) = json.loads(csl_json(bare))
    assert not {"author", "publisher", "issued", "language"} & item.keys()


def test_the_institution_replaces_missing_authors():
    assert "  author = {{LMU Munich, " in bibtex(replace(STUDY, author=""))


@pytest.mark.parametrize(
    "author",
    [
        "Ada Lovelace; Grace Hopper",
        "Ada Lovelace and Grace Hopper",
        "Ada Lovelace & Grace Hopper",
    ],
)
def test_several_authors_are_split(author):
    assert "author = {Ada Lovelace and Grace Hopper}" in bibtex(
        replace(STUDY, author=author)
    )


def test_invalid_dates_are_kept_unchanged():
    (item,) = json.loads(csl_json(replace(STUDY, published="spring 2010")))

    assert item["issued"] == {"raw": "spring 2010"}
    assert "year = {spring 2010}" in bibtex(replace(STUDY, published="spring 2010"))


@pytest.mark.parametrize("name", HOSTILE)
def test_names_are_escaped(name):
    entry = bibtex(replace(STUDY, title=name, author=name, institution=name, note=name))

    body = entry[entry.index("@techreport") :]
    depth, fields = 0, 0
    for line in body.splitlines():
        fields += depth == 1 and line.startswith("  ")
        depth += line.count("{") - line.count("}")
        assert depth == (0 if line == "}" else 1), line
    assert depth == 0
    assert fields == 9
    (item,) = json.loads(csl_json(replace(STUDY, title=name)))
    assert item["title"] == name


ORIGINAL = Citation(
    key="ibm-2014",
    title="An updated performance comparison",
    author="Wes Felter; Juan Rubio",
    institution="",
    published="2015",
    language="en",
    url="",
    note="",
    accessed_on=None,
    kind="paper",
    published_in="ISPASS 2015",
    doi="10.1109/ISPASS.2015.7095802",
)
WITH_ORIGINAL = replace(
    STUDY, key="ibm-2014-virtlab", kind="dataset", originals=(ORIGINAL,)
)


def test_the_original_work_is_cited_before_the_study():
    first, second = bibtex(WITH_ORIGINAL).split("\n\n")

    assert first.startswith("@inproceedings{ibm-2014,\n")
    assert "  booktitle = {ISPASS 2015},\n" in first
    assert "  doi = {10.1109/ISPASS.2015.7095802},\n" in first
    assert "localhost" not in first
    assert "urldate" not in first
    assert second.startswith("@misc{ibm-2014-virtlab,\n")
    assert STUDY.url in second


def test_csl_has_the_original_work_and_the_study():
    original, study = json.loads(csl_json(WITH_ORIGINAL))

    assert original["type"] == "paper-conference"
    assert original["container-title"] == "ISPASS 2015"
    assert original["DOI"] == ORIGINAL.doi
    assert not {"URL", "accessed"} & original.keys()
    assert study["type"] == "dataset"
    assert study["URL"] == STUDY.url


def test_an_article_and_a_thesis_have_their_own_entries():
    article = replace(ORIGINAL, kind="article", published_in="A Journal")
    thesis = replace(ORIGINAL, kind="thesis", institution="University of Oulu")

    assert bibtex(article).startswith("@article{")
    assert "  journal = {A Journal},\n" in bibtex(article)
    assert bibtex(thesis).startswith("@mastersthesis{")
    assert "  school = {University of Oulu},\n" in bibtex(thesis)
