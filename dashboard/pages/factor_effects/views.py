"""The factor effects page."""

from django.http import HttpRequest
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_safe

from dashboard.kit.addresses import STUDY
from dashboard.kit.kept import Content, kept_study_page
from dashboard.kit.routes import ESXI, Tab, page
from dashboard.kit.viewers import query_of, study_or_404, viewer_of
from dashboard.pages.factor_effects.page import effects_page


@require_safe
@kept_study_page
def show_factor_effects(request: HttpRequest, lab: str, slug: str) -> Content:
    """Show which parameters moved a study's results."""
    viewer = viewer_of(request)
    study = study_or_404(viewer, lab, slug)
    page = effects_page(viewer, study, query_of(request))
    return Content("factor_effects/factor_effects.html", {"study": study, "page": page})


urlpatterns = [
    page(
        f"{STUDY}factor-effects/",
        show_factor_effects,
        "factor-effects",
        walked=(f"{ESXI}factor-effects/?component=network",),
        ids=("case={case}",),
        tab=Tab(gettext_lazy("Factor effects"), 20),
    ),
]
