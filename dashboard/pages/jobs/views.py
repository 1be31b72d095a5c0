"""The background jobs of the labs whose data a person may change."""

from django.contrib import messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from benchmarks.models import Job
from benchmarks.unattended.lists import (
    STATES,
    counts_by_kind,
    one_per_subject,
    state_text,
    subject_text,
)
from benchmarks.unattended.queue import retry
from benchmarks.uploads import processing  # noqa: F401  # registers uploads
from dashboard import wording
from dashboard.kit.addresses import address
from dashboard.kit.routes import REDIRECT, action, member_page
from dashboard.kit.viewers import own_labs, query_of

MOST = 200
NAMES = {
    "waiting": gettext_lazy("Waiting"),
    "running": gettext_lazy("Running"),
    "failed": gettext_lazy("Failed"),
}


def show_jobs(request: HttpRequest) -> HttpResponse:
    """Show jobs, filtered by state and kind; those that failed most come first."""
    query = query_of(request)
    state, kind = query.get("state", ""), query.get("kind", "")
    jobs = one_per_subject(_jobs(request))
    kinds = counts_by_kind(_jobs(request))
    counts = {state: sum(row[state] for row in kinds) for state in STATES}
    if state in STATES:
        jobs = jobs.filter(STATES[state])
    if kind in Job.Kind.values:
        jobs = jobs.filter(kind=kind)
    context = {
        "states": [
            (name, counts[key], address(query, state=key), key == state)
            for key, name in NAMES.items()
        ],
        "kinds": [
            (row["kind"], address(query, kind=row["kind"]), row["kind"] == kind)
            for row in kinds
        ],
        "rows": [
            (job, subject_text(job), wording.said(state_text(job)))
            for job in jobs.order_by("-failures", "created_at")[:MOST]
        ],
        "has_failed": counts["failed"],
        "most": MOST,
    }
    return render(request, "jobs/jobs.html", context)


def try_again(request: HttpRequest) -> HttpResponse:
    """Retry all failed jobs."""
    n = retry(_jobs(request).filter(STATES["failed"]))
    text = ngettext("%(n)d job will be retried.", "%(n)d jobs will be retried.", n)
    messages.success(request, text % {"n": n} if n else _("No job had failed."))
    return redirect("dashboard:jobs")


def _jobs(request: HttpRequest) -> QuerySet[Job]:
    return Job.objects.filter(lab__in=own_labs(request, kept=True))


urlpatterns = [
    member_page("jobs/", show_jobs, "jobs"),
    action("jobs/retry/", try_again, "retry-jobs", own=REDIRECT),
]
