"""The page of background jobs."""

from io import StringIO

from django.core.management import call_command

from benchmarks.models import Job, Lab, Membership

PAGE = "/jobs/"


def test_failed_job_shows_error_and_can_be_retried(client, person, failed_job):
    Membership.objects.update(role="maintainer")
    client.force_login(person)
    page = client.get(PAGE).text
    assert "failed 5 times, quarantined at" in page
    assert "ValueError: no such cell" in page
    assert f"/studies/alpha-lab/{failed_job.study.slug}/" in page
    assert "no such cell" not in client.get(f"{PAGE}?state=waiting").text
    assert "no such cell" not in client.get(f"{PAGE}?kind=energy").text

    assert client.post(f"{PAGE}retry/").status_code == 302

    failed_job.refresh_from_db()
    assert (failed_job.failures, failed_job.quarantined_at) == (0, None)


def test_jobs_processed_together_are_one_row(client, person, failed_job):
    Membership.objects.update(role="maintainer")
    failed_job.pk, failed_job.quarantined_at = None, None
    failed_job.failures, failed_job.error = 0, ""
    failed_job.save()
    client.force_login(person)

    page, command = client.get(PAGE).text, StringIO()
    call_command("jobs", stdout=command)

    assert page.count("<b>check</b>") == 1
    assert "ValueError: no such cell" in page
    assert "Failed: 1" in page
    assert "check: 0 waiting, 0 running, 1 failed" in command.getvalue()


def test_shows_jobs_of_editable_labs_only(client, person, failed_job):
    Membership.objects.update(role="viewer")
    client.force_login(person)
    assert "No matching jobs." in client.get(PAGE).text
    Membership.objects.update(role="maintainer")
    Job.objects.update(lab=Lab.objects.create(slug="other", name="Other"), study=None)

    assert "No matching jobs." in client.get(PAGE).text
    client.post(f"{PAGE}retry/")
    failed_job.refresh_from_db()
    assert failed_job.failures == 5


def test_strangers_are_redirected_to_sign_in(client, db):
    assert client.get(PAGE).status_code == 302
