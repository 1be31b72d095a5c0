"""The influence page."""

from django.http import HttpRequest
from django.urls import path
from django.views.decorators.http import require_safe

from dashboard.kit.addresses import CAMPAIGN
from dashboard.kit.kept_pages import Content, kept_page
from dashboard.kit.viewers import campaign_or_404, query_of, viewer_of
from dashboard.pages.factor_effects.page import influence_page


@require_safe
@kept_page
def show_influence(request: HttpRequest, lab: str, slug: str) -> Content:
    """Show which parameters moved a campaign's results."""
    viewer = viewer_of(request)
    campaign = campaign_or_404(viewer, lab, slug)
    page = influence_page(viewer, campaign, query_of(request))
    return Content(
        "factor_effects/factor_effects.html", {"campaign": campaign, "page": page}
    )


urlpatterns = [
    path(f"{CAMPAIGN}influence/", show_influence, name="influence"),
]
