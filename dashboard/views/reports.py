"""The report of a campaign: a page to print, and a PDF."""

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_safe

from benchmarks.models import Campaign
from benchmarks.selectors.versions import campaign_version
from dashboard.citing import citation_of
from dashboard.report.building import Making, report
from dashboard.report.document import Document
from dashboard.report.keeping import kept_report
from dashboard.report.storing import stored
from dashboard.report.typesetting import pdf
from dashboard.viewers import campaign_or_404, viewer_of


@require_safe
def show_report(request: HttpRequest, lab: str, slug: str) -> HttpResponse:
    """Show a campaign's report as a page to print."""
    viewer = viewer_of(request)
    campaign = campaign_or_404(viewer, lab, slug)
    version, citation = campaign_version(campaign), citation_of(request, campaign)
    context = {
        "campaign": campaign,
        "report": kept_report(version, viewer, campaign, citation, _now(request)),
        "version": f"{version} {sorted(viewer.lab_ids)}",
    }
    return render(request, "dashboard/report.html", context)


@require_safe
def download_report(request: HttpRequest, lab: str, slug: str) -> HttpResponse:
    """Hand out a campaign's report as a PDF."""
    campaign = campaign_or_404(viewer_of(request), lab, slug)
    making = _now(request)
    document = _report(request, campaign, making)
    folder = settings.VAR / "reports"
    file = stored(folder, document, making.who, lambda: pdf(document, making.made_at))
    name = f'inline; filename="{campaign.slug}.pdf"'
    headers = {"Content-Disposition": name, "Cache-Control": "private, no-cache"}
    return HttpResponse(file, content_type="application/pdf", headers=headers)


def _now(request: HttpRequest) -> Making:
    who = request.user.get_username() if request.user.is_authenticated else ""
    return Making(made_at=timezone.now(), version=settings.VERSION, who=who)


def _report(request: HttpRequest, campaign: Campaign, making: Making) -> Document:
    citation = citation_of(request, campaign)
    return report(viewer_of(request), campaign, citation, making)
