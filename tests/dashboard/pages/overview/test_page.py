"""The first page, and its bands as lines at places of a strip."""

from benchmarks.comparing.profile import Band
from benchmarks.models import Study
from dashboard.pages.overview.views import strips
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

    with django_assert_num_queries(10):
        client.get("/")


def band(*lines, component="network"):
    return Band(
        study=Study(slug="study"),
        component=component,
        hypervisor="Xen 3.3",
        pairs=len(lines),
        lowest=min(lines),
        highest=max(lines),
        lines=lines,
    )


def test_there_is_no_picture_of_nothing():
    assert strips([]) is None


def test_lines_stand_below_near_and_above_native():
    (group,) = strips([band(0.25, 1.0, 1.2)])["groups"]
    lines = group["strips"][0]["lines"]

    assert [line["side"] for line in lines] == ["below", "near", "above"]
    places = [float(line["x"].rstrip("%")) for line in lines]
    assert places == sorted(places)
    assert all(0 <= place <= 100 for place in places)


def test_the_native_line_stands_where_a_ratio_of_one_does():
    drawn = strips([band(0.5, 1.0)])

    assert drawn["native"] == drawn["groups"][0]["strips"][0]["lines"][-1]["x"]


def test_what_lies_beyond_the_axis_is_said_and_not_drawn_at_its_end():
    strip = strips([band(0.00098, 0.9)])["groups"][0]["strips"][0]

    assert len(strip["lines"]) == 1
    assert strip["goes_below"]
    assert not strip["goes_above"]


def test_components_are_groups():
    drawn = strips([band(0.9, component="CPU"), band(0.5), band(0.6)])

    assert [
        (group["component"], len(group["strips"])) for group in drawn["groups"]
    ] == [
        ("CPU", 1),
        ("network", 2),
    ]
    assert drawn["pairs"] == 3
