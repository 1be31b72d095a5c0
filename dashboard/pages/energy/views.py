"""The page of a study's energy."""

from django.http import HttpRequest
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_safe

from dashboard.kit.addresses import STUDY
from dashboard.kit.kept import Content, kept_study_page
from dashboard.kit.routes import UOC, Tab, page
from dashboard.kit.viewers import query_of, study_or_404, viewer_of
from dashboard.pages.energy.page import energy_page


@require_safe
@kept_study_page
def show_energy(request: HttpRequest, lab: str, slug: str) -> Content:
    """Show printed totals of power meters beside the energy of the work."""
    study = study_or_404(viewer_of(request), lab, slug)
    page = energy_page(study, query_of(request))
    return Content("energy/energy.html", {"study": study, "page": page})


urlpatterns = [
    page(
        f"{STUDY}energy/",
        show_energy,
        "energy",
        walked=(f"{UOC}energy/",),
        ids=("run={run}",),
        tab=Tab(gettext_lazy("Energy"), 40, needs="has_energy"),
    ),
]
