"""Lists of runs, and the page of one run."""

import json
import re

import pytest

from benchmarks.models import Run, RunOutput, Study
from benchmarks.studies.checking import check_study
from dashboard.kit import upload_excerpt
from dashboard.pages.runs import views as run_pages

LIST = "/studies/alpha-lab/study/runs/"


def numbers(page):
    return [run.pk for run in page.context["page"]["runs"]]


def test_list_starts_with_newest_run(client, pair):
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
def test_list_can_be_filtered(client, pair, query, count):
    assert len(numbers(client.get(LIST, query))) == count


def test_list_of_one_system(client, pair):
    (number,) = numbers(client.get(LIST, {"system": pair.system_id}))

    assert Run.objects.get(pk=number).system_id == pair.system_id


def test_run_without_document_shows_start(text, submit, run_document):
    submit(run_document(started_at="2026-11-21T11:33:00Z"))

    assert "11:33" in text(LIST)


def test_long_fact_is_folded(text, submit, run_document):
    submit(run_document(facts={"kernel": "6.1", "mitigations": ["x" * 30] * 9}))

    page = text(f"/runs/{Run.objects.get().pk}/")

    assert re.search(r"<dd>\s*6\.1\s*</dd>", page)
    assert "<summary>xxx" in page


@pytest.mark.parametrize("place", ["list", "page"])
def test_waiting_run_updates_automatically(client, pair, place):
    run = Run.objects.latest("pk")
    address = LIST if place == "list" else f"/runs/{run.pk}/"
    assert 'hx-trigger="every' not in client.get(address).text
    Run.objects.filter(pk=run.pk).update(status=Run.Status.RECEIVED)

    page = client.get(address).text

    assert f'hx-get="{address}" hx-trigger="every' in page
    assert "htmx" in page
    assert ("waiting to be processed" in page) == (place == "page")


def test_pagination_works_both_ways(client, submit, run_document, monkeypatch):
    monkeypatch.setattr(run_pages, "RUNS_PER_PAGE", 2)
    submit(*(run_document() for _ in range(5)))
    everything = list(Run.objects.order_by("-pk").values_list("pk", flat=True))

    first = client.get(LIST)
    second = client.get(LIST, {"before": first.context["page"]["older"]})
    last = client.get(LIST, {"before": second.context["page"]["older"]})
    back = client.get(LIST, {"after": last.context["page"]["newer"]})

    assert numbers(first) + numbers(second) + numbers(last) == everything
    assert last.context["page"]["older"] is None
    assert numbers(back) == numbers(second)


def test_run_shows_tool_system_and_samples(text, pair, study):
    run = Run.objects.get(system__hypervisor="Xen")

    page = text(f"/runs/{run.pk}/")

    assert "Xen" in page
    assert "13.08\xa0MB/s" in page
    assert "Gebhardt 2010" in page
    assert study.title in page
    assert f"/cells/{pair.pk}/" in page
    assert "compare with baseline" in page


def test_native_run_links_to_cell_without_baseline(text, pair):
    run = Run.objects.get(system__hypervisor="native")

    page = text(f"/runs/{run.pk}/")

    assert "view all runs" in page
    assert "compare with baseline" not in page


def test_run_shows_escaped_upload(text, pair, run_document, submit):
    (made,) = submit(run_document(note="<b>bold</b> & more"))

    page = text(f"/runs/{made.run_id}/")

    assert "&lt;b&gt;bold&lt;/b&gt; &amp; more" in page
    assert "<b>bold</b>" not in page


def test_upload_can_be_downloaded(client, pair):
    run = Run.objects.first()

    answer = client.get(f"/runs/{run.pk}/upload/")

    assert answer.content.decode() == RunOutput.objects.get(run=run).text
    assert json.loads(answer.content)["tool"] == "iometer"
    assert "attachment" in answer["Content-Disposition"]


def test_rejected_run_shows_reason(text, pair):
    run = Run.objects.first()
    Run.objects.filter(pk=run.pk).update(status="rejected", reason="Line 3 is cut.")

    page = text(f"/runs/{run.pk}/")

    assert "rejected" in page
    assert "Line 3 is cut." in page


def test_invalid_json_is_shown_unchanged(text, pair):
    run = Run.objects.first()
    RunOutput.objects.filter(run=run).update(text="Triad: 25684.4")

    assert "Triad: 25684.4" in text(f"/runs/{run.pk}/")


def test_long_uploads_and_many_samples_are_truncated(client, pair, monkeypatch):
    monkeypatch.setattr(upload_excerpt, "MAX_SHOWN_CHARACTERS", 20)
    monkeypatch.setattr(run_pages, "SAMPLES_SHOWN", 0)

    page = client.get(f"/runs/{Run.objects.first().pk}/").context["page"]

    assert page["upload"].is_truncated
    assert page["has_more_samples"]
    assert page["samples"] == []


@pytest.mark.parametrize("address", ["", "upload/"])
def test_private_run_is_404_for_strangers(client, pair, person, address):
    Study.objects.update(visibility=Study.Visibility.PRIVATE)
    run = Run.objects.first()

    assert client.get(f"/runs/{run.pk}/{address}").status_code == 404
    client.force_login(person)
    assert client.get(f"/runs/{run.pk}/{address}").status_code == 200


def test_unknown_run_is_404(client, db):
    assert client.get("/runs/1/").status_code == 404
    assert client.get("/runs/99999999999999999999/").status_code == 404


def test_query_count_is_constant(
    client, pair, submit, run_document, django_assert_num_queries
):
    submit(*(run_document() for _ in range(6)))
    run = Run.objects.first()

    with django_assert_num_queries(5):
        client.get(LIST)
    # One query is for comments.
    with django_assert_num_queries(6):
        client.get(f"/runs/{run.pk}/")


def test_shows_clock_and_trust(text, submit, run_document, xen):
    told = {"local_us": 10**8, "offset_start_us": 0, "offset_end_us": -3 * 10**6}
    first, second = submit(
        run_document(clock="guest", system=xen),
        run_document(clock="guest", system=xen, facts={"clock": told}),
    )

    unchecked, suspect = text(f"/runs/{first.run_id}/"), text(f"/runs/{second.run_id}/")

    assert "the guest&#x27;s own clock" in unchecked
    assert "<b>unchecked</b>" in unchecked
    assert "<b>suspect</b>" in suspect
    assert "no external clock timed the run" in suspect


def test_corrected_time_leaves_printed_values(text, submit, run_document, xen):
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


def test_duplicate_run_links_to_first(text, submit, run_document, study):
    start = "2026-11-21T11:33:00Z"
    first, again = (submit(run_document(started_at=start))[0].run_id for _ in range(2))
    check_study(study)

    assert f'href="/runs/{first}/">run {first}</a>' in text(f"/runs/{again}/")
    assert f'href="/runs/{again}/"' in text(f"/runs/{first}/")
    assert text(LIST).count(">duplicate<") == 1
