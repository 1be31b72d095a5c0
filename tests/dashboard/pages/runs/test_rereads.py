"""The buttons that read history or a single run again, and the page of progress."""

import pytest
from django.utils import timezone

from benchmarks.models import Membership, Reread, Run, RunOutput
from benchmarks.studies.lists import LEFT_WAITING
from benchmarks.uploads import rereading
from tests import jobs

BUTTON = "/studies/alpha-lab/study/reread/"


@pytest.fixture
def keeper(client, person):
    client.force_login(person)
    return client


def test_who_keeps_the_lab_finds_the_button(client, pair, person):
    study = "/studies/alpha-lab/study/"
    assert BUTTON not in client.get(study).content.decode()

    client.force_login(person)
    assert BUTTON in client.get(study).content.decode()


def test_it_shows_its_progress_and_then_what_changed(keeper, pair):
    kept = RunOutput.objects.last()
    kept.text = kept.text.replace("13.08", "14.08")
    kept.save()

    begun = keeper.post(BUTTON, follow=True).content.decode()
    rereading.proceed()
    done = keeper.get(f"/rereads/{Reread.objects.get().pk}/").content.decode()

    assert "0 of 2 uploads" in begun
    assert "every 1s" in begun
    assert "2 of 2 uploads, done" in done
    assert "every 1s" not in done
    assert "13.08" in done
    assert "14.08" in done


def test_one_that_nobody_has_begun_with_says_so(keeper, pair):
    address = keeper.post(BUTTON).url
    assert "not been started" not in keeper.get(address).text
    Reread.objects.update(created_at=timezone.now() - 2 * LEFT_WAITING)

    assert "not been started" in keeper.get(address).text
    rereading.proceed()
    assert "not been started" not in keeper.get(address).text


def test_nobody_else_can_press_it(client, pair, person):
    assert "/login/" in client.post(BUTTON)["Location"]

    client.force_login(person)
    Membership.objects.update(role=Membership.Role.VIEWER)
    assert client.post(BUTTON).status_code == 404
    assert not Reread.objects.exists()


def test_nobody_else_sees_what_it_found(client, keeper, pair):
    keeper.post(BUTTON)
    page = f"/rereads/{Reread.objects.get().pk}/"

    Membership.objects.all().delete()
    assert client.get(page).status_code == 404


def test_a_keeper_lets_a_run_that_was_set_aside_be_tried_again(client, pair, person):
    run = Run.objects.first()
    jobs.put_upload(run, quarantined_at=timezone.now())
    Run.objects.filter(pk=run.pk).update(status=Run.Status.QUARANTINED, reason="Why")
    button = f"/runs/{run.pk}/retry/"
    assert button not in client.get(f"/runs/{run.pk}/").text
    assert "/login/" in client.post(button)["Location"]

    client.force_login(person)
    assert button in client.get(f"/runs/{run.pk}/").text
    client.post(button)

    assert jobs.waiting("upload").get().quarantined_at is None
    assert Run.objects.get(pk=run.pk).status == Run.Status.RECEIVED
