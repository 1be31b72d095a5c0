"""Retention rules."""

import io
import re
from datetime import timedelta

import pytest
from django.contrib.sessions.models import Session as SignIn
from django.core.management import call_command
from django.utils import timezone

from benchmarks.labs.tokens import issue_token
from benchmarks.maintenance import retention
from benchmarks.management.commands import sweep
from benchmarks.models import Invitation, Reparse, Report, Run, Token


def ago(days: float):
    return timezone.now() - timedelta(days=days)


@pytest.fixture
def old_and_new(lab, agent, study):
    """One expired and one current row of each kind."""
    for number, days in enumerate((400, 1)):
        SignIn.objects.create(session_key=f"over{number}", expire_date=ago(days - 2))
        Report.objects.create(
            study=study,
            request_digest=f"{number}",
            stage="done",
            requested_at=ago(days),
        )
        Invitation.objects.create(
            lab=lab, name="x", role="viewer", prefix=f"{number}", expires_at=ago(days)
        )
        Reparse.objects.create(finished_at=ago(days))
        token, _ = issue_token(agent=agent, can_read=True)
        Token.objects.filter(pk=token.pk).update(revoked_at=ago(days))
    issue_token(agent=agent, can_read=True)


def test_only_expired_rows_are_deleted(old_and_new):
    reported = retention.count_expired()

    deleted = retention.clean_up()

    assert deleted == reported
    assert {what: n for what, n in deleted.items() if n} == {
        "expired sessions": 1,
        "reports": 1,
        "closed invitations": 1,
        "finished reparses": 1,
        "revoked and expired tokens": 1,
    }
    models = (SignIn, Report, Invitation, Reparse, Token)
    assert [model.objects.count() for model in models] == [1, 1, 1, 1, 2]
    assert not any(retention.clean_up().values())


def test_unfinished_report_is_kept(study):
    Report.objects.create(study=study, request_digest="x", requested_at=ago(99))

    assert not any(retention.clean_up().values())


def test_uploads_are_never_deleted(submit, run_document):
    submit(run_document())
    Run.objects.update(received_at=ago(9999))

    retention.clean_up()

    assert Run.objects.count() == 1


def test_a_dry_run_counts_and_deletes_nothing(old_and_new):
    output = io.StringIO()

    call_command("tidy", "--dry-run", stdout=output)

    assert re.search(r"\b1 .*reports \(after 30 days\)", output.getvalue())
    assert Report.objects.count() == 2


def test_cleanup_runs_once_an_hour(old_and_new):
    now = [10.0]
    hourly = retention.HourlyCleanup(clock=lambda: now[0])

    assert any(hourly().values())
    assert hourly() == {}
    now[0] += retention.INTERVAL_S
    assert hourly() != {}


def test_sweeper_cleans_up(old_and_new, monkeypatch):
    # Another test may have run the cleanup within the last hour.
    monkeypatch.setattr(sweep.Command, "tidy", retention.HourlyCleanup())

    call_command("sweep", "--once")

    assert SignIn.objects.count() == 1
