"""The guided tour: steps depend on the data, the query names the current step."""

import re

import pytest

from benchmarks.models import Cell, Study
from benchmarks.studies.study_rollups import (
    DISK_SLUG,
    ESXI_SLUG,
    XEN_SLUG,
    RollupRenewal,
)
from dashboard.pages.home.tour import LESSONS, TourStep, tour_strip

ASKED = {lesson.example: str(lesson.question) for lesson in LESSONS}
QUESTIONS = {
    XEN_SLUG: [ASKED["memory"], ASKED["single_run"]],
    ESXI_SLUG: [ASKED["settings"], ASKED["mistake"]],
    DISK_SLUG: [ASKED["bimodal"]],
}
LAST = ASKED["report"]
STEPS = [
    TourStep("First?", "It is.", "/one/", "a=b"),
    TourStep("Last?", "It is.", "/two/"),
]


@pytest.fixture
def studies(submit, run_document, xen, lab):
    """Create the studies of the tour, with just the data it shows."""

    def document(slug, value, metric, unit="MB/s", tool="iometer", **changes):
        parameters = {"operation": "read"} if tool == "iometer" else {"n": "1000"}
        if tool == "ramspeed":
            parameters = {"operation": "read", "level": "RAM"}
        sample = {"metric": metric, "value": value, "unit": unit}
        sample["parameters"] = parameters
        return run_document(study=slug, tool=tool, samples=[sample], **changes)

    for slug in QUESTIONS:
        Study.objects.create(lab=lab, slug=slug, title=slug, visibility="public")
    submit(
        document(XEN_SLUG, 1000, "bandwidth", tool="ramspeed"),
        document(XEN_SLUG, 900, "bandwidth", tool="ramspeed", system=xen),
        document(XEN_SLUG, 1.5, "time", unit="s", tool="linpack"),
        document(XEN_SLUG, 1.6, "time", unit="s", tool="linpack", system=xen),
        document(ESXI_SLUG, 50, "network throughput"),
        document(DISK_SLUG, 60, "disk throughput"),
    )
    esxi = Study.objects.get(slug=ESXI_SLUG)
    esxi.flags.create(lab=lab, rule="unit-slip", severity="impossible", message="Odd.")
    Cell.objects.filter(study__slug=DISK_SLUG).update(shape_codes="bimodal")


def listed(page):
    return re.findall(r'<li><a href="([^"]+tour=\d+#tour)">([^<]+)</a></li>', page)


def test_every_step_is_shown_on_its_page(text, studies):
    links = listed(text("/"))

    expected = [question for each in QUESTIONS.values() for question in each]
    assert [question for _, question in links] == [*expected, LAST]
    for number, (address, question) in enumerate(links, start=1):
        page = text(address.replace("&amp;", "&").removesuffix("#tour"))
        assert f"Tour, step {number} of 6" in page
        assert f'id="tour-question">{question}<' in page


def test_next_and_previous_link_steps(text, studies):
    addresses = [address for address, _ in listed(text("/"))]
    middle = text(addresses[2].replace("&amp;", "&").removesuffix("#tour"))
    last = text(addresses[5].removesuffix("#tour"))

    assert f'rel="next" href="{addresses[3]}"' in middle
    assert f'rel="prev" href="{addresses[1]}"' in middle
    assert 'rel="next"' not in last
    assert "Done: show all studies" in last


@pytest.mark.parametrize("slug", QUESTIONS)
def test_steps_of_invisible_study_are_left_out(text, studies, slug):
    Study.objects.filter(slug=slug).update(visibility="private")

    asked = [question for _, question in listed(text("/"))]

    assert not set(asked) & set(QUESTIONS[slug])
    assert (LAST in asked) == (slug != XEN_SLUG)
    assert len(asked) > 2


def test_step_without_data_is_left_out(text, studies):
    Cell.objects.filter(study__slug=DISK_SLUG).update(shape_codes="")
    Study.objects.get(slug=ESXI_SLUG).flags.update(status="dismissed")

    asked = [question for _, question in listed(text("/"))]

    assert len(asked) == 4
    assert ASKED["mistake"] not in asked


def test_no_tour_without_studies(text, pair):
    assert "New here?" not in text("/")


def test_signed_in_users_see_their_studies_instead_of_the_tour(
    client, text, studies, person
):
    assert listed(text("/"))
    client.force_login(person)
    assert not listed(text("/"))


@pytest.mark.parametrize("asked", ["0", "7", "-1", "x", "²", "999999", "1 ", ""])
def test_invalid_step_shows_no_strip(text, studies, asked):
    page = text(f"/studies/alpha-lab/{XEN_SLUG}/compare/?tour={asked}")

    assert "Tour, step" not in page


def test_step_of_another_page_shows_no_strip(text, studies):
    assert "Tour, step" not in text(f"/studies/alpha-lab/{XEN_SLUG}/?tour=1")


def test_page_without_tour_has_no_extra_query(
    client, studies, django_assert_num_queries
):
    renew = RollupRenewal()
    for _ in range(2):  # the first request caches the data versions
        renew()
    with django_assert_num_queries(0):
        client.get("/glossary/")
    with django_assert_num_queries(3):
        client.get("/glossary/?tour=1")


def test_ending_tour_keeps_page():
    strip = tour_strip(STEPS, path="/one/", query="1")

    assert strip is not None
    assert (strip["number"], strip["total"], strip["previous"]) == (1, 2, "")
    assert strip["next"] == "/two/?tour=2#tour"
    assert strip["step"].page_url == "/one/?a=b"
    assert tour_strip(STEPS, path="/two/", query="1") is None
