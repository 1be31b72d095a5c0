from collections.abc import Iterator

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from benchmarks.health import Health
from benchmarks.labs.creation import operates_server
from benchmarks.maintenance.server_status import ServerStatus, server_status
from dashboard.kit import formatting
from dashboard.kit.routes import EDITORS_ONLY, member_page
from dashboard.kit.viewers import required_user


def show_status(request: HttpRequest) -> HttpResponse:
    if not operates_server(required_user(request)):
        raise Http404(_("Only maintainers and admins can see this page."))
    status = server_status()
    context = {
        "summary": summary_sentence(status),
        "status": status,
        "facts": list(status_facts(status)),
    }
    return render(request, "status/status.html", context)


def summary_sentence(status: ServerStatus) -> str:
    n = len(status.problems)
    if not n:
        return _("Everything works: %(n)s checks passed.") % {"n": len(status.passed)}
    text = ngettext("%(n)s problem needs attention", "%(n)s problems need attention", n)
    text %= {"n": n}
    if critical := status.critical_count:
        urgent = ngettext("%(n)s is urgent", "%(n)s are urgent", critical)
        return f"{text}; {urgent % {'n': critical}}."
    return f"{text}; " + _("uploads and pages work.")


def status_facts(status: ServerStatus) -> Iterator[tuple[str, str]]:
    health = status.health
    yield _("Version"), health.version
    yield _("Uploads in the queue"), _queue_text(health)
    waiting = sum(jobs.waiting for jobs in health.waiting_jobs)
    yield _("Background jobs"), _("%(n)s waiting") % {"n": formatting.number(waiting)}
    failed = sum(jobs.retrying + jobs.quarantined for jobs in health.failed_jobs)
    failed += health.outbox.quarantined if health.outbox else 0
    yield _("Failed work"), formatting.number(failed) if failed else _("none")
    yield _("Last backup"), _backup_text(status.backup_age_days)
    yield (
        _("Disk"),
        _("%(free)s of %(total)s free")
        % {
            "free": formatting.file_size(status.disk_free_bytes),
            "total": formatting.file_size(status.disk_total_bytes),
        },
    )
    if status.database_bytes is not None:
        yield _("Database"), formatting.file_size(status.database_bytes)


def _queue_text(health: Health) -> str:
    if health.outbox is None:
        return _("unknown: the database does not respond")
    if not health.outbox.waiting:
        return _("none waiting")
    return _("%(n)s waiting, the oldest for %(seconds)s s") % {
        "n": formatting.number(health.outbox.waiting),
        "seconds": formatting.number(health.outbox.oldest_age_s, ".0f"),
    }


def _backup_text(age_days: float | None) -> str:
    if age_days is None:
        return _("none known")
    if age_days < 1:
        hours = round(24 * age_days)
        return ngettext("%(n)s hour ago", "%(n)s hours ago", hours) % {"n": hours}
    return _("%(n)s days ago") % {"n": formatting.number(age_days, ".1f")}


urlpatterns = [
    member_page("status/", show_status, "status", member_statuses=EDITORS_ONLY)
]
