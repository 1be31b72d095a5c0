"""The network page."""

from django.http import HttpRequest
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_safe

from dashboard.kit.addresses import STUDY
from dashboard.kit.kept import Content, kept_study_page
from dashboard.kit.routes import NETWORK, Tab, page
from dashboard.kit.viewers import query_of, study_or_404, viewer_of
from dashboard.pages.network.page import network_page


@require_safe
@kept_study_page
def show_network(request: HttpRequest, lab: str, slug: str) -> Content:
    """Show what went from each node of a study to each other."""
    viewer = viewer_of(request)
    study = study_or_404(viewer, lab, slug)
    page = network_page(viewer, study, query_of(request))
    return Content("network/network.html", {"study": study, "page": page})


urlpatterns = [
    page(
        f"{STUDY}network/",
        show_network,
        "network",
        walked=(f"{NETWORK}network/",),
        tab=Tab(gettext_lazy("Network"), 60, needs="has_network"),
    ),
]
