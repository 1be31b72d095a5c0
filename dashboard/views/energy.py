"""The page of a campaign's energy."""

from django.http import HttpRequest
from django.views.decorators.http import require_safe

from dashboard.energy.page import energy_page
from dashboard.kept_pages import Content, kept_page
from dashboard.viewers import campaign_or_404, query_of, viewer_of


@require_safe
@kept_page
def show_energy(request: HttpRequest, lab: str, slug: str) -> Content:
    """Show printed totals of power meters beside the energy of the work."""
    campaign = campaign_or_404(viewer_of(request), lab, slug)
    page = energy_page(campaign, query_of(request))
    return Content("dashboard/energy.html", {"campaign": campaign, "page": page})
