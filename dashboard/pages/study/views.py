"""The page of one campaign."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import path
from django.views.decorators.http import require_safe

from benchmarks.publishing.version_lists import unfinished_freezing, visible_snapshots
from benchmarks.studies.data_versions import campaign_version
from benchmarks.studies.detail import campaign_detail
from benchmarks.studies.lists import is_left_waiting, processing_of
from dashboard.exports.citation import bibtex
from dashboard.exports.citing import citation_of
from dashboard.kit.addresses import CAMPAIGN
from dashboard.kit.kept_pages import Content, kept_page
from dashboard.kit.viewers import campaign_or_404, keeps, viewer_of
from dashboard.pages.study.page import campaign_standing


@require_safe
@kept_page
def show_campaign(request: HttpRequest, lab: str, slug: str) -> Content:
    """Show a campaign: what it measured on what, and how far its runs are."""
    viewer = viewer_of(request)
    campaign = campaign_or_404(viewer, lab, slug)
    standing = campaign_standing(campaign_version(campaign), viewer, campaign)
    may_keep = keeps(request, campaign.lab_id)
    context = {
        "campaign": campaign,
        "detail": campaign_detail(campaign),
        "profile": standing.profile,
        "assessment": standing.assessment,
        "snapshots": visible_snapshots(viewer, campaign),
        "citation": bibtex(citation_of(request, campaign)),
        "may_keep": may_keep,
        "freezing": unfinished_freezing(campaign) if may_keep else None,
    }
    return Content("study/study.html", context)


@require_safe
def show_processing(request: HttpRequest, lab: str, slug: str) -> HttpResponse:
    """Show how far a campaign's uploads are; pages ask for it until all is done."""
    campaign = campaign_or_404(viewer_of(request), lab, slug)
    context = {
        "campaign": campaign,
        "tally": processing_of(campaign),
        "is_left": is_left_waiting(campaign),
        "is_asked_again": True,
    }
    return render(request, "study/_processing_live.html", context)


urlpatterns = [
    path(CAMPAIGN, show_campaign, name="campaign"),
    path(f"{CAMPAIGN}processing/", show_processing, name="processing"),
]
