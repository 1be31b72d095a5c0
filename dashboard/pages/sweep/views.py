"""The sweep page."""

from django.http import HttpRequest
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_safe

from dashboard.kit.addresses import STUDY
from dashboard.kit.kept import Content, kept_study_page
from dashboard.kit.routes import UOC, Tab, page
from dashboard.kit.viewers import query_of, study_or_404, viewer_of
from dashboard.pages.sweep.page import sweep_page


@require_safe
@kept_study_page
def show_sweep(request: HttpRequest, lab: str, slug: str) -> Content:
    """Show how a study's values go over a numeric parameter."""
    viewer = viewer_of(request)
    study = study_or_404(viewer, lab, slug)
    page = sweep_page(viewer, study, query_of(request))
    return Content("sweep/sweep.html", {"study": study, "page": page})


urlpatterns = [
    page(
        f"{STUDY}sweep/",
        show_sweep,
        "sweep",
        walked=(f"{UOC}sweep/",),
        ids=("systems={system}",),
        tab=Tab(gettext_lazy("Scaling curves"), 50, needs="has_sweep"),
    ),
]
