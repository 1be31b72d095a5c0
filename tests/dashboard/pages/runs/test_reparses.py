"""Reparsing a study or retrying a run, and the page of its progress."""

import pytest
from django.utils import timezone

from benchmarks.models import Membership, Reparse, Run, RunOutput
from benchmarks.studies.overview import STALLED_AFTER
from benchmarks.uploads import reparsing
from tests import job_queue

BUTTON = "/studies/alpha-lab/study/reparse/"


@pytest.fixture
def keeper(client, person):
    client.force_login(person)
    return client


def test_editor_sees_button(client, pair, person):
    study = "/studies/alpha-lab/study/"
    assert BUTTON not in client.get(study).content.decode()

    client.force_login(person)
    assert BUTTON in client.get(study).content.decode()


def test_shows_progress_and_changes(keeper, pair):
    kept = RunOutput.objects.last()
    kept.text = kept.text.replace("13.08", "14.08")
    kept.save()

    begun = keeper.post(BUTTON, follow=True).content.decode()
    reparsing.advance_reparses()
    done = keeper.get(f"/reparses/{Reparse.objects.get().pk}/").content.decode()

    assert "0 of 2 uploads" in begun
    assert "every 1s" in begun
    assert "2 of 2 uploads reparsed" in done
    assert "every 1s" not in done
    assert "13.08" in done
    assert "14.08" in done


def test_waiting_reparse_is_reported(keeper, pair):
    address = keeper.post(BUTTON).url
    assert "The job has not started yet" not in keeper.get(address).text
    Reparse.objects.update(created_at=timezone.now() - 2 * STALLED_AFTER)

    assert "The job has not started yet" in keeper.get(address).text
    reparsing.advance_reparses()
    assert "The job has not started yet" not in keeper.get(address).text


def test_others_cannot_reparse(client, pair, person):
    assert "/login/" in client.post(BUTTON)["Location"]

    client.force_login(person)
    Membership.objects.update(role=Membership.Role.VIEWER)
    assert client.post(BUTTON).status_code == 404
    assert not Reparse.objects.exists()


def test_others_cannot_see_reparse(client, keeper, pair):
    keeper.post(BUTTON)
    page = f"/reparses/{Reparse.objects.get().pk}/"

    Membership.objects.all().delete()
    assert client.get(page).status_code == 404


def test_editor_retries_quarantined_run(client, pair, person):
    run = Run.objects.first()
    job_queue.put_upload(run, quarantined_at=timezone.now())
    Run.objects.filter(pk=run.pk).update(status=Run.Status.QUARANTINED, reason="Why")
    button = f"/runs/{run.pk}/retry/"
    assert button not in client.get(f"/runs/{run.pk}/").text
    assert "/login/" in client.post(button)["Location"]

    client.force_login(person)
    assert button in client.get(f"/runs/{run.pk}/").text
    client.post(button)

    assert job_queue.waiting("upload").get().quarantined_at is None
    assert Run.objects.get(pk=run.pk).status == Run.Status.RECEIVED
