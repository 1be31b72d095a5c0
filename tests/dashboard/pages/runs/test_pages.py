"""Lists of runs, and the page of one run."""

import json
import re

import pytest

from benchmarks.models import Run, RunOutput, Study
from benchmarks.studies.checking import check_study
from dashboard.kit import upload_text
from dashboard.pages.runs import views as run_pages

LIST = "/studies/alpha-lab/study/runs/"


def numbers(page):
    return [run.pk for run in page.context["page"]["runs"]]


def test_the_list_has_the_newest_run_first(client, pair):
    page = client.get(LIST)

    assert numbers(page) == sorted(numbers(page), reverse=True)
    assert "Iometer" in page.content.decode()


@pytest.mark.parametrize(
    ("query", "count"),
    [
        ({"tool": "iometer"}, 2),
        ({"tool": "linpack"}, 0),
        ({"status": "parsed"}, 2),
        ({"status": "rejected"}, 0),
        ({"scenario": "single"}, 2),
        ({"system": "x"}, 0),
        ({"tool": "a\0b"}, 0),
        ({"before": "x"}, 0),
    ],
)
def test_the_list_can_be_narrowed(client, pair, query, count):
    assert len(numbers(client.get(LIST, query))) == count


def test_the_list_of_one_system(client, pair):
    (number,) = numbers(client.get(LIST, {"system": pair.system_id}))

    assert Run.objects.get(pk=number).system_id == pair.system_id


def test_a_run_without_a_document_says_when_it_began(text, submit, run_document):
    submit(run_document(started_at="2026-11-21T11:33:00Z"))

    assert "11:33" in text(LIST)


def test_a_long_fact_is_folded(text, submit, run_document):
    submit(run_document(facts={"kernel": "6.1", "mitigations": ["x" * 30] * 9}))

    page = text(f"/runs/{Run.objects.get().pk}/")

    assert re.search(r"<dd>\s*6\.1\s*</dd>", page)
    assert "<summary>xxx" in page


@pytest.mark.parametrize("place", ["list", "page"])
def test_a_run_that_waits_comes_by_itself(client, pair, place):
    run = Run.objects.latest("pk")
    address = LIST if place == "list" else f"/runs/{run.pk}/"
    assert 'hx-trigger="every' not in client.get(address).text
    Run.objects.filter(pk=run.pk).update(status=Run.Status.RECEIVED)

    page = client.get(address).text

    assert f'hx-get="{address}" hx-trigger="every' in page
    assert "htmx" in page
    assert ("waiting to be read" in page) == (place == "page")


def test_pages_lead_to_the_end_and_back(client, submit, run_document, monkeypatch):
    monkeypatch.setattr(run_pages, "PAGE", 2)
    submit(*(run_document() for _ in range(5)))
    everything = list(Run.objects.order_by("-pk").values_list("pk", flat=True))

    first = client.get(LIST)
    second = client.get(LIST, {"before": first.context["page"]["older"]})
    last = client.get(LIST, {"before": second.context["page"]["older"]})
    back = client.get(LIST, {"after": last.context["page"]["newer"]})

    assert numbers(first) + numbers(second) + numbers(last) == everything
    assert last.context["page"]["older"] is None
    assert numbers(back) == numbers(second)


def test_a_run_shows_what_ran_where_and_what_it_measured(text, pair, study):
    run = Run.objects.get(system__hypervisor="Xen")

    page = text(f"/runs/{run.pk}/")

    assert "Xen" in page
    assert "13.08\xa0MB/s" in page
    assert "Gebhardt 2010" in page
    assert study.title in page
    assert f"/cells/{pair.pk}/" in page
    assert "against baseline" in page


def test_a_native_run_leads_to_its_cell_and_promises_no_baseline(text, pair):
    run = Run.objects.get(system__hypervisor="native")

    page = text(f"/runs/{run.pk}/")

    assert "all its runs" in page
    assert "against baseline" not in page


def test_a_run_shows_its_upload_readable_and_escaped(text, pair, run_document, submit):
    (made,) = submit(run_document(note="<b>bold</b> & more"))

    page = text(f"/runs/{made.run_id}/")

    assert "&lt;b&gt;bold&lt;/b&gt; &amp; more" in page
    assert "<b>bold</b>" not in page


def test_the_upload_can_be_had_as_it_was_kept(client, pair):
    run = Run.objects.first()

    answer = client.get(f"/runs/{run.pk}/upload/")

    assert answer.content.decode() == RunOutput.objects.get(run=run).text
    assert json.loads(answer.content)["tool"] == "iometer"
    assert "attachment" in answer["Content-Disposition"]


def test_a_refused_run_says_why(text, pair):
    run = Run.objects.first()
    Run.objects.filter(pk=run.pk).update(status="rejected", reason="Line 3 is cut.")

    page = text(f"/runs/{run.pk}/")

    assert "rejected" in page
    assert "Line 3 is cut." in page


def test_an_upload_that_is_no_json_is_shown_as_it_is(text, pair):
    run = Run.objects.first()
    RunOutput.objects.filter(run=run).update(text="Triad: 25684.4")

    assert "Triad: 25684.4" in text(f"/runs/{run.pk}/")


def test_long_uploads_and_many_samples_are_cut(client, pair, monkeypatch):
    monkeypatch.setattr(upload_text, "SHOWN", 20)
    monkeypatch.setattr(run_pages, "SAMPLES_SHOWN", 0)

    page = client.get(f"/runs/{Run.objects.first().pk}/").context["page"]

    assert page["upload"].is_cut
    assert page["has_more_samples"]
    assert page["samples"] == []


@pytest.mark.parametrize("address", ["", "upload/"])
def test_a_private_run_is_not_there_for_strangers(client, pair, person, address):
    Study.objects.update(visibility=Study.Visibility.PRIVATE)
    run = Run.objects.first()

    assert client.get(f"/runs/{run.pk}/{address}").status_code == 404
    client.force_login(person)
    assert client.get(f"/runs/{run.pk}/{address}").status_code == 200


def test_a_run_that_does_not_exist_is_not_found(client, db):
    assert client.get("/runs/1/").status_code == 404
    assert client.get("/runs/99999999999999999999/").status_code == 404


def test_queries_are_fixed(
    client, pair, submit, run_document, django_assert_num_queries
):
    submit(*(run_document() for _ in range(6)))
    run = Run.objects.first()

    with django_assert_num_queries(4):
        client.get(LIST)
    # One of them asks for comments.
    with django_assert_num_queries(6):
        client.get(f"/runs/{run.pk}/")


def test_it_says_whose_clock_timed_the_run_and_how_far_it_is_trusted(
    text, submit, run_document, xen
):
    told = {"local_us": 10**8, "offset_start_us": 0, "offset_end_us": -3 * 10**6}
    first, second = submit(
        run_document(clock="guest", system=xen),
        run_document(clock="guest", system=xen, facts={"clock": told}),
    )

    unchecked, suspect = text(f"/runs/{first.run_id}/"), text(f"/runs/{second.run_id}/")

    assert "the guest&#x27;s own clock" in unchecked
    assert "<b>unchecked</b>" in unchecked
    assert "<b>suspect</b>" in suspect
    assert "no outside clock timed the run" in suspect


def test_a_corrected_time_does_not_correct_what_the_tool_printed(
    text, submit, run_document, xen
):
    told = {
        "local_us": 10**8,
        "external_us": 103 * 10**6,
        "interval_bound_us": 900,
        "offset_start_us": 0,
        "offset_end_us": -3 * 10**6,
    }
    (only,) = submit(run_document(clock="guest", system=xen, facts={"clock": told}))

    page = text(f"/runs/{only.run_id}/")

    assert "<b>corrected</b>" in page
    assert "not assessed" in page


def test_a_run_that_was_uploaded_twice_leads_to_the_first(
    text, submit, run_document, study
):
    start = "2026-11-21T11:33:00Z"
    first, again = (submit(run_document(started_at=start))[0].run_id for _ in range(2))
    check_study(study)

    assert f'href="/runs/{first}/">run {first}</a>' in text(f"/runs/{again}/")
    assert f'href="/runs/{again}/"' in text(f"/runs/{first}/")
    assert text(LIST).count("uploaded twice") == 1
