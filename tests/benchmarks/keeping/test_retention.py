"""What is not kept for ever."""

import io
from datetime import timedelta

import pytest
from django.contrib.sessions.models import Session as SignIn
from django.core.management import call_command
from django.utils import timezone

from benchmarks.keeping import retention
from benchmarks.labs.tokens import issue_token
from benchmarks.management.commands import sweep
from benchmarks.models import Invitation, Report, Reread, Run, Token


def ago(days: float):
    return timezone.now() - timedelta(days=days)


@pytest.fixture
def old_and_new(lab, agent, study):
    """Of each kind one that is over for long and one that is not."""
    for number, days in enumerate((400, 1)):
        SignIn.objects.create(session_key=f"over{number}", expire_date=ago(days - 2))
        Report.objects.create(
            study=study, stamp=f"{number}", stage="done", requested_at=ago(days)
        )
        Invitation.objects.create(
            lab=lab, name="x", role="viewer", prefix=f"{number}", expires_at=ago(days)
        )
        Reread.objects.create(finished_at=ago(days))
        token, _ = issue_token(agent=agent, can_read=True)
        Token.objects.filter(pk=token.pk).update(revoked_at=ago(days))
    issue_token(agent=agent, can_read=True)


def test_it_deletes_what_is_over_for_long_and_nothing_else(old_and_new):
    told = retention.counts()

    gone = retention.tidy()

    assert gone == told
    assert {what: n for what, n in gone.items() if n} == {
        "sign-ins that expired": 1,
        "reports": 1,
        "invitations that are over": 1,
        "rereads that are finished": 1,
        "tokens that are over": 1,
    }
    models = (SignIn, Report, Invitation, Reread, Token)
    assert [model.objects.count() for model in models] == [1, 1, 1, 1, 2]
    assert not any(retention.tidy().values())


def test_a_report_in_the_making_stays(study):
    Report.objects.create(study=study, stamp="x", requested_at=ago(99))

    assert not any(retention.tidy().values())


def test_uploads_are_kept_for_ever(submit, run_document):
    submit(run_document())
    Run.objects.update(received_at=ago(9999))

    retention.tidy()

    assert Run.objects.count() == 1


def test_a_dry_run_counts_and_deletes_nothing(old_and_new):
    said = io.StringIO()

    call_command("tidy", "--dry-run", stdout=said)

    assert "1 would go: reports (after 30 days)" in said.getvalue()
    assert Report.objects.count() == 2


def test_it_happens_once_an_hour(old_and_new):
    now = [10.0]
    hourly = retention.Hourly(clock=lambda: now[0])

    assert any(hourly().values())
    assert hourly() == {}
    now[0] += retention.EVERY_S
    assert hourly() != {}


def test_the_sweeper_does_it(old_and_new, monkeypatch):
    # The process may have swept within the last hour, in another test.
    monkeypatch.setattr(sweep.Command, "tidy", retention.Hourly())

    call_command("sweep", "--once")

    assert SignIn.objects.count() == 1
