"""The home page, and its strips of ratios."""

from benchmarks.comparison.overhead_profile import SpectrumBand
from benchmarks.models import Study
from dashboard.pages.home.views import ratio_strips
from tests.dashboard.markup import unbroken


def test_shows_card_per_study(text, pair, study):
    page = text("/")

    assert "<title>What does a hypervisor cost? · Virtlab</title>" in page
    assert study.title in page
    assert "/studies/alpha-lab/study/compare/" in page
    assert "all processed" in page


def test_shows_every_ratio(text, pair):
    page = unbroken(text("/"))

    assert "between 0.247 and 0.247" in page
    assert '<line class="below"' in page


def test_no_studies_are_reported(text, db):
    assert "No studies yet" in text("/")


def test_private_studies_are_hidden_from_strangers(text, client, pair, person):
    Study.objects.update(visibility=Study.Visibility.PRIVATE)

    assert "/studies/alpha-lab/study/" not in text("/")
    client.force_login(person)
    assert "/studies/alpha-lab/study/" in text("/")


def test_query_count_is_independent_of_studies(
    client, pair, lab, django_assert_num_queries
):
    for number in range(5):
        Study.objects.create(lab=lab, slug=f"more-{number}", visibility="public")

    with django_assert_num_queries(10):
        client.get("/")


def band(*lines, component="network"):
    return SpectrumBand(
        study=Study(slug="study"),
        component=component,
        hypervisor="Xen 3.3",
        pairs=len(lines),
        lowest=min(lines),
        highest=max(lines),
        lines=lines,
    )


def test_no_strip_without_ratios():
    assert ratio_strips([]) is None


def test_lines_are_grouped_by_native_performance():
    (group,) = ratio_strips([band(0.25, 1.0, 1.2)])["groups"]
    lines = group["strips"][0]["lines"]

    assert [line["side"] for line in lines] == ["below", "near", "above"]
    places = [float(line["x"].rstrip("%")) for line in lines]
    assert places == sorted(places)
    assert all(0 <= place <= 100 for place in places)


def test_native_line_is_at_ratio_one():
    drawn = ratio_strips([band(0.5, 1.0)])

    assert drawn["native"] == drawn["groups"][0]["strips"][0]["lines"][-1]["x"]


def test_ratios_beyond_axis_are_counted_not_drawn():
    strip = ratio_strips([band(0.00098, 0.9)])["groups"][0]["strips"][0]

    assert len(strip["lines"]) == 1
    assert strip["goes_below"]
    assert not strip["goes_above"]


def test_components_are_groups():
    drawn = ratio_strips([band(0.9, component="CPU"), band(0.5), band(0.6)])

    assert [
        (group["component"], len(group["strips"])) for group in drawn["groups"]
    ] == [
        ("CPU", 1),
        ("network", 2),
    ]
    assert drawn["pairs"] == 3
