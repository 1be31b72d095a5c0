from django.contrib import messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from benchmarks.jobs.failures import (
    STATE_CONDITIONS,
    counts_by_kind,
    most_failed_job_per_subject,
    state_text,
    subject_text,
)
from benchmarks.jobs.queue import retry_failed
from benchmarks.models import Job
from dashboard import wording
from dashboard.kit.routes import REDIRECTED, action, member_page
from dashboard.kit.url_parts import query_string
from dashboard.kit.viewers import query_params, user_labs

MAX_JOBS = 200
JOB_STATE_NAMES = {
    "waiting": gettext_lazy("Waiting"),
    "running": gettext_lazy("Running"),
    "failed": gettext_lazy("Failed"),
}


def show_jobs(request: HttpRequest) -> HttpResponse:
    query = query_params(request)
    state, kind = query.get("state", ""), query.get("kind", "")
    jobs = most_failed_job_per_subject(_jobs(request))
    kinds = counts_by_kind(_jobs(request))
    counts = {state: sum(row[state] for row in kinds) for state in STATE_CONDITIONS}
    if state in STATE_CONDITIONS:
        jobs = jobs.filter(STATE_CONDITIONS[state])
    if kind in Job.Kind.values:
        jobs = jobs.filter(kind=kind)
    context = {
        "states": [
            (name, counts[key], query_string(query, state=key), key == state)
            for key, name in JOB_STATE_NAMES.items()
        ],
        "kinds": [
            (row["kind"], query_string(query, kind=row["kind"]), row["kind"] == kind)
            for row in kinds
        ],
        "rows": [
            (job, subject_text(job), wording.translate_text(state_text(job)))
            for job in jobs.order_by("-failures", "created_at")[:MAX_JOBS]
        ],
        "has_failed": counts["failed"],
        "most": MAX_JOBS,
    }
    return render(request, "jobs/jobs.html", context)


def retry_failed_jobs(request: HttpRequest) -> HttpResponse:
    n = retry_failed(_jobs(request).filter(STATE_CONDITIONS["failed"]))
    text = ngettext("%(n)d job will be retried.", "%(n)d jobs will be retried.", n)
    messages.success(request, text % {"n": n} if n else _("No failed jobs to retry."))
    return redirect("dashboard:jobs")


def _jobs(request: HttpRequest) -> QuerySet[Job]:
    return Job.objects.filter(lab__in=user_labs(request, editable_only=True))


urlpatterns = [
    member_page("jobs/", show_jobs, "jobs"),
    action("jobs/retry/", retry_failed_jobs, "retry-jobs", member_statuses=REDIRECTED),
]
