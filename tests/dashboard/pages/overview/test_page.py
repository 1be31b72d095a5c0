"""The first page."""

from benchmarks.models import Study
from tests.dashboard.markup import unbroken


def test_it_shows_a_card_for_each_study(text, pair, study):
    page = text("/")

    assert "<title>What does a hypervisor cost? · Virtlab</title>" in page
    assert study.title in page
    assert "/studies/alpha-lab/study/compare/" in page
    assert "all processed" in page


def test_it_shows_every_pair_at_its_ratio(text, pair):
    page = unbroken(text("/"))

    assert "between 0.247 and 0.247" in page
    assert '<line class="below"' in page


def test_it_says_so_when_there_is_nothing(text, db):
    assert "No study yet" in text("/")


def test_it_keeps_private_studies_from_strangers(text, client, pair, person):
    Study.objects.update(visibility=Study.Visibility.PRIVATE)

    assert "/studies/alpha-lab/study/" not in text("/")
    client.force_login(person)
    assert "/studies/alpha-lab/study/" in text("/")


def test_its_queries_do_not_grow_with_the_studies(
    client, pair, lab, django_assert_num_queries
):
    for number in range(5):
        Study.objects.create(lab=lab, slug=f"more-{number}", visibility="public")

    with django_assert_num_queries(8):
        client.get("/")
