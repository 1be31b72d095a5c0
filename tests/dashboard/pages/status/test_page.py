"""The status page: what it says, and who may read it."""

import pytest
from django.contrib.auth import get_user_model

from benchmarks.health import FailedJobs, Health, Outbox, WaitingJobs
from benchmarks.maintenance.doctor import Diagnosis
from benchmarks.maintenance.server_status import ServerStatus
from benchmarks.models import Lab, Membership
from benchmarks.sentences import Sentence
from dashboard.pages.status.views import status_facts, summary_sentence

PAGE = "/status/"
URGENT = Diagnosis(Sentence("disk"), Sentence("Make space."), is_critical=True)
OTHER = Diagnosis(Sentence("backups"), Sentence("Run: make backup"))


def status(*problems, age=0.5, waiting=0, failed=()):
    jobs = (WaitingJobs("check", 3, 1.0, False),)
    outbox = Outbox(waiting, 12.4, 1)
    health = Health("ok", "1.2.3", True, True, outbox, failed, jobs)
    return ServerStatus(health, problems, ("DEBUG",), age, 10**10, 10**11, 10**9)


def test_summary_counts_problems_and_urgent_ones():
    assert "Everything works" in summary_sentence(status())
    assert summary_sentence(status(OTHER)).startswith("1 problem needs attention")
    both = summary_sentence(status(URGENT, OTHER))
    assert both == "2 problems need attention; 1 is urgent."


def test_facts_have_queue_backup_disk_version_and_failed_work():
    failed = (FailedJobs("energy", 1, 2, 5.0),)

    facts = dict(status_facts(status(waiting=7, failed=failed)))

    assert facts["Version"] == "1.2.3"
    assert facts["Uploads in the queue"] == "7 waiting, the oldest for 12 s"
    assert facts["Failed work"] == "4"
    assert facts["Last backup"] == "12 hours ago"
    assert facts["Disk"].replace("\xa0", " ") == "9.3 GiB of 93.1 GiB free"
    assert dict(status_facts(status(age=None)))["Last backup"] == "none known"


def test_operator_reads_what_to_do_about_failed_work(client, person, failed_job):
    Membership.objects.update(role="admin")
    client.force_login(person)

    page = client.get(PAGE).text

    assert "1 of check. See: manage.py jobs" in page
    assert "no such cell" not in page  # it may be of another lab
    assert PAGE in client.get("/account/").text


@pytest.mark.parametrize(("policy", "expected"), [("admins", 200), ("everybody", 404)])
def test_founders_of_labs_are_not_operators(client, settings, lab, policy, expected):
    eve = get_user_model().objects.create_user("eve")
    other = Lab.objects.create(slug="later", name="Later lab")
    Membership.objects.create(lab=other, user=eve, role="admin")
    settings.LAB_CREATION = policy
    client.force_login(eve)

    assert client.get(PAGE).status_code == expected
    assert (PAGE in client.get("/account/").text) == (expected == 200)
