"""The page of a campaign's co-runs."""

from django.http import HttpRequest
from django.urls import path
from django.views.decorators.http import require_safe

from dashboard.kit.addresses import CAMPAIGN
from dashboard.kit.kept_pages import Content, kept_page
from dashboard.kit.viewers import campaign_or_404, query_of, viewer_of
from dashboard.pages.coruns.page import corun_page


@require_safe
@kept_page
def show_coruns(request: HttpRequest, lab: str, slug: str) -> Content:
    """Show what several VMs of a campaign did together."""
    campaign = campaign_or_404(viewer_of(request), lab, slug)
    page = corun_page(campaign, query_of(request))
    return Content("coruns/coruns.html", {"campaign": campaign, "page": page})


urlpatterns = [
    path(f"{CAMPAIGN}co-runs/", show_coruns, name="coruns"),
]
