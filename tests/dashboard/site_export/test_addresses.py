"""Files of exported URLs."""

import pytest

from dashboard.site_export.addresses import Scope, local_url, relative_link

STUDY = "/studies/alpha-lab/xen/"


def file_of(url, study=""):
    address = Scope(study).address_of(url)
    return address and address.file


@pytest.mark.parametrize(
    ("url", "file"),
    [
        ("/", "index.html"),
        (STUDY, "studies/alpha-lab/xen/index.html"),
        (f"{STUDY}?tour=2", "studies/alpha-lab/xen/index.html"),
        (f"{STUDY}compare.csv", "studies/alpha-lab/xen/compare.csv"),
        (
            f"{STUDY}compare/?scenario=single",
            "studies/alpha-lab/xen/compare/scenario-single/index.html",
        ),
        (
            "/evidence/question/?work=memory&hypervisor=Xen",
            "evidence/question/hypervisor-Xen--work-memory/index.html",
        ),
        ("/evidence.csv?hypervisor=KVM", "evidence.hypervisor-KVM.csv"),
        ("/api/v1/data/cells/csv/", "api/v1/data/cells/csv/cells.csv"),
        ("/runs/7/upload/", "runs/7/upload/upload.txt"),
        ("/docs/method/", "docs/method/index.html"),
    ],
)
def test_public_pages_and_files_have_a_file_of_the_same_name(url, file):
    assert file_of(url) == file


@pytest.mark.parametrize(
    "url",
    [
        "/login/",
        "/upload/",
        "/search/?q=xen",
        "/labs/alpha-lab/tokens/",
        "/api/v1/runs/",
        "/no-such-page/",
        f"{STUDY}compare/?baseline=3",
        f"{STUDY}compare/?scenario=a&scenario=b",
        "/embed/evidence/",
    ],
)
def test_pages_that_need_the_server_have_no_file(url):
    assert file_of(url) is None


def test_queries_that_differ_only_in_punctuation_have_different_files():
    first, second = (
        file_of(f"/evidence/question/?work=memory&hypervisor=a{mark}b")
        for mark in ("%20", "%2F")
    )

    assert first != second


def test_one_study_contains_no_other_study():
    assert file_of(f"{STUDY}compare/", "alpha-lab/xen")
    assert file_of("/studies/alpha-lab/xen-2/", "alpha-lab/xen") is None
    assert file_of("/api/v1/data/cells/csv/?study=alpha-lab/xen", "alpha-lab/xen")
    assert file_of("/api/v1/data/cells/csv/", "alpha-lab/xen") is None
    assert file_of("/evidence/", "alpha-lab/xen") is None


def test_links_between_files_are_relative():
    page = "studies/a/b/index.html"

    assert relative_link("index.html", page) == page
    assert relative_link(page, "index.html") == "../../../index.html"
    assert relative_link(page, "studies/a/b/x y.csv") == "x%20y.csv"


@pytest.mark.parametrize(
    ("link", "expected"),
    [
        ("../c/?q=1#x", "/a/c/?q=1#x"),
        ("https://virtlab.example/d/", "/d/"),
        ("https://virtlab.example", "/"),
        ("https://virtlab.example.org/d/", None),
        ("//virtlab.example/d/", "/d/"),
        ("mailto:a@b.example", None),
    ],
)
def test_links_to_the_own_server_are_recognized(link, expected):
    assert local_url(link, "/a/b/", "https://virtlab.example") == expected
