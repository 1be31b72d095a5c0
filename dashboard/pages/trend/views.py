"""The trend page."""

from django.http import HttpRequest
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_safe

from dashboard.kit.addresses import STUDY
from dashboard.kit.kept import Content, kept_page
from dashboard.kit.routes import DISKS, Tab, page
from dashboard.kit.viewers import query_of, study_or_404, viewer_of
from dashboard.pages.trend.page import trend_page


@require_safe
@kept_page
def show_trend(request: HttpRequest, lab: str, slug: str) -> Content:
    """Show how a case went over dates and hypervisor versions."""
    viewer = viewer_of(request)
    study = study_or_404(viewer, lab, slug)
    page = trend_page(viewer, study, query_of(request))
    return Content("trend/trend.html", {"study": study, "page": page})


urlpatterns = [
    page(
        f"{STUDY}trend/",
        show_trend,
        "trend",
        walked=(f"{DISKS}trend/",),
        tab=Tab(gettext_lazy("Trend"), 70, needs="has_trend"),
    ),
]
