"""The list of studies."""

import pytest

from benchmarks.models import Study
from benchmarks.studies import saving
from dashboard.pages.studies import views
from tests.dashboard.markup import unbroken


@pytest.fixture
def studies(pair, lab):
    for number in range(5):
        Study.objects.create(
            lab=lab,
            slug=f"more-{number}",
            title=f"Study number {number}",
            published=f"201{number}",
            visibility="public",
        )


def test_shows_every_ratio(text, pair):
    page = unbroken(text("/studies/"))

    assert "between 0.247 and 0.247" in page
    assert '<line class="below"' in page


@pytest.mark.parametrize(
    ("query", "shown"),
    [
        ("year=2013", {3}),
        ("q=number+2012", {2}),
        ("q=NUMBER+2014", {4}),
        ("hypervisor=Xen", set()),
        ("q=nothing", set()),
        ("", {0, 1, 2, 3, 4}),
    ],
)
def test_filters(text, studies, query, shown):
    page = text(f"/studies/?{query}")

    assert {n for n in range(5) if f"more-{n}/" in page} == shown


def test_filter_by_hypervisor_and_tool_of_the_results(text, pair, study):
    assert study.title in text("/studies/?hypervisor=Xen")
    assert f"/studies/alpha-lab/{study.slug}/" not in text("/studies/?hypervisor=KVM")


def test_long_lists_have_pages_that_keep_the_filter(text, studies, monkeypatch):
    monkeypatch.setattr(views, "STUDIES_PER_PAGE", 2)

    page = text("/studies/?q=number&page=2")

    assert sum(f"more-{n}/compare/" in page for n in range(5)) == 2
    assert 'rel="next" href="?q=number&amp;page=3"' in page
    assert 'rel="prev" href="?q=number&amp;page=1"' in page


def test_no_match_leads_back(text, studies):
    assert "No study matches" in text("/studies/?q=nothing")


def test_no_studies_are_reported(text, db):
    assert "No studies yet" in text("/studies/")


def test_query_count_is_independent_of_studies(
    client, studies, django_assert_num_queries
):
    with django_assert_num_queries(10):
        client.get("/studies/")


def test_system_of_two_studies_counts_once(client, submit, run_document, study):
    saving.save_study(lab=study.lab, slug="more", title="More", visibility="public")
    submit(run_document(), run_document(study="more"))

    page = client.get("/studies/")

    assert page.context["totals"]["systems"] == "1"
    assert page.context["totals"]["runs"] == "2"
