"""The page of one study."""

import json
import re
from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from benchmarks.errors import InvalidError
from benchmarks.jobs.queue import QUARANTINE_AFTER, enqueue_checks
from benchmarks.models import Run, Study
from benchmarks.publishing.versions import check_is_processed
from benchmarks.studies import checking
from benchmarks.studies.overview import STALLED_AFTER
from benchmarks.uploads import intake
from tests import job_queue
from tests.dashboard.markup import unbroken

PAGE = "/studies/alpha-lab/study/"


def test_shows_results_and_systems(text, pair, study):
    Study.objects.update(note="A note.", factors={"AMD-V": ["off", "on"]})

    page = text(PAGE)

    assert "A note." in page
    assert "AMD-V" in page
    assert "Xen 3.3" in page
    assert "Gebhardt 2010" in page
    assert f"{PAGE}compare/?scenario=single&amp;component=network" in page


def test_links_to_the_published_works(text, pair, study):
    Study.objects.update(
        sources=[
            {"title": "A thesis", "authors": "Bastian Gebhardt", "published": "2010"},
            {"title": "A paper", "doi": "10.1000/182", "relation": "described"},
        ]
    )

    page = text(PAGE)

    assert (
        page.count("Transcribed from Bastian Gebhardt (2010): <cite>A thesis</cite>")
        == 2
    )
    assert '<a href="https://doi.org/10.1000/182" rel="external noopener">' in page
    assert text(f"{PAGE}cite.bib").count("@") == 3


def test_shows_failures_with_reasons(text, pair):
    rejected, waiting = Run.objects.order_by("pk")
    Run.objects.filter(pk=rejected.pk).update(
        status="rejected", reason="No <row> in it."
    )
    Run.objects.filter(pk=waiting.pk).update(status="received")
    job_queue.put_upload(waiting, error="Disk is full.")

    page = text(PAGE)

    assert "1 rejected" in page
    assert "No &lt;row&gt; in it." in page
    assert "1 waiting" in page
    assert "Disk is full." in page


def test_empty_study_has_page(text, study):
    page = text(PAGE)

    assert 'id="coverage"' in page
    assert '<table class="table table-folded" aria-labelledby="coverage"' not in page
    assert "no runs yet" in page


def test_factors_may_be_texts(text, study):
    Study.objects.update(factors={"cache": "off", "depth": 3, "sizes": [1, [2]]})

    assert "depth" in text(PAGE)


def test_query_count_is_constant(
    client, pair, submit, run_document, django_assert_num_queries
):
    submit(*(run_document(system={"guest_os": f"Linux {n}"}) for n in range(5)))

    with django_assert_num_queries(25):
        client.get(PAGE)
    with django_assert_num_queries(14):
        client.get(PAGE)


def test_page_is_never_outdated(client, pair, submit, run_document, xen):
    before = client.get(PAGE).content.decode()
    submit(run_document(26.16, system=xen))

    after = client.get(PAGE).content.decode()

    assert "1 benchmark, single run" in before
    assert "1 benchmark, 2 runs" in after


def test_overhead_profile_has_row_per_system(text, pair):
    page = text(PAGE)

    assert "Overhead profile" in page
    assert "1 benchmark, single run" in page
    assert "no interval is given" in page


def test_basis_of_mean_is_folded(text, submit, run_document, xen):
    for value, side in ((50.0, {}), (51.0, {}), (40.0, xen), (41.0, xen)):
        document = run_document(value, system=side)
        read = {**document["samples"][0], "parameters": {"operation": "read"}}
        submit(document | {"samples": [*document["samples"], read]})

    page = text(PAGE)

    folded = re.search(r"<details class=.sub-more.>(.*?)</details>", page, re.DOTALL)[1]
    assert "<summary>2 benchmarks</summary>" in folded
    assert "worst: " in folded


def test_missing_profile_has_explanation(text, submit, run_document):
    assert "Overhead profile" not in text(PAGE)

    submit(run_document())

    page = text(PAGE)
    assert 'id="profile"' in page
    assert "ran alone" in page
    assert "report-table" not in page


def test_processing_updates_without_reload(text, pair):
    assert "hx-trigger" not in text(PAGE)
    Run.objects.filter(pk=Run.objects.first().pk).update(status="received")

    page = text(PAGE)
    part = text(f"{PAGE}processing/")

    assert "django_htmx/htmx" in page
    for shown in (page, part):
        assert 'max="2" value="1"' in shown
        assert f'hx-get="{PAGE}processing/" hx-trigger="every 1s"' in unbroken(shown)


def test_stalled_processing_is_reported(text, agent, run_document):
    intake.submit_runs(agent=agent, documents=[run_document()])
    assert "note-wait" not in text(f"{PAGE}processing/")
    job_queue.waiting("upload").update(due_at=timezone.now() - 2 * STALLED_AFTER)

    assert "note-wait" in text(f"{PAGE}processing/")


def test_checking_is_reported_until_finished(text, pair):
    enqueue_checks([pair.study_id])
    assert "being checked" in text(f"{PAGE}processing/")
    checking.check_due_studies(timedelta(0))

    done = text(f"{PAGE}processing/")

    assert "hx-trigger" not in done
    assert "all processed" in done
    assert f'href="{PAGE}"' in done


def test_progress_of_private_study_is_404(client, private_study):
    address = "/studies/alpha-lab/secret-study/processing/"

    assert client.get(address).status_code == 404


def test_members_see_failures_and_editors_retry(
    client, person, pair, study, monkeypatch
):
    member = Client()
    member.force_login(person)

    def fail(_study):
        raise KeyError("secret <b>sibling</b>")

    with monkeypatch.context() as patched:
        patched.setattr(checking, "study_facts", fail)
        enqueue_checks([study.pk])
        for _ in range(QUARANTINE_AFTER):
            checking.check_due_studies(timedelta(0))
            job_queue.make_due()

    strange = client.get(PAGE).content.decode()
    known = unbroken(member.get(PAGE).content.decode())

    assert "failed 5 times" not in strange
    assert "sibling" not in strange
    assert "The check of this study failed 5 times: KeyError" in known
    assert "secret &lt;b&gt;sibling" in known
    assert "flags and verdicts of this study are out of date" in known
    assert "The job was set aside" in known
    # No user waits for the result, so the page does not poll.
    assert "data-unfinished" not in known

    assert f'action="{PAGE}retry/"' in known
    assert client.post(f"{PAGE}retry/").status_code == 302
    assert {job.failures for job in job_queue.failed()} == {5}
    assert member.post(f"{PAGE}retry/").status_code == 302
    assert checking.check_due_studies(timedelta(0)) == 1
    assert "failed 5 times" not in member.get(PAGE).content.decode()


def test_failed_check_prevents_publication(pair, study):
    enqueue_checks([study.pk])
    job_queue.waiting("check").update(failures=5, quarantined_at=timezone.now())

    with pytest.raises(InvalidError, match="its verdicts are out of date"):
        check_is_processed(study)


def test_public_study_has_dataset_metadata(client, person, study):
    study.title, study.data_licence = "</script><b>A & study", "CC-BY-4.0"
    study.author, study.published = "Doe, Jane; Roe, R.", "2010-07"
    study.save()
    page = client.get(PAGE).content.decode()

    [text] = re.findall(r'<script type="application/ld\+json">(.*?)</script>', page)
    stated = json.loads(text)
    assert (stated["@type"], stated["name"]) == ("Dataset", study.title)
    assert [it["name"] for it in stated["creator"]] == ["Doe, Jane", "Roe, R."]
    assert stated["datePublished"] == "2010-07"
    assert stated["url"] == f"http://testserver{PAGE}"
    assert 'property="og:title" content="&lt;/script&gt;' in page

    study.visibility = "private"
    study.save()
    client.force_login(person)
    page = client.get(PAGE).content.decode()
    assert "ld+json" not in page
    assert "og:title" not in page


def test_readers_see_the_data_quality_in_one_line(pair, text):
    page = " ".join(text(PAGE).split())

    assert "2 of 2 results have fewer than 5 runs;" in page
    assert '<details> <summary class="small">Still missing' in page


def test_editors_see_what_is_missing_for_publication(pair, client, person, text):
    client.force_login(person)
    page = " ".join(text(PAGE).split())

    assert '<details open> <summary class="small">Still missing' in page
