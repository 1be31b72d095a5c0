"""Reports that are asked for: made once for as long as they would say the same."""

import pytest
from django.db import transaction

from benchmarks.models import Host, Report, Run
from benchmarks.publishing import making
from benchmarks.publishing.making import note, request_report
from tests import jobs


@pytest.fixture
def ask(study):
    def asked(**changes):
        given = {"person": None, "site": "http://x", "edition": "today", **changes}
        return request_report(study=changes.pop("of", study), **given)

    return asked


def test_it_is_made_once(ask):
    report, is_to_make = ask()
    again, is_to_make_again = ask()

    assert (is_to_make, is_to_make_again) == (True, False)
    assert report == again


@pytest.mark.parametrize(
    "change", [{"edition": "tomorrow"}, {"site": "http://y"}], ids=str
)
def test_whatever_it_depends_on_makes_another_one(ask, change):
    assert ask()[0] != ask(**change)[0]


def test_each_reader_has_their_own(ask, person):
    assert ask()[0] != ask(person=person)[0]


def test_a_new_run_makes_another_one(ask, submit, run_document):
    first, _ = ask()
    submit(run_document())

    assert ask()[0] != first


def test_another_fact_of_the_machine_makes_another_one(ask, submit, run_document):
    submit(run_document())
    first, _ = ask()
    with transaction.atomic():
        Host.objects.update(facts={"cores": 4})

    assert ask()[0] != first


def test_a_deleted_run_makes_another_one(ask, submit, run_document):
    submit(run_document(), run_document())
    first, _ = ask()
    Run.objects.latest("pk").delete()

    assert ask()[0] != first


def test_those_asked_for_least_are_forgotten(ask, monkeypatch):
    monkeypatch.setattr(making, "KEPT", {Report: 2})
    first, *_others = [ask(edition=str(at))[0] for at in range(2)]
    ask(edition="0")
    ask(edition="2")

    assert set(Report.objects.values_list("pk", flat=True)) >= {first.pk}
    assert Report.objects.count() == 2


def test_its_last_stage_comes_with_the_file(ask):
    report, _ = ask()
    note(jobs.taken(report), Report.Stage.DONE, content=b"%PDF")

    assert bytes(Report.objects.get().content) == b"%PDF"
    assert ask()[1] is False
