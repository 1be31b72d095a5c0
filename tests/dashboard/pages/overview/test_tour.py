"""The guided path: its steps come from the data, its state from the address."""

import re

import pytest

from benchmarks.models import Cell, Study
from benchmarks.studies.rollups import DISK, ESXI, XEN, Renewal
from dashboard.pages.overview.tour import LESSONS, Step, tour_strip

ASKED = {lesson.example: str(lesson.question) for lesson in LESSONS}
QUESTIONS = {
    XEN: [ASKED["memory"], ASKED["single_run"]],
    ESXI: [ASKED["settings"], ASKED["mistake"]],
    DISK: [ASKED["bimodal"]],
}
LAST = ASKED["report"]
STEPS = [Step("First?", "It is.", "/one/", "a=b"), Step("Last?", "It is.", "/two/")]


@pytest.fixture
def studies(submit, run_document, xen, lab):
    """Studies with the names of the studies, and just what the path shows."""

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
        document(XEN, 1000, "bandwidth", tool="ramspeed"),
        document(XEN, 900, "bandwidth", tool="ramspeed", system=xen),
        document(XEN, 1.5, "time", unit="s", tool="linpack"),
        document(XEN, 1.6, "time", unit="s", tool="linpack", system=xen),
        document(ESXI, 50, "network throughput"),
        document(DISK, 60, "disk throughput"),
    )
    esxi = Study.objects.get(slug=ESXI)
    esxi.flags.create(lab=lab, rule="unit-slip", severity="impossible", sentence="Odd.")
    Cell.objects.filter(study__slug=DISK).update(shape_codes="bimodal")


def listed(page):
    return re.findall(r'<li><a href="([^"]+tour=\d+#tour)">([^<]+)</a></li>', page)


def test_every_step_answers_on_its_own_page(text, studies):
    links = listed(text("/"))

    expected = [question for each in QUESTIONS.values() for question in each]
    assert [question for _, question in links] == [*expected, LAST]
    for number, (address, question) in enumerate(links, start=1):
        page = text(address.replace("&amp;", "&").removesuffix("#tour"))
        assert f"Guided path, {number} of 6" in page
        assert f'id="tour-question">{question}<' in page


def test_next_and_previous_lead_from_step_to_step(text, studies):
    addresses = [address for address, _ in listed(text("/"))]
    middle = text(addresses[2].replace("&amp;", "&").removesuffix("#tour"))
    last = text(addresses[5].removesuffix("#tour"))

    assert f'rel="next" href="{addresses[3]}"' in middle
    assert f'rel="prev" href="{addresses[1]}"' in middle
    assert 'rel="next"' not in last
    assert "Done: all studies" in last


@pytest.mark.parametrize("slug", QUESTIONS)
def test_a_study_that_may_not_be_seen_leaves_its_steps_out(text, studies, slug):
    Study.objects.filter(slug=slug).update(visibility="private")

    asked = [question for _, question in listed(text("/"))]

    assert not set(asked) & set(QUESTIONS[slug])
    assert (LAST in asked) == (slug != XEN)
    assert len(asked) > 2


def test_a_step_without_its_data_is_left_out(text, studies):
    Cell.objects.filter(study__slug=DISK).update(shape_codes="")
    Study.objects.get(slug=ESXI).flags.update(status="dismissed")

    asked = [question for _, question in listed(text("/"))]

    assert len(asked) == 4
    assert ASKED["mistake"] not in asked


def test_there_is_no_path_without_the_studies(text, pair):
    assert "New here?" not in text("/")


def test_whoever_has_signed_in_finds_it_folded(client, text, studies, person):
    assert "<details open>" in text("/")
    client.force_login(person)
    assert "<details>" in text("/")


@pytest.mark.parametrize("asked", ["0", "7", "-1", "x", "²", "999999", "1 ", ""])
def test_nonsense_shows_the_page_without_a_strip(text, studies, asked):
    page = text(f"/studies/alpha-lab/{XEN}/compare/?tour={asked}")

    assert "Guided path" not in page


def test_a_number_on_another_page_says_nothing(text, studies):
    assert "Guided path" not in text(f"/studies/alpha-lab/{XEN}/?tour=1")


def test_a_page_that_was_not_asked_costs_no_query_more(
    client, studies, django_assert_num_queries
):
    renew = Renewal()
    for _ in range(2):  # first it looks which studies change
        renew()
    with django_assert_num_queries(0):
        client.get("/glossary/")
    with django_assert_num_queries(3):
        client.get("/glossary/?tour=1")


def test_ending_leads_to_the_same_page_without_the_path():
    strip = tour_strip(STEPS, path="/one/", query="1")

    assert strip is not None
    assert (strip["number"], strip["total"], strip["previous"]) == (1, 2, "")
    assert strip["next"] == "/two/?tour=2#tour"
    assert strip["step"].own_address == "/one/?a=b"
    assert tour_strip(STEPS, path="/two/", query="1") is None
