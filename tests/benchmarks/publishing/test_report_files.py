"""Reports: generated once while their content is the same."""

import pytest
from django.db import transaction

from benchmarks.models import Host, Report, Run
from benchmarks.publishing import generation_requests
from benchmarks.publishing.generation_requests import request_report, set_stage
from tests import job_queue


@pytest.fixture
def ask(study):
    def request(**changes):
        arguments = {
            "person": None,
            "site_url": "http://x",
            "content_digest": "today",
            **changes,
        }
        return request_report(study=changes.pop("of", study), **arguments)

    return request


def test_report_is_generated_once(ask):
    report, is_to_make = ask()
    repeated, is_to_make_again = ask()

    assert (is_to_make, is_to_make_again) == (True, False)
    assert report == repeated


@pytest.mark.parametrize(
    "change", [{"content_digest": "tomorrow"}, {"site_url": "http://y"}], ids=str
)
def test_changed_inputs_give_another_report(ask, change):
    assert ask()[0] != ask(**change)[0]


def test_each_reader_has_a_separate_report(ask, person):
    assert ask()[0] != ask(person=person)[0]


def test_new_run_gives_another_report(ask, submit, run_document):
    first, _ = ask()
    submit(run_document())

    assert ask()[0] != first


def test_changed_host_fact_gives_another_report(ask, submit, run_document):
    submit(run_document())
    first, _ = ask()
    with transaction.atomic():
        Host.objects.update(facts={"cores": 4})

    assert ask()[0] != first


def test_deleted_run_gives_another_report(ask, submit, run_document):
    submit(run_document(), run_document())
    first, _ = ask()
    Run.objects.latest("pk").delete()

    assert ask()[0] != first


def test_least_recently_requested_reports_are_deleted(ask, monkeypatch):
    monkeypatch.setattr(generation_requests, "MAX_STORED_FILES", {Report: 2})
    first, *_others = [ask(content_digest=str(at))[0] for at in range(2)]
    ask(content_digest="0")
    ask(content_digest="2")

    assert set(Report.objects.values_list("pk", flat=True)) >= {first.pk}
    assert Report.objects.count() == 2


def test_last_stage_is_stored_with_the_file(ask):
    report, _ = ask()
    set_stage(job_queue.claim(report), Report.Stage.DONE, content=b"%PDF")

    assert bytes(Report.objects.get().content) == b"%PDF"
    assert ask()[1] is False
